"""Lesson 40: its exercises."""

from typing import Any

import torch

import ddlab
from ddlab.lessons.bases import checks
from ddlab.methods.shared import kernel_ridge


def best(real: Any, features: Any, distilled: Any) -> Any:
    A = kernel_ridge.predictions(real, distilled, torch.eye(len(distilled), dtype=real.dtype))
    return torch.linalg.pinv(A) @ features


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("40_bases")
    answers: dict[str, tuple[Any, list[Any]]] = {
        "targets": (
            best,
            [
                None,
                lambda r, w, d: w[:6],
                lambda r, w, d: 0 * w[:6],
                lambda r, w, d: torch.nan * w[:6],
                lambda r, w, d: w,
                lambda r: r,
            ],
        ),
        "pairs": (128, [None, 127, 129, 85, 768, True, "128"]),
    }
    assert answers.keys() == checks.CHECKS.keys()
    for name, (right, wrong) in answers.items():
        assert lesson.check(name, right), name
        hints = set()
        for answer in wrong:
            capsys.readouterr()
            assert not lesson.check(name, answer), (name, answer)
            hints.add(capsys.readouterr().out)
        assert len(hints) >= 4, "wrong answers get different hints"
