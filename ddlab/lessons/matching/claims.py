"""Lesson 05: its claims, declared before any run, and what measures them: the record of students by class numbers."""

from __future__ import annotations

import functools

from ... import records
from ..claims import Claim
from ..shared.effects import Measured, differences, measured
from . import NAME
from .sweep import DC, DM

claim = functools.partial(Claim, lesson=NAME, test="small")
CLAIMS: list[Claim] = []
PAPER = "Zhao et al. 2021 (DC), Table 1"
DIGITS = "digits 16 px, 1 image per class, ConvNet-3 of width 32 with instance norm"
SHAPES = "shapes 16 px, 10 images per class, ConvNet-3 of width 32 with instance norm"
_RULES = {"random": "random real images", "herding": "herding", "k_center": "k-center", "forgetting": "forgetting"}

for _rule, _words in _RULES.items():
    CLAIMS += [
        claim(
            f"S6 {_rule.replace('_', '-')}",
            PAPER,
            f"Images learned by gradient matching teach more than {_words}.",
            effect=f"accuracy with class numbers, DC minus {_words}, least of one digit and ten shapes per class",
            claimed=0.05,
        )
    ]
CLAIMS += [
    claim(
        "S6 DM",
        "Zhao & Bilen 2023 (DM), Table 1",
        "Images learned by distribution matching teach more than random real images.",
        effect="accuracy with class numbers, DM minus random real images; one digit per class",
        claimed=0.05,
    ),
    claim(
        "S6 mean",
        "control that the papers have not got",
        "With one image per class learned images teach more than the mean image of each class.",
        effect="accuracy with class numbers, DM minus class means; one digit per class",
        claimed=0.02,
    ),
    claim(
        "S6 typical",
        "control that the papers have not got",
        "Learned images teach more than the real images nearest to k-means centres.",
        effect="accuracy with class numbers, DM minus the images nearest to k-means centres, least of one digit and ten shapes per class",
        claimed=0.02,
    ),
    claim(
        "S6 centres",
        "control that the papers have not got",
        "With ten images per class learned images teach more than k-means centres.",
        effect="accuracy with class numbers, DM minus k-means centres; ten shapes per class",
        claimed=0.02,
    ),
]


def values(data: str, rule: str) -> list[float]:
    """Accuracy of the record, one for each seed."""
    return records.load("matching").values("hard", data=data, rule=rule)


def lead(learned: str, rule: str) -> list[float]:
    """For each seed how far learned images are ahead of a rule, the lesser of both datasets."""
    leads = [differences(values(data, learned), values(data, rule)) for data in ("digits", "shapes")]
    return [min(seed) for seed in zip(*leads, strict=True)]


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson, from its record; `pairs` is not asked for, a record has its seeds."""
    against = {f"S6 {rule.replace('_', '-')}": lead(DC, rule) for rule in _RULES}
    against["S6 typical"] = lead(DM, "k_means")
    on_digits = {
        "S6 DM": differences(values("digits", DM), values("digits", "random")),
        "S6 mean": differences(values("digits", DM), values("digits", "centres")),
    }
    on_shapes = {"S6 centres": differences(values("shapes", DM), values("shapes", "centres"))}
    return measured(against, f"{DIGITS}; {SHAPES}") | measured(on_digits, DIGITS) | measured(on_shapes, SHAPES)
