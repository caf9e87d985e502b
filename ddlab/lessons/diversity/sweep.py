"""The sweeps of lesson 21: their points and what each measures (Du et al. 2024, arXiv 2409.17612: DWA's Figs 3 and 5, Tables 3, 4, 10).

Each seed is one pair: it is the seed of the draw of images and of the student; all points of a record share one teacher.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from ... import networks
from ...core import randomness
from ...data import ImageData
from ...evaluation import across, measures
from ...networks import Network
from ...records.setting import DWA, PAIRS, RANDOM, SRE2L, accuracies, prepare, setting, task_accuracies
from ...records.sweep import Place, Point, Sweep

REAL_IMAGES = 300
WEIGHTS = (0.01, 0.05, 0.11, 0.17, 0.23, 1.0)
STEPS, RADII = (1, 4, 12, 24), (0.005, 0.015, 0.05, 0.15, 0.5)
PUBLISHED: Point = {
    "initialisation": "real",
    "lambda_mean": 0.01,
    "lambda_var": 0.11,
    "perturbation": "directed",
    "adjustment_steps": 12,
    "adjustment_radius": 0.015,
}
FIELDS = tuple(PUBLISHED)
ARCHITECTURES = ("convnet", "resnet18", "vgg11", "mobilenet_v2", "shufflenet_v2_x0_5")
# Shorter than elsewhere, in smaller batches: ResNet-18 takes 1.5 CPU-seconds for 100 images of 16 px.
EPOCHS, BATCH_SIZE = 30, 25
_ON_SHAPES = "Shapes at 16 px (5,000 images), ConvNet-3 of width 32 as one teacher and as students, 150 iterations, students 100 epochs."
_MEASURED = (
    "Measured: accuracy with hard and with online labels, normalised feature distance, coverage of 300 real images."
)


def measured(point: Point, place: Place, *, scale: str) -> dict[str, float]:
    """What one point gives.

    hard, online       test accuracy of one student, a fraction in [0, 1], by the labels it learns from
    distance           normalised feature distance (`measures.feature_distance`), mean over classes
    coverage           share of 300 real images with an image of the set near them (`measures.nearest_neighbour_coverage`)
    """
    world = setting(scale, place)
    teacher, made = world.teacher(place), world.distilled(point, place)
    return accuracies(world, made, point["seed"], place) | {
        "distance": float(measures.feature_distance(made, teacher).mean()),
        "coverage": coverage(world.data, teacher, made.images),
    }


def coverage(data: ImageData, teacher: Network, images: torch.Tensor) -> float:
    """The share in [0, 1] of up to 300 real images that have one of `images` near them in the teacher's features."""
    draw = randomness.generator(0, 0, "real images of a record")  # the same real images for every point
    chosen = torch.randperm(len(data.train_labels), generator=draw)[:REAL_IMAGES]
    real = networks.predict(teacher, data.normalised(chosen)).features.flatten(1)
    return measures.nearest_neighbour_coverage(real, networks.predict(teacher, images).features.flatten(1))


def point(method: str, *, images_per_class: int, seed: int, **changes: Any) -> Point:
    """One point; a column that does not apply to its method is None.

    DWA's other values are the published ones; SRe2L's are its noise start and a weight of .01 on both terms.
    """
    own: Point = dict.fromkeys(FIELDS)
    if method == SRE2L:
        own |= {"initialisation": "noise", "lambda_mean": 0.01, "lambda_var": 0.01}
    if method == DWA:
        own |= PUBLISHED
    own |= changes
    if own["perturbation"] == "none":
        own |= {"adjustment_steps": None, "adjustment_radius": None}
    return {"method": method, "images_per_class": images_per_class, **own, "seed": seed}


def variance_sweep() -> list[Point]:
    """Fig 3: the weight of the variance term, alone (decoupled) and together with the mean's (coupled), for both methods."""
    return [
        {"weights": weights}
        | point(
            method,
            images_per_class=5,
            seed=seed,
            lambda_var=weight,
            lambda_mean=weight if weights == "coupled" else 0.01,
        )
        for method in (SRE2L, DWA)
        for weights in ("coupled", "decoupled")
        for weight in WEIGHTS
        for seed in range(5)
    ]


def adjustment_grid() -> list[Point]:
    """Fig 5: steps K by radius rho of the directed adjustment, and no adjustment."""
    changes: list[Point] = [{"perturbation": "none"}]
    changes += [{"adjustment_steps": k, "adjustment_radius": rho} for k in STEPS for rho in RADII]
    return [point(DWA, images_per_class=5, seed=seed, **change) for change in changes for seed in range(5)]


def perturbation_kinds() -> list[Point]:
    """Table 3: no, random and directed perturbation; random real images and SRe2L beside them."""
    points = []
    for images_per_class, seeds in ((1, 10), (10, 10), (50, 5)):
        for seed in range(seeds):
            shared = {"images_per_class": images_per_class, "seed": seed}
            points += [point(RANDOM, **shared), point(SRE2L, **shared)]
            points += [point(DWA, perturbation=kind, **shared) for kind in ("none", "random", "directed")]
    return points


def cifar10_small(seeds: int = 5) -> list[Point]:
    """CIFAR-10 at small scale: which part of DWA gives what."""
    return _parts(images_per_class=(5,), seeds=seeds)


