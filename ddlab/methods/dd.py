r"""DD: dataset distillation.

Wang, Zhu, Torralba & Efros 2018, arXiv 1811.10959; with learned labels it is SLDD (`sldd`).

A network takes a few steps of gradient descent on the learned images, and the loss of where it
ends, on real images, is differentiated through these steps: with respect to the images, and to the
rate of each step. So the set is a training, images, order and rates together, and a student goes
through it as it stands (`training.ordered`, `evaluate(labels="steps")`).

Symbol         In code         Shape                          Unit
x~             images          [steps * m, c, h, w]           normalised pixels; group s is seen in step s of each pass
eta~           raw rates       [epochs, steps]                softplus of them is a rate: nats per squared weight, inverted
y~             labels          [steps * m, classes]           learned where `learn_labels` (SLDD, arXiv 1910.02551)
theta_0        start           as the network's weights       drawn by `starts`
theta_N        N = epochs * steps of `ordered.inner`

Equation                                                                                  Function
eq 3  theta_{t+1} = theta_t - eta~_t grad l(x~_t, theta_t);  min L = l(x, theta_N)        ordered.inner, outer_loss
eq 5  min E_{theta_0 ~ p} L, as the mean over `networks` draws                            starts, gradients
      eta~ = log(1 + e^raw): rates stay above 0                                           learned_rates
sec 3.5  a class is taken for another after one step: the same loss with real             real_batch
         labels changed, from networks that are trained already

As in the reference code Adam moves everything learned, with betas .5 and .999 and a rate that is
halved every tenth of a run; images begin as N(0, 1), weights as Xavier's draw. Away from it: the
real batch is drawn anew at each update, not pass by pass. The "94% with ten MNIST images" of the
paper is one step and three passes, from one start; its 10 x 3 on a hundred images is for random
starts.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from .. import networks
from ..core import DDLabError, errors, optimisers, parameter, randomness, with_default
from ..core.optimisers import AdamState
from ..distilled import DistilledSet, OrderedSteps
from ..networks import NetworkSpec
from ..runs import Inputs, Look, Number
from ..training import ordered
from ..training.unrolled import Inner, Tensors, diverging, outer_gradient
from .shared import descent
from .shared.ordered_set import (
    OrderedSet,
    class_numbers,
    first_labels,
    inner_targets,
    learned_rates,
    raw_rates,
)

NAME = "dataset_distillation"
ALIASES = ("dd",)
NEEDS = ("data",)
LABELS = ("hard",)  # and its steps; a teacher has nothing to say of them
# Adam's, as in the authors' code.
BETAS = (0.5, 0.999)
_LENET = networks.spec("lenet")


@dataclass(frozen=True, kw_only=True)
class Config(OrderedSet):
    """Hyper-parameters.

    The defaults are those of the reference code for MNIST and random starts.
    """

    process: ClassVar[str] = NAME  # SLDD and TDD are the same process under names of their own
    epochs: int = parameter(
        3, range=(1, None), help="Passes, each with rates of its own.", explorable=(1, 10)
    )
    starts: str = parameter(
        "random",
        choices=("fixed", "random", "pretrained"),
        explorable=True,
        help="Where training starts: one draw of weights, a new one each time, or the networks "
        "that are handed in.",
    )
    networks: int = parameter(
        4, range=(1, None), help="Starts of an update; a fixed one is one.", explorable=(1, 8)
    )
    initial_weights: str = with_default(
        ordered.Config, "initial_weights", "xavier", source="reference code"
    )
    network: NetworkSpec = parameter(
        _LENET, help="Architecture, without batch norm; pretrained ones have their own."
    )
    iterations: int = parameter(
        23_600, range=(1, None), help="Updates of the set.", explorable=(10, 500), step=10
    )
    learning_rate: float = parameter(
        0.01,
        range=(0, None),
        open_low=True,
        scale="log",
        help="Of Adam on all that is learned.",
        explorable=(1e-3, 0.1),
    )
    halvings: int = parameter(
        10, range=(0, 100), help="How often Adam's rate is halved in a run, evenly."
    )
    initial_rate: float = parameter(
        0.02,
        symbol=r"\tilde\eta_0",
        range=(0, None),
        open_low=True,
        scale="log",
        help="Of each step, at the beginning.",
        explorable=(0.001, 0.5),
    )
    batch_size: int = parameter(
        1024, range=(1, None), unit="images", help="Real images in the loss."
    )
    attacked_class: int | None = parameter(
        None, range=(0, None), help="Real images of this class are called another."
    )
    taken_for: int | None = parameter(
        None, range=(0, None), help="What they are called: the set poisons a network."
    )
    recompute: bool = parameter(
        False, help="Compute steps again on the way back: memory of one step, more work."
    )

    def rules(self) -> None:
        """Raise unless an attacked class is taken for another."""
        super().rules()
        pair = (self.attacked_class, self.taken_for)
        if pair != (None, None) and (None in pair or pair[0] == pair[1]):
            errors.fail(
                "taken_for", "another class than attacked_class, or both None", self.taken_for
            )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, 16 pixels and seconds.

        A perceptron takes three steps on the same images; a hundred updates from one start.
        """
        return cls.preset(
            changes,
            network=networks.spec("mlp"),
            initial_weights="pytorch",
            steps=1,
            starts="fixed",
            iterations=100,
            learning_rate=0.05,
            halvings=0,
            initial_rate=0.1,
            batch_size=256,
        )


