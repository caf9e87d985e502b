"""Lesson 05: its claims, declared before any run, and what measures them: the record of students by class numbers."""

from __future__ import annotations

import functools
from statistics import fmean

from ... import records
from ..claims import Claim
from ..shared.effects import Measured, differences, measured
from . import NAME
from .across_networks import DEFAULT
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
_ONE = "one digit per class, fifty networks, the same network for learning and student"
CLAIMS += [
    claim(
        "S6 instance norm",
        "Zhao et al. 2021 (DC), appendix",
        "Instance norm suits learning images and their students better than other normalisation, or none.",
        effect=f"accuracy with class numbers, instance norm minus the mean of none, batch and layer norm; {_ONE}",
        claimed=0.01,
    ),
    claim(
        "S6 average pooling",
        "Zhao et al. 2021 (DC), appendix",
        "Average pooling suits them better than max-pooling.",
        effect=f"accuracy with class numbers, average minus max-pooling; {_ONE}",
        claimed=0.01,
    ),
    claim(
        "S6 leaky ReLU",
        "Zhao et al. 2021 (DC), appendix",
        "Leaky ReLU suits them better than ReLU.",
        effect=f"accuracy with class numbers, leaky ReLU minus ReLU; {_ONE}",
        claimed=0.01,
    ),
    claim(
        "X1 matching labels",
        "the role of labels",
        "Of DC's images, too, a teacher's labels teach more than class numbers.",
        effect="accuracy with online labels minus with class numbers; DC's images, ten shapes per class",
        claimed=0.05,
    ),
    claim(
        "X1 matching images",
        "the role of images",
        "With a teacher's labels DC's images still teach more than random real ones.",
        effect="accuracy with online labels, DC minus random real images; ten shapes per class",
        claimed=0.05,
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
        | _network_effects()
        | _label_effects()
        | measured(against, f"{DIGITS}; {SHAPES}")
        | measured(on_digits, DIGITS)
        | measured(on_shapes, SHAPES)
    )


def _siamese_effects() -> dict[str, Measured]:
    """S7: each seed's images by DSA and by DC. Of DC's without views in the student, ten seeds are in the record `matching`."""
    found = records.load("siamese")

    def taught(data: str, rule: str = DSA, views: str | None = "shared", column: str = "viewed") -> dict[int, float]:
        return found.by_seed(column, data=data, rule=rule, views=views)

    shared, plain, viewed = taught("shapes"), taught("shapes", DC, None, "plain"), taught("shapes", DC, None)
    before = {name: records.load("matching").by_seed("hard", data=name, rule=DC) for name in ("shapes", "digits")}
    on_shapes = {
        "S7 ipc 10": _paired(shared, before["shapes"]),
        "S7 shared": _paired(shared, taught("shapes", views="independent")),
        "S7 images": _paired(shared, viewed),
        "S7 evaluation": _paired(viewed, plain),
    }
    on_digits = {"S7 ipc 1": _paired(taught("digits"), before["digits"])}
    return measured(on_shapes, SHAPES) | measured(on_digits, DIGITS)


def _paired(first: dict[int, float], second: dict[int, float]) -> list[float]:
    """The differences of the seeds that both have."""
    return [value - second[seed] for seed, value in sorted(first.items()) if seed in second]


def _network_effects() -> dict[str, Measured]:
    """S6: students of DC's images in ConvNets that differ in one option from the default."""
    found = records.load("matching_networks")

    def taught(**change: str) -> list[float]:
        return found.values("learned", **DEFAULT | change)

    others = [taught(norm=norm) for norm in ("none", "batch", "layer")]
    effects = {
        "S6 instance norm": differences(taught(), [fmean(seed) for seed in zip(*others, strict=True)]),
        "S6 average pooling": differences(taught(), taught(pooling="max")),
        "S6 leaky ReLU": differences(taught(activation="leaky_relu"), taught()),
    }
    return measured(effects, DIGITS)


def _label_effects() -> dict[str, Measured]:
    """X1: what a teacher's labels give, and what is left for the images."""
    found = records.load("matching_labels")
    online, hard = (found.values(column, rule=DC) for column in ("online", "hard"))
    effects = {
        "X1 matching labels": differences(online, hard),
        "X1 matching images": differences(online, found.values("online", rule="random")),
    }
    return measured(effects, SHAPES)
