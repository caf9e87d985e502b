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
from .sweep import DATA, LABELLING, TRUE

Rule = tuple[str, int]  # of selection or learning, and its images per class
PAPER, CONTROL = "Nguyen, Chen & Lee 2021, {}", "control that the paper has not got"
ONE, TWO, THREE = map(PAPER.format, ("single kernel", "kernel to kernel", "kernel to neural network"))
BOTH = "digits and shapes 16 px, kernel regression with the NTK of FC1"
STUDENTS = "digits 16 px, 1 image per class, and shapes 16 px, 10; ConvNet-3 of width 32 with instance norm"
SIX_KERNELS = "digits 16 px, 1 image per class, NTK of fc1 to fc3 and conv1 to conv3"
FOUR_KERNELS = f"digits and shapes 16 px, 100 real images, {', '.join(LABELLING)}"
LITTLE = 0.02  # of accuracy
WORDS = {
    "random": "random real images", "centres": "k-means centres", "KIP": "KIP", "KIP, labels": "KIP with learned labels",
    "KIP, 100 targets": "KIP with 100 instead of 1,000 real images in an update", "KIP, noise": "KIP with 90% fixed noise",
    "LS": "label solve on random real images", "LS, noise": "label solve on noise",
    "LS, foreign": "label solve on images of the other dataset",
}  # fmt: skip
POINTS: dict[str, tuple[str, str, Rule, Rule]] = {
    "S10 few": (ONE, "Ten learned images are worth more to kernel regression than a hundred natural ones.",
                ("KIP", 1), ("random", 10)),
    "S10 many": (ONE, "A hundred learned images are worth more to kernel regression than a thousand natural ones.",
                 ("KIP", 10), ("random", 100)),
    "S10 mean": (CONTROL, "With one image per class learned images are worth more than the mean image of each class.",
                 ("KIP", 1), ("centres", 1)),
    "S10 centres": (CONTROL, "With ten images per class learned images are worth more than k-means centres.",
                    ("KIP", 10), ("centres", 10)),
    "S10 labels": (ONE, "Labels that are learned with the images add to them.", ("KIP, labels", 1), ("KIP", 1)),
    "S10 targets": (ONE, "The more real images in an update, the better the learned ones.",
                    ("KIP", 1), ("KIP, 100 targets", 1)),
    "S10 corruption": (ONE, "Ten learned images of which 90% stays noise are worth more than ten natural ones.",
                       ("KIP, noise", 1), ("random", 1)),
    "S10 corruption hundred": (ONE, "A hundred learned images of which 90% stays noise are worth more than as many natural ones.",
                               ("KIP, noise", 10), ("random", 10)),
    "S11 solved": (ONE, "Solved labels make a hundred real images worth more than their true ones do.", ("LS", 10), ("random", 10)),
    "S11 noise": (CONTROL, "A hundred images of noise with solved labels are worth more than a hundred real ones with true labels.",
                  ("LS, noise", 10), ("random", 10)),
    "S11 foreign": (CONTROL, "A hundred images of another dataset with solved labels are, too.", ("LS, foreign", 10), ("random", 10)),
}  # fmt: skip
"""Claims of accuracy of the regression: source, statement, the rule that is better, and than which."""
STUDENTS_OF: dict[str, tuple[str, str, float]] = {
    "S10 student": ("KIP", "Images learned for a kernel teach a trained network more than random real images.", 0.05),
    "S10 corrupted student": ("KIP, noise", "Even images learned with 90% fixed noise do.", LITTLE),
}  # fmt: skip
KERNELS = {
    "S10 random kernels": (TWO, "Learned with a random kernel in each update, images do better in other kernels than learned with one.",
                           "learned with random kernels minus learned with one of six, in the other five; mean over the six", LITTLE),
    "S10 unseen kernel": (CONTROL, "They also do better in a kernel that neither has learned with.",
                          "with RBF, learned with random kernels minus learned with one; mean over the six", LITTLE),
    "S11 transfer": (TWO, "In another kernel solved labels are at least as good as true ones, but for a little.",
                     "labels solved with another kernel minus true labels, mean over 12 pairs, least of digits and shapes", -LITTLE),
    "S11 transfer loss": (CONTROL, "Labels solved with another kernel lose little against labels solved with the same one.",
                          "labels solved with another kernel minus with the same, mean over 12 pairs, least of digits and shapes", -LITTLE),
}  # fmt: skip


