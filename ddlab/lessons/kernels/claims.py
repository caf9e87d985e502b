"""Lesson 50: its claims, declared before any run, and what measures them: the records of points for kernel regression."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from ... import records
from ...methods.kernels import SIX
from ...methods.kip import RANDOM
from ..claims import Claim
from ..shared.effects import Measured, differences, measured
from . import NAME
from .sweep import DATA, LABELLING, MOST, TRUE

PAPER = "Nguyen, Chen & Lee 2021"
CONTROL = "control that the paper has not got"
LITTLE = 0.02  # of accuracy
LEAST = "least of digits and shapes"
BOTH = "digits and shapes 16 px, kernel regression with the NTK of FC1"
STUDENTS = "digits 16 px, 1 image per class, and shapes 16 px, 10; ConvNet-3 of width 32 with instance norm"
SIX_KERNELS = "digits 16 px, 1 image per class, NTK of fc1 to fc3 and conv1 to conv3"
FOUR_KERNELS = f"digits and shapes 16 px, 100 real images, {', '.join(LABELLING)}"


def claim(name: str, source: str, statement: str, effect: str, claimed: float = LITTLE) -> Claim:
    """A claim of this lesson."""
    return Claim(name, source, statement, effect=effect, claimed=claimed, lesson=NAME, test="small")


CLAIMS = [
    claim(
        "S10 few",
        f"{PAPER}, section 4.1",
        "Ten learned images are worth more to kernel regression than a hundred natural ones.",
        f"accuracy of the regression, KIP with 1 image per class minus random real images with 10, {LEAST}",
    ),
    claim(
        "S10 many",
        f"{PAPER}, section 4.1",
        "A hundred learned images are worth more to kernel regression than a thousand natural ones.",
        f"accuracy of the regression, KIP with 10 images per class minus random real images with 100, {LEAST}",
    ),
    claim(
        "S10 mean",
        CONTROL,
        "With one image per class learned images are worth more than the mean image of each class.",
        f"accuracy of the regression, KIP minus class means, 1 image per class, {LEAST}",
    ),
    claim(
        "S10 centres",
        CONTROL,
        "With ten images per class learned images are worth more than k-means centres.",
        f"accuracy of the regression, KIP minus k-means centres, 10 images per class, {LEAST}",
    ),
    claim(
        "S10 labels",
        f"{PAPER}, section 4.1",
        "Labels that are learned with the images add to them.",
        f"accuracy of the regression, KIP with learned labels minus KIP, 1 image per class, {LEAST}",
    ),
    claim(
        "S10 targets",
        f"{PAPER}, section 4.1",
        "The more real images in an update, the better the learned ones.",
        f"accuracy of the regression, {MOST:,} real images in an update minus 100, 1 image per class, {LEAST}",
    ),
    claim(
        "S10 random kernels",
        f"{PAPER}, section 4.2",
        "Images learned with a random kernel in each update do better in other kernels than images learned with one.",
        "accuracy of the regression, learned with random kernels minus learned with one of six, in the other five; mean over the six",
    ),
    claim(
        "S10 unseen kernel",
        CONTROL,
        "They also do better in a kernel that neither has learned with.",
        "accuracy of the regression with RBF, learned with random kernels minus learned with one; mean over the six",
    ),
    claim(
        "S10 corruption",
        f"{PAPER}, section 4.1",
        "Ten learned images of which 90% stays noise are worth more than ten natural ones.",
        f"accuracy of the regression, KIP with 90% fixed noise minus random real images, 1 image per class, {LEAST}",
    ),
    claim(
        "S10 corruption hundred",
        f"{PAPER}, section 4.1",
        "A hundred learned images of which 90% stays noise are worth more than a hundred natural ones.",
        f"accuracy of the regression, KIP with 90% fixed noise minus random real images, 10 images per class, {LEAST}",
    ),
    claim(
        "S10 student",
        f"{PAPER}, section 4.3",
        "Images learned for a kernel teach a trained network more than random real images.",
        "accuracy with class numbers, KIP minus random real images, least of one digit and ten shapes per class",
        0.05,
    ),
    claim(
        "S10 corrupted student",
        f"{PAPER}, section 4.3",
        "Images learned with 90% fixed noise teach a trained network more than random real images.",
        "accuracy with class numbers, KIP with 90% fixed noise minus random real images, least of one digit and ten shapes per class",
    ),
    claim(
        "S11 solved",
        f"{PAPER}, section 4.1",
        "Solved labels make a hundred real images worth more than their true ones do.",
        f"accuracy of the regression, label solve minus true labels, 100 random real images, {LEAST}",
    ),
    claim(
        "S11 noise",
        CONTROL,
        "A hundred images of noise with solved labels are worth more than a hundred real ones with true labels.",
        f"accuracy of the regression, label solve on noise minus true labels on random real images, {LEAST}",
    ),
    claim(
        "S11 foreign",
        CONTROL,
        "So are a hundred images of another dataset.",
        f"accuracy of the regression, label solve on images of the other dataset minus true labels on random real images, {LEAST}",
    ),
    claim(
        "S11 transfer",
        f"{PAPER}, section 4.2",
        "In another kernel solved labels are at least as good as true ones, but for a little.",
        f"accuracy of the regression, labels solved with another kernel minus true labels, mean over 12 pairs of kernels, {LEAST}",
        -LITTLE,
    ),
    claim(
        "S11 transfer loss",
        CONTROL,
        "Labels solved with another kernel lose little against labels solved with the same one.",
        f"accuracy of the regression, labels solved with another kernel minus with the same, mean over 12 pairs of kernels, {LEAST}",
        -LITTLE,
    ),
]


def accuracies(data: str, rule: str, images_per_class: int) -> list[float]:
    """Accuracy of kernel regression, one for each seed of the record."""
    return records.load("kernel_points").values("accuracy", data=data, rule=rule, images_per_class=images_per_class)


def students(data: str, rule: str) -> list[float]:
    """Accuracy of students, one for each seed of the record."""
    return records.load("kernel_students").values("hard", data=data, rule=rule)


def least(lead: Callable[[str], Sequence[float]]) -> list[float]:
    """For each seed the lesser of both datasets."""
    return [min(seed) for seed in zip(*map(lead, DATA), strict=True)]


def ahead(rule: str, count: int, other: str, other_count: int | None = None) -> list[float]:
    """For each seed how far a rule with `count` images per class is ahead of another one, the lesser of both datasets."""
    others = count if other_count is None else other_count
    return least(lambda data: differences(accuracies(data, rule, count), accuracies(data, other, others)))


def ahead_as_teacher(rule: str) -> list[float]:
    """The same for students, against random real images."""
    return least(lambda data: differences(students(data, rule), students(data, "random")))


def mean_of(parts: Sequence[Sequence[float]]) -> list[float]:
    """For each seed the mean over all parts."""
    return [statistics.fmean(seed) for seed in zip(*parts, strict=True)]


def random_kernels(asked: Callable[[str], Sequence[str]]) -> list[float]:
    """For each seed: learned with random kernels minus with one, in the kernels that are `asked` for that one, mean over all."""
    table = records.load("kernel_learned_by")
    pairs = [(one, other) for one in SIX for other in asked(one)]
    leads = [
        differences(table.values(other, learned_by=RANDOM), table.values(other, learned_by=one)) for one, other in pairs
    ]
    return mean_of(leads)


def transfer(against: Callable[[str], str]) -> list[float]:
    """For each seed: labels solved with one kernel, used in another, minus labels `against` them there, mean over all pairs."""
    table = records.load("kernel_solved_by")
    pairs = [(one, other) for one in LABELLING for other in LABELLING if one != other]

    def lead(data: str) -> list[float]:
        return mean_of(
            [
                differences(
                    table.values(other, data=data, solved_by=one),
                    table.values(other, data=data, solved_by=against(other)),
                )
                for one, other in pairs
            ]
        )

    return least(lead)


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson, from its records; `pairs` is not asked for, a record has its seeds."""
    regression = {
        "S10 few": ahead("KIP", 1, "random", 10),
        "S10 many": ahead("KIP", 10, "random", 100),
        "S10 mean": ahead("KIP", 1, "centres"),
        "S10 centres": ahead("KIP", 10, "centres"),
        "S10 labels": ahead("KIP, labels", 1, "KIP"),
        "S10 targets": ahead("KIP", 1, "KIP, 100 targets"),
        "S10 corruption": ahead("KIP, noise", 1, "random"),
        "S10 corruption hundred": ahead("KIP, noise", 10, "random"),
        "S11 solved": ahead("LS", 10, "random"),
        "S11 noise": ahead("LS, noise", 10, "random"),
        "S11 foreign": ahead("LS, foreign", 10, "random"),
    }
    kernels = {
        "S10 random kernels": random_kernels(lambda one: [other for other in SIX if other != one]),
        "S10 unseen kernel": random_kernels(lambda one: ["rbf"]),
    }
    taught = {
        "S10 student": ahead_as_teacher("KIP"),
        "S10 corrupted student": ahead_as_teacher("KIP, noise"),
    }
    labels = {"S11 transfer": transfer(lambda other: TRUE), "S11 transfer loss": transfer(lambda other: other)}
    return (
        measured(regression, BOTH)
        | measured(kernels, SIX_KERNELS)
        | measured(taught, STUDENTS)
        | measured(labels, FOUR_KERNELS)
    )
