"""Lesson 20: its claims, declared before any run, and what measures them: pairs of students and of recoveries."""

from __future__ import annotations

import functools

from ..claims import Claim
from ..shared.effects import Measured, differences, measured
from . import NAME
from .experiments import labels_and_images, lost_diversity, trained_on_digits

claim = functools.partial(Claim, lesson=NAME, test="small")
CLAIMS: list[Claim] = []
SETTING = "digits 16 px, ConvNet-3 of width 64, 1 image per class"

CLAIMS += [
    claim(
        "D1",
        "Du et al. 2024 (DWA), eq 7",
        "The diversity of SRe2L's images comes from the variance term only.",
        effect="share of the normalised feature distance (eq 21) that is lost when lambda_var goes from .01 to 0",
        claimed=0.8,
    ),
    claim(
        "X1 labels",
        "control for every method that relabels",
        "A teacher's labels raise what a student learns from the same real images.",
        effect="accuracy with online teacher labels minus accuracy with hard labels, same real images",
        claimed=0.05,
    ),
    claim(
        "X1 images",
        "control for every method that makes images",
        "Recovered images teach more than real images that carry the same teacher's labels.",
        effect="accuracy with recovered images minus accuracy with random real images, both with online teacher labels",
        claimed=0.05,
    ),
]


def label_effects(found: dict[str, list[float]]) -> dict[str, list[float]]:
    """X1: for each pair, what online labels add to hard ones on the same real images, and recovered images to real ones."""
    return {
        "X1 labels": differences(found["real, online"], found["real, hard"]),
        "X1 images": differences(found["recovered, online"], found["real, online"]),
    }


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson, each on so many pairs."""
    data, teacher = trained_on_digits()
    found = label_effects(labels_and_images(data, teacher, pairs=pairs))
    lost = {"D1": lost_diversity(data, teacher, pairs=pairs)}
    recovery = "digits 16 px, ConvNet-3 of width 64, 3 images per class, 100 iterations, noise start"
    return measured(lost, recovery) | measured(found, SETTING)
