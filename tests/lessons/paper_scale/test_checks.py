"""Lesson 95: right answers pass, wrong ones get the hint that names the mistake."""

import statistics
from typing import Any

import pytest

from ddlab.lessons.answers import NotYet
from ddlab.lessons.paper_scale.checks import CHECKS


def means_of(accuracies: Any) -> list[float]:
    return [statistics.fmean(students) for students in accuracies]


def over_sets(accuracies: Any) -> tuple[float, float]:
    means = means_of(accuracies)
    return statistics.fmean(means), statistics.stdev(means) / len(means) ** 0.5


def over_students(accuracies: Any) -> tuple[float, float]:
    values = [value for students in accuracies for value in students]
    return statistics.fmean(means_of(accuracies)), statistics.stdev(values) / len(values) ** 0.5


def errors(ours: list[float], printed: float, deviation: float, count: int) -> float:
    own = statistics.variance(ours) / len(ours)
    return (statistics.fmean(ours) - printed) / (own + deviation**2 / count) ** 0.5


def test_right_answers_pass() -> None:
    assert "would claim" in CHECKS["over sets"](over_sets)
    assert "standard errors" in CHECKS["errors"](errors)


@pytest.mark.parametrize(
    ("exercise", "answer", "hint"),
    [
        ("over sets", None, "No answer|function"),
        ("over sets", lambda accuracies: 3.0, "mean and error"),
        ("over sets", over_students, "Only another set"),
        (
            "over sets",
            lambda a: (statistics.fmean(v for s in a for v in s), over_sets(a)[1]),
            "average each set first",
        ),
        (
            "over sets",
            lambda a: (over_sets(a)[0], statistics.stdev(means_of(a))),
            "root of their number",
        ),
        (
            "over sets",
            lambda a: (over_sets(a)[0], statistics.pstdev(means_of(a)) / len(a) ** 0.5),
            "n - 1",
        ),
        ("over sets", lambda a: (over_sets(a)[0], 0.0), "divided by the root"),
        ("errors", lambda o, p, d, n: -errors(o, p, d, n), "ours minus printed"),
        (
            "errors",
            lambda o, p, d, n: (
                (statistics.fmean(o) - p) / (statistics.pvariance(o) / len(o) + d**2 / n) ** 0.5
            ),
            "n - 1",
        ),
    ],
)
def test_wrong_answers_get_the_hint_that_names_them(exercise: str, answer: Any, hint: str) -> None:
    with pytest.raises(NotYet, match=hint):
        CHECKS[exercise](answer)
