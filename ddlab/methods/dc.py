r"""DC: dataset condensation with gradient matching.

Zhao, Mopuri & Bilen 2021, ICLR, arXiv 2006.05929.

Images are learned so that a network which looks at them wants to change in the direction in which
real images of the class would change it: at its random start, and again and again while it is
trained on the learned images themselves.

Symbol       In code                     Shape                        Unit
S            images                      [ipc * classes, c, h, w]     normalised pixels
theta_t      network                     one tensor by name
K, T         networks, outer_steps                                    fresh networks; matchings in each
sigma_theta  inner_epochs                                             passes over S between two matchings
eta_S        learning_rate
eta_theta    network_learning_rate

Equation                                                                       Function
eq 9   min_S E[sum_t D(grad L^S(theta_t), grad L^T(theta_t))]                  matched_step
eq 10  D = sum over layers of sum over output channels of 1 - cos              matching.distances
eq 8   theta_t+1 = theta_t - eta_theta grad L^S(theta_t), sigma_theta epochs   train_between
Alg 1  loops over networks k and matchings t, flattened: step = k T + t        update

One step is one update of the images of all classes. Where the paper and the reference code, which
made the tables, differ, this is the code:
- All classes are matched, then their images move, each by its own gradient; Algorithm 1 moves a
  class at a time, which is the same.
- Biases, and scales and shifts of norms, are not matched, and 1e-6 is added to the product of
  lengths in the cosine.
- After the last matching the network is not trained: with (T, epochs) = (1, 1), as at one image per
  class, it never is.
- T and the epochs follow from the images per class: `schedule`. The code has them for 1, 10, 20,
  30, 40 and 50.
- With batch norm a pass over 16 real images of each class moves the running statistics before each
  matching, which then stand still. And away from it
- Between two of those numbers T and epochs are interpolated, above 50 they stay; `provenance` says
  so.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .. import networks
from ..core import optimisers, parameter, randomness
from ..core.optimisers import SGDState
from ..data.siamese_views import siamese_view
from ..distilled import DistilledSet
from ..networks import NetworkSpec
from ..runs import Inputs, Look, Number
from .shared import descent, matching

NAME = "gradient_matching"
ALIASES = ("dc",)
NEEDS = ("data",)
SCHEDULE = {1: (1, 1), 10: (10, 50), 20: (20, 25), 30: (30, 20), 40: (40, 15), 50: (50, 10)}
"""Images per class -> T and epochs between two matchings, of the reference code."""
WARM_UP = 16  # real images of each class that batch norm sees before a matching
TRAINED_AT_ONCE = 256  # learned images in a batch of the training in between


@dataclass(frozen=True, kw_only=True)
class Config(matching.Config):
    """Hyper-parameters. The defaults are those of the reference code, for all its datasets."""

    networks: int = parameter(
        1000,
        symbol="K",
        range=(1, None),
        help="Fresh networks, one after another.",
        explorable=(1, 100),
    )
    outer_steps: int | None = parameter(
        None,
        symbol="T",
        range=(1, None),
        help="Matchings in each network; None: by the images per class.",
        explorable=(1, 20),
    )
    inner_epochs: int | None = parameter(
        None,
        symbol=r"\varsigma_\theta",
        range=(0, None),
        help="Passes over the learned images between two matchings; None: by the images per class.",
        explorable=(0, 50),
    )
    network_learning_rate: float = parameter(
        0.01,
        symbol=r"\eta_\theta",
        range=(0, None),
        scale="log",
        help="Of SGD on the network, between two matchings.",
        explorable=(0, 0.1),
    )
    distance: str = parameter(
        "channels",
        choices=matching.DISTANCES,
        help="Between two gradients: 1 - cos for each output channel, squared error, or 1 - cos "
        "of all as one vector.",
        source="DC, eq 10 and appendix",
        explorable=True,
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, 16 pixels and half a minute: a hundred narrow
        networks.
        """
        return cls.preset(
            changes,
            network=networks.spec("convnet", width=32, norm="instance"),
            networks=100,
            batch_size=64,
        )

    @property
    def loops(self) -> tuple[int, int]:
        """T and the epochs between two matchings."""
        # 0 epochs is a setting of its own, so None alone falls back on the schedule.
        outer, inner = schedule(self.images_per_class)
        return self.outer_steps or outer, inner if self.inner_epochs is None else self.inner_epochs


