"""The sweeps of lesson 30: their points and what each measures (Cui et al. 2025, arXiv 2506.24125: FADRM's Tables 3, 5 and 6, Fig 6).

Each seed is one pair: it is the seed of the draw of images and of the student; all points of a record share one teacher.

Three controls ask what the residual does beyond keeping images near the real ones that they began with (their patches):
stopped early     the run without merges, stopped in each batch as soon as it is as far from its patches as FADRM's images are
pulled back       that run to its end, then one step back towards the patches, to the same distance
a crop, a real image, a mosaic as they are: RDED and random real images
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ... import networks
from ...distilled import DistilledSet, OnlineTeacher
from ...evaluation import entropy, evaluate
from ...methods import fadrm
from ...methods.distillation import from_images
from ...networks import Network
from ...records.setting import (
    FADRM,
    PAIRS,
    RANDOM,
    RDED,
    SRE2L,
    Setting,
    accuracies,
    kept,
    prepare,
    setting,
    task_accuracies,
)
from ...records.sweep import Place, Point, Sweep
from ...runs import process
from ...runs.process import Inputs
from ...training import supervised
from ...training.relabelling import relabelled

SCALE = "shapes64"
STOPPED, PULLED_BACK = "stopped early", "pulled back"
PUBLISHED: Point = {
    "merge_ratio": 0.5,
    "merges": 3,
    "small_size": None,
    "patches": "real",
    "precision": "float32",
    "factor": None,
}
FIELDS = tuple(PUBLISHED)
OTHERS = ("shufflenet_v2_x0_5", "mobilenet_v2", "vgg11")
"""The other networks of FADRM+ here, beside the ConvNet: the paper's DenseNet-121 takes too long for two cores."""
RATIOS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
SMALL_SIZE = 48
SEEDS = range(5)
_SMALL_BATCHES: Point = {"batch_size": 16}
_TRAIN_MODE: Point = _SMALL_BATCHES | {"teacher_mode": "train", "teacher_batch_size": 8}
_CUTMIX: Point = _TRAIN_MODE | {"mixup_alpha": 0.0, "cutmix_alpha": 1.0}
LABELS: dict[str, tuple[str, Point]] = {
    "class numbers": ("hard", {}),
    "stored once": ("stored", {}),
    "for every view": ("online", {}),
    "for every view, batches of 16": ("online", _SMALL_BATCHES),
    "the same, teacher in train mode": ("online", _TRAIN_MODE),
    "the same, CutMix": ("online", _CUTMIX),
    "the same, stored for every epoch": ("epochs", _CUTMIX),
    "the same, learning rate ends at half": ("online", _CUTMIX | {"stretch": 2.0}),
}
"""Labels and views in words -> (kind of labels, changes of the student's config): step by step to FADRM's student."""
_AT_64 = (
    "Shapes at 64 px (4,000 images, 1,000 to test), ConvNet-5 of width 16 with a global mean as one teacher (shipped) and as students, "
    "120 iterations, 5 images per class, students 100 epochs."
)


def point(method: str, *, seed: int, images_per_class: int = 5, **changes: Any) -> Point:
    """One point; a column that does not apply to its method is None. FADRM's other values are the published ones, at full size."""
    own: Point = dict.fromkeys(FIELDS) | (PUBLISHED if method in (FADRM, STOPPED, PULLED_BACK) else {}) | changes
    return {"method": method, "images_per_class": images_per_class, **own, "seed": seed}


def ratio_grid() -> list[Point]:
    """Table 5: merge ratio (1: no residual) by optimisation at full size or at two sizes."""
    return [
        point(FADRM, seed=seed, merge_ratio=ratio, small_size=size)
        for size in (None, SMALL_SIZE)
        for ratio in RATIOS
        for seed in SEEDS
    ]


def merge_counts() -> list[Point]:
    """Table 6, left: the number of merges, at full size as for CIFAR-100."""
    return [point(FADRM, seed=seed, merges=merges) for merges in range(7) for seed in SEEDS]


def small_sizes() -> list[Point]:
    """Table 6, right: the smaller size."""
    return [point(FADRM, seed=seed, small_size=size) for size in (32, 40, SMALL_SIZE, None) for seed in SEEDS]


def controls() -> list[Point]:
    """The patches as they are, SRe2L, FADRM from each kind of patch and at half precision, and what else keeps images near patches."""
    kinds: list[tuple[str, Point]] = [
        (RANDOM, {}),
        (RDED, {"factor": 1}),
        (RDED, {"factor": 2}),
        (SRE2L, {}),
        (FADRM, {}),
        (FADRM, {"patches": "crop"}),
        (FADRM, {"patches": "mosaic"}),
        (FADRM, {"precision": "bfloat16"}),
        (STOPPED, {}),
        (PULLED_BACK, {}),
    ]
    return [point(method, seed=seed, **changes) for method, changes in kinds for seed in SEEDS]


