r"""Training a network without labels, as a process: two views of each image, one projector, one objective.

By Barlow Twins (Zbontar, Jing, Misra, LeCun & Deny 2021, arXiv 2103.03230) it is the teacher of KRR-ST (Lee et al. 2024, arXiv 2310.06511)
and of the method that builds on it. It makes a network from images alone: the labels of the data are never read.

One step
x^A, x^B = two views of each image of a batch                         TwoViews.pair
y = features of the network (the input of its last linear layer)      networks.call, in training mode, one view after the other
z = projector(y)                                                      projected
l = what the objective asks of them                                   objective.loss
theta <- SGD with momentum on LARS's direction, or AdamW              lars_direction, optim
lr: a line up, then a cosine                                          warmed_cosine
what follows the network by momentum                                  objective.follow

The result is the network with its features; the projector is dropped. Its last linear layer, which nothing here trains, stays as it
was drawn, so its logits mean nothing: `evaluation.probe` trains a layer in its place.

| deviation from the authors' code | why |
|---|---|
| a ResNet-18, drawn as torchvision draws it; theirs is a ResNet-50 whose residual branches begin at zero | KRR-ST's teachers |
| an epoch's last, smaller batch is left out | the correlation of a few images is noise |
| no mixed precision, one device | two cores, or one GPU |
| the views: see `views` | |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ... import networks
from ...core import errors, optimisers
from ...core.errors import DDLabError
from ...core.parameters import describe
from ...networks import Network, NetworkSpec
from ...networks.specification import hooked_layers
from ...runs.look import Look, Number
from ...runs.process import Inputs, require_data
from ..trained import trained_network
from .barlow_twins import standardised
from .objective import RATE_BATCH, Batch, ObjectiveState, Training
from .optimising import lars_direction, warmed_cosine
from .projector import projected, projector_weights

NAME = "self_supervised"


@dataclass(frozen=True)
class State:
    """`step` updates done; weights and buffers of the network and weights of the projector by name; state of optimiser and objective."""

    step: int
    weights: dict[str, Tensor]
    projector: dict[str, Tensor]
    optimiser: optimisers.SGDState | optimisers.AdamState
    objective: ObjectiveState


@dataclass(frozen=True)
class Trace:
    """One update: its loss [], the mean correlation of a coordinate in one view with itself in the other [] (1: they agree), learning rate.

    Loss and correlation are those before the update.
    """

    loss: Tensor
    agreement: Tensor
    learning_rate: float


@dataclass(frozen=True)
class Teacher:
    """The process that trains a network by an objective: `run(Teacher(objective), objective.Config(...), Inputs(data=data))`.

    Raises:
        DDLabError: an objective, a module as `objective.py` describes it, that lacks a part.
    """

    objective: Any
    NAME: ClassVar[str] = NAME
    State: ClassVar[type] = State
    Trace: ClassVar[type] = Trace

    def __post_init__(self) -> None:
        for part in ("NAME", "Config", "init", "loss"):
            if not hasattr(self.objective, part):
                allowed = f"a module with NAME, Config, init and loss (this has no {part})"
                errors.fail("objective", allowed, self.objective)
        config = self.objective.Config
        if not (isinstance(config, type) and issubclass(config, Training)):
            errors.fail("objective.Config", "a class that extends self_supervised.Training", config)
        if (said := describe(config)["loss"].default) != self.objective.NAME:
            errors.fail("the default of objective.Config.loss", f"objective.NAME, {self.objective.NAME!r}", said)

    @property
    def Config(self) -> type[Training]:
        return self.objective.Config

    def total_steps(self, config: Training, inputs: Inputs) -> int:
        """Epochs times whole batches per epoch."""
        return config.epochs * config.steps_per_epoch(_count(inputs))

    def init(self, config: Training, inputs: Inputs) -> State:
        """Fresh weights of network and projector for the seed, and what the objective keeps beside them.

        Raises:
            DDLabError: no data, fewer than two images, or a network that does not fit them.
        """
        _count(inputs)
        spec = config.network.for_data(require_data(NAME, inputs))
        weights = networks.initialise(spec, seed=config.seed).to(inputs.device).weights
        features = weights[f"{hooked_layers(spec)[1]}.weight"].shape[1]
        drawn = projector_weights(features, widths=config.projector_widths(), seed=config.seed)
        projector = {name: value.to(inputs.device) for name, value in drawn.items()}
        encoder = _joined(network=weights, projector=projector)
        kept = _kept(self.objective.init(config, encoder), inputs)
        learnt = {name: encoder[name] for name in _learnt(spec, projector)} | _joined(objective=kept.trained)
        first = optimisers.begin("adamw" if config.optimiser == "adamw" else "sgd", learnt)
        return State(0, weights, projector, first, kept)

    def update(self, config: Training, inputs: Inputs, state: State) -> tuple[State, Trace]:
        """One step on one batch."""
        data, total = require_data(NAME, inputs), self.total_steps(config, inputs)
        spec = config.network.for_data(data)
        images = data.normalised(config.indices(_count(inputs), state.step), device=inputs.device)
        views = config.pair(images, mean=data.mean, std=data.std, step=state.step)
        encoder = _joined(network=state.weights, projector=state.projector)
        learnt = {name: encoder[name].detach().requires_grad_() for name in _learnt(spec, state.projector)}
        trained = {name: value.detach().requires_grad_() for name, value in state.objective.trained.items()}

        def encode(encoder: Mapping[str, Tensor], images: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
            weights = _part(encoder, "network")
            laid = {name: networks.in_format(config.memory_format, value) for name, value in weights.items()}
            with networks.passes_in(config.precision, images.device):
                shown = networks.in_format(config.memory_format, images)
                outputs, buffers = networks.call(spec, laid, shown, train=True)
            return projected(_part(encoder, "projector"), outputs.features.to(images.dtype)), {
                **encoder,
                **_joined(network=buffers),
            }

        with torch.enable_grad():
            first, encoder = encode({**encoder, **learnt}, views[0])
            second, encoder = encode(encoder, views[1])
            batch = Batch(views, (first, second), encode, state.step, total)
            answer = self.objective.loss(config, replace(state.objective, trained=trained), batch)
            loss, kept = _trainable(self.objective.NAME, answer)
            learnt |= _joined(objective=trained)
            slopes = torch.autograd.grad(loss, list(learnt.values()), materialize_grads=True)
        current = {name: value.detach() for name, value in learnt.items()}
        gradients = dict(zip(current, slopes, strict=True))
        learning_rate = _learning_rate(config, inputs, state.step, total)
        moved, optimiser = _descend(config, current, gradients, state.optimiser, learning_rate)
        kept = replace(_kept(kept, inputs), trained=_part(moved, "objective"))
        if hasattr(self.objective, "follow"):
            kept = _kept(self.objective.follow(config, kept, moved, (state.step + 1) / total), inputs)
        encoder |= moved
        first, second = (standardised(projection.detach()) for projection in (first, second))
        trace = Trace(loss.detach(), (first * second).mean(), learning_rate)
        return State(state.step + 1, _part(encoder, "network"), _part(encoder, "projector"), optimiser, kept), trace

    def finish(self, config: Training, inputs: Inputs, state: State) -> Network:
        """The network, without the projector; `provenance` says how it came about and whether its training was complete."""
        return trained_network(
            config.network.for_data(require_data(NAME, inputs)), state.weights, process=NAME, config=config, inputs=inputs,
            step=state.step, total=self.total_steps(config, inputs), classifier="untrained",
        )  # fmt: skip

    def look(self, config: Training, inputs: Inputs, state: State, trace: Trace | None) -> Look:
        """What the objective and the two views said before the last update; there are no images to see."""
        if trace is None:
            return Look()
        numbers = {
            "loss": Number(trace.loss),
            "agreement of the views": Number(trace.agreement),
            "learning rate": Number(trace.learning_rate, scale="log"),
        }
        return Look(numbers=numbers)


def _count(inputs: Inputs) -> int:
    count = len(require_data(NAME, inputs).train_labels)
    if count < 2:
        raise DDLabError(f"data must hold at least two training images to correlate over; given {count}.")
    return count


def _learnt(spec: NetworkSpec, projector: Mapping[str, Tensor]) -> list[str]:
    """The names of what is trained of an encoder: the network below its features (all but the last linear layer), the projector."""
    _, classifier = hooked_layers(spec)
    below = [name for name in networks.parameter_names(spec) if not name.startswith(f"{classifier}.")]
    return [*(f"network.{name}" for name in below), *(f"projector.{name}" for name in projector)]


def _joined(**parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Several dicts as one, under names that cannot meet; `_part` is the way back."""
    return {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}