@dataclass(frozen=True)
class State:
    """`step` updates done; images, their optimiser, and the network of the next update.

    `network` holds weights and buffers.
    """

    step: int
    images: Tensor
    optimiser: SGDState
    network: dict[str, Tensor]


@dataclass(frozen=True)
class Trace:
    """One update.

    Attributes:
        distances: layer -> [classes], before the update; first, for a NaN is named by what holds it
            first.
        loss: [], their sum.
        matching: t, which matching in its network it was, from 0.
    """

    distances: dict[str, Tensor]
    loss: Tensor
    matching: int


def schedule(images_per_class: int) -> tuple[int, int]:
    """Return T and the epochs between two matchings, as in the reference code.

    On straight lines between its numbers, constant above 50.

    >>> schedule(10), schedule(15)
    ((10, 50), (15, 38))
    """
    sizes = sorted(SCHEDULE)
    outer = round(float(np.interp(images_per_class, sizes, [SCHEDULE[n][0] for n in sizes])))
    inner = round(float(np.interp(images_per_class, sizes, [SCHEDULE[n][1] for n in sizes])))
    return outer, inner


def network_spec(config: Config, inputs: Inputs) -> NetworkSpec:
    """Return the architecture for the data."""
    return config.network.for_data(inputs.data)


def fresh_network(config: Config, inputs: Inputs, number: int) -> dict[str, Tensor]:
    """Weights of the `number`-th network, drawn anew."""
    seed = randomness.derived_seed(config.seed, number, "network")
    return networks.initialise(network_spec(config, inputs), seed=seed).to(inputs.device).weights


def warm_up(config: Config, inputs: Inputs, state: State) -> dict[str, Tensor]:
    """Return the network with batch-norm statistics of real images of every class.

    Without batch norm it is as it was.
    """
    spec = network_spec(config, inputs)
    data = inputs.data
    if not networks.batch_norm_layers(spec):
        return state.network
    # All classes in one pass: statistics of one class at a time would be those of no data.
    real = [
        matching.real_batch(config, inputs, label, step=state.step, count=WARM_UP)
        for label in range(data.classes)
    ]
    with torch.no_grad():
        _, buffers = networks.call(
            spec, state.network, torch.cat(real).to(state.images.dtype), train=True
        )
    return {**state.network, **buffers}


