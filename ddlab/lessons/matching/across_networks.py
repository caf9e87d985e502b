"""The sweeps of claim S6 over networks (DC: Zhao et al. 2021, arXiv 2006.05929): what learned images owe to the network that they were
learned in, one digit per class.

Sizes were chosen beforehand by the time of two cores: fifty networks at real batches of 32 are ten seconds for a set in the ConvNet. An
update in AlexNet takes ten times as long, in VGG-11 forty and in ResNet-18 sixty times, so that these teach nobody here, and VGG-11
learns nothing either; the whole matrix stands in `matching_transfer_large`, for a GPU. Group norm is left out: its 32 groups are
instance norm at width 32.
"""

from __future__ import annotations

import functools
from typing import Any

from ... import networks
from ...distilled import DistilledSet
from ...evaluation import across, evaluate
from ...methods import dc, selection
from ...networks import NetworkSpec
from ...records.setting import kept
from ...records.sweep import Place, Point, Sweep
from ...runs.process import Inputs
from .sets import DC, FEW, SMALL, loaded
from .world import student_config

DEFAULT: Point = {"norm": "instance", "pooling": "average", "activation": "relu"}
CHANGES: list[Point] = [
    {},
    *({"norm": norm} for norm in ("none", "batch", "layer")),
    {"pooling": "max"},
    *({"activation": activation} for activation in ("leaky_relu", "sigmoid")),
]
FAMILIES: dict[str, NetworkSpec] = {
    "mlp": networks.spec("mlp"),
    "lenet": networks.spec("lenet"),
    "convnet": SMALL,
    "alexnet": networks.spec("alexnet"),
    "vgg11": networks.spec("vgg11"),
    "resnet18": networks.spec("resnet18"),
}
REAL = "random real images"
SOURCES, STUDENTS = ("convnet", "mlp", "lenet"), ("mlp", "lenet", "convnet", "alexnet", "resnet18")
EPOCHS = 60  # of those students: one update each


def learned(network: NetworkSpec, point: Point, place: Place, **changes: Any) -> DistilledSet:
    """One digit per class by DC in this network, from the real images of the seed."""
    many: dict[str, Any] = FEW[DC] if place.smoke else {"networks": 50, "batch_size": 32} | changes
    config = dc.Config(network=network, initialisation="real", seed=point["seed"], **many)
    return kept(dc, config, _digits(place), place, DistilledSet.load)


def real(point: Point, place: Place) -> DistilledSet:
    """One random real digit per class."""
    config = selection.Config(images_per_class=1, seed=point["seed"])
    return kept(selection, config, _digits(place), place, DistilledSet.load)


def changed(point: Point, place: Place) -> dict[str, float]:
    """learned, real: test accuracy of one student, the network of the point, by class numbers, a fraction in [0, 1]."""
    network = networks.spec("convnet", width=32, **{name: point[name] for name in DEFAULT})
    config = student_config(loaded("digits"), network=network, **({"epochs": 2} if place.smoke else {}))
    options: dict[str, Any] = {"seeds": (point["seed"],), "config": config, "device": place.device}
    sets = {"learned": learned(network, point, place), "real": real(point, place)}
    return {name: evaluate(made, loaded("digits"), labels="hard", **options).mean for name, made in sets.items()}


def transferred(
    point: Point, place: Place, *, students: tuple[str, ...], epochs: int, **changes: Any
) -> dict[str, float]:
    """Family of the student -> its test accuracy by class numbers, a fraction in [0, 1]."""
    source, images = point["source"], loaded("digits")
    made = real(point, place) if source == REAL else learned(FAMILIES[source], point, place, **changes)
    config = student_config(images, epochs=1 if place.smoke else epochs)
    asked = [FAMILIES[name] for name in students]
    found = across(
        made, images, networks=asked, labels="hard", seeds=(point["seed"],), config=config, device=place.device
    )
    return {name: found.evaluations[spec.title].mean for name, spec in zip(students, asked, strict=True)}


def _digits(place: Place) -> Inputs:
    return Inputs(data=loaded("digits"), device=place.device)


def _from(*sources: str) -> list[Point]:
    return [{"source": source, "seed": seed} for source in (REAL, *sources) for seed in range(3)]


SWEEPS = (
    Sweep(
        name="matching_networks",
        description=(
            "DC in other ConvNets of width 32, one digit per class, 16 px: one option changed at a time. 50 networks, real batches of 32; "
            "students are the same network, 100 epochs. A seed is the draw of images and the student's seed. Measured: accuracy with "
            "class numbers on learned images and on the random real ones of the seed."
        ),
        settings=[DEFAULT | change | {"seed": seed} for change in CHANGES for seed in range(5)],
        run=changed,
    ),
    Sweep(
        name="matching_transfer",
        description=(
            "Images that DC learned in one network, and random real ones, for students of other families: one digit per class, 16 px, "
            f"50 networks, real batches of 32, students {EPOCHS} epochs. A seed is the draw of images and the student's seed. Measured: "
            "accuracy with class numbers, a column for each student."
        ),
        settings=_from(*SOURCES),
        run=functools.partial(transferred, students=STUDENTS, epochs=EPOCHS),
    ),
    Sweep(
        name="matching_transfer_large",
        description=(
            "The same for six families by six, 100 networks, real batches of 64, students 100 epochs: a quarter of an hour for a set "
            "in VGG-11 or ResNet-18 on one core."
        ),
        settings=_from(*FAMILIES),
        run=functools.partial(transferred, students=tuple(FAMILIES), epochs=100, networks=100, batch_size=64),
    ),
)
