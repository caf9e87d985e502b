"""The sweeps of lesson 05. Here: images of each class by every rule, and what a student learns from them by class numbers."""

from __future__ import annotations

from ...distilled import DistilledSet
from ...evaluation import evaluate
from ...records.sweep import Place, Point, Sweep
from ...runs import cache
from ...runs.process import Inputs
from . import across_networks, other_uses, siamese
from .sets import DC, DM, SCENES, SELECTED, loaded, process_of
from .world import student_config

RULES = (*SELECTED, DM, DC)
SEEDS = range(10)


def points() -> list[Point]:
    """Every rule on both datasets."""
    return [{"data": name, "rule": rule, "seed": seed} for name in SCENES for rule in RULES for seed in SEEDS]


def made(point: Point, place: Place) -> DistilledSet:
    """The images of a point; the centres are the same for every seed but for where k-means begins."""
    module, config = process_of(point, place)
    return cache.run(module, config, Inputs(data=loaded(point["data"]), device=place.device))


def taught(point: Point, place: Place) -> dict[str, float]:
    """hard: test accuracy of one student on the images of a point, by class numbers, a fraction in [0, 1]."""
    images = loaded(point["data"])
    config = student_config(images, **({"epochs": 2} if place.smoke else {}))
    found = evaluate(
        made(point, place), images, labels="hard", seeds=(point["seed"],), config=config, device=place.device
    )
    return {"hard": found.mean}


SWEEPS = (
    Sweep(
        name="matching",
        description=(
            "DC's Table 1 in small: one digit per class and ten shapes per class, 16 px, by selection, DM and DC (from real images, "
            "ConvNet-3 of width 32 with instance norm, real batches of 64, no views). A seed is the draw of images and the student's "
            "seed; students are the same ConvNet, 100 epochs. Measured: accuracy with class numbers."
        ),
        settings=points(),
        run=taught,
    ),
    *siamese.SWEEPS,
    *across_networks.SWEEPS,
    *other_uses.SWEEPS,
)
