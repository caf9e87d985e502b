"""Lesson 30: its figures and tables, its runs, its exercises."""

from __future__ import annotations

from typing import Any

import torch

import ddlab
from ddlab.lessons.data_residuals import checks as residuals


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("30_data_residuals")

    def counted(budget: int, merges: int, share: float) -> float:
        each, last = budget // (merges + 1), budget - merges * (budget // (merges + 1))
        return 1 - ((merges + 1) // 2 * each + last * (merges % 2 == 0)) / budget * (1 - share)

    def printed(budget: int, merges: int, share: float) -> float:
        return 1 - budget // (merges + 1) / budget * -(-merges // 2) * (1 - share)

    full = torch.arange(3 * 64 * 64).remainder(256).to(torch.uint8).view(3, 64, 64)
    answers: dict[str, tuple[list[Any], list[Any]]] = {
        "survival": (
            [lambda a, k, i: a ** (k + 1 - i), lambda a, k, i: 1.0 if i == k + 1 else a ** (k + 1 - i)],
            [
                None,
                lambda a, k, i: a ** (k - i),
                lambda a, k, i: a,
                lambda a, k, i: a**k,
                lambda a, k, i: "a",
                lambda a, k: a,
            ],
        ),
        "cost": ([counted], [None, printed, lambda b, k, r: r, lambda b, k, r: "r", lambda b, k, r: 1 / 0]),
        "fooling": ([full], [None, full.float(), full[:, :32], torch.zeros_like(full), full // 64]),
    }
    assert answers.keys() == residuals.CHECKS.keys()
    hints = set()
    for name, (right, wrong) in answers.items():
        for answer in right:
            assert lesson.check(name, answer), name
        for answer in wrong:
            capsys.readouterr()
            assert not lesson.check(name, answer), name
            hints.add(capsys.readouterr().out)
    assert len(hints) >= 10, "wrong answers get different hints"
