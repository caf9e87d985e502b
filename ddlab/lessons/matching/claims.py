"""Lesson 05: its claims, declared before any run, and what measures them: the record of students by class numbers."""

from __future__ import annotations

import functools

from ... import records
from ..claims import Claim
from ..shared.effects import Measured, differences, measured
from . import NAME
from .sets import DC, DM, DSA

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

DSA_PAPER = "Zhao & Bilen 2021 (DSA), CIFAR-10 at one and ten images per class"
CLAIMS += [
    claim(
        "S7 ipc 10",
        DSA_PAPER,
        "With ten images per class DSA's images and student beat DC's.",
        effect="accuracy with class numbers, DSA (views in student) minus DC (none); ten shapes per class",
        claimed=0.02,
    ),
    claim(
        "S7 ipc 1",
        DSA_PAPER,
        "With one image per class DSA is at most .02 of accuracy behind DC.",
        effect="accuracy with class numbers, DSA (views in student) minus DC (none); one digit per class",
        claimed=-0.02,
    ),
    claim(
        "S7 shared",
        "Zhao & Bilen 2021 (DSA), Table 4",
        "It matters that real and learned images see the same view.",
        effect="accuracy with class numbers, shared minus independent views, views in both students; ten shapes per class",
        claimed=0.02,
    ),
    claim(
        "S7 images",
        "control that the paper has not got",
        "Where both students see views, DSA's images still teach more than DC's.",
        effect="accuracy with class numbers, DSA minus DC, views in both students; ten shapes per class",
        claimed=0.02,
    ),
    claim(
        "S7 evaluation",
        "control that the paper has not got",
        "A student's views are worth something without any image learned through them.",
        effect="accuracy with class numbers, DC's images with views in the student minus without; ten shapes per class",
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
    return (
        _siamese_effects()
        | measured(against, f"{DIGITS}; {SHAPES}")
        | measured(on_digits, DIGITS)
        | measured(on_shapes, SHAPES)
    )


def _siamese_effects() -> dict[str, Measured]:
    """S7: each seed's images by DSA and by DC. Of DC's without views in the student, ten seeds are in the record `matching`."""
    found = records.load("siamese")
    many: dict[str, list[float]] = {
        name: found.values("viewed", data=name, rule=DSA, views="shared") for name in ("shapes", "digits")
    }
    apart = found.values("viewed", data="shapes", rule=DSA, views="independent")
    plain, viewed = (found.values(column, data="shapes", rule=DC) for column in ("plain", "viewed"))
    few = many["shapes"][: len(viewed)]
    on_shapes = {
        "S7 ipc 10": differences(many["shapes"], values("shapes", DC)),
        "S7 shared": differences(few, apart),
        "S7 images": differences(few, viewed),
        "S7 evaluation": differences(viewed, plain),
    }
    on_digits = {"S7 ipc 1": differences(many["digits"], values("digits", DC))}
    return measured(on_shapes, SHAPES) | measured(on_digits, DIGITS)
