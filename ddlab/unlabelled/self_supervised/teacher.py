r"""Training a network without labels, as a process.

There are two views of each image, one projector, and one objective.

By Barlow Twins (Zbontar, Jing, Misra, LeCun & Deny 2021, arXiv 2103.03230) it is the teacher of
KRR-ST (Lee et al. 2024, arXiv 2310.06511) and of the method that builds on it. It makes a network
from images alone: the labels of the data are never read.

One step
x^A, x^B = two views of each image of a batch                         TwoViews.pair
y = features of the network (the input of its last linear layer)      networks.call, in training mode, one view after the other
z = projector(y)                                                      projected
l = what the objective asks of them                                   objective.loss
theta <- SGD with momentum on LARS's direction, or AdamW              lars_direction, core.optimisers
lr: a line up, then a cosine                                          warmed_cosine
what follows the network by momentum                                  objective.follow

The result is the network with its features; the projector is dropped. Its last linear layer, which
nothing here trains, stays as it was drawn, so its logits mean nothing: `unlabelled.probe` trains a
layer in its place.

| deviation from the authors' code | why |
|---|---|
| a ResNet-18, drawn as torchvision draws it; theirs is a ResNet-50 whose residual branches begin at zero | KRR-ST's teachers |
| an epoch's last, smaller batch is left out | the correlation of a few images is noise |
| no mixed precision, one device | two cores, or one GPU |
| the views: see `views` | |
"""

from __future__ import annotations  # State and Trace name attributes of the class too

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ... import networks
from ...core import DDLabError, optimisers
from ...networks import Network, NetworkSpec
from ...networks.specification import hooked_layers, skeleton
from ...runs import Inputs, Look, Number
from ...training.trained import trained_network
from .barlow_twins import standardise
from .objective import RATE_BATCH, Batch, ObjectiveState, Training
from .optimising import lars_direction, warmed_cosine
from .projector import project, projector_weights

NAME = "self_supervised"
NEEDS = ("data",)


@dataclass(frozen=True)
class State:
    """`step` updates done; the network, the projector, the optimiser and the objective's tensors.

    Weights and buffers are kept by name.
    """

    step: int
    weights: dict[str, Tensor]
    projector: dict[str, Tensor]
    optimiser: optimisers.SGDState | optimisers.AdamState
    objective: ObjectiveState


@dataclass(frozen=True)
class Trace:
    """One update: its loss [], how well the views agree [], and the learning rate.

    `agreement` is the mean correlation of a coordinate in one view with itself in the other; 1
    means that they agree.

    Loss and correlation are those before the update.
    """

    loss: Tensor
    agreement: Tensor
    learning_rate: float


@dataclass(frozen=True)
class Teacher:
    """The process that trains a network by an objective.

    `run(Teacher(objective), objective.Config(...), Inputs(data=data))` starts it.
    """

    objective: Any
    NAME: ClassVar[str] = NAME
    NEEDS: ClassVar[tuple[str, ...]] = NEEDS
    State: ClassVar[type] = State
    Trace: ClassVar[type] = Trace

    @property
    def Config(self) -> type[Training]:
        return self.objective.Config

    def total_steps(self, config: Training, inputs: Inputs) -> int:
        """Return epochs times whole batches per epoch."""
        return config.epochs * config.steps_per_epoch(_count(inputs))

    def init(self, config: Training, inputs: Inputs) -> State:
        """Draw fresh weights of network and projector for the seed, with what the objective keeps
        beside them.

        Raises:
            DDLabError: no data, fewer than two images, or a network that does not fit them.
        """
        _count(inputs)
        return initial_state(
            self.objective,
            config,
            config.network.for_data(inputs.data),
            device=inputs.device,
        )

    def update(self, config: Training, inputs: Inputs, state: State) -> tuple[State, Trace]:
        """Take one step on one batch."""
        data = inputs.data
        total = self.total_steps(config, inputs)
        images = data.normalised(config.indices(_count(inputs), state.step), device=inputs.device)
        views = config.pair(images, mean=data.mean, std=data.std, step=state.step)
        return train_step(
            self.objective,
            config,
            config.network.for_data(data),
            state,
            views,
            total=total,
            count=_count(inputs),
        )[:2]

    def finish(self, config: Training, inputs: Inputs, state: State) -> Network:
        """Return the network without the projector.

        `provenance` says how it came about and whether its training was complete.
        """
        spec = config.network.for_data(inputs.data)
        total = self.total_steps(config, inputs)
        return trained_network(NAME, config, inputs, spec, state, total, classifier="untrained")

    def look(self, config: Training, inputs: Inputs, state: State, trace: Trace | None) -> Look:
        """Return the numbers of objective and views before the last update; there are no images to
        see.
        """
        if trace is None:
            return Look()
        numbers = {
            "loss": Number(trace.loss),
            "agreement of the views": Number(trace.agreement),
            "learning rate": Number(trace.learning_rate, scale="log"),
        }
        return Look(numbers=numbers)


