"""What the laboratory and the cells of lesson 45 share: priors, their targets, and the objective
that networks learn by.
"""

import dataclasses
from typing import Any

import torch

from ... import data as datasets
from ... import networks, records
from ...core import errors, randomness
from ...data import ImageData, aligned
from ...distilled import DistilledSet
from ...methods import rela
from ...networks import Network, NetworkSpec
from ...runs import Inputs, cache
from ...unlabelled import self_supervised

UNTRAINED = "untrained"
WEAK = "weak"
STRONG = "strong"
PRIORS = (UNTRAINED, WEAK, STRONG)
# So that a step is quick.
_SMALL = {"batch_size": 50, "learning_rate": 0.01, "projector_width": 128, "output_width": 64}
NETWORK = networks.spec("convnet", width=16)
_PRIOR = networks.spec("convnet", width=32)


def make_prior(name: str, data: ImageData, *, seed: int = 0) -> Network:
    """Return the network of a prior, trained here unless ddlab comes with it.

    The untrained prior depends on the seed, the others do not. The weak one is trained on digits, the
    strong one on the images themselves, both without labels; that of the shapes comes with ddlab.
    """
    if errors.check_choice("name", name, PRIORS) == UNTRAINED:
        return networks.initialise(
            _PRIOR.for_data(data), seed=randomness.derived_seed(seed, 0, "untrained prior")
        )
    shapes = data.fingerprint == datasets.load("shapes", size=16).fingerprint
    if name == STRONG and shapes:
        return records.teacher("shapes16_self_supervised")
    training_data, epochs = (data, 20) if name == STRONG else (_digits_like(data), 8)
    config = self_supervised.Config.teaching(network=_PRIOR, epochs=epochs)
    return cache.run(self_supervised, config, Inputs(data=training_data, device="cpu"))


def _digits_like(data: ImageData) -> ImageData:
    """Return digits in the shape of the data, with as many classes, which nobody reads.

    A prior's spec has them.
    """
    digits = aligned(datasets.load("digits"), data)
    labels = {
        split: torch.arange(len(getattr(digits, split))) % data.classes
        for split in ("train_labels", "test_labels")
    }
    return (
        digits
        if data.classes == 10
        else dataclasses.replace(digits, class_names=data.class_names, **labels)
    )


def make_set(
    prior: Network,
    data: ImageData,
    network: NetworkSpec = NETWORK,
    *,
    device: torch.device | str = "cpu",
) -> DistilledSet:
    """Return all images with the targets of a prior, as many numbers as the learner has features."""
    return cache.run(
        rela, rela.Config(network=network), Inputs(data=data, teachers=(prior,), device=device)
    )


def objective(
    data: ImageData, name: str = "simclr", network: NetworkSpec = NETWORK, *, epochs: int = 12
) -> self_supervised.Training:
    """Return an objective as laboratory, page and record have it.

    The network and its heads are narrow, batches of 50.
    """
    module = self_supervised.OBJECTIVES[name].Config
    sizes: dict[str, Any] = {
        key: value for key, value in _SMALL.items() if key in module.__dataclass_fields__
    }
    return module.for_data(data, network=network, epochs=epochs, **sizes)
