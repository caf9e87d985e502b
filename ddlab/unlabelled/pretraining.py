r"""Pre-training on the pairs of a distilled set, as a process.

The network learns to give each view the teacher's features.

KRR-ST (Lee et al. 2024, arXiv 2310.06511) and Yu, Yao & Chiu 2025 (Boost), equation 2 and appendix
A.1. What the network is worth is then asked by a probe of its features on a labelled dataset
(`unlabelled.probing`).

One step
x, y = a batch of the views and their representations                  DistilledSet.pairs, `rows`
l = mean of (network(x) - y)^2                                         losses.regression_loss
theta <- SGD with momentum, or AdamW                                   core.optimisers

The network's last linear layer has as many outputs as a representation has numbers
(`NetworkSpec.classes`).

| deviation from the paper | why |
|---|---|
| equation 2 sums the squares of a row, the loss here is their mean | the public code of KRR-ST, to which the rate of .1 belongs |
| no image is drawn anew: neither crops nor flips | the views of the set are what there is |
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from torch import Tensor

from .. import networks
from ..core import DDLabError, Published, devices, errors, optimisers, parameter, randomness
from ..networks import Network, NetworkSpec
from ..runs import Inputs, Look, Number
from ..training import losses
from ..training.trained import State, initial_state, train_step, trained_network

NAME = "pretraining"
NEEDS = ("distilled",)
_PAPER = "Boost, A.1"


@dataclass(frozen=True, kw_only=True)
class Config(Published):
    """Hyper-parameters.

    The defaults are the published ones for CIFAR-100 and a budget of 100 images.
    """

    network: NetworkSpec = parameter(
        networks.spec("convnet", width=128, growth=2), help="Architecture.", source=_PAPER
    )
    epochs: int = parameter(
        1000, range=(1, None), help="Passes over all views.", source=_PAPER, explorable=(10, 1000)
    )
    batch_size: int = parameter(
        256, range=(1, None), unit="views", help="Views per step.", source=_PAPER
    )
    optimiser: str = parameter(
        "sgd", choices=("sgd", "adamw"), help="SGD with momentum, or AdamW.", source=_PAPER
    )
    learning_rate: float = parameter(
        0.1,
        symbol=r"\mathrm{lr}",
        range=(0, 1e3),
        open_low=True,
        scale="log",
        explorable=(1e-4, 1),
        help="At the start.",
        source=_PAPER,
    )
    final_fraction: float = parameter(
        1.0,
        range=(0, 1),
        help="Where a cosine ends, as a fraction of its start; 1: the rate stays.",
        source=_PAPER,
    )
    momentum: float = parameter(0.9, range=(0, 0.9999), help="Of SGD.", source=_PAPER)
    weight_decay: float = parameter(
        1e-3,
        range=(0, 1e3),
        help="Decoupled for AdamW, in the gradient for SGD.",
        source="Boost, Table 5",
    )
    seed: int = parameter(0, range=(0, None), help="Of weights and order.")

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, seconds and images of 16 pixels: a ConvNet of 16, 32
        and 64 channels.
        """
        return cls.preset(changes, network=networks.spec("convnet", width=16, growth=2), epochs=300)


@dataclass(frozen=True)
class Trace:
    """One update: the loss before it [], the learning rate."""

    loss: Tensor
    learning_rate: float


def rows(count: int, step: int, *, batch_size: int, seed: int) -> Tensor:
    """Return which of `count` views are seen at `step`, int64 [at most batch_size].

    Each is seen once per epoch, in a new order every epoch.
    """
    batch_size = min(batch_size, count)
    epoch, number = divmod(step, -(-count // batch_size))
    order = randomness.permutation(count, seed, epoch, "order")
    return order[number * batch_size : (number + 1) * batch_size]


def total_steps(config: Config, inputs: Inputs) -> int:
    """Return epochs times batches per epoch; a last smaller batch counts.

    Raises:
        DDLabError: no set, or one without representations or images; a batch of one view, of which
            batch norm has no variance.
    """
    count = len(_pairs(inputs)[0])
    if not count:
        raise DDLabError("distilled must hold at least one image to train on; given an empty set.")
    # Known before the first step: torch's error would come at the end of the first epoch.
    if 1 in (count, config.batch_size, count % config.batch_size) and networks.batch_norm_layers(
        _spec(config, inputs)
    ):
        allowed = (
            f"so that no batch of the {count} views is a single one, of which batch norm has no "
            "variance"
        )
        errors.fail("batch_size", allowed, config.batch_size)
    return config.epochs * -(-count // config.batch_size)


def init(config: Config, inputs: Inputs) -> State:
    """Draw fresh weights for the seed.

    Raises:
        DDLabError: as `total_steps`, or a network that does not fit the images.
    """
    total_steps(config, inputs)
    return initial_state(_spec(config, inputs), config, inputs.device)


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Take one step on one batch."""
    spec = _spec(config, inputs)
    (views, representations) = _pairs(inputs)
    chosen = rows(len(views), state.step, batch_size=config.batch_size, seed=config.seed)
    images = devices.to_device(views[chosen], inputs.device)
    targets = devices.to_device(representations[chosen], inputs.device)
    rate = optimisers.cosine(
        state.step,
        total_steps(config, inputs),
        config.learning_rate,
        final_fraction=config.final_fraction,
    )

    def loss(logits: Tensor) -> Tensor:
        return losses.regression_loss(logits.to(targets.dtype), targets)

    after, before, _ = train_step(spec, config, state, images, loss, learning_rate=rate)
    return after, Trace(before, rate)


def finish(config: Config, inputs: Inputs, state: State) -> Network:
    """Return the network with its weights.

    `provenance` says how it came about and whether its training was complete.
    """
    spec = _spec(config, inputs)
    total = total_steps(config, inputs)
    return trained_network(NAME, config, inputs, spec, state, total, classifier="representations")


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the loss of the last batch before its update; there are no images to see."""
    if trace is None:
        return Look()
    return Look(
        numbers={
            "loss": Number(trace.loss, scale="log"),
            "learning rate": Number(trace.learning_rate, scale="log"),
        }
    )


def _pairs(inputs: Inputs) -> tuple[Tensor, Tensor]:
    return inputs.distilled.pairs()


def _spec(config: Config, inputs: Inputs) -> NetworkSpec:
    source = inputs.distilled
    size = source.target("representations").size
    return dataclasses.replace(
        config.network, channels=source.channels, classes=size, image_size=source.image_size
    )


SMALL = Config(  # for the contract tests
    network=networks.spec("convnet", width=4), epochs=2, batch_size=9, learning_rate=0.01
)
