"""Lesson 40: its table, its exercises."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ddlab
from ddlab.lessons.bases import checks
from ddlab.lessons.shared import unlabelled
from ddlab.methods import kernel_ridge


def best(real: Any, wanted: Any, distilled: Any) -> Any:
    A = kernel_ridge.predictions(real, distilled, torch.eye(len(distilled), dtype=real.dtype))
    return torch.linalg.pinv(A) @ wanted


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("40_bases")
    errors = checks.held_out_errors()
    count = next(number for number, left in enumerate(errors) if left <= checks.LEFT)
    share = checks.fresh_share
    answers: dict[str, tuple[Any, list[Any]]] = {
        "targets": (
            best,
            [
                None, lambda r, w, d: w[:6], lambda r, w, d: 0 * w[:6], lambda r, w, d: torch.nan * w[:6], lambda r, w, d: w,
                lambda r: r,
            ],
        ),
        "bases": (count, [None, count - 1, count + 1, 0, 192, float(count), True]),
        "counter": (
            share,
            [
                None, lambda t, m, d, r: share(t, m, d, True), lambda t, m, d, r: 0.0, lambda t, m, d, r: "all", lambda t: 0,
            ],
        ),
    }  # fmt: skip
    assert answers.keys() == checks.CHECKS.keys()
    for name, (right, wrong) in answers.items():
        assert lesson.check(name, right), name
        hints = set()
        for answer in wrong:
            capsys.readouterr()
            assert not lesson.check(name, answer), (name, answer)
            hints.add(capsys.readouterr().out)
        assert len(hints) >= 4, "wrong answers get different hints"


def test_errors_of_held_out_images_are_those_of_images_made_from_bases() -> None:
    data = unlabelled.images()
    half = [
        torch.nn.functional.avg_pool2d(data.normalised(torch.arange(1000), split), 2).flatten(1)
        for split in ("train", "test")
    ]
    first = torch.linalg.svd(half[0] - half[0].mean(0), full_matrices=False).Vh[:30]
    left = (half[1] - half[1] @ first.T @ first).square().sum() / half[1].square().sum()
    assert checks.held_out_errors()[30] == pytest.approx(float(left), rel=1e-4)


def test_a_network_that_is_drawn_anew_meets_one_outer_step_untrained() -> None:
    # One network: it is drawn anew at the third step, met untrained at the fourth; forgotten, it stays untrained.
    assert checks.fresh_share([1], 3, [0] * 6, True) == 1 / 6
    assert checks.fresh_share([1], 3, [0] * 6, False) == 3 / 6
