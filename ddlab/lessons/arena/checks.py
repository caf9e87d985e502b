"""Lesson 80: its exercises, the right answers and the usual mistakes."""

import math
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ...core.interval import interval
from ...evaluation import Comparison
from ...evaluation.landscapes import ON_SET, REAL, Landscape
from ...evaluation.measures import label_robust_score
from ...evaluation.rows import RANDOM
from ..answers import Exercise, NotYet, require_kind

# Own, random its way, all real, class labels.
_SETS = ((0.86, 0.85, 0.99, 0.33), (0.95, 0.67, 0.99, 0.30), (0.5, 0.6, 0.9, 0.5))
RIVAL = "coarse"
# Fewer pairs give an interval that says nothing.
_SEEDS = 5


def _exponent(
    own: float, random: float, real: float, hard: float, *, sign: float = -1.0, weight: float = 0.5
) -> float:
    return weight * (own - random) + sign * weight * (real - hard)


def _scale(exponent: float) -> float:
    return (math.exp(exponent) - math.exp(-1)) / (math.e - math.exp(-1))


def _score(own: float, random: float, real: float, hard: float) -> float:
    return label_robust_score(own - random, real - hard)


def _mean_of_sets(scores: list[Tensor]) -> str:
    return (
        f"A set that wins by its labels alone scores {float(scores[1]):.3f}. A set that is level "
        f"with random images and misses nothing scores {label_robust_score(0, 0):.3f}."
    )


SCORE = Exercise(
    arguments=("own", "random", "real", "hard"),
    cases=lambda: _SETS,
    expected=_score,
    mistakes={
        "Nearly: what is missing counts against a set.": (
            lambda *parts: _scale(_exponent(*parts, sign=1.0))
        ),
        "Nearly: use fractions, not percent, or the exponent reaches hundreds.": (
            lambda *parts: _scale(100 * _exponent(*parts))
        ),
        "Nearly: each part has the weight one half.": (
            lambda *parts: _scale(_exponent(*parts, weight=1.0))
        ),
        "Nearly: the score lies between 0 and 1.": lambda *parts: 100 * _score(*parts),
        "That is a. The score is its exponential, scaled to lie between 0 and 1.": _exponent,
        "That is e to the a. It still has to be scaled to lie between 0 and 1.": (
            lambda *parts: math.exp(_exponent(*parts))
        ),
        "A bracket is missing: both differences of exponentials come before the division.": (
            lambda *parts: math.exp(_exponent(*parts)) - math.exp(-1) / (math.e - math.exp(-1))
        ),
        "You subtract the wrong way round: own - random, and real - hard.": (
            lambda own, random, real, hard: _score(random, own, hard, real)
        ),
    },
    look="Compute a on paper for these four accuracies: is it yours?",
    success=_mean_of_sets,
)


def check_entered(answer: Any) -> str:
    """Check exercise 2: a Comparison of a loss of one's own with the page's.

    Five seeds must tell them apart.
    """
    require_kind(answer, Comparison, "Give the result of ddlab.compare.")
    rows = {
        row.name: row for row in answer.rows if not row.name.startswith(RANDOM) and row.accuracies
    }
    entered = [row for name, row in rows.items() if name != RIVAL]
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
    pairs = [
        mine - two for mine, two in zip(entered[0].accuracies, rows[RIVAL].accuracies, strict=True)
    ]
    limits = interval(pairs)
    assert limits is not None
    measured = (
        f"Your method minus {RIVAL!r}: {100 * fmean(pairs):+.1f} points "
        f"({100 * limits[0]:+.1f} to {100 * limits[1]:+.1f})."
    )
    if limits[0] <= 0:
        raise NotYet(
            f"{measured} Not ahead: which property do the images of a class share that "
            "four-pixel squares lose?"
        )
    return f"{measured} Compare this with class means, which need no loss at all."


def _landscapes() -> list[tuple[Landscape]]:
    """Return small landscapes of random losses, whose lowest places differ."""
    draws = torch.Generator().manual_seed(1)
    axes = torch.arange(6.0), torch.arange(4.0)
    tables = 1 + torch.rand((3, 2, 4, 6), generator=draws, dtype=torch.float64)
    return [
        (Landscape(*axes, {ON_SET: of_set, REAL: of_real}, paths={}, share=1.0),)
        for of_set, of_real in tables
    ]


def _gap(landscape: Landscape, judged: str = REAL, chosen: str = ON_SET) -> Tensor:
    lowest = landscape.losses[chosen].argmin()
    return landscape.losses[judged].flatten()[lowest] - landscape.losses[judged].min()


GAP = Exercise(
    arguments=("landscape",),
    cases=_landscapes,
    expected=_gap,
    mistakes={
        "That is the difference of the lowest values, which lie at two places. Take the loss on real "
        "images at the lowest place of the set's loss.": (
            lambda landscape: landscape.losses[REAL].min() - landscape.losses[ON_SET].min()
        ),
        "The two losses have changed places: a student goes down the set's loss, and is judged by "
        "the one on real images.": lambda landscape: _gap(landscape, ON_SET, REAL),
        "That is the loss on real images at the right place. Subtract the lowest one of the plane.": (
            lambda landscape: landscape.losses[REAL].flatten()[landscape.losses[ON_SET].argmin()]
        ),
        "You subtract the wrong way round: a gap is at least 0.": lambda landscape: (
            -_gap(landscape)
        ),
        "You take the mean over the plane. Only one place counts, where the set's loss is lowest.": (
            lambda landscape: (landscape.losses[REAL] - landscape.losses[ON_SET]).mean()
        ),
    },
    look="argmin counts the places of a table row by row. Which loss chooses the place?",
    success=(
        "A gap of 0 would mean: the bottom of the set's loss is as good for real images as any "
        "place of this plane, with this seed."
    ),
)

CHECKS = {"score": SCORE, "entered": check_entered, "gap": GAP}
