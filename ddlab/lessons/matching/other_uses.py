"""The sweeps that ask more of the sets: a teacher's labels (X1), classes that come in tasks, CIFAR-10, and the published settings.

Sizes were chosen beforehand by the time of two cores; the published settings are for a GPU.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from ...distilled import DistilledSet
from ...evaluation import class_incremental, evaluate
from ...methods import dc, dm, dsa, selection
from ...records.setting import SRE2L, Setting, accuracies, kept, loaded_images, setting
from ...records.sweep import Place, Point, Sweep
from ...runs.process import Inputs
from ...training import supervised
from .sets import DC, DM, DSA, FEW, SMALL, kept_set, loaded
from .world import student_config

LABELLED = ("random", DC, DM, "herding", SRE2L, "centres")
REMEMBERED = ("random", "herding", DC, DSA)
CIFAR10: dict[str, dict[int, dict[str, Any]]] = {
    DM: {1: {"iterations": 100}, 10: {"iterations": 100}},
    DC: {1: {"networks": 50}, 10: {"networks": 5, "outer_steps": 10, "inner_epochs": 10}},
}
"""Rule -> images per class -> updates."""
PUBLISHED = {DC: dc, DSA: dsa, DM: dm}


def with_a_teacher(place: Place) -> Setting:
    """The lesson's shapes and students, and the teacher of the setting "shapes"."""
    images = loaded("shapes")
    return replace(setting("shapes", place), data=images, student=student_config(images, **_short(place)))


def labelled(point: Point, place: Place) -> dict[str, float]:
    """hard, online: test accuracy of one student by class numbers and by the teacher's labels of every view, a fraction in [0, 1]."""
    world = with_a_teacher(place)
    if point["rule"] == SRE2L:
        made = world.distilled({"method": SRE2L, "images_per_class": 10, "seed": point["seed"]}, place)
    else:
        made = kept_set({"data": "shapes", **point}, place)
    return accuracies(world, made, point["seed"], place)


def remembered(point: Point, place: Place) -> dict[str, float]:
    """hard_2, ..., hard_10: test accuracy of one student over the classes seen, by class numbers, a fraction in [0, 1]."""
    images, made = loaded("shapes"), kept_set({"data": "shapes", "views": "shared", **point}, place)
    options: dict[str, Any] = {"config": student_config(images, **_short(place)), "device": place.device}
    run = class_incremental(made, images, labels="hard", tasks=5, seeds=(point["seed"],), **options)
    return {f"hard_{len(stage.classes)}": stage.evaluation.mean for stage in run.stages}


def on_cifar10(point: Point, place: Place) -> dict[str, float]:
    """hard: test accuracy of one student by class numbers, a fraction in [0, 1]."""
    images = loaded_images(place.data or "cifar10", "cifar10", place.smoke, limit=1200)
    rule, count = point["rule"], point["images_per_class"]
    shared: dict[str, Any] = {"images_per_class": count, "seed": point["seed"]}
    module, config = selection, selection.Config(**shared)
    if rule != "random":
        module = PUBLISHED[rule]
        plain = {"strategy": ""} if rule == DM else {}
        shared |= plain | (FEW[rule] if place.smoke else CIFAR10[rule][count])
        config = module.Config(network=SMALL, batch_size=64, initialisation="real", **shared)
    made = kept(module, config, Inputs(data=images, device=place.device), place, DistilledSet.load)
    options: dict[str, Any] = {"config": student_config(images, **_short(place)), "device": place.device}
    return {"hard": evaluate(made, images, labels="hard", seeds=(point["seed"],), **options).mean}


def as_published(point: Point, place: Place, *, dataset: str) -> dict[str, float]:
    """hard: the same, of the published settings."""
    images = loaded_images(place.data or dataset, dataset, place.smoke)
    module = PUBLISHED[point["rule"]]
    few = FEW[DM if module is dm else DC] if place.smoke else {}
    config = module.Config.paper(dataset, images_per_class=point["images_per_class"], seed=point["seed"], **few)
    made = kept(module, config, Inputs(data=images, device=place.device), place, DistilledSet.load, long=True)
    student = supervised.Config.paper(dataset, recipe="dc" if module is dc else "dsa", **_short(place))
    found = evaluate(made, images, labels="hard", seeds=(point["seed"],), config=student, device=place.device)
    return {"hard": found.mean}


def _short(place: Place) -> dict[str, Any]:
    return {"epochs": 2} if place.smoke else {}


def _prepare(place: Place) -> None:
    with_a_teacher(place).teacher(place)


def _grid(rules: tuple[str, ...]) -> list[Point]:
    return [
        {"rule": rule, "images_per_class": count, "seed": seed}
        for rule in rules
        for count in (1, 10)
        for seed in range(3)
    ]


_SETS = "Ten shapes per class, 16 px: the sets of the record `matching`, five seeds of each rule"
_STUDENTS = "Students are ConvNet-3 of width 32 with instance norm, 100 epochs."
SWEEPS = (
    Sweep(
        name="matching_labels",
        description=(
            f"{_SETS}, and SRe2L's, by class numbers and by the labels of one teacher (ConvNet-3 of width 32 with batch norm) for every "
            f"view. {_STUDENTS} A seed is the draw of images and the student's seed. Measured: accuracy by both."
        ),
        settings=[{"rule": rule, "seed": seed} for rule in LABELLED for seed in range(5)],
        run=labelled,
        prepare=_prepare,
    ),
    Sweep(
        name="matching_continual",
        description=(
            f"{_SETS}, and DSA's, as the memory of a learner to whom classes come in five tasks of two (GDumb). {_STUDENTS} A seed is "
            "the draw of images and the student's seed. Measured: accuracy over the classes seen, by class numbers, no views."
        ),
        settings=[{"rule": rule, "seed": seed} for rule in REMEMBERED for seed in range(5)],
        run=remembered,
    ),
    Sweep(
        name="matching_cifar10",
        description=(
            "CIFAR-10, 12,000 images, one and ten per class by random choice, DM (100 updates) and DC (50), from real images, real "
            f"batches of 64, no views. {_STUDENTS} A seed is the draw of images and the student's seed. Measured: accuracy with class "
            "numbers."
        ),
        settings=_grid(("random", DM, DC)),
        run=on_cifar10,
    ),
    *(
        Sweep(
            name=f"matching_{dataset}_paper",
            description=(
                f"DC, DSA and DM on {name} at the published settings: ConvNet-3 of width 128 with instance norm, one and ten images per "
                "class, students 300 epochs, with views 1,000. Measured: accuracy with class numbers."
            ),
            settings=_grid((DC, DSA, DM)),
            run=functools.partial(as_published, dataset=dataset),
        )
        for dataset, name in (("mnist", "MNIST"), ("cifar10", "CIFAR-10"))
    ),
)