@dataclass(frozen=True)
class State:
    """`step` updates done; everything that is learned, and its optimiser.

    Learned are "images", "raw_rates" and perhaps "labels".
    """

    step: int
    learned: dict[str, Tensor]
    optimiser: AdamState


@dataclass(frozen=True)
class Trace:
    """One update: the loss [] after the last inner step, before the update, mean over the starts.

    `rates` are [epochs, steps].
    """

    loss: Tensor
    rates: Tensor


def outer_loss(spec: NetworkSpec, weights: Tensors, images: Tensor, labels: Tensor) -> Tensor:
    """Return the loss of the trained network on real images (equation 3).

    It is the mean cross-entropy, a scalar, of images [n, c, h, w] and class labels [n].
    """
    return cross_entropy(networks.call(spec, weights, images)[0].logits, labels)


def network_of(config: Config, inputs: Inputs) -> NetworkSpec:
    """Return the architecture that is trained."""
    if config.starts == "pretrained":
        return inputs.teacher.spec
    return config.network.for_data(inputs.data)


def inner_of(config: Config, inputs: Inputs, buffers: Tensors) -> Inner:
    """Return the ordered steps of a network with these buffers, as functions of what is learned."""
    classes = inputs.data.classes
    return ordered.inner(
        network_of(config, inputs),
        buffers,
        epochs=config.epochs,
        steps=config.steps,
        rates=lambda learned: learned_rates(learned["raw_rates"]),
        answers=lambda learned: inner_targets(config, learned, classes),
    )


def starts(config: Config, inputs: Inputs, step: int) -> Iterable[dict[str, Tensor]]:
    """Yield theta_0 of each network of an update, by name."""
    spec = network_of(config, inputs)
    options = {"device": inputs.device}
    if config.starts == "fixed":
        yield ordered.first_weights(spec, config.initial_weights, seed=config.seed, **options)
    elif config.starts == "random":
        for number in range(config.networks):
            seed = randomness.derived_seed(config.seed, step * config.networks + number, "start")
            yield ordered.first_weights(spec, config.initial_weights, seed=seed, **options)
    else:
        numbers = list(range(len(inputs.teachers)))
        if len(numbers) > config.networks:
            draws = randomness.generator(config.seed, step, "start")
            numbers = torch.randperm(len(numbers), generator=draws)[: config.networks].tolist()
        yield from (inputs.teachers[number].weights for number in numbers)


def real_batch(config: Config, inputs: Inputs, step: int) -> tuple[Tensor, Tensor]:
    """Draw random real images [n, c, h, w] and their classes [n]."""
    data = inputs.data
    # A permutation and not draws with replacement: no real image counts twice in a batch.
    order = randomness.permutation(len(data.train_labels), config.seed, step, "real images")
    rows = order[: config.batch_size]
    labels = data.train_labels[rows]
    if config.attacked_class is not None and config.taken_for is not None:
        labels = torch.where(labels == config.attacked_class, config.taken_for, labels)
    return data.normalised(rows, device=inputs.device), labels.to(inputs.device)


