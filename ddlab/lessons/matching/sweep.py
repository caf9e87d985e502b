"""The sweep of lesson 05: images of each class by every rule, and what a student learns from them by class numbers."""

from __future__ import annotations

from typing import Any

from ... import data, networks
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import evaluate
from ...methods import dc, dm, selection
from ...records.sweep import Place, Point, Sweep
from ...runs import cache
from ...runs.process import Inputs
from .world import student_config

DM, DC = "DM", "DC"
SELECTED = ("random", "herding", "k_center", "forgetting", "k_means", "centres")
RULES = (*SELECTED, DM, DC)
SEEDS = range(10)
SCENES = {"digits": 1, "shapes": 10}
"""Dataset -> images per class."""
_SMALL = networks.spec("convnet", width=32, norm="instance")
# Chosen beforehand by the time they take: about half a minute of one core for a set.
_UPDATES: dict[str, dict[str, dict[str, Any]]] = {
    "digits": {DM: {"iterations": 200}, DC: {"networks": 100}},
    "shapes": {DM: {"iterations": 300}, DC: {"networks": 15, "outer_steps": 10, "inner_epochs": 10}},
}


def points() -> list[Point]:
    """Every rule on both datasets."""
    return [{"data": name, "rule": rule, "seed": seed} for name in SCENES for rule in RULES for seed in SEEDS]


def loaded(name: str) -> ImageData:
    """Digits at 16 px, or shapes at 16 px, 5,000 of them."""
    return data.load("digits") if name == "digits" else data.load("shapes", size=16)


def made(point: Point, place: Place) -> DistilledSet:
    """The images of a point; the centres are the same for every seed but for where k-means begins."""
    rule, images = point["rule"], loaded(point["data"])
    shared: dict[str, Any] = {"images_per_class": SCENES[point["data"]], "seed": point["seed"]}
    if rule in SELECTED:
        module, config = selection, selection.Config(kind=rule, **shared)
    else:
        module = dm if rule == DM else dc
        few: dict[str, Any] = {"iterations": 2} if rule == DM else {"networks": 1, "outer_steps": 1}
        plain: dict[str, Any] = {"strategy": ""} if rule == DM else {}
        own = shared | plain | (few if place.smoke else _UPDATES[point["data"]][rule])
        config = module.Config(network=_SMALL, batch_size=64, initialisation="real", **own)
    return cache.run(module, config, Inputs(data=images, device=place.device))


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
)
