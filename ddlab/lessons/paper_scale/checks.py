"""Lesson 95: its exercises, the right answers and the usual mistakes."""

import math
import statistics
from collections.abc import Callable, Sequence

from torch import Tensor

from ..answers import Exercise

Accuracies = list[list[float]]
"""Percent of each student of each set."""


def _sets() -> list[tuple[Accuracies]]:
    """Sets of one size, and of several."""
    return [
        ([[89.0, 90.0], [86.5, 87.5]],),
        ([[70.1, 70.3, 70.2], [73.0, 72.6], [68.4, 68.8, 68.6, 68.2, 68.5]],),
    ]


def _set_means(accuracies: Accuracies) -> list[float]:
    return [statistics.fmean(students) for students in accuracies]


def _students(accuracies: Accuracies) -> list[float]:
    return [accuracy for students in accuracies for accuracy in students]


def _error(
    accuracies: Accuracies,
    *,
    over: Callable[[Accuracies], list[float]] = _set_means,
    deviation: Callable[[Sequence[float]], float] = statistics.stdev,
    power: float = 0.5,
    count: Callable[[Accuracies], int] = len,
) -> float:
    """Return the standard error of the mean over sets, or with the mistake that an option is."""
    return deviation(over(accuracies)) / count(accuracies) ** power


def _students_in(accuracies: Accuracies) -> int:
    return len(_students(accuracies))


def _only(error: Callable[[Accuracies], float]) -> Callable[[Accuracies], tuple[float, float]]:
    """Return a mistake in the error alone."""
    return lambda accuracies: (math.nan, error(accuracies))


def _over_three_sets(results: list[Tensor]) -> str:
    ((accuracies,),) = _sets()[1:]
    claimed = _error(accuracies, over=_students, count=_students_in)
    return (
        f"The error is {float(results[1][1]):.2f} points over three sets. Counting their students "
        f"instead would claim {claimed:.2f}, as if the sets did not differ."
    )


OVER_SETS = Exercise(
    ask=(
        "Write a function of accuracies, a list with one list of students for each set, that "
        "returns the mean and its standard error. Sets may have different numbers of students."
    ),
    arguments=("accuracies",),
    cases=_sets,
    parts=("mean", "standard error"),
    expected=lambda accuracies: (statistics.fmean(_set_means(accuracies)), _error(accuracies)),
    mistakes={
        "You weigh a set with more students more heavily. Average each set first.": (
            lambda accuracies: (statistics.fmean(_students(accuracies)), math.nan)
        ),
        "Your error counts every student as a repetition. Only another set repeats the set.": _only(
            lambda sets: _error(sets, over=_students, count=_students_in)
        ),
        "Nearly: this is the deviation of one set. Divide it by the root of their number.": _only(
            lambda sets: _error(sets, power=0)
        ),
        "Nearly: divide by n - 1 in the deviation (statistics.stdev).": _only(
            lambda sets: _error(sets, deviation=statistics.pstdev)
        ),
        "You divide by the root of the number of students. What is averaged here are sets.": _only(
            lambda sets: _error(sets, count=_students_in)
        ),
        "You divide by the number of sets, where its root is needed.": _only(
            lambda sets: _error(sets, power=1)
        ),
        "That is the variance. Its root is the deviation.": _only(
            lambda sets: _error(sets, deviation=statistics.variance)
        ),
    },
    look="Average each set over its students. How much does one such mean deviate from the others?",
    success=_over_three_sets,
)


def _z(
    ours: list[float],
    printed: float,
    deviation: float,
    count: int,
    *,
    own: float = 1,
    theirs: float = 1,
    spread: Callable[[Sequence[float]], float] = statistics.variance,
    add: Callable[[float, float], float] = math.hypot,
) -> float:
    """Return the difference in standard errors, or with the mistake that an option is."""
    own_error = math.sqrt(own * spread(ours) / len(ours))
    their_error = math.sqrt(theirs * deviation**2 / count)
    return (statistics.fmean(ours) - printed) / add(own_error, their_error)


def _three_differences(results: list[Tensor]) -> str:
    first, second, third = map(float, results)
    return (
        f"{first:+.1f}, {second:+.1f} and {third:+.1f} standard errors. Beyond 2 look for a reason; "
        "with two or three sets of your own, beyond 4."
    )


ERRORS = Exercise(
    arguments=("ours, a list", "printed", "deviation", "count"),
    cases=lambda: [
        ([89.1, 90.2, 88.4], 89.7, 0.6, 5),
        ([44.0, 47.5, 45.1, 44.6], 48.9, 1.2, 3),
        ([61.5, 62.5], 62.4, 0.3, 10),
    ],
    expected=_z,
    mistakes={
        "Nearly: your own mean is uncertain, too.": lambda *row: _z(*row, own=0),
        "Nearly: the printed mean is uncertain, too.": lambda *row: _z(*row, theirs=0),
        "Nearly: the printed mean of n values varies less than a single one of them.": (
            lambda *row: _z(*row, theirs=row[3])
        ),
        "Nearly: your own mean of n values varies less than a single one of them.": (
            lambda *row: _z(*row, own=len(row[0]))
        ),
        "Nearly: both means of n values vary less than single ones.": (
            lambda *row: _z(*row, own=len(row[0]), theirs=row[3])
        ),
        "Nearly: divide by n - 1 in your own deviation (statistics.variance).": (
            lambda *row: _z(*row, spread=statistics.pvariance)
        ),
        "Nearly: ours minus printed, so that above is positive.": lambda *row: -_z(*row),
        "Errors of two independent means don't add up. Their squares do.": (
            lambda *row: _z(*row, add=lambda own, theirs: own + theirs)
        ),
        "You divide by the square of the error. Take its root.": (
            lambda *row: _z(*row, add=lambda own, theirs: own**2 + theirs**2)
        ),
    },
    look="How uncertain is each of the two means, and how do two independent errors combine?",
    success=_three_differences,
)

CHECKS = {"over sets": OVER_SETS, "errors": ERRORS}
