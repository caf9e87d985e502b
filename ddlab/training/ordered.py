r"""Training in ordered steps, as a process. The set says which images come when, and at which rate.

A set with the target "steps" (`distilled.OrderedSteps`; dataset distillation, Wang et al. 2018,
arXiv 1811.10959) is a whole training: its images in S groups, a rate for each group and each of E
passes over them. Nothing is shuffled, augmented, decayed or averaged:

    v_{t+1} = m_t v_t + grad l(theta_t; images and labels of group t mod S)
    theta_{t+1} = theta_t - r_t v_{t+1},  t = 0 to E S - 1        `inner`, and `unrolled`

Here l is the mean cross-entropy with class labels, or with labels that are learned and need not be
probabilities; m is 0 where no momentum is stored.

Weights begin as in the reference code, by Xavier's draw, as PyTorch draws them, or are those of a
network handed in (`first_weights`).
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import networks
from ..core import Parameters, errors, optimisers, parameter, randomness
from ..distilled import DistilledSet
from ..networks import Network, NetworkSpec
from ..runs import NOTHING, Inputs, Look, Number, Run
from .trained import trained_network
from .unrolled import Inner, Tensors, leaves_of

NAME = "ordered_training"
NEEDS = ("distilled",)
_LENET = networks.spec("lenet")


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    """All else is said by the set."""

    labels: ClassVar[str] = "steps"
    network: NetworkSpec = parameter(_LENET, help="Architecture; without batch norm.")
    initial_weights: str = parameter(
        "xavier",
        choices=("xavier", "pytorch"),
        help="Xavier's normal draw with gain 1 and zero biases, or PyTorch's own, which is half "
        "as wide in a perceptron.",
    )
    seed: int = parameter(
        0,
        range=(0, None),
        help="Of the first weights; of several networks handed in it takes one in turn.",
    )

    @classmethod
    def for_set(cls, distilled: DistilledSet, **changes: Any) -> Self:
        """Return a config with the network and the draw of its first weights that the set's
        provenance names.
        """
        # Asked first, so that a set without steps is refused and not trained on in some other way.
        distilled.target("steps")
        provenance = distilled.provenance
        settings = dict[str, Any]()
        if "network" in provenance:
            spec = NetworkSpec.from_dict(provenance["network"])
            # The architecture alone: the set may be trained on for other data of the same kind.
            settings["network"] = replace(spec, channels=None, classes=None, image_size=None)
        if "initial_weights" in provenance:
            settings["initial_weights"] = provenance["initial_weights"]
        return cls(**settings | changes)


@dataclass(frozen=True)
class State:
    """`step` updates done; the weights by name; the velocity of those that gradient descent moves."""

    step: int
    weights: dict[str, Tensor]
    velocity: dict[str, Tensor]


@dataclass(frozen=True)
class Trace:
    """One update: the loss before it, [], and its rate."""

    loss: Tensor
    rate: float


def check_plain(spec: NetworkSpec) -> None:
    """Raise for a network with batch norm, whose running statistics gradient descent does not move."""
    if networks.batch_norm_layers(spec):
        errors.fail(
            "network",
            "one without batch norm (mlp, lenet, a convnet with norm='instance')",
            spec.title,
        )


def first_weights(
    spec: NetworkSpec, draw: str, *, seed: int, device: torch.device | str = "cpu"
) -> dict[str, Tensor]:
    """Draw weights by name: PyTorch's own draw, or Xavier's normal one.

    The latter (Glorot & Bengio 2010) has gain 1, zero biases and scales of one.
    """
    draws = randomness.generator(seed, 0, "xavier")
    weights = networks.initialise(spec, seed=seed).weights
    for name, value in weights.items() if draw == "xavier" else ():
        if value.ndim > 1:
            torch.nn.init.xavier_normal_(value, generator=draws)
        else:
            # Recurrent cells have bias_ih and bias_hh.
            value.fill_(0.0 if "bias" in name.rpartition(".")[2] else 1.0)
    return {name: value.to(device) for name, value in weights.items()}


def inner(
    spec: NetworkSpec,
    buffers: Tensors,
    *,
    epochs: int,
    steps: int,
    rates: Callable[[Tensors], Tensor],
    answers: Callable[[Tensors], Tensor],
    momenta: Callable[[Tensors], Tensor] | None = None,
) -> Inner:
    """Return the ordered steps on the learned tensor "images" [n, c, h, w].

    Step t takes group t mod `steps`.

    Args:
        buffers: of the network, by name.
        rates, momenta: learned -> [epochs, steps].
        answers: learned -> class labels int64 [n], or labels [n, classes].
    """

    def loss(step: int, weights: Tensors, learned: Tensors) -> Tensor:
        # A pass takes the groups in their order; the next pass begins with the first again.
        images = learned["images"].chunk(steps)[step % steps]
        labels = answers(learned).chunk(steps)[step % steps]
        return F.cross_entropy(
            networks.call(spec, {**buffers, **weights}, images)[0].logits, labels
        )

    def momentum(step: int, learned: Tensors) -> Tensor | float:
        return 0.0 if momenta is None else momenta(learned).flatten()[step]

    return Inner(
        steps=epochs * steps,
        loss=loss,
        rate=lambda step, learned: rates(learned).flatten()[step],
        momentum=momentum,
    )


def split_buffers(
    spec: NetworkSpec, weights: Tensors
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the weights that gradient descent moves, and the buffers, which stay, by name."""
    names = networks.parameter_names(spec)
    return {name: weights[name] for name in names}, {
        n: value for n, value in weights.items() if n not in names
    }