def gradients(
    config: Config, inputs: Inputs, step: int, learned: Tensors
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the mean loss [] over the starts of an update, and its gradient by name (equation 5)."""
    spec = network_of(config, inputs)
    images, labels = real_batch(config, inputs, step)
    losses = []
    slopes_of_starts = []
    for start in starts(config, inputs, step):
        weights, buffers = ordered.split_buffers(spec, start)
        loss, slopes, _ = outer_gradient(
            inner_of(config, inputs, buffers),
            weights,
            learned,
            # `buffers=buffers` binds this start's; a plain closure would see those of the last one.
            lambda last, _, buffers=buffers: outer_loss(spec, {**buffers, **last}, images, labels),
            recompute=config.recompute,
        )
        losses.append(loss)
        slopes_of_starts.append(slopes)
    mean_slopes = {}
    for name in learned:
        mean_slopes[name] = torch.stack([slopes[name] for slopes in slopes_of_starts]).mean(0)
    return torch.stack(losses).mean(), mean_slopes


total_steps = descent.total_steps


def init(config: Config, inputs: Inputs) -> State:
    """Return noise images, equal rates, and labels where they are learned.

    Raises:
        DDLabError: no data, no network where `starts` asks for one, or a network with batch norm.
    """
    data = inputs.data
    if config.starts == "pretrained" and not inputs.teachers:
        raise DDLabError(
            f"teacher must be given to {config.process} with pretrained starts; given none."
        )
    ordered.check_plain(network_of(config, inputs))
    for name in ("attacked_class", "taken_for"):
        if (getattr(config, name) or 0) >= data.classes:
            errors.fail(name, f"below {data.classes}, the number of classes", getattr(config, name))
    count = len(class_numbers(config, data.classes))
    learned = {
        "images": descent.noise_images(data, count, seed=config.seed, batch=0, device=inputs.device)
    }
    # What Adam moves is the softplus's argument, so a rate can shrink but never turn negative.
    learned["raw_rates"] = raw_rates(
        torch.full((config.epochs, config.steps), config.initial_rate)
    ).to(inputs.device)
    if config.learn_labels:
        learned["labels"] = first_labels(config, data.classes).to(inputs.device)
    return State(0, learned, optimisers.adam_init(learned))


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Update everything that is learned once."""
    with diverging(config.process, state.step + 1):
        loss, slopes = gradients(config, inputs, state.step, state.learned)
    rate = config.learning_rate * 0.5 ** (config.halvings * state.step // config.iterations)
    learned, adam = optimisers.adam_update(
        state.learned, slopes, state.optimiser, learning_rate=rate, betas=BETAS
    )
    return State(state.step + 1, learned, adam), Trace(
        loss, learned_rates(state.learned["raw_rates"])
    )


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images with their order, rates and labels.

    Beside learned labels the class labels are the largest of each.
    """
    classes = inputs.data.classes
    rates = learned_rates(state.learned["raw_rates"]).detach().cpu()
    learned = (
        inner_targets(config, state.learned, classes).detach().cpu()
        if config.learn_labels
        else None
    )
    labels = class_numbers(config, classes) if learned is None else learned.argmax(1)
    provenance = {
        "network": network_of(config, inputs).to_dict(),
        "initial_weights": config.initial_weights,
    }
    # Networks that training starts from say nothing of the images.
    plain = replace(inputs, teachers=())
    images = state.learned["images"]
    distilled = descent.distilled(
        config.process, config, plain, state, images, labels, config.iterations, **provenance
    )
    return distilled.with_targets(OrderedSteps(rates, learned))


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images of all steps, the loss and the mean rate."""
    images = state.learned["images"]
    numbers = {}
    if trace is not None:
        numbers = {
            "loss": Number(trace.loss, "nats", scale="log"),
            "rate": Number(trace.rates.mean()),
        }
    return Look(
        images,
        class_numbers(config, inputs.data.classes).to(images.device),
        numbers,
    )


SMALL = Config(  # for the contract tests
    network=networks.spec("mlp", width=4),
    steps=2,
    epochs=2,
    networks=2,
    iterations=4,
    batch_size=8,
    initial_rate=0.1,
)
