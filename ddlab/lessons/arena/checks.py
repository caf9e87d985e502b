"""Lesson 80: the checks of its exercises."""

import math
from statistics import fmean
from typing import Any

from ...core.interval import interval
from ...evaluation import Comparison
from ...evaluation.measures import label_robust_score
from ...evaluation.rows import RANDOM
from ..answers import NotYet, numbers

# Own, random its way, all real, class numbers.
_SETS = ((0.86, 0.85, 0.99, 0.33), (0.95, 0.67, 0.99, 0.30), (0.5, 0.6, 0.9, 0.5))
RIVAL = "coarse"
# Fewer pairs give an interval that says nothing.
_SEEDS = 5


def check_score(answer: Any) -> str:
    """Check exercise 1: a function of four accuracies that gives the label-robust score.

    Its arguments are (own, random, real, hard), fractions, with w = 1/2.
    """
    scores = numbers(answer, *_SETS, of="own, random, real, hard")

    def of(sign: float = -1.0, scale: float = 1.0, weight: float = 0.5) -> list[float]:
        scores = []
        for method, random, real, hard in _SETS:
            scores.append(
                (
                    math.exp(scale * (weight * (method - random) + sign * weight * (real - hard)))
                    - math.exp(-1)
                )
                / (math.e - math.exp(-1))
            )
        return scores

    right = []
    for method, random, real, hard in _SETS:
        right.append(label_robust_score(method - random, real - hard))
    hints = (
        (of(sign=1.0), "Nearly: what is missing counts against a set."),
        (of(scale=100.0), "Nearly: use fractions, not percent, or the exponent reaches hundreds."),
        (of(weight=1.0), "Nearly: each part has the weight one half."),
        ([100 * value for value in right], "Nearly: the score lies between 0 and 1."),
    )
    if all(
        math.isclose(score, right_score, abs_tol=1e-9)
        for score, right_score in zip(scores, right, strict=True)
    ):
        return (
            f"a set that wins by its labels alone scores {scores[1]:.3f}. A set that is level with "
            f"random images and misses nothing scores {label_robust_score(0, 0):.3f}."
        )
    for values, hint in hints:
        if all(
            math.isclose(score, right_score, rel_tol=1e-6, abs_tol=1e-9)
            for score, right_score in zip(scores, values, strict=True)
        ):
            raise NotYet(hint)
    raise NotYet("First a = (IOR - HLR) / 2; then e to the a minus 1/e, divided by e minus 1/e.")


def check_entered(answer: Any) -> str:
    """Check exercise 2: a Comparison of a loss of one's own with the page's.

    Five seeds must tell them apart.
    """
    if not isinstance(answer, Comparison):
        raise NotYet("Give the result of ddlab.compare.")
    rows = {}
    for row in answer.rows:
        if not row.name.startswith(RANDOM) and row.accuracies:
            rows[row.name] = row
    entered = []
    for name, row in rows.items():
        if name != RIVAL:
            entered.append(row)
    if RIVAL not in rows or len(entered) != 1:
        raise NotYet(
            f"Compare two methods: {RIVAL!r}, which is the page's, and yours. You compare "
            f"{', '.join(rows) or 'none'}."
        )
    if any(row.one_set for row in rows.values()):
        raise NotYet("Compare methods, which run anew with each seed, not sets.")
    if len(answer.seeds) < _SEEDS:
        raise NotYet(f"Use at least {_SEEDS} seeds; you have {len(answer.seeds)}.")
    if entered[0].floats > rows[RIVAL].floats:
        raise NotYet(
            f"Use as many floats: yours takes {entered[0].floats:,}, the other {rows[RIVAL].floats:,}."
        )
    pairs = []
    for mine, two in zip(entered[0].accuracies, rows[RIVAL].accuracies, strict=True):
        pairs.append(mine - two)
    limits = interval(pairs)
    assert limits is not None
    measured = (
        f"your method minus {RIVAL!r}: {100 * fmean(pairs):+.1f} points "
        f"({100 * limits[0]:+.1f} to {100 * limits[1]:+.1f})."
    )
    if limits[0] <= 0:
        raise NotYet(
            f"{measured.capitalize()} Not ahead: which property do the images of a class share that "
            "four-pixel squares lose?"
        )
    return f"{measured} Compare this with class means, which need no loss at all."


CHECKS = {"score": check_score, "entered": check_entered}
