r"""Mnemonics: exemplars that are learned for class-incremental training.

Liu, Su, Liu, Schiele & Sun 2020, arXiv 2002.10211.

Classes come in phases. One network learns each phase on its images and on a few exemplars of the
classes before; then it chooses exemplars of the new classes, and these are learned, too: so that a
copy of the network, trained on them alone, is right about the phase's images.

Symbol        In code          Shape
Theta_i       weights          after phase i; models[i] is what is tested
E_{0:i}       exemplars        [classes * m, c, h, w], in order of arrival, 0 where a class has not come
D_i           phases.arrived   the training images of phase i

The two levels (eq 4)                                                                           Function
model       Theta_i by lambda L_c + (1 - lambda) L_d on E_{0:i-1} and D_i, from Theta_{i-1}     phases.model_loss
exemplars   Theta' = steps of Theta_i on E_i;  E_i <- E_i - beta grad L_c(Theta'; D_i)          exemplar_gradient
old ones    E^A <- E^A - beta grad L_c(Theta'(E^A); E^B), and the other way round               adjusting_gradient
then        fine-tuning on exemplars, as many of each class                                     update

The released trainer has no such step: it freezes the network and asks that real features be
nearest, by their cosine, to the mean feature of the exemplars of their class ("released"), and cuts
images to bytes. As in its code exemplars may begin as herding chooses them (the paper's text draws
them). Away from it: learned exemplars move by Adam (theirs: SGD of 1e-5, momentum .9), as many of
each class (theirs: 2,000 in all); in later phases their queries leave old classes out; networks
without batch norm, no crops or flips, a mask for classes that have not come, no transfer of
weights.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from .. import networks
from ..core import Published, errors, optimisers, randomness
from ..core.optimisers import AdamState
from ..data.images import normalise
from ..distilled import DistilledSet
from ..runs import Inputs, Look, Number
from ..training import ordered
from ..training.phases import (
    arrivals,
    batch_of,
    class_ends,
    class_order,
    logits_of,
    model_loss,
    model_steps,
    rate_at,
)
from ..training.unrolled import diverging, leaves_of
from . import selection
from .shared import descent
from .shared.exemplars import (
    NAME,
    Exemplars,
    adjusting_gradient,
    exemplar_gradient,
    exemplars_per_class,
    release_gradient,
)

ALIASES = ()
NEEDS = ("data",)


@dataclass(frozen=True, kw_only=True)
class Config(Exemplars, Published):
    """Hyper-parameters.

    The defaults are those of the reference code for CIFAR-100 as far as it has them.
    """

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, 16 pixels and seconds: digits in five phases of two,
        forty steps each.
        """
        return cls.preset(
            changes,
            tasks=5,
            images_per_class=2,
            network=networks.spec("convnet", width=16, norm="instance"),
            epochs=5,
            batch_size=32,
            replay_batch_size=32,
            learning_rate=0.05,
            momentum=0.0,
            weight_decay=0.0,
            learning_rate_decay=1.0,
            tuning_steps=10,
            exemplar_updates=30,
            exemplar_learning_rate=0.003,
            temporary_learning_rate=0.1,
        )


@dataclass(frozen=True)
class State:
    """`step` updates done; the network and its velocity; exemplars and their optimiser; the network
    after each phase.
    """

    step: int
    weights: dict[str, Tensor]
    velocity: dict[str, Tensor]
    exemplars: Tensor
    optimiser: AdamState
    models: tuple[dict[str, Tensor], ...]


@dataclass(frozen=True)
class Trace:
    """One update: its loss before it, []; its phase, and what it moved: "model", "exemplars" or
    "tuning".
    """

    loss: Tensor
    phase: int
    part: str


def parts(config: Config, inputs: Inputs) -> list[tuple[int, str, int]]:
    """Return (phase, what is moved, steps) of the whole run, in order."""
    schedule = []
    for phase in range(config.tasks):
        schedule.append(
            (phase, "model", model_steps(config, inputs, phase, exemplars_per_class(config)))
        )
        if exemplars_per_class(config) and config.exemplar_step != "none":
            schedule.append((phase, "exemplars", config.exemplar_updates))
        if exemplars_per_class(config) and config.tuning_steps:
            schedule.append((phase, "tuning", config.tuning_steps))
    return schedule


def total_steps(config: Config, inputs: Inputs) -> int:
    """Return the updates of networks and exemplars, of all phases."""
    return sum(steps for *_, steps in parts(config, inputs))


