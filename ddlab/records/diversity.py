"""What the records about diversity measure, and their points: DWA's Figs 3 and 5 and Table 3 (Du et al. 2024, arXiv 2409.17612).

Each seed is one pair: it is the seed of the draw of images and of the student; all points of a record share one teacher.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import networks
from ..core import randomness
from ..data import ImageData
from ..evaluation import evaluate, measures
from ..networks import Network
from .setting import DWA, RANDOM, SRE2L, setting
from .sweep import Place, Point

REAL_IMAGES = 300
FIELDS = (
    "initialisation", "lambda_mean", "lambda_var", "perturbation", "adjustment_steps", "adjustment_radius",
)  # fmt: skip
WEIGHTS = (0.01, 0.05, 0.11, 0.17, 0.23, 1.0)
STEPS, RADII = (1, 4, 12, 24), (0.005, 0.015, 0.05, 0.15, 0.5)
PUBLISHED: Point = {"initialisation": "real", "lambda_mean": 0.01, "lambda_var": 0.11, "perturbation": "directed",
                    "adjustment_steps": 12, "adjustment_radius": 0.015}  # fmt: skip


def measured(point: Point, place: Place, *, scale: str) -> dict[str, float]:
    """What one point gives.

    hard, online       test accuracy of one student, a fraction in [0, 1], by the labels it learns from
    distance           normalised feature distance (`measures.feature_distance`), mean over classes
    coverage           share of 300 real images with an image of the set near them (`measures.nearest_neighbour_coverage`)
    """
    world = setting(scale, place)
    teacher, made = world.teacher(place), world.distilled(point, place)
    found = {}
    for labels in ("hard", "online"):
        tested = evaluate(
            made, world.data, labels=labels, teacher=teacher, seeds=(point["seed"],), config=world.student,
            device=place.device,
        )  # fmt: skip
        found[labels] = tested.mean
    return found | {
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
        {"weights": weights} | point(
            method, images_per_class=5, seed=seed, lambda_var=weight,
            lambda_mean=weight if weights == "coupled" else 0.01,
        )
        for method in (SRE2L, DWA) for weights in ("coupled", "decoupled") for weight in WEIGHTS for seed in range(5)
    ]  # fmt: skip


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
