"""`Setting`: the images, teacher and students that all points of a record share, at the scales of the records.

name            images                                          networks                students
shapes          shapes, 16 px, 5,000                            ConvNet-3, width 32     100 epochs
shapes_vit      the same                                        the same, but a ViT with batch norm as teacher
shapes64        shapes, 64 px, 4,000                            ConvNet-5, width 16     100 epochs; a network for images of any size
cifar10_small   CIFAR-10, 1,200 of each class                   ConvNet-3, width 48     300 epochs
cifar10_paper   CIFAR-10, all                                   ResNet-18               400 epochs, as published
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from .. import data, methods, networks
from ..core import errors, storage
from ..data import ImageData
from ..data.images import Split
from ..distilled import DistilledSet
from ..evaluation import class_incremental, evaluate
from ..networks import Network
from ..runs import cache, checkpoint, process
from ..runs.process import Inputs
from ..training import supervised
from .sweep import Place, Point

RANDOM, SRE2L, DWA, FADRM, RDED = "random real images", "SRe2L", "DWA", "FADRM", "RDED"
PAIRS = "A seed is the draw of images and the student's seed."
ON_SHAPES: dict[str, Any] = {"iterations": 150, "roll_pixels": 2}  # fields of the recoveries' Configs
SMOKE_IMAGES = 50  # of each class
TEACHERS = Path(__file__).parent / "teachers"
SHIPPED = ("shapes64",)  # scales whose teacher is in that folder


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """What the points of a record share.

    Attributes:
        data: the images. teaching, student: how the teacher and the students are trained.
        recovery: fields of the recoveries' Configs that all points share (iterations, roll_pixels).
        long: teachers and images take so long that an interrupted run writes a checkpoint, from which the next one goes on.
        shipped: the file of the teacher that comes with ddlab, or None.
    """

    data: ImageData
    teaching: supervised.Config
    student: supervised.Config
    recovery: dict[str, Any]
    long: bool = False
    shipped: Path | None = None

    def teacher(self, place: Place) -> Network:
        """The one teacher of a record: the one that is shipped, else trained once, then read from the place's folder or from memory."""
        if self.shipped is not None:
            return networks.load(self.shipped)
        inputs = Inputs(data=self.data, device=place.device)
        return kept(supervised, self.teaching, inputs, place, networks.load, long=self.long)

    def inputs(self, place: Place) -> Inputs:
        """Images and teacher on the place's device."""
        return Inputs(data=self.data, teachers=(self.teacher(place),), device=place.device)

    def config(self, point: Point, place: Place) -> tuple[Any, Any]:
        """(module, config) of a point: its method and seed, and of its other columns those that are fields of the method's Config."""
        name = errors.check_choice("method", point["method"], tuple(METHODS))
        module = methods.get(METHODS[name])
        known = module.Config.__dataclass_fields__
        shared = {name: value for name, value in self.recovery.items() if name in known}
        own = {column: value for column, value in point.items() if column in known and value is not None}
        if place.smoke and "iterations" in shared:
            own["iterations"] = shared["iterations"]
        return module, module.Config(**shared | own)

    def distilled(self, point: Point, place: Place) -> DistilledSet:
        """The images of a point."""
        module, config = self.config(point, place)
        return kept(module, config, self.inputs(place), place, DistilledSet.load, long=self.long)


def kept(
    process: Any, config: Any, inputs: Inputs, place: Place, load: Callable[[Path], Any], *, long: bool = False
) -> Any:
    """A whole result of a run, from the place's folder, or computed and kept there.

    Args:
        long: write a checkpoint there while it runs, from which an interrupted run goes on.
    """
    if place.folder is None:
        return whole(cache.run(process, config, inputs))
    folder, options = place.folder / "made", {}
    if long:
        options["checkpoint"] = folder / f"{storage.fingerprint(config, inputs.fingerprint)}.checkpoint"
    result = whole(cache.run(process, config, inputs, folder=folder, load=load, **options))
    if long:
        checkpoint.remove(options["checkpoint"])  # the result stands beside it
    return result


METHODS = {RANDOM: "selection", SRE2L: "squeeze_recover_relabel", DWA: "dwa", FADRM: "fadrm", RDED: "rded"}


def shapes(place: Place) -> Setting:
    """Generated pictures, as on the start page; two CPU cores."""
    images = loaded_images(place.data or "shapes", "shapes", place.smoke)
    network = networks.spec("convnet", width=4 if place.smoke else 32)
    short: dict[str, Any] = {"network": network} | ({"epochs": 2} if place.smoke else {})
    return Setting(
        data=images,
        teaching=supervised.Config.for_data(images, "teacher", **short),
        student=supervised.Config.for_data(images, **short),
        recovery=ON_SHAPES | ({"iterations": 2} if place.smoke else {}),
    )


def shapes_vit(place: Place) -> Setting:
    """The same pictures and students; the teacher is a ViT with batch norm, as in DWA's Table 9."""
    world = shapes(place)
    network = networks.spec("vit", width=8 if place.smoke else 48, depth=3, norm="batch")
    return replace(world, teaching=world.teaching.replace(network=network, epochs=1 if place.smoke else 20))