def matched_step(
    config: Config, inputs: Inputs, state: State, weights: dict[str, Tensor]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the gradient of equation 9 for all images at one t, and the distances by layer,
    [classes] each.
    """
    data = inputs.data
    spec = network_spec(config, inputs)
    gradient = torch.zeros_like(state.images)
    distances_by_class: list[dict[str, Tensor]] = []
    for label in range(data.classes):
        # Both sides get the same view; otherwise the distance would measure the augmentation.
        view = partial(matching.augment, config, step=state.step, label=label, classes=data.classes)
        real = matching.real_batch(config, inputs, label, step=state.step).to(state.images.dtype)
        real_gradient = matching.class_gradient(
            spec,
            weights,
            view(real, learned=False),
            label,
            at_once=matching.passes(spec, inputs.device),
        )
        images = matching.of_class(state.images, label, data.classes).detach().requires_grad_()
        with torch.enable_grad():
            synthetic_gradient = matching.class_gradient(
                spec, weights, view(images, learned=True), label, differentiable=True
            )
            by_layer = matching.distances(real_gradient, synthetic_gradient, config.distance)
            (slope,) = torch.autograd.grad(torch.stack(list(by_layer.values())).sum(), images)
        # `of_class` is a view into the gradient of all images, so this writes the class's part.
        matching.of_class(gradient, label, data.classes).copy_(slope)
        distances_by_class.append({name: value.detach() for name, value in by_layer.items()})
    distances = {}
    for name in distances_by_class[0]:
        distances[name] = torch.stack([by_layer[name] for by_layer in distances_by_class])
    return gradient, distances


def train_between(
    config: Config, inputs: Inputs, state: State, weights: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return the network of equation 8 after the epochs between two matchings.

    It trains on the learned images by SGD on class labels.
    """
    data = inputs.data
    spec = network_spec(config, inputs)
    names = networks.parameter_names(spec)
    labels = descent.classes_in_turn(len(state.images), data).to(state.images.device)
    # A fresh optimiser after each matching, as in the reference code; its SGD has no momentum here
    # anyway.
    optimiser = optimisers.sgd_init({name: weights[name] for name in names})
    strategy = getattr(config, "strategy", "")
    for epoch in range(config.loops[1]):
        order = randomness.permutation(len(labels), config.seed, state.step, f"epoch {epoch}")
        for number, rows in enumerate(order.split(TRAINED_AT_ONCE)):
            images = state.images[rows]
            if strategy:
                # Another seed than the matching's, or the network would train on the very view that
                # was matched.
                view_seed = randomness.derived_seed(config.seed, state.step, "views in training")
                images = siamese_view(
                    images,
                    strategy,
                    seed=view_seed,
                    step=epoch * len(order) + number,
                    per_image=True,
                )
            leaves = {name: weights[name].detach().requires_grad_() for name in names}
            with torch.enable_grad():
                outputs, buffers = networks.call(spec, {**weights, **leaves}, images, train=True)
                loss = F.cross_entropy(outputs.logits, labels[rows])
                slopes = torch.autograd.grad(loss, list(leaves.values()))
            moved, optimiser = optimisers.sgd_update(
                {name: weights[name] for name in names},
                dict(zip(names, slopes, strict=True)),
                optimiser,
                learning_rate=config.network_learning_rate,
            )
            weights = {**moved, **buffers}
    return weights


def total_steps(config: Config, inputs: Inputs) -> int:
    """Return the number of networks times the matchings in each."""
    return config.networks * config.loops[0]


def init(config: Config, inputs: Inputs) -> State:
    """Return the first images and the first network.

    Raises:
        DDLabError: no data, or more images per class than a class has.
    """
    images = descent.first_images(NAME, config, inputs)
    return State(
        0, images, optimisers.sgd_init({"images": images}), fresh_network(config, inputs, 0)
    )


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Match once, update all images, and train the network on them.

    After the last matching comes the next network.
    """
    # The two loops of Algorithm 1 are one count: step = k T + t.
    number, matched = divmod(state.step, config.loops[0])
    weights = warm_up(config, inputs, state)
    gradient, distances = matched_step(config, inputs, state, weights)
    after = State(
        state.step + 1,
        *descent.sgd_step(
            state.images, gradient, state.optimiser, config.learning_rate, config.momentum
        ),
        weights,
    )
    # After the last matching of a network nothing looks at it any more, so it is not trained.
    last = matched == config.loops[0] - 1
    if not last:
        after = State(
            after.step,
            after.images,
            after.optimiser,
            train_between(config, inputs, after, weights),
        )
    elif number < config.networks - 1:
        after = State(
            after.step, after.images, after.optimiser, fresh_network(config, inputs, number + 1)
        )
    loss = torch.stack(list(distances.values())).sum()
    return after, Trace(distances, loss, matched)


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images with hard labels, and with a teacher's where there is one."""
    provenance = {
        "loops": list(config.loops),
        "loops_interpolated": config.images_per_class not in SCHEDULE,
    }
    return descent.images_in_turn(
        NAME, config, inputs, state, total_steps(config, inputs), **provenance
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images, and the distance by layer, summed over the classes."""
    numbers = {}
    if trace is not None:
        numbers = {"distance": Number(trace.loss, curve="distance", scale="log")}
        if len(trace.distances) > 1:
            parts = trace.distances.items()
            for name, value in parts:
                numbers[name] = Number(value.sum(), curve="distance by layer", scale="log")
    return descent.look_at(inputs, state, numbers)


SMALL = Config(  # for the contract tests
    network=networks.spec("convnet", width=4, norm="instance"),
    networks=2,
    outer_steps=2,
    inner_epochs=1,
    batch_size=4,
)
