"""Lesson 30: the checks of its exercises."""

from typing import Any

import pytest

from ddlab.lessons.answers import NotYet
from ddlab.lessons.data_residuals.checks import CHECKS

ANSWERS: dict[str, tuple[list[Any], list[Any]]] = {
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
    "schedule": (
        [
            lambda k: [j / (j + 1) for j in range(1, k + 1)],
            lambda k: tuple(1 - 1 / (j + 2) for j in range(k)),
        ],
        [
            None,
            lambda k: [0.5] * k,
            lambda k: 0.5,
            lambda k: [1 - 1 / (k + 1)] * k,
            lambda a, k: [a] * k,
        ],
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(name: str) -> None:
    right, wrong = ANSWERS[name]
    assert all(CHECKS[name](answer) for answer in right)
    hints = set()
    for answer in wrong:
        with pytest.raises(NotYet) as hint:
            CHECKS[name](answer)
        hints.add(str(hint.value))
    assert len(hints) >= 3
