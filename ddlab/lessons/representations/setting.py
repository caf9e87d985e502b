"""What records, laboratory and cells of lesson 45 share: images, priors and their targets, and how a network is trained and judged.

scale           images                               network
shapes          shapes, 16 px, 5,000                 ConvNet-3 of width 16, 12 epochs in batches of 50
cifar10_small   CIFAR-10, 1,200 of each class        ConvNet-3 of width 32, 40 epochs
cifar10_paper   CIFAR-10, all                        ResNet-18, as published: 100 epochs in batches of 128
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ... import data, networks
from ...core import errors, randomness
from ...data import ImageData, aligned
from ...distilled import DistilledSet, Representations
from ...evaluation import probe
from ...methods import rela as rela_d
from ...networks import Network, NetworkSpec
from ...records.self_supervised import SHIPPED
from ...records.setting import kept, loaded_images
from ...records.sweep import Place
from ...runs.process import Inputs
from ...training import rela as rela_f
from ...training import self_supervised

UNTRAINED, WEAK, STRONG = "untrained", "weak", "strong"
SHUFFLED, PIXELS, ALONE = "untrained, shuffled", "pixels", "none"
PRIORS = (UNTRAINED, WEAK, STRONG)
NARROW = {"projector_width": 128, "output_width": 64}  # the heads: small, so that a step is quick
LEARNING_RATE = 0.01  # for 256 images; of .004 to .03 the one with which BYOL alone does best, on seeds of no record
PROBE_STRENGTH = 1e-3  # of the linear probe, for all networks alike


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scale:
    """What the points of a record share.

    Attributes:
        data: the images; their labels are for the probe alone. network: what is trained. prior: the architecture of the priors.
        fields: of the objective's Config; preset: "for_data" (small) or "paper". strong: makes the strong prior at a place, trained on
            these images without labels. weak: how the weak one is trained, on digits without labels.
    """

    data: ImageData
    network: NetworkSpec
    prior: NetworkSpec
    preset: str
    fields: dict[str, Any]
    strong: Callable[[Place], Network]
    weak: self_supervised.Config

    def make_prior(self, name: str, place: Place, *, seed: int = 0) -> Network:
        """A prior; only the untrained one is another for each seed."""
        if errors.check_choice("name", name, PRIORS) == UNTRAINED:
            spec = self.prior.for_data(self.data)
            return networks.initialise(spec, seed=randomness.derived_seed(seed, 0, "untrained prior"))
        if name == STRONG:
            return self.strong(place)
        digits = Inputs(data=aligned(data.load("digits"), self.data), device=place.device)
        return kept(self_supervised, self.weak, digits, place, networks.load)

    def make_set(self, name: str, place: Place, *, seed: int = 0) -> DistilledSet:
        """All images with the targets of a prior, of an untrained one shuffled among the images, or of no network: the pixels'."""
        found = UNTRAINED if name in (SHUFFLED, ALONE, PIXELS) else name
        inputs = Inputs(data=self.data, teachers=(self.make_prior(found, place, seed=seed),), device=place.device)
        made = kept(
            rela_d,
            rela_d.Config(network=self.network),
            inputs,
            dataclasses.replace(place, folder=None),
            DistilledSet.load,
        )
        targets = made.target("representations").values[0]
        if name == SHUFFLED:
            order = torch.randperm(len(targets), generator=randomness.generator(seed, 0, "shuffled targets"))
            return with_targets(made, targets[order])
        return (
            with_targets(made, components(self.data.normalised().flatten(1), targets.shape[1]))
            if name == PIXELS
            else made
        )

    def config(
        self, objective: str = "byol", *, network: NetworkSpec | None = None, epochs: int | None = None, **changes: Any
    ) -> rela_f.Config:
        """How a network is trained: ReLA alone, then the objective alone, unless `changes` say otherwise."""
        module = self_supervised.OBJECTIVES[objective].Config
        fields = self.fields | ({} if epochs is None else {"epochs": epochs})
        known = {name: value for name, value in fields.items() if name in module.__dataclass_fields__}
        make = module.paper if self.preset == "paper" else functools.partial(module.for_data, self.data)
        own = make(network=network or self.network, **known)
        same: dict[str, Any] = (
            {} if self.preset == "paper" else {"crop_area": own.crop_area}
        )  # small images: one kind of views
        return rela_f.Config(**{"objective": own, "ratio": 0.1} | same | changes)