def _part(joined: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{part}."): value for name, value in joined.items() if name.startswith(f"{part}.")}


def _trainable(name: str, answer: Any) -> tuple[Tensor, Any]:
    """What an objective's `loss` returned, if a network can learn from it."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        errors.fail(f"the answer of {name}.loss", "(loss, ObjectiveState)", answer)
    loss = errors.check_tensor(f"the loss of {name}", answer[0], shape=[], floating=True, finite=False)
    if not loss.requires_grad:
        errors.fail(f"the loss of {name}", "made from the projections, with their gradients", loss)
    return loss, answer[1]


def _kept(state: Any, inputs: Inputs) -> ObjectiveState:
    """What an objective gave to keep: without gradients, on the run's device."""
    errors.check_instance("the objective's state", state, ObjectiveState, "an ObjectiveState")
    parts = (state.trained, state.target, state.buffers)
    return ObjectiveState(*({n: value.detach().to(inputs.device) for n, value in part.items()} for part in parts))


def _learning_rate(config: Training, inputs: Inputs, step: int, total: int) -> float:
    warmup = config.warmup_epochs * config.steps_per_epoch(_count(inputs))
    base = config.learning_rate * config.batch_size / RATE_BATCH
    return warmed_cosine(step, total=total, warmup=warmup, base=base, final_fraction=config.final_fraction)


def _descend(
    config: Training, current: dict[str, Tensor], gradients: dict[str, Tensor], state: Any, learning_rate: float
) -> tuple[dict[str, Tensor], Any]:
    rates: dict[str, Any] = {"learning_rate": learning_rate, "weight_decay": config.weight_decay}
    if config.optimiser == "lars":
        factor = config.bias_learning_rate / config.learning_rate
        gradients = lars_direction(
            current, gradients, weight_decay=config.weight_decay, trust=config.trust, bias_factor=factor
        )
        rates = {"learning_rate": learning_rate, "momentum": config.momentum}
    return optimisers.descend(current, gradients, state, **rates)
