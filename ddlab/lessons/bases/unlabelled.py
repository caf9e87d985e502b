"""What lesson 40 runs: images, a teacher without labels, small settings of the methods, and what a set is worth.

A set is worth what a linear probe reads from one network that was pre-trained on it.
"""

from __future__ import annotations

import functools
from typing import Any

from ... import data, networks, records
from ...data import ImageData
from ...evaluation import probe
from ...methods import boost, representation_selection
from ...networks import Network
from ...runs import cache, process
from ...runs.process import Inputs
from ...training import pretraining

KRR_ST, BOOST, SELECTED = "KRR-ST", "Boost", "real images"
BUDGET = 20  # images
PROBE_STRENGTH = 1e-3  # of the linear probe, for all sets alike
NETWORK = networks.spec("convnet", width=16, growth=2)
_PRETRAINING = pretraining.Config(network=NETWORK, epochs=300)
_PRINCIPAL = {"bases_start": "principal", "coefficients_start": "projection", "reset": True}
_REAL = {"kind": "random", "targets_count": False, "augmentation": "none"}
ROWS: dict[str, dict[str, Any]] = {
    "random real images": {"method": SELECTED} | _REAL,
    "random and turned, free": {"method": SELECTED} | _REAL | {"augmentation": "rotation"},
    "random and turned, paid": {"method": SELECTED} | _REAL | {"targets_count": True, "augmentation": "rotation"},
    "KRR-ST": {"method": KRR_ST, "reset": True},
    "bases": {"method": BOOST, "augmentation": "none"} | _PRINCIPAL,
    "Boost": {"method": BOOST, "augmentation": "rotation"} | _PRINCIPAL,
}
"""What the lessons call rows of the table `self_supervised`: the columns that tell them apart."""


def recorded(name: str) -> list[float]:
    """What sets like one of `ROWS` are worth on shapes: test accuracies, one for each of five seeds; the budget is `BUDGET` images."""
    bases = {"image_bases": 2 * BUDGET} if ROWS[name]["method"] == BOOST else {}
    return records.load("self_supervised").values("source", budget=BUDGET, **ROWS[name], **bases)


@functools.cache
def images() -> ImageData:
    """Shapes, 16 px."""
    return data.load("shapes", size=16)


@functools.cache
def teacher() -> Network:
    """The one that comes with ddlab, trained on `images` without labels (Barlow Twins)."""
    return records.teacher("shapes16_self_supervised")


def config(*, seed: int) -> boost.Config:
    """Of Boost, as published but small: as the table has it."""
    counts = {"image_bases": 2 * BUDGET, "representation_bases": 2 * BUDGET}
    told: dict[str, Any] = counts | _PRINCIPAL | {"augmentation": "rotation"}
    return boost.Config.teaching(network=NETWORK, budget=BUDGET, seed=seed, **told)


def untrained(*, seed: int) -> float:
    """Test accuracy of a linear probe of the network that is pre-trained, before it is."""
    start = _PRETRAINING.replace(seed=seed)
    chosen = representation_selection.Config.teaching(budget=BUDGET, seed=seed, **_REAL)
    own = Inputs(data=images(), teachers=(teacher(),), device="cpu")
    given = Inputs(distilled=cache.run(representation_selection, chosen, own), device="cpu")
    return _probed(pretraining.finish(start, given, process.start(pretraining, start, given)), seed)


def teacher_accuracy() -> float:
    """Test accuracy of a linear probe of the teacher's features."""
    return _probed(teacher(), 0)


def _probed(network: Network, seed: int) -> float:
    told: dict[str, Any] = {"candidates": (PROBE_STRENGTH,), "seeds": (seed,), "device": "cpu", "keep": False}
    return probe(network, images(), kind="linear", **told).mean