def _claim(name: str, source: str, statement: str, effect: str, claimed: float) -> Claim:
    return Claim(name, source, statement, effect=effect, claimed=claimed, lesson=NAME, test="small")


def _minus(better: Rule, than: Rule) -> str:
    """The effect in words."""
    (rule, count), (other, others) = better, than
    return (
        f"accuracy of the regression, {WORDS[rule]}, {count} per class, minus {WORDS[other]}, {others}, "
        "least of digits and shapes"
    )


_TAUGHT = "accuracy with class numbers, {} minus random real images, least of one digit and ten shapes per class"
CLAIMS = [
    *(_claim(name, source, said, _minus(one, two), LITTLE) for name, (source, said, one, two) in POINTS.items()),
    *(_claim(name, source, said, f"accuracy, {words}", size) for name, (source, said, words, size) in KERNELS.items()),
    *(_claim(name, THREE, said, _TAUGHT.format(WORDS[rule]), size) for name, (rule, said, size) in STUDENTS_OF.items()),
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


def mean_lead(name: str, pairs: Sequence[tuple[dict[str, str], dict[str, str], str]]) -> list[float]:
    """For each seed: rows of the record `name` minus others, in one column; mean over all (rows, others, column)."""
    table = records.load(name)
    leads = [
        differences(table.values(column, **rows), table.values(column, **others)) for rows, others, column in pairs
    ]
    return [statistics.fmean(seed) for seed in zip(*leads, strict=True)]


def random_kernels(asked: Callable[[str], Sequence[str]]) -> list[float]:
    """For each seed: learned with random kernels minus with one, in the kernels that are `asked` for that one, mean over all."""
    pairs = [({"learned_by": RANDOM}, {"learned_by": one}, other) for one in SIX for other in asked(one)]
    return mean_lead("kernel_learned_by", pairs)


def transfer(against: Callable[[str], str]) -> list[float]:
    """For each seed: labels solved with one kernel, used in another, minus labels `against` them there, mean over all pairs."""
    pairs = [(one, other) for one in LABELLING for other in LABELLING if one != other]

    def lead(data: str) -> list[float]:
        sides = [
            ({"data": data, "solved_by": one}, {"data": data, "solved_by": against(other)}, other)
            for one, other in pairs
        ]
        return mean_lead("kernel_solved_by", sides)

    return least(lead)


def effects(pairs: int) -> dict[str, Measured]:
    """All claims of the lesson, from its records; `pairs` is not asked for, a record has its seeds."""
    points = {
        name: least(lambda data, one=one, two=two: differences(accuracies(data, *one), accuracies(data, *two)))
        for name, (_, _, one, two) in POINTS.items()
    }
    taught = {
        name: least(lambda data, rule=rule: differences(students(data, rule), students(data, "random")))
        for name, (rule, _, _) in STUDENTS_OF.items()
    }
    kernels = {
        "S10 random kernels": random_kernels(lambda one: [other for other in SIX if other != one]),
        "S10 unseen kernel": random_kernels(lambda one: ["rbf"]),
    }
    labels = {"S11 transfer": transfer(lambda other: TRUE), "S11 transfer loss": transfer(lambda other: other)}
    sixth, fourth = measured(kernels, SIX_KERNELS), measured(labels, FOUR_KERNELS)
    return measured(points, BOTH) | sixth | measured(taught, STUDENTS) | fourth
