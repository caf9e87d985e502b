"""Lesson 95: the checks of its exercises."""

import math
import statistics
from typing import Any

from ...core.errors import DDLabError
from ...evaluation.students import evaluate
from ...training import supervised
from ..answers import NotYet, numbers

_GAIN = 1.5  # points that another training must add
# The authors' loop of 300 epochs runs once more.
_MOST_EPOCHS = 301
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
    ) -> float:
        variance = mine * statistics.variance(ours) / len(ours) + theirs * deviation**2 / count
        return (statistics.fmean(ours) - printed) / math.sqrt(variance)

    hints: tuple[tuple[list[float], str], ...] = (
        ([of(*case, mine=0) for case in _CASES], "Nearly: your own mean is uncertain, too."),
        ([of(*case, theirs=0) for case in _CASES], "Nearly: the printed mean is uncertain, too."),
        (
            [of(*case, theirs=case[3]) for case in _CASES],
            "Nearly: a mean of n values deviates less than one of them.",
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


def check_students(answer: Any) -> str:
    """Check exercise 1: another training of students that adds points to the same sets.

    The answer is (sets, data, plain, changes).
    """
    if not isinstance(answer, tuple) or len(answer) != 4 or not isinstance(answer[3], dict):
        raise NotYet("Give a dictionary of settings of the students.")
    sets, data, plain, changes = answer
    if not changes or "labels" in changes:
        raise NotYet("Change something of how a student is trained; its labels stay class numbers.")
    means = []
    try:
        for settings in (plain, plain | changes):
            config = supervised.Config.paper("mnist", recipe="dsa", **settings)
            if config.epochs > _MOST_EPOCHS:
                raise NotYet(
                    f"At most {_MOST_EPOCHS} epochs, or a reader waits too long; yours has "
                    f"{config.epochs}."
                )
            scores: Any = {
                "labels": "hard",
                "config": config,
                "seeds": (0, 1, 2),
                "progress": False,
            }
            means.append(
                100
                * statistics.fmean(evaluate(distilled, data, **scores).mean for distilled in sets)
            )
    except (DDLabError, TypeError) as problem:
        raise NotYet(f"These settings cannot be used: {problem}") from None
    measured = (
        f"Measured: {means[1]:.1f}% after {means[0]:.1f}%, {means[1] - means[0]:+.1f} points, "
        "with the same images."
    )
    if means[1] - means[0] < _GAIN:
        raise NotYet(
            f"{measured} Reach {_GAIN:+g}: what do the authors' students have that these lack?"
        )
    return f"{measured} Nobody has improved the method."


CHECKS = {"students": check_students, "errors": check_errors}