def total_steps(config: Config, inputs: Inputs) -> int:
    """Passes times epochs times steps of the set."""
    return inputs.distilled.target("steps").total


def init(config: Config, inputs: Inputs) -> State:
    """Return the draw for the seed, or the weights of the network handed in.

    Raises:
        DDLabError: no set, one without ordered steps, or a network with batch norm.
    """
    total_steps(config, inputs)
    spec = config.network.for_data(inputs.distilled)
    check_plain(spec)
    weights = first_weights(spec, config.initial_weights, seed=config.seed, device=inputs.device)
    if inputs.teachers:
        # Students of several seeds start from several networks, in turn.
        start = inputs.teachers[config.seed % len(inputs.teachers)]
        if start.spec != spec:
            errors.fail(
                "teacher", f"a {spec.title}, like the student that starts from it", start.spec.title
            )
        weights = start.weights
    return State(0, weights, optimisers.sgd_init(split_buffers(spec, weights)[0]).velocity)


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Take one ordered step."""
    distilled = inputs.distilled
    target = distilled.target("steps")
    answers = distilled.labels if target.labels is None else target.labels
    learned = {
        name: value.to(inputs.device)
        for name, value in (("images", distilled.images), ("labels", answers))
    }
    spec = config.network.for_data(distilled)
    weights, buffers = split_buffers(spec, state.weights)
    steps = inner(
        spec,
        buffers,
        epochs=len(target.rates),
        steps=target.rates.shape[1],
        rates=lambda _: target.rates,
        answers=lambda tensors: tensors["labels"],
    )
    leaves = leaves_of(weights)
    with torch.enable_grad():
        loss = steps.loss(state.step % steps.steps, leaves, learned)
        slopes = torch.autograd.grad(loss, list(leaves.values()))
    # Each pass has rates of its own; after the last pass, with `passes` above 1, all of them come
    # again.
    at = state.step % steps.steps
    rate = float(target.rates.flatten()[at])
    momentum = 0.0
    if target.momenta is not None:
        momentum = float(target.momenta.flatten()[at])
    moved, optimiser = optimisers.sgd_update(
        weights,
        dict(zip(weights, slopes, strict=True)),
        optimisers.SGDState(state.step, state.velocity),
        learning_rate=rate,
        momentum=momentum,
    )
    return State(state.step + 1, {**moved, **buffers}, optimiser.velocity), Trace(
        loss.detach(), rate
    )


def finish(config: Config, inputs: Inputs, state: State) -> Network:
    """Return the network with its weights, and whether its training was complete in `provenance`."""
    spec = config.network.for_data(inputs.distilled)
    total = total_steps(config, inputs)
    return trained_network(NAME, config, inputs, spec, state, total)


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the loss and the rate of the step."""
    numbers = (
        {}
        if trace is None
        else {"loss": Number(trace.loss, "nats", scale="log"), "rate": Number(trace.rate)}
    )
    return Look(numbers=numbers)


def after_steps(distilled: DistilledSet, start: Network) -> Network:
    """Return a network of one's own after the steps of a set: what it is taught, or what poisons it."""
    changes = {"network": replace(start.spec, channels=None, classes=None, image_size=None)}
    process: Any = sys.modules[__name__]
    inputs = Inputs(distilled=distilled, teachers=(start,))
    return Run(process, Config.for_set(distilled, **changes), inputs, keep=NOTHING).to_end()