def settings() -> list[Point]:
    """All of them in one table, each point once."""
    points = ratio_grid() + controls() + merge_counts() + small_sizes()
    return list({tuple(point.values()): point for point in points}.values())


def continual() -> list[Point]:
    """Fig 6: five tasks of two classes."""
    return [point(method, seed=seed, **own) for method, own in ((RDED, {"factor": 1}), (FADRM, {})) for seed in SEEDS]


def labels() -> list[Point]:
    """What FADRM's images and their patches teach by each of `LABELS`."""
    return [
        {"labels": name} | point(method, seed=seed) for name in LABELS for method in (RANDOM, FADRM) for seed in SEEDS
    ]


def several_networks() -> list[Point]:
    """Table 5, both halves: one network or four in turn, without and with the residual."""
    return [
        {"networks": count} | point(FADRM, seed=seed, merge_ratio=ratio)
        for count in (1, 1 + len(OTHERS))
        for ratio in (1.0, 0.5)
        for seed in SEEDS
    ]


def cifar10_paper() -> list[Point]:
    """CIFAR-10 at the published scale: FADRM in mixed precision, with and without its residual, beside patches, RDED and SRe2L."""
    published: Point = {"precision": "bfloat16", "iterations": 2000}
    kinds: list[tuple[str, Point]] = [
        (RANDOM, {}),
        (RDED, {"factor": 1}),
        (SRE2L, {}),
        (FADRM, {**published, "merge_ratio": 1.0}),
        (FADRM, published),
        (STOPPED, published),
    ]
    return [
        point(method, seed=seed, images_per_class=10, **({"iterations": None} | changes))
        for method, changes in kinds
        for seed in range(3)
    ]


def by_labels(point: Point, place: Place) -> dict[str, float]:
    """accuracy: of one student on the test images, a fraction in [0, 1]."""
    world, (kind, changes) = setting(SCALE, place), LABELS[point["labels"]]
    made, teacher, config = distilled(point, place), world.teacher(place), world.student.replace(**changes)
    if kind == "epochs":
        # The labels' views have their seed: another one for each point, as for labels that are asked for online.
        views = config.replace(seed=point["seed"])
        made = relabelled(made, teacher, labels="epochs", views=views, epochs=config.epochs, device=place.device)
    found = evaluate(
        made, world.data, labels=kind, teacher=teacher, seeds=(point["seed"],), config=config, device=place.device
    )
    return {"accuracy": found.mean}


def teachers(world: Setting, place: Place) -> tuple[Network, ...]:
    """The networks of FADRM+, trained alike; the setting's own is the first."""
    inputs = Inputs(data=world.data, device=place.device)
    configs = [world.teaching.replace(network=networks.spec(family)) for family in OTHERS]
    return (world.teacher(place), *(kept(supervised, one, inputs, place, networks.load) for one in configs))


def by_networks(point: Point, place: Place) -> dict[str, float]:
    """own, four: test accuracy of one student by labels of the networks that made the images, and of all four, for every view."""
    world = setting("shapes", place)
    four = teachers(world, place)
    own = {**point, "merges": 1} if place.smoke else point  # few steps have no room for more stages
    module, config = world.config(own, place)
    inputs = Inputs(data=world.data, teachers=four[: point["networks"]], device=place.device)
    made = kept(module, config, inputs, place, DistilledSet.load)
    found = {}
    for name, asked in (("own", inputs.teachers), ("four", four)):
        first, *others = (network.fingerprint for network in asked)
        named = replace(made, targets=(made.target("hard"), OnlineTeacher(first, tuple(others))))
        options: dict[str, Any] = {"seeds": (point["seed"],), "config": world.student, "device": place.device}
        found[name] = evaluate(named, world.data, labels="online", teacher=asked, **options).mean
    return found


def measured(point: Point, place: Place, *, scale: str = SCALE) -> dict[str, float]:
    """What one point gives.

    hard, online       test accuracy of one student, a fraction in [0, 1], by the labels it learns from
    pixel_entropy      bits, mean over images (`entropy.pixel_entropy`)
    contrast           standard deviation over the pixels of an image, in normalised units, mean over images
    """
    world = setting(scale, place)
    made = distilled(point, place, scale=scale)
    bits = entropy.pixel_entropy(made.to_uint8()).mean()
    return accuracies(world, made, point["seed"], place) | {
        "pixel_entropy": float(bits),
        "contrast": float(made.images.std((1, 2, 3)).mean()),
    }


