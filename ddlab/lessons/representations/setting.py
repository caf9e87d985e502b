"""What the laboratory and the cells of lesson 45 share: priors, their targets, and the objective that networks learn by."""

from __future__ import annotations

from ... import data as datasets
from ... import networks, records
from ...core import errors, randomness
from ...data import ImageData, aligned
from ...distilled import DistilledSet
from ...methods import rela
from ...networks import Network
from ...runs import cache
from ...runs.process import Inputs
from ...training import self_supervised
from ...training.self_supervised import simclr

UNTRAINED, WEAK, STRONG = "untrained", "weak", "strong"
PRIORS = (UNTRAINED, WEAK, STRONG)
NARROW = {"projector_width": 128, "output_width": 64}  # the heads: small, so that a step is quick
LEARNING_RATE = 0.01  # for 256 images
NETWORK, _PRIOR = (networks.spec("convnet", width=width) for width in (16, 32))


def make_prior(name: str, data: ImageData, *, seed: int = 0) -> Network:
    """A prior; only the untrained one is another for each seed. The strong one comes with ddlab, the weak one is trained on digits."""
    if errors.check_choice("name", name, PRIORS) == UNTRAINED:
        return networks.initialise(_PRIOR.for_data(data), seed=randomness.derived_seed(seed, 0, "untrained prior"))
    if name == STRONG:
        return records.teacher("shapes16_self_supervised")
    digits = Inputs(data=aligned(datasets.load("digits"), data), device="cpu")
    return cache.run(self_supervised, self_supervised.Config.teaching(network=_PRIOR, epochs=8), digits)


def make_set(prior: Network, data: ImageData) -> DistilledSet:
    """All images with the targets of a prior, as many numbers as the network that learns has features."""
    return cache.run(rela, rela.Config(network=NETWORK), Inputs(data=data, teachers=(prior,), device="cpu"))


def objective(data: ImageData) -> simclr.Config:
    """SimCLR as the record has it: a narrow network and narrow heads, twelve epochs in batches of 50."""
    return simclr.Config.for_data(
        data, network=NETWORK, epochs=12, batch_size=50, learning_rate=LEARNING_RATE, **NARROW
    )
