"""Lesson 30: the checks of its exercises."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ddlab.lessons.data_residuals.checks import CHECKS

FULL = torch.arange(3 * 64 * 64).remainder(256).to(torch.uint8).view(3, 64, 64)
ANSWERS: dict[str, tuple[list[Any], list[Any]]] = {
    "survival": (
        [lambda a, k, i: a ** (k + 1 - i), lambda a, k, i: 1.0 if i == k + 1 else a ** (k + 1 - i)],
        [None, lambda a, k, i: a ** (k - i), lambda a, k, i: a, lambda a, k, i: a**k, lambda a, k, i: "a", lambda a, k: a],
    ),
    "fooling": ([FULL], [None, FULL.float(), FULL[:, :32], torch.zeros_like(FULL), FULL // 64]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(name: str) -> None:
    right, wrong = ANSWERS[name]
    assert all(CHECKS[name](answer)[0] for answer in right)
    found = [CHECKS[name](answer) for answer in wrong]
    assert not any(passed for passed, _ in found) and len({hint for _, hint in found}) >= 3
