"""What lesson 40 runs: images, a teacher without labels, small settings of the methods, and what a
set is worth.

A set is worth what a linear probe reads from one network that was pre-trained on it.
"""

import functools
from collections.abc import Callable
from typing import Any

from torch import Tensor

from ... import data as datasets
from ... import networks, records
from ...data import ImageData
from ...distilled import DistilledSet, Representations
from ...methods import boost
from ...networks import Network
from ...runs import Inputs, Step, process
from ...unlabelled import pretraining, probing
from ...unlabelled.probing import probe

__all__ = [
    "BUDGET",
    "NETWORK",
    "config",
    "images",
    "pairs_of",
    "probe",
    "probe_score",
    "recorded",
    "teacher",
    "untrained",
]

BUDGET = 20  # images
NETWORK = networks.spec("convnet", width=16, growth=2)


def recorded(name: str) -> list[float]:
    """Return the test accuracies of sets of shapes, one for each of ten seeds.

    The budget is `BUDGET` images.
    """
    return records.load("unlabelled_sets").values("accuracy", images=name)


@functools.cache
def images() -> ImageData:
    """Load shapes of 16 px."""
    return datasets.load("shapes", size=16)


@functools.cache
def teacher() -> Network:
    """Return the one that comes with ddlab, trained on `images` without labels (Barlow Twins)."""
    return records.teacher("shapes16_self_supervised")


def config(*, seed: int) -> boost.Config:
    """Return Boost's config, as published but small, as the table has it."""
    counts: dict[str, Any] = {"image_bases": 2 * BUDGET, "representation_bases": 2 * BUDGET}
    return boost.Config.teaching(network=NETWORK, budget=BUDGET, seed=seed, **counts)


def pairs_of(data: ImageData, pictures: Tensor, vectors: Tensor) -> DistilledSet:
    """Return a set of images [n, c, h, w], normalised, and vectors [n, d]."""
    return DistilledSet(
        tensors={"images": pictures.detach()},
        targets=(Representations(tensors={"representations": vectors.detach()[None]}),),
        class_names=data.class_names,
        mean=data.mean,
        std=data.std,
        provenance={"method": "pairs of a page"},
    )


def probe_score(
    data: ImageData,
    pictures: Tensor,
    vectors: Tensor,
    *,
    seed: int,
    watch: Callable[[float], None] = lambda share: None,
) -> float:
    """Return the test accuracy of a linear probe of a network that learned these pairs.

    `watch` is told which share of the learning is done.
    """

    def report(step: Step) -> None:
        watch(step.index / step.total)

    return probing.probe_score(pairs_of(data, pictures, vectors), data, seed=seed, watch=report)


def untrained(data: ImageData, pictures: Tensor, vectors: Tensor, *, seed: int) -> float:
    """Test accuracy of a linear probe of the network that would learn such pairs, before it does."""
    config = pretraining.Config.teaching(seed=seed)
    inputs = Inputs(distilled=pairs_of(data, pictures, vectors), device="cpu")
    first = pretraining.finish(config, inputs, process.start(pretraining, config, inputs))
    return probe(first, data, device="cpu")