def cifar10_paper(seeds: int = 3) -> list[Point]:
    """CIFAR-10 at the published scale."""
    return _parts(images_per_class=(10, 50), seeds=seeds)


def _parts(*, images_per_class: tuple[int, ...], seeds: int) -> list[Point]:
    """Real images, SRe2L, and a real start with each part of DWA added: the larger weight, decoupling, the adjustment."""
    ablation: list[Point] = [
        {"lambda_mean": 0.01, "lambda_var": 0.01, "perturbation": "none"},
        {"lambda_mean": 0.11, "lambda_var": 0.11, "perturbation": "none"},
        *({"perturbation": kind} for kind in ("none", "random", "directed")),
    ]
    points = []
    for count in images_per_class:
        for seed in range(seeds):
            shared = {"images_per_class": count, "seed": seed}
            points += [point(RANDOM, **shared), point(SRE2L, **shared)]
            points += [point(DWA, **shared, **changes) for changes in ablation]
    return points


def architectures() -> list[Point]:
    """Table 4: students of five families on the same sets of ten images per class."""
    return [
        {"architecture": architecture} | point(method, images_per_class=10, seed=seed)
        for method in (RANDOM, SRE2L, DWA)
        for seed in range(3)
        for architecture in ARCHITECTURES
    ]


def batch_norm_vit() -> list[Point]:
    """Table 9: the teacher is a ViT with batch norm."""
    return [point(method, images_per_class=10, seed=seed) for method in (RANDOM, SRE2L, DWA) for seed in range(5)]


def across_architectures(point: Point, place: Place) -> dict[str, float]:
    """online: test accuracy of one student of the point's architecture, a fraction in [0, 1], with online labels."""
    world = setting("shapes", place)
    teacher, family = world.teacher(place), point["architecture"]
    spec = world.student.network if family == "convnet" else networks.spec(family)
    config = world.student.replace(epochs=1 if place.smoke else EPOCHS, batch_size=BATCH_SIZE)
    found = across(
        world.distilled(point, place),
        world.data,
        networks=[spec],
        labels="online",
        teacher=teacher,
        seeds=(point["seed"],),
        config=config,
        device=place.device,
    )
    return {"online": found.evaluations[spec.title].mean}


def continual() -> list[Point]:
    """Table 10: five tasks of two classes, twenty images per class."""
    return [point(method, images_per_class=20, seed=seed) for method in (RANDOM, SRE2L, DWA) for seed in range(5)]


def in_tasks(point: Point, place: Place) -> dict[str, float]:
    """hard_2, ..., online_10: `task_accuracies` of the images of a point."""
    world = setting("shapes", place)
    return task_accuracies(world, world.distilled(point, place), point["seed"], place)


def _diversity(name: str, scale: str, settings: list[Point], description: str) -> Sweep:
    return Sweep(
        name=name,
        description=f"{description} {PAIRS} {_MEASURED}",
        settings=settings,
        run=functools.partial(measured, scale=scale),
        prepare=functools.partial(prepare, scale=scale),
    )


SWEEPS = (
    _diversity(
        "variance_sweep",
        "shapes",
        variance_sweep(),
        f"DWA, Fig 3: the weight of the variance term, alone and coupled with the mean's. {_ON_SHAPES} 5 images per class.",
    ),
    _diversity(
        "adjustment_grid",
        "shapes",
        adjustment_grid(),
        f"DWA, Fig 5: steps and radius of the directed adjustment. {_ON_SHAPES} 5 images per class.",
    ),
    _diversity(
        "perturbation_kinds",
        "shapes",
        perturbation_kinds(),
        f"DWA, Table 3: no, random and directed perturbation; real images and SRe2L beside them. {_ON_SHAPES}",
    ),
    Sweep(
        name="architectures",
        description=(
            f"DWA, Table 4: students of other architectures. {_ON_SHAPES} 10 images per class; these students 30 epochs in batches "
            f"of 25, and no EfficientNet, to stay within two cores. {PAIRS} Measured: accuracy with online labels. The first point "
            "of a set pays for its images."
        ),
        settings=architectures(),
        run=across_architectures,
        prepare=functools.partial(prepare, scale="shapes"),
    ),
    _diversity(
        "batch_norm_vit",
        "shapes_vit",
        batch_norm_vit(),
        "DWA, Table 9: images from a ViT with batch norm. Shapes at 16 px (5,000 images), a ViT of width 48 and three blocks as one "
        "teacher, ConvNet-3 of width 32 as students, 150 iterations, students 100 epochs, 10 images per class.",
    ),
    Sweep(
        name="continual",
        description=(
            f"DWA, Table 10: class-incremental learning (GDumb), five tasks of two classes. {_ON_SHAPES} 20 images per class. "
            f"{PAIRS} Measured: accuracy over the classes seen, with hard and with online labels; the teacher knows all classes."
        ),
        settings=continual(),
        run=in_tasks,
        prepare=functools.partial(prepare, scale="shapes"),
    ),
    _diversity(
        "cifar10_small",
        "cifar10_small",
        cifar10_small(),
        "The parts of DWA on CIFAR-10: 12,000 images, ConvNet-3 of width 48, 5 images per class, 200 iterations, students "
        "300 epochs.",
    ),
    _diversity(
        "cifar10_paper",
        "cifar10_paper",
        cifar10_paper(),
        "The parts of DWA on CIFAR-10 at the published settings: ResNet-18, 1,000 iterations, students 400 epochs.",
    ),
)