def in_tasks(point: Point, place: Place) -> dict[str, float]:
    """hard_2, ..., online_10: `task_accuracies` of the images of a point."""
    return task_accuracies(setting(SCALE, place), distilled(point, place), point["seed"], place)


def distilled(point: Point, place: Place, *, scale: str = SCALE) -> DistilledSet:
    """The images of a point."""
    world = setting(scale, place)
    if point["method"] in (STOPPED, PULLED_BACK):
        reference = world.distilled({**point, "method": FADRM}, place)
        return at_the_distance_of(reference, world, point, place)
    return world.distilled(point, place)


def at_the_distance_of(reference: DistilledSet, world: Setting, point: Point, place: Place) -> DistilledSet:
    """The images of a run without merges, brought to the distance from the patches that `reference` has, batch by batch."""
    inputs, count = world.inputs(place), point["images_per_class"]
    _, config = world.config({**point, "method": FADRM, "merges": 0}, place)
    patches = batches(world.distilled(patches_of(point), place), count)
    wanted = entropy.distance_to(batches(reference, count).flatten(0, 1), patches.flatten(0, 1)).view(count, -1).mean(1)
    found: list[Tensor] = []
    for step in process.steps(fadrm, config, inputs):
        batch, iteration = divmod(step.index - 1, config.iterations)
        last = iteration + 1 == config.iterations
        images = (step.state.done[batch] if last else step.state.images).cpu()
        if len(found) > batch:
            continue
        distance = entropy.distance_to(images, patches[batch]).mean()
        if point["method"] == STOPPED and (last or distance >= wanted[batch]):
            found.append(images)
        elif last:
            share = min(float(wanted[batch] / distance), 1.0)
            found.append(patches[batch] + share * (images - patches[batch]))
    images = torch.stack(found).flatten(0, 1)
    return from_images(images, torch.arange(world.data.classes).repeat(count), world.data, world.teacher(place))


def patches_of(point: Point) -> Point:
    """The point whose images are the patches of this one."""
    return {**point, "method": RANDOM}


def batches(made: DistilledSet, images_per_class: int) -> Tensor:
    """Images [images per class, classes, channels, h, w]: in the order in which FADRM makes them, whatever their own."""
    order = made.labels.argsort(stable=True).view(-1, images_per_class).T
    return made.images[order]


SWEEPS = (
    Sweep(
        name="residuals",
        description=(
            "FADRM, Tables 3, 5 and 6: merge ratio (1: no residual) by optimisation at full size or at two, number of merges, smaller "
            "size, kind of patch, precision; beside them the patches as they are, RDED, SRe2L, and two other ways to stay near the "
            f"patches. {_AT_64} {PAIRS} Measured: accuracy with hard and with online labels, entropy of the pixels in bits, standard "
            "deviation within an image."
        ),
        settings=settings(),
        run=measured,
    ),
    Sweep(
        name="residuals_paper",
        description=(
            "FADRM on CIFAR-10 at the published settings: ResNet-18, 2,000 steps in mixed precision, 10 images per class, students 400 "
            "epochs; without its residual, stopped early, and beside random images, RDED and SRe2L."
        ),
        settings=cifar10_paper(),
        run=functools.partial(measured, scale="cifar10_paper"),
        prepare=functools.partial(prepare, scale="cifar10_paper"),
    ),
    Sweep(
        name="residual_labels",
        description=(
            "Step by step to FADRM's student: class numbers, teacher's labels stored once, for every view, from a teacher in train "
            "mode on halves of batches of 16 (BSSL), CutMix in the place of mixup, labels stored for every epoch, the cosine's eta. "
            f"FADRM's images and their patches. {_AT_64} {PAIRS} Measured: accuracy."
        ),
        settings=labels(),
        run=by_labels,
    ),
    Sweep(
        name="residual_networks",
        description=(
            "FADRM and FADRM+, Table 5: one network or four in turn (ConvNet-3 of width 32, ShuffleNetV2 x0.5, MobileNetV2, VGG-11), "
            "without and with the residual. Shapes at 16 px (5,000 images), one size, 150 iterations, 5 images per class, students "
            f"ConvNet-3 for 100 epochs. {PAIRS} Measured: accuracy with online labels. Declared before any run (F10): with the labels "
            "of its own networks FADRM+ gives at least .01 more accuracy than FADRM, and so do its images with the labels of all four."
        ),
        settings=several_networks(),
        run=by_networks,
    ),
    Sweep(
        name="residual_continual",
        description=(
            f"FADRM, Fig 6: class-incremental learning (GDumb), five tasks of two classes. {_AT_64} {PAIRS} "
            "Measured: accuracy over the classes seen, with hard and with online labels; the teacher knows all classes."
        ),
        settings=continual(),
        run=in_tasks,
    ),
)