def init(config: Config, inputs: Inputs) -> State:
    """Return a fresh network, and nothing kept.

    Raises:
        DDLabError: no data, classes that the phases cannot share, fewer images in a class than
            exemplars, batch norm, or "given" without a distilled set that has exemplars enough.
    """
    data = inputs.data
    spec = config.network.for_data(data)
    ordered.check_plain(spec)
    class_ends(config, data.classes)
    given_set = inputs.distilled if config.start == "given" else None
    if config.start == "given" and given_set is None:
        errors.fail(
            "distilled",
            f"a set of the data's {data.classes} classes, whose images are the exemplars",
            given_set,
        )
    if given_set is not None:
        errors.check_same_classes("distilled", given_set.class_names, data.class_names)
    fewest = int(
        (
            data.class_counts()
            if given_set is None
            else given_set.labels.bincount(minlength=data.classes)
        ).min()
    )
    if exemplars_per_class(config) > fewest:
        errors.fail(
            "images_per_class",
            f"at most {fewest}, what the smallest class has",
            config.images_per_class,
        )
    weights = ordered.first_weights(spec, "pytorch", seed=config.seed, device=inputs.device)
    # Room for all classes from the beginning, so that the shape of the State never changes.
    exemplars = torch.zeros(
        (data.classes * exemplars_per_class(config), data.channels, *data.image_size),
        device=inputs.device,
    )
    velocity = optimisers.sgd_init(ordered.split_buffers(spec, weights)[0]).velocity
    return State(
        0, weights, velocity, exemplars, optimisers.adam_init({"exemplars": exemplars}), ()
    )


def first_exemplars(config: Config, inputs: Inputs, state: State, phase: int) -> Tensor:
    """Return all exemplars, with those of a phase's classes as they begin."""
    data = inputs.data
    exemplars = state.exemplars.clone()
    rows, places = arrivals(config, data, phase)
    order = class_order(data.classes, config.order_seed)
    count = exemplars_per_class(config)
    for place in places.unique().tolist():
        members = rows[places == place]
        if config.start == "given" and inputs.distilled is not None:
            given_set = inputs.distilled
            images = given_set.images[
                (given_set.labels == order[place]).nonzero().flatten()[:count]
            ].to(exemplars.device)
        else:
            images = data.normalised(members, device=exemplars.device)
            if config.start == "herding":
                features = networks.call(config.network.for_data(data), state.weights, images)[
                    0
                ].features
                images = images[selection.herding(features.detach(), count)]
            else:
                # Drawn by class, so the number of tasks does not change which images are kept.
                draws = randomness.generator(config.seed, place, "exemplars")
                images = images[torch.randperm(len(images), generator=draws)[:count]]
        exemplars[place * count : (place + 1) * count] = images
    return exemplars


class Place(NamedTuple):
    """The position of a step: which phase and what of it moves, its number of so many.

    Beside them stands how many classes there are before and now.
    """

    phase: int
    part: str
    index: int
    steps: int
    before: int
    now: int


