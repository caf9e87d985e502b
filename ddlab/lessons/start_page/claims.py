"""Lesson 00: its claims, declared before any run, and what measures them: labels and images (X1) on colour pictures, five per class.

Declared with the effects of lesson 20's digits.
"""

from __future__ import annotations

import functools

from ..claims import Claim
from ..shared.effects import Measured, differences, measured
from . import NAME
from .experiments import SETTING, Found, accuracies, trained_on_shapes

claim = functools.partial(Claim, lesson=NAME, test="small")
CLAIMS: list[Claim] = []

CLAIMS += [
    claim(
        "X1 shapes labels",
        "control for every method that relabels",
        "A teacher's labels raise what a student learns from the same real images.",
        effect="accuracy with online teacher labels minus accuracy with hard labels, same random real images",
        claimed=0.05,
    ),
    claim(
        "X1 shapes images",
        "control for every method that makes images",
        "SRe2L's images teach more than real images that carry the same teacher's labels.",
        effect="accuracy with SRe2L's images minus accuracy with random real images, both with online teacher labels",
        claimed=0.05,
    ),
]


def label_effects(found: Found) -> dict[str, list[float]]:
    """X1: for each pair, what online labels add to hard ones on the same random images, and SRe2L's images to random ones."""
    return {
        "X1 shapes labels": differences(found["random", "online"], found["random", "hard"]),
        "X1 shapes images": differences(found["SRe2L", "online"], found["random", "online"]),
    }


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the page, each on so many pairs."""
    data, teacher = trained_on_shapes()
    conditions = [("random", "hard"), ("random", "online"), ("SRe2L", "online")]
    return measured(label_effects(accuracies(data, teacher, pairs=pairs, conditions=conditions)), SETTING)
