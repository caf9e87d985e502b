"""Lesson 90: the exercises' checks."""

import math
import re
from typing import Any

import pytest

from ddlab.lessons.answers import NotYet
from ddlab.lessons.theorems_on_trial.checks import CHECKS

RIGHT: dict[str, Any] = {
    "counterexample": (lambda place: -min(place + 3, 2 - place), -3, 2, 0.6),  # z = -1.0
    "floor": lambda spread, rate, batch: rate / (2 - rate) * (spread**2 + 0.25) / batch,
}
WRONG: list[tuple[str, Any, str]] = [
    ("counterexample", abs, "four things"),
    ("counterexample", (abs, -1, 1, 0), "between 0 and 1"),
    ("counterexample", (abs, -1, 1, 0.5), "not one half"),
    ("counterexample", (abs, -1, "x", 0.5), "ValueError"),
    ("counterexample", (lambda place: 2 * abs(place), -1, 1, 0.4), "steeper than 1"),
    ("counterexample", (lambda place: math.nan, -1, 1, 0.4), "level"),
    ("counterexample", (lambda place: place, -1, 1, 0.4), "level"),
    ("counterexample", (lambda place: 0.0, -1, 1, 0.4), "within the printed"),
    ("counterexample", (lambda place: 1 / 0, -1, 1, 0.4), "ZeroDivisionError"),
    ("floor", 0.1, "Write a function"),
    ("floor", lambda spread: spread, "TypeError"),
    ("floor", lambda spread, rate, batch: 0.0, "That is the printed line"),
    ("floor", lambda spread, rate, batch: rate / (2 - rate) * spread**2 / batch, "not S^2 alone"),
    ("floor", lambda spread, rate, batch: rate * (spread**2 + 0.25) / batch, "solve f"),
    (
        "floor",
        lambda spread, rate, batch: rate / (2 - rate) * (spread**2 + 0.25),
        "of a batch has less noise",
    ),
    ("floor", lambda spread, rate, batch: math.nan, "Once it rests"),
]


@pytest.mark.parametrize("exercise", CHECKS)
def test_right_answers_are_right_and_none_gets_a_hint(exercise: str) -> None:
    assert CHECKS[exercise](RIGHT[exercise]).endswith(".")
    with pytest.raises(NotYet, match=r"[.?]$"):
        CHECKS[exercise](None)


@pytest.mark.parametrize(("exercise", "answer", "hint"), WRONG)
def test_wrong_answers_get_their_hint(exercise: str, answer: Any, hint: str) -> None:
    with pytest.raises(NotYet, match=re.escape(hint)):
        CHECKS[exercise](answer)