@dataclass(frozen=True)
class Guide:
    """A loss of the network's features beside the objective's.

    Attributes:
        trained: what the optimiser trains for it, by name.
        loss: (`trained`, the features [n, d] of both views) -> (the loss [], its share of the
            whole, from 0 to 1).
        alone: its share is 1, and the objective is not asked.
    """

    trained: dict[str, Tensor]
    loss: Callable[[Mapping[str, Tensor], tuple[Tensor, Tensor]], tuple[Tensor, Tensor]]
    alone: bool = False


@dataclass(frozen=True)
class Guided:
    """The result of a guide in one update: what it trains, its loss before the update [] and its
    share [].
    """

    trained: dict[str, Tensor]
    loss: Tensor
    share: Tensor


def initial_state(
    objective: Any,
    config: Training,
    spec: NetworkSpec,
    *,
    device: Any,
    beside: Mapping[str, Tensor] | None = None,
) -> State:
    """Return the state before the first update; `beside`: what a guide trains."""
    weights = networks.initialise(spec, seed=config.seed).to(device).weights
    projector_on_cpu = projector_weights(
        feature_size(spec), widths=config.projector_widths(), seed=config.seed
    )
    projector = {name: value.to(device) for name, value in projector_on_cpu.items()}
    encoder = _join(network=weights, projector=projector)
    kept_state = _detached_state(objective.init(config, encoder), device)
    first = _optimiser(config, _trained_tensors(spec, encoder, kept_state, beside or {}))
    return State(0, weights, projector, first, kept_state)


def train_step(
    objective: Any,
    config: Training,
    spec: NetworkSpec,
    state: State,
    views: tuple[Tensor, Tensor],
    *,
    total: int,
    count: int,
    guide: Guide | None = None,
) -> tuple[Any, Trace, Guided | None]:
    """Take one step on two views of a batch, one of `total`, in epochs of `count` images."""
    beside = {} if guide is None else guide.trained
    encoder = _join(network=state.weights, projector=state.projector)
    current = _trained_tensors(spec, encoder, state.objective, beside)
    # One backward pass for network, projector, objective and guide together.
    leaves = {name: value.detach().requires_grad_() for name, value in current.items()}
    with torch.enable_grad():
        losses = _losses(objective, config, spec, state, views, {**encoder, **leaves}, total, guide)
        slopes = torch.autograd.grad(losses.loss, list(leaves.values()), materialize_grads=True)
    gradients = dict(zip(current, slopes, strict=True))
    learning_rate = _learning_rate(config, count, state.step, total)
    moved, optimiser = _descend(config, current, gradients, state.optimiser, learning_rate)
    if guide is not None and guide.alone:  # what has no gradient does not decay either
        for name, value in current.items():
            if not name.startswith(("network.", "guide.")):
                moved[name] = value
    device = losses.projections[0].device
    kept_state = replace(
        _detached_state(losses.objective, device), trained=_part(moved, "objective")
    )
    # After the optimiser's step: a momentum copy follows the weights that have just moved.
    if hasattr(objective, "follow"):
        kept_state = _detached_state(
            objective.follow(config, kept_state, moved, (state.step + 1) / total), device
        )
    after = {name: moved.get(name, value) for name, value in losses.encoder.items()}
    first, second = (standardise(projection.detach()) for projection in losses.projections)
    trace = Trace(losses.loss.detach(), (first * second).mean(), learning_rate)
    weights = _part(after, "network")
    projector = _part(after, "projector")
    state = replace(
        state,
        step=state.step + 1,
        weights=weights,
        projector=projector,
        optimiser=optimiser,
        objective=kept_state,
    )
    return state, trace, losses.guided and replace(losses.guided, trained=_part(moved, "guide"))


@dataclass(frozen=True)
class _Losses:
    """The result of a pass: the loss [], both projections [n, d], and what encoder, objective and
    guide keep.
    """

    loss: Tensor
    projections: tuple[Tensor, Tensor]
    encoder: dict[str, Tensor]
    objective: ObjectiveState
    guided: Guided | None