def shapes64(place: Place) -> Setting:
    """Generated pictures of 64 px, and a ConvNet with a global mean, which runs on smaller ones too; two CPU cores."""
    images = _large_shapes(place.smoke)
    network = networks.spec("convnet", width=4 if place.smoke else 16, depth=5, pooling="max", head="mean")
    return Setting(
        data=images,
        teaching=supervised.Config.for_data(images, "teacher", network=network, epochs=1 if place.smoke else 8),
        student=supervised.Config.for_data(images, network=network, epochs=2 if place.smoke else 100),
        recovery={"iterations": 8 if place.smoke else 120},
        shipped=None if place.smoke else TEACHERS / "shapes64.safetensors",
    )


def cifar10_small(place: Place) -> Setting:
    """CIFAR-10 with 12,000 images and a ConvNet: what two CPU cores can do."""
    images = loaded_images(place.data or "cifar10", "cifar10", place.smoke, limit=1200)
    shared = {"network": networks.spec("convnet", width=4 if place.smoke else 48), "crop_pixels": 4, "flip": True}
    epochs = {"teacher": 1, "student": 2} if place.smoke else {"teacher": 15, "student": 300}
    return Setting(
        data=images,
        teaching=supervised.Config.teaching("teacher", epochs=epochs["teacher"], batch_size=128, **shared),
        student=supervised.Config.teaching(epochs=epochs["student"], **shared),
        recovery={"iterations": 2 if place.smoke else 200},
    )


def cifar10_paper(place: Place) -> Setting:
    """CIFAR-10 with ResNet-18 at the published settings: hours on a GPU."""
    images = loaded_images(place.data or "cifar10", "cifar10", place.smoke)
    short: dict[str, Any] = {"epochs": 1} if place.smoke else {}
    return Setting(
        data=images,
        teaching=supervised.Config.paper(role="teacher", **short),
        student=supervised.Config.paper(**short),
        recovery={"iterations": 4 if place.smoke else 1000},
        long=True,
    )


SCALES: dict[str, Callable[[Place], Setting]] = {
    "shapes": shapes, "shapes_vit": shapes_vit, "shapes64": shapes64, "cifar10_small": cifar10_small, "cifar10_paper": cifar10_paper,
}  # fmt: skip


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch with one thread, as the shipped teachers were trained: another number gives other bits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def train_shipped() -> list[Path]:
    """Train the shipped teachers anew, with one thread, and write them over the old ones: their files."""
    files = []
    with one_thread():
        for scale in SHIPPED:
            world = setting(scale, Place())
            teacher = whole(process.run(supervised, world.teaching, Inputs(data=world.data, device="cpu")))
            files.append(teacher.save(TEACHERS / f"{scale}.safetensors"))
    return files


def setting(scale: str, place: Place) -> Setting:
    """The setting of that name at a place."""
    errors.check_instance("place", place, Place, "a Place")
    return SCALES[errors.check_choice("scale", scale, tuple(SCALES))](place)


def prepare(place: Place, *, scale: str) -> None:
    """Makes the teacher of a scale, so that the points find it."""
    setting(scale, place).teacher(place)


def accuracies(world: Setting, made: DistilledSet, seed: int, place: Place) -> dict[str, float]:
    """hard, online: test accuracy of one student, a fraction in [0, 1], by the labels it learns from."""
    options: dict[str, Any] = {"seeds": (seed,), "config": world.student, "device": place.device}
    teacher = world.teacher(place)
    return {
        labels: evaluate(made, world.data, labels=labels, teacher=teacher, **options).mean
        for labels in ("hard", "online")
    }


def task_accuracies(world: Setting, made: DistilledSet, seed: int, place: Place) -> dict[str, float]:
    """hard_2, ..., online_10: the same over the classes seen, after 2, 4, ... classes in five tasks."""
    options: dict[str, Any] = {"seeds": (seed,), "config": world.student, "device": place.device}
    teacher, found = world.teacher(place), {}
    for labels in ("hard", "online"):
        run = class_incremental(made, world.data, labels=labels, tasks=5, teacher=teacher, **options)
        found |= {f"{labels}_{len(stage.classes)}": stage.evaluation.mean for stage in run.stages}
    return found


@functools.lru_cache(maxsize=2)
def loaded_images(named: str, kind: str, smoke: bool, limit: int | None = None) -> ImageData:
    """The images; those of a folder are read no further than the limit of each class."""
    if named == "shapes":
        return data.load("shapes", size=16, **({"train": 10 * SMOKE_IMAGES, "test": 20} if smoke else {}))
    limit = SMOKE_IMAGES if smoke else limit
    if named.startswith("folder:"):
        return data.load(named, **({"limit": limit} if limit else {}))
    loaded = data.load(named)
    return loaded if limit is None else first_of_each_class(loaded, limit)


@functools.lru_cache(maxsize=2)
def _large_shapes(smoke: bool) -> ImageData:
    counts = {"train": 10 * SMOKE_IMAGES, "test": 20} if smoke else {"train": 4000, "test": 1000}
    return data.load("shapes", size=64, **counts)


def first_of_each_class(images: ImageData, limit: int, splits: tuple[Split, ...] = ("train", "test")) -> ImageData:
    """The first images of each class of these splits, with their own mean and standard deviation; other splits stay whole."""
    parts: dict[str, Any] = {}
    for split in splits:
        chosen = [i for label in range(images.classes) for i in images.of_class(label, split)[:limit].tolist()]
        parts[f"{split}_images"] = images.images(split)[chosen]
        parts[f"{split}_labels"] = images.labels(split)[chosen]
    return replace(images, mean=None, std=None, **parts)


def whole(result: Any) -> Any:
    """`result`, or the interrupt that cut it short: half a run is no point."""
    if cache.is_partial(result):
        raise KeyboardInterrupt("a run was interrupted")
    return result