def place_of(config: Config, inputs: Inputs, step: int) -> Place:
    """Return the position of a step."""
    ends = [0, *class_ends(config, inputs.data.classes)]
    for phase, part, steps in parts(config, inputs):
        # Parts follow each other, so a step belongs to the first part that it does not outrun.
        if step < steps:
            return Place(phase, part, step, steps, ends[phase], ends[phase + 1])
        step -= steps
    raise AssertionError("a run has no step after its last")


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Take one step of the network on a phase's images, of the exemplars, or of the network on the
    exemplars alone.
    """
    place = place_of(config, inputs, state.step)
    if place.index == 0:  # each training has an optimiser of its own
        state = replace(
            state,
            velocity={name: torch.zeros_like(value) for name, value in state.velocity.items()},
        )
    # The three kinds of step have one signature, so the schedule alone decides.
    step = {"model": phase_step, "exemplars": exemplars_step, "tuning": tuning_step}[place.part]
    state, loss = step(config, inputs, state, place)
    models = state.models
    # The last step of a phase, whatever its last part is.
    if state.step + 1 == sum(
        entry[-1] for entry in parts(config, inputs) if entry[0] <= place.phase
    ):
        # Kept for the next phase, whose loss asks what the network said before it.
        models = (*models, state.weights)
    return replace(state, step=state.step + 1, models=models), Trace(loss, place.phase, place.part)


def phase_step(config: Config, inputs: Inputs, state: State, place: Place) -> tuple[State, Tensor]:
    """Take one step of the network on images of the phase and exemplars.

    After the last one the phase's exemplars begin.
    """
    old = state.exemplars[: place.before * exemplars_per_class(config)]
    images, labels = batch_of(config, inputs, old, place.phase, place.index)
    # The first phase has no earlier network to remember.
    old_logits = (
        logits_of(config, inputs, state.models[-1], images, place.before) if state.models else None
    )
    rate = rate_at(config, place.index, place.steps)
    state, loss = network_step(
        config,
        inputs,
        state,
        images,
        labels,
        old_logits,
        seen_classes=place.now,
        learning_rate=rate,
    )
    if place.index == place.steps - 1 and exemplars_per_class(config):
        new_exemplars = first_exemplars(config, inputs, state, place.phase)
        state = replace(
            state,
            exemplars=new_exemplars,
            optimiser=optimisers.adam_init({"exemplars": new_exemplars}),
        )
    return state, loss


def tuning_step(config: Config, inputs: Inputs, state: State, place: Place) -> tuple[State, Tensor]:
    """Take one step of the network on all exemplars, the same number of every class."""
    labels = labels_of(config, inputs, place.now)
    images = state.exemplars[: len(labels)]
    rate = config.learning_rate
    return network_step(
        config, inputs, state, images, labels, None, seen_classes=place.now, learning_rate=rate
    )


def exemplars_step(
    config: Config, inputs: Inputs, state: State, place: Place
) -> tuple[State, Tensor]:
    """Take one step of the exemplars; those of the released code are cut to bytes after the last."""
    with diverging(NAME, state.step + 1):
        gradient, loss = exemplars_gradient(config, inputs, state, place)
        current = {"exemplars": state.exemplars}
        rate = config.exemplar_learning_rate
        moved, adam = optimisers.adam_update(
            current, {"exemplars": gradient}, state.optimiser, learning_rate=rate
        )
    state = replace(state, exemplars=moved["exemplars"], optimiser=adam)
    if config.exemplar_step == "released" and place.index == place.steps - 1:
        data = inputs.data
        rounded = normalise(data.to_uint8(state.exemplars), data.mean, data.std)
        state = replace(state, exemplars=rounded.to(inputs.device))
    return state, loss


def network_step(
    config: Config,
    inputs: Inputs,
    state: State,
    images: Tensor,
    labels: Tensor,
    old_logits: Tensor | None,
    *,
    seen_classes: int,
    learning_rate: float,
) -> tuple[State, Tensor]:
    """Take one step of SGD on images and labels, and on the earlier network's logits where there
    are some.
    """
    trainable, buffers = ordered.split_buffers(config.network.for_data(inputs.data), state.weights)
    leaves = leaves_of(trainable)
    with torch.enable_grad():
        loss = model_loss(
            config,
            logits_of(config, inputs, {**buffers, **leaves}, images, seen_classes),
            labels,
            old_logits,
        )
        slopes = torch.autograd.grad(loss, list(leaves.values()))
    gradients = dict(zip(trainable, slopes, strict=True))
    # Buffers are never trained: the network has no batch norm, and `check_plain` saw to it.
    optimiser = optimisers.SGDState(state.step, state.velocity)
    options = {
        "momentum": config.momentum,
        "learning_rate": learning_rate,
        "weight_decay": config.weight_decay,
    }
    moved, velocity = optimisers.sgd_update(trainable, gradients, optimiser, **options)
    return replace(state, weights={**moved, **buffers}, velocity=velocity.velocity), loss.detach()


def labels_of(config: Config, inputs: Inputs, seen_classes: int) -> Tensor:
    """Return the position among the classes seen of each of their exemplars, int64."""
    return torch.arange(seen_classes, device=inputs.device).repeat_interleave(
        exemplars_per_class(config)
    )


def exemplars_gradient(
    config: Config, inputs: Inputs, state: State, place: Place
) -> tuple[Tensor, Tensor]:
    """Return the gradient that moves all exemplars, and the loss of the new ones, []."""
    data = inputs.data
    labels = labels_of(config, inputs, place.now)
    rows, places = arrivals(config, data, place.phase)
    draws = randomness.generator(config.seed, place.index, f"judging images of phase {place.phase}")
    chosen = torch.randperm(len(rows), generator=draws)[: config.batch_size]
    judged = data.normalised(rows[chosen], device=inputs.device), places[chosen].to(inputs.device)
    old_count = place.before * exemplars_per_class(config)
    gradient = torch.zeros_like(state.exemplars)
    new_rows = slice(old_count, len(labels))
    arguments = config, inputs, state.weights, state.exemplars[new_rows], labels[new_rows], judged
    if config.exemplar_step == "released":
        loss, gradient[new_rows] = release_gradient(*arguments)
        return gradient, loss
    loss, gradient[new_rows] = exemplar_gradient(*arguments, place.now)
    # With one exemplar of a class there are no two halves to judge each other.
    if old_count and config.adjust_old and exemplars_per_class(config) > 1:
        gradient[:old_count] = adjusting_gradient(
            config,
            inputs,
            state.weights,
            state.exemplars[:old_count],
            labels[:old_count],
            place.now,
        )
    return gradient, loss


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the exemplars of all classes that have come."""
    data = inputs.data
    order = class_order(data.classes, config.order_seed)
    count = exemplars_per_class(config)
    # An interrupted run returns the exemplars of whole phases alone.
    seen_classes = ([0, *class_ends(config, data.classes)])[len(state.models)]
    labels = torch.tensor(order[:seen_classes], dtype=torch.int64).repeat_interleave(count)
    kept_images = state.exemplars[: seen_classes * count]
    return descent.distilled(
        NAME, config, inputs, state, kept_images, labels, total_steps(config, inputs)
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the exemplars so far, and the loss."""
    data = inputs.data
    labels = torch.tensor(class_order(data.classes, config.order_seed)).repeat_interleave(
        exemplars_per_class(config)
    )
    numbers = {} if trace is None else {"loss": Number(trace.loss, "nats", scale="log")}
    return Look(state.exemplars, labels, numbers)


SMALL = Config(  # for the contract tests
    network=networks.spec("convnet", width=4, depth=1, norm="instance"),
    tasks=3,
    images_per_class=2,
    epochs=1,
    batch_size=8,
    temporary_steps=2,
    exemplar_updates=1,
    tuning_steps=1,
)
