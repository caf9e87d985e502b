"""The world that records without labels share: images, a teacher trained without labels, the networks that learn from a set.

Like `setting.py` for records with labels; the teacher at 16 px is shipped.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import data, methods, networks
from ..core import errors
from ..data import ImageData, aligned
from ..networks import Network
from ..runs import cache
from ..runs.process import Inputs
from ..training import pretraining, self_supervised
from .setting import SMOKE_IMAGES, TEACHERS, first_of_each_class, kept, loaded_images, one_thread, whole
from .sweep import Place

KRR_ST, BOOST, SELECTED = "KRR-ST", "Boost", "real images"
METHODS = {KRR_ST: "krr_st", BOOST: "boost", SELECTED: "representation_selection"}
SHIPPED = TEACHERS / "shapes16_self_supervised.safetensors"
OTHER_IMAGES = 10  # digits of each class to learn from; from a thousand a probe reads them in any network's features


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """What the points share.

    Attributes:
        data: what is distilled. other: labelled images of the same shape, for transfer.
        teaching: how the teacher is trained, which reads no labels. shipped: the file of the one that comes with ddlab, or None.
        preset: "teaching" or "paper", the methods' Config; fields: of it, the same for all points.
        pretraining: of the networks that are probed. long: runs write checkpoints, from which an interrupted one goes on.
    """

    data: ImageData
    other: ImageData
    teaching: self_supervised.Config
    shipped: Path | None
    preset: str
    fields: dict[str, Any]
    pretraining: pretraining.Config
    long: bool = False

    def teacher(self, place: Place) -> Network:
        """The teacher: the one that is shipped, else trained once, then read from the place's folder or from memory."""
        if self.shipped is not None:
            return networks.load(self.shipped)
        inputs = Inputs(data=self.data, device=place.device)
        return kept(self_supervised, self.teaching, inputs, place, networks.load, long=self.long)

    def inputs(self, place: Place) -> Inputs:
        """Images and teacher on the place's device."""
        return Inputs(data=self.data, teachers=(self.teacher(place),), device=place.device)

    def config(self, method: str, **values: Any) -> tuple[Any, Any]:
        """(module, config) of a method: the preset with the world's fields and these values, as far as the method has such fields."""
        module = methods.get(METHODS[errors.check_choice("method", method, tuple(METHODS))])
        known = module.Config.__dataclass_fields__
        own = {name: value for name, value in (self.fields | values).items() if name in known and value is not None}
        return module, (module.Config.teaching if self.preset == "teaching" else module.Config.paper)(**own)


@functools.lru_cache(maxsize=2)
def _shapes16(smoke: bool, _named: str | None) -> World:
    """Shapes at 16 px, a hundred digits in their shape, and a ConvNet of 16, 32 and 64 channels as inner and as pre-trained network."""
    images = data.load("shapes", size=16, **({"train": 10 * SMOKE_IMAGES, "test": 50} if smoke else {}))
    network = networks.spec("convnet", width=2 if smoke else 16, growth=2)
    own_teacher = networks.spec("convnet", width=20 if smoke else 32)
    short: dict[str, Any] = {"iterations": 3, "pool_steps": 3, "pool_size": 2} if smoke else {}
    return World(
        data=images,
        other=_few_digits(images),
        teaching=self_supervised.Config.for_data(images, network=own_teacher, epochs=2 if smoke else 40),
        shipped=None if smoke else SHIPPED,
        preset="teaching",
        fields={"network": network} | short,
        pretraining=pretraining.Config(network=network, epochs=2 if smoke else 300),
    )


@functools.lru_cache(maxsize=2)
def _cifar10_paper(smoke: bool, named: str | None) -> World:
    """CIFAR-10 with a ResNet-18 as teacher, at the published sizes for 100 images: hours on a GPU."""
    images = loaded_images(named or "cifar10", "cifar10", smoke)
    teaching, fields, short = self_supervised.Config.paper("cifar10"), {}, {}
    if smoke:
        network = networks.spec("convnet", width=4, growth=2)
        # Of 256 features: as many bases as at the published size can be had.
        teaching = self_supervised.Config.for_data(images, network=networks.spec("convnet", width=16), epochs=2)
        fields = {"network": network, "iterations": 2, "pool_steps": 2, "pool_size": 1, "batch_size": 16}
        short = {"network": network, "epochs": 1}
    return World(
        data=images,
        other=_few_digits(images),
        teaching=teaching,
        shipped=None,
        preset="paper",
        fields=fields,
        pretraining=pretraining.Config.paper(**short),
        long=True,
    )


SCALES = {"shapes16": _shapes16, "cifar10_paper": _cifar10_paper}


def world(place: Place, scale: str = "shapes16") -> World:
    """The world of that name at a place."""
    errors.check_instance("place", place, Place, "a Place")
    return SCALES[errors.check_choice("scale", scale, tuple(SCALES))](place.smoke, place.data)


def prepare(place: Place, *, scale: str) -> None:
    """Makes the teacher of a scale, so that the points find it."""
    world(place, scale).teacher(place)


def _few_digits(like: ImageData) -> ImageData:
    return first_of_each_class(aligned(data.load("digits"), like), OTHER_IMAGES, ("train",))


def train_shipped() -> Path:
    """Train the shipped teacher anew, with one thread, and write it over the old one: its file."""
    shared = world(Place())
    with one_thread():
        teacher = whole(cache.run(self_supervised, shared.teaching, Inputs(data=shared.data, device="cpu")))
    return teacher.save(SHIPPED)
