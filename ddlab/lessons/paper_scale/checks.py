"""Lesson 95: the checks of its exercises."""

import math
import statistics
from collections.abc import Callable
from typing import Any

from ..answers import NotYet, call_answer, numbers, two

# Percent of each student of each set; sets of one size, and of several.
_SETS = (
    ((89.0, 90.0), (86.5, 87.5)),
    ((70.1, 70.3, 70.2), (73.0, 72.6), (68.4, 68.8, 68.6, 68.2)),
)
_CASES = (
    ([89.1, 90.2, 88.4], 89.7, 0.6, 5),
    ([44.0, 47.5, 45.1, 44.6], 48.9, 1.2, 3),
    ([61.5, 62.5], 62.4, 0.3, 10),
)


def check_errors(answer: Any) -> str:
    """Check exercise 2: a function that gives a difference in standard errors.

    Its arguments are (ours, printed, deviation, count); both numbers have an error.
    """
    cases = (
        (list(ours), *printed_values) for ours, *printed_values in _CASES
    )  # a copy: an answer may sort its list
    errors_given = numbers(answer, *cases, of="ours, printed, deviation, count")

    def of(
        ours: list[float],
        printed: float,
        deviation: float,
        count: int,
        *,
        mine: float = 1,
        theirs: float = 1,
        spread: Callable[[list[float]], float] = statistics.variance,
    ) -> float:
        variance = mine * spread(ours) / len(ours) + theirs * deviation**2 / count
        return (statistics.fmean(ours) - printed) / math.sqrt(variance)

    hints: tuple[tuple[list[float], str], ...] = (
        ([of(*case, mine=0) for case in _CASES], "Nearly: your own mean is uncertain, too."),
        ([of(*case, theirs=0) for case in _CASES], "Nearly: the printed mean is uncertain, too."),
        (
            [of(*case, theirs=case[3]) for case in _CASES],
            "Nearly: a mean of n values deviates less than one of them.",
        ),
        (
            [of(*case, spread=statistics.pvariance) for case in _CASES],
            "Nearly: divide by n - 1 in your own deviation (statistics.variance).",
        ),
        ([-of(*case) for case in _CASES], "Nearly: ours minus printed, so that above is positive."),
    )
    for values, hint in ((([of(*case) for case in _CASES]), ""), *hints):
        if all(
            math.isclose(case, given_error, rel_tol=1e-6, abs_tol=1e-9)
            for case, given_error in zip(values, errors_given, strict=True)
        ):
            if hint:
                raise NotYet(hint)
            return (
                f"Measured: {errors_given[0]:+.1f}, {errors_given[1]:+.1f} and {errors_given[2]:+.1f} standard "
                "errors; beyond 2 look for a reason."
            )
    raise NotYet(
        "Divide the difference of the means by the root of the sum of both squared standard "
        "errors, deviation / sqrt(n)."
    )


def check_over_sets(answer: Any) -> str:
    """Check exercise 1: the mean over sets and its standard error, (mean, error).

    Students of one set are no repetition of the set.
    """
    means = []
    errors_given = []
    for accuracies in _SETS:
        copied = [list(students) for students in accuracies]
        words = "a list with one list of students for each set; give back mean and error"
        mean, error = call_answer(answer, copied, of=words, read=two(float))
        means.append(mean)
        errors_given.append(error)
    for accuracies, mean in zip(_SETS, means, strict=True):
        set_means = [statistics.fmean(students) for students in accuracies]
        if not math.isclose(mean, statistics.fmean(set_means), rel_tol=1e-9):
            pooled = statistics.fmean(value for students in accuracies for value in students)
            reason = (
                "you weigh a set with more students more heavily; average each set first"
                if math.isclose(mean, pooled, rel_tol=1e-9)
                else "average each set over its students, then average the sets"
            )
            raise NotYet(
                f"Measured: a mean of {mean:.2f}, not {statistics.fmean(set_means):.2f}: {reason}."
            )

    def spread(accuracies: Any, kind: str) -> float:
        set_means = [statistics.fmean(students) for students in accuracies]
        students = [value for of_set in accuracies for value in of_set]
        return {
            "right": statistics.stdev(set_means) / math.sqrt(len(set_means)),
            "students": statistics.stdev(students) / math.sqrt(len(students)),
            "deviation": statistics.stdev(set_means),
            "population": statistics.pstdev(set_means) / math.sqrt(len(set_means)),
        }[kind]

    hints = {
        "right": "",
        "students": "This counts every student as a repetition. Only another set repeats the set.",
        "deviation": "Nearly: this is the deviation of one set. Divide it by the root of their number.",
        "population": "Nearly: divide by n - 1 in the deviation (statistics.stdev).",
    }
    for kind, hint in hints.items():
        expected = [spread(accuracies, kind) for accuracies in _SETS]
        if all(
            math.isclose(given, value, rel_tol=1e-6)
            for given, value in zip(errors_given, expected, strict=True)
        ):
            if hint:
                raise NotYet(hint)
            students = spread(_SETS[1], "students")
            return (
                f"Measured: {errors_given[1]:.2f} points over three sets. Counting their students "
                f"instead would claim {students:.2f}, as if the sets did not differ."
            )
    raise NotYet(
        "The error is the deviation of the sets' means, divided by the root of their number."
    )


CHECKS = {"over sets": check_over_sets, "errors": check_errors}