def with_targets(made: DistilledSet, targets: Tensor) -> DistilledSet:
    """The same images with other targets [n, k]."""
    return made.with_targets(Representations(tensors={"representations": targets[None]}))


def components(points: Tensor, count: int) -> Tensor:
    """The first principal components of points [n, d], each with deviation 1, as ReLA-D makes them of features: float32 [n, count]."""
    width = points.shape[1]
    empty = rela_d.Moments(0, torch.zeros(width, dtype=torch.float64), torch.zeros(width, width, dtype=torch.float64))
    return rela_d.targets(points, rela_d.principal_components(rela_d.joined(empty, points), count))


def worth(network: Network, images: ImageData, device: str = "cpu") -> float:
    """Test accuracy of a linear probe of a network's features, a fraction in [0, 1]."""
    return probe(network, images, kind="linear", candidates=(PROBE_STRENGTH,), device=device, keep=False).mean


def shapes(place: Place) -> Scale:
    """Generated pictures; two CPU cores."""
    smoke = place.smoke
    prior = networks.spec("convnet", width=4 if smoke else 32)
    short: dict[str, Any] = {"epochs": 2} if smoke else {"epochs": 12}
    images = loaded_images(place.data or "shapes", "shapes", smoke)
    return Scale(
        data=images,
        network=networks.spec("convnet", width=4 if smoke else 16),
        prior=prior,
        preset="for_data",
        fields=short | {"batch_size": 10 if smoke else 50, "learning_rate": LEARNING_RATE} | NARROW,
        strong=_trained(images, _without_labels(images, prior, 2)) if smoke else lambda place: networks.load(SHIPPED),
        weak=self_supervised.Config.teaching(network=prior, epochs=2 if smoke else 8),
    )


def _without_labels(images: ImageData, network: NetworkSpec, epochs: int) -> self_supervised.Config:
    return self_supervised.Config.for_data(images, network=network, epochs=epochs)


def _trained(images: ImageData, config: self_supervised.Config) -> Callable[[Place], Network]:
    return lambda place: kept(self_supervised, config, Inputs(data=images, device=place.device), place, networks.load)


def cifar10_small(place: Place) -> Scale:
    """CIFAR-10 with 12,000 images: what two CPU cores can do in hours."""
    smoke = place.smoke
    prior = networks.spec("convnet", width=4 if smoke else 48)
    images = loaded_images(place.data or "cifar10", "cifar10", smoke, limit=1200)
    return Scale(
        data=images,
        network=networks.spec("convnet", width=4 if smoke else 32),
        prior=prior,
        preset="for_data",
        fields={"epochs": 2 if smoke else 40, "batch_size": 10 if smoke else 64} | NARROW,
        strong=_trained(images, _without_labels(images, prior, 2 if smoke else 40)),
        weak=self_supervised.Config.teaching(network=prior, epochs=2 if smoke else 20),
    )


def cifar10_paper(place: Place) -> Scale:
    """All of CIFAR-10 and a ResNet-18, with the published numbers; hours on a GPU."""
    smoke = place.smoke
    network = networks.spec("convnet", width=4) if smoke else networks.spec("resnet18")
    images = loaded_images(place.data or "cifar10", "cifar10", smoke)
    strong = _without_labels(images, network, 2) if smoke else self_supervised.Config.paper("cifar10")
    return Scale(
        data=images,
        network=network,
        prior=network,
        preset="paper",
        fields={"epochs": 2, "batch_size": 10, "projector_width": 8} if smoke else {},
        strong=_trained(images, strong),
        weak=self_supervised.Config.teaching(network=network, epochs=2 if smoke else 100),
    )


SCALES: dict[str, Callable[[Place], Scale]] = {
    "shapes": shapes,
    "cifar10_small": cifar10_small,
    "cifar10_paper": cifar10_paper,
}