def _losses(
    objective: Any,
    config: Training,
    spec: NetworkSpec,
    state: State,
    views: tuple[Tensor, Tensor],
    tensors: Mapping[str, Tensor],
    total: int,
    guide: Guide | None,
) -> _Losses:
    """Return the objective's loss and a guide's, of network, projector and what is trained beside
    them, by name.
    """
    # The passes of an objective's own (a momentum encoder's) are appended behind these two.
    features: list[Tensor] = []

    def encode(encoder: Mapping[str, Tensor], images: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        outputs, buffers = networks.call(spec, _part(encoder, "network"), images, train=True)
        features.append(outputs.features)
        return project(_part(encoder, "projector"), features[-1]), {
            **encoder,
            **_join(network=buffers),
        }

    encoder = {
        name: value
        for name, value in tensors.items()
        if name.startswith(("network.", "projector."))
    }
    first, encoder = encode(encoder, views[0])
    # One view after the other: each has batch statistics of its own, and the running ones move
    # twice.
    second, encoder = encode(encoder, views[1])
    kept_state = state.objective
    guided = None
    loss = first.new_zeros(())
    if guide is None or not guide.alone:
        objective_state = replace(state.objective, trained=_part(tensors, "objective"))
        loss, kept_state = objective.loss(
            config, objective_state, Batch(views, (first, second), encode, state.step, total)
        )
    if guide is not None:
        guide_loss, share = guide.loss(_part(tensors, "guide"), (features[0], features[1]))
        loss = guide_loss if guide.alone else share * guide_loss + (1 - share) * loss
        guided = Guided(guide.trained, guide_loss.detach(), share)
    return _Losses(loss, (first, second), encoder, kept_state, guided)


def restart(config: Training, spec: NetworkSpec, state: Any, beside: Mapping[str, Tensor]) -> Any:
    """Return the state with an optimiser that has seen no gradient, of all that is trained from here on."""
    encoder = _join(network=state.weights, projector=state.projector)
    return replace(
        state,
        optimiser=_optimiser(config, _trained_tensors(spec, encoder, state.objective, beside)),
    )


def feature_size(spec: NetworkSpec) -> int:
    """Return d, how many numbers a network's features have."""
    return dict(skeleton(spec).named_parameters())[f"{hooked_layers(spec)[1]}.weight"].shape[1]


def _trained_tensors(
    spec: NetworkSpec,
    encoder: Mapping[str, Tensor],
    kept_state: ObjectiveState,
    beside: Mapping[str, Tensor],
) -> dict[str, Tensor]:
    """Return everything that the optimiser trains: of network and projector, of the objective, of a
    guide.
    """
    projector = _part(encoder, "projector")
    encoder_part = {name: encoder[name] for name in _learn(spec, projector)}
    return encoder_part | _join(objective=kept_state.trained) | _join(guide=beside)


def _optimiser(
    config: Training, trained: Mapping[str, Tensor]
) -> optimisers.SGDState | optimisers.AdamState:
    return optimisers.begin("adamw" if config.optimiser == "adamw" else "sgd", trained)


def _count(inputs: Inputs) -> int:
    count = len(inputs.data.train_labels)
    if count < 2:
        raise DDLabError(
            f"data must hold at least two training images to correlate over; given {count}."
        )
    return count


def _learn(spec: NetworkSpec, projector: Mapping[str, Tensor]) -> list[str]:
    """Return the names of what is trained of an encoder.

    They are the network below its features (all but the last linear layer) and the projector.
    """
    # No loss ever reads the last linear layer, so it must not decay either.
    _, classifier = hooked_layers(spec)
    below = [
        name for name in networks.parameter_names(spec) if not name.startswith(f"{classifier}.")
    ]
    return [*(f"network.{name}" for name in below), *(f"projector.{name}" for name in projector)]


def _join(**parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Join several dicts under names that cannot meet; `_part` is the way back."""
    joined = {}
    for part, values in parts.items():
        for name, value in values.items():
            joined[f"{part}.{name}"] = value
    return joined


def _part(joined: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(f"{part}."): value
        for name, value in joined.items()
        if name.startswith(f"{part}.")
    }


def _detached_state(state: Any, device: Any) -> ObjectiveState:
    """Return what an objective keeps, without gradients and on the run's device."""

    def detached(part: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: value.detach().to(device) for name, value in part.items()}

    return ObjectiveState(detached(state.trained), detached(state.target), detached(state.buffers))


def _learning_rate(config: Training, count: int, step: int, total: int) -> float:
    warmup = config.warmup_epochs * config.steps_per_epoch(count)
    base = config.learning_rate * config.batch_size / RATE_BATCH
    return warmed_cosine(
        step, total=total, warmup=warmup, base=base, final_fraction=config.final_fraction
    )


def _descend(
    config: Training,
    current: dict[str, Tensor],
    gradients: dict[str, Tensor],
    state: Any,
    learning_rate: float,
) -> tuple[dict[str, Tensor], Any]:
    rates: dict[str, Any] = {"learning_rate": learning_rate, "weight_decay": config.weight_decay}
    if config.optimiser == "lars":
        factor = config.bias_learning_rate / config.learning_rate
        gradients = lars_direction(
            current,
            gradients,
            weight_decay=config.weight_decay,
            trust=config.trust,
            bias_factor=factor,
        )
        rates = {"learning_rate": learning_rate, "momentum": config.momentum}
    return optimisers.descend(current, gradients, state, **rates)
