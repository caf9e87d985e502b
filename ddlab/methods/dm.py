r"""DM: distribution matching (Zhao & Bilen 2023, WACV, arXiv 2110.04181).

Each update draws a fresh, untrained network, and moves the learned images of a class so that the
mean of their features comes nearer to the mean of the features of real ones. No loss of a network
is ever taken, no network is trained, and nothing is differentiated twice.

Symbol       In code        Shape                        Unit
S            images         [ipc * classes, c, h, w]     normalised pixels
psi_theta    features       [n, d]                       what the last linear layer of a fresh network sees
A_omega      strategy       as in DSA: the same view of real and learned images

Equation                                                                                    Function
eq 6  min_S E_theta,omega sum_c || mean psi(A(T_c, omega)) - mean psi(A(S_c, omega)) ||^2   mean_feature_distance

One step is one update. As in the reference code
- the printed objective has the two means exchanged, which is the same; the sum runs over the
  classes, and over d without a mean;
- in a network with batch norm all classes go through together, in training mode: each batch's own
  statistics.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor

from .. import networks
from ..core import optimisers, parameter, randomness, with_default
from ..core.optimisers import SGDState
from ..data import ImageData, siamese_views
from ..distilled import DistilledSet
from ..networks import NetworkSpec
from ..runs import Inputs, Look, Number
from .shared import descent, matching

NAME = "distribution_matching"
ALIASES = ("dm",)
NEEDS = ("data",)
LEARNED_AT_ONCE = 64  # learned images in one pass, at least one class's


@dataclass(frozen=True, kw_only=True)
class Config(matching.Config, matching.Siamese):
    """Hyper-parameters. The defaults are those of the reference code for photographs."""

    iterations: int = parameter(
        20_000,
        range=(1, None),
        help="Updates, each in a fresh network.",
        explorable=(10, 500),
        step=10,
    )
    networks: int | None = parameter(
        None, range=(1, None), help="Networks in all, in turn; None: a fresh one each time."
    )
    learning_rate: float = with_default(
        matching.Config, "learning_rate", 1.0, source="reference code"
    )
    initialisation: str = with_default(
        matching.Config, "initialisation", "real", source="reference code"
    )
    strategy: str = with_default(
        matching.Siamese, "strategy", siamese_views.ALL, source="reference code"
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, 16 pixels and two seconds.

        Fifty updates in narrow networks, without views.
        """
        return cls.preset(
            changes,
            network=networks.spec("convnet", width=32, norm="instance"),
            iterations=50,
            batch_size=32,
            strategy="",
        )

    @classmethod
    def for_data(cls, data: ImageData, **changes: Any) -> Self:
        """Return the teaching preset, three times as long and with DSA's views above 16 px.

        On 28-pixel digits, one image of a class, fifty updates without views teach .79 and 150 with
        views .85; on colour pictures of 32 px .24 and .25 (10 CPU-seconds a set).
        """
        fitting: dict[str, Any] = {}
        if min(data.image_size) > 16:
            views = siamese_views.ALL if data.channels == 3 else siamese_views.UPRIGHT
            fitting = {"iterations": 150, "strategy": views}
        return cls.teaching(**fitting | changes)


@dataclass(frozen=True)
class State:
    """`step` updates done; images and their optimiser."""

    step: int
    images: Tensor
    optimiser: SGDState


@dataclass(frozen=True)
class Trace:
    """One update: the distance of each class before it [classes], and their sum [].

    `distances` stand first, because a NaN is named by the first field that holds it.
    """

    distances: Tensor
    loss: Tensor


def mean_feature_distance(real: Tensor, learned: Tensor) -> Tensor:
    """Return equation 6 for one class: the squared distance of two means, summed over d; [].

    real [n, d], learned [m, d].
    """
    return (real.mean(0) - learned.mean(0)).square().sum()


def fresh_network(
    config: Config, inputs: Inputs, step: int
) -> tuple[NetworkSpec, dict[str, Tensor]]:
    """Return the network of one update: architecture and weights, drawn anew, or one of so many in turn."""
    spec = config.network.for_data(inputs.data)
    seed = randomness.derived_seed(
        config.seed, step % config.networks if config.networks else step, "network"
    )
    return spec, networks.initialise(spec, seed=seed).to(inputs.device).weights


def features(
    spec: NetworkSpec, weights: dict[str, Tensor], images: Tensor, *, at_once: int | None = None
) -> Tensor:
    """Return psi, [n, d], the input of the last linear layer.

    Batch norm sees all images at once, in training mode.

    Args:
        at_once: images in one pass; None: all.
    """
    # The statistics of a batch depend on all of it, so with batch norm it must not be split.
    train = bool(networks.batch_norm_layers(spec))
    parts = images.split(len(images) if train or at_once is None else at_once)
    part_features = [networks.call(spec, weights, part, train=train)[0].features for part in parts]
    return torch.cat(part_features)


def class_distances(
    config: Config,
    inputs: Inputs,
    step: int,
    images_by_class: dict[int, Tensor],
    spec: NetworkSpec,
    weights: dict[str, Tensor],
) -> Tensor:
    """Return the feature distance of equation 6 for some classes, measured in one network.

    Args:
        images_by_class: class label -> its synthetic images [images per class, c, h, w].

    Returns:
        Distances [classes given], differentiable with respect to the synthetic images.
    """
    data = inputs.data
    classes = data.classes
    rows = [matching.real_rows(config, inputs, label, step=step) for label in images_by_class]
    real_images = data.normalised(torch.cat(rows), device=inputs.device)
    real_by_class = real_images.split([len(members) for members in rows])
    real_views = []
    synthetic_views = []
    for (label, synthetic_images), real in zip(images_by_class.items(), real_by_class, strict=True):
        # Both sides get the same view; otherwise the distance would measure the augmentation.
        view = partial(matching.augment, config, step=step, label=label, classes=classes)
        real_views.append(view(real.to(synthetic_images.dtype), learned=False))
        synthetic_views.append(view(synthetic_images, learned=True))

    with torch.no_grad():  # the real side is a constant of the objective
        at_once = matching.passes(spec, inputs.device)
        real_features = features(spec, weights, torch.cat(real_views), at_once=at_once)
    synthetic_features = features(spec, weights, torch.cat(synthetic_views))

    distances = []
    for real, synthetic in zip(
        real_features.split([len(view) for view in real_views]),
        synthetic_features.split([len(view) for view in synthetic_views]),
        strict=True,
    ):
        distances.append(mean_feature_distance(real, synthetic))
    return torch.stack(distances)


def matched_step(config: Config, inputs: Inputs, state: State) -> tuple[Tensor, Tensor]:
    """Return the gradient of equation 6 with respect to all images, and the distance of each class."""
    classes = inputs.data.classes
    spec, weights = fresh_network(config, inputs, state.step)
    # Some classes at a time keep a pass small; batch norm sees all of them together.
    classes_at_once = (
        classes
        if networks.batch_norm_layers(spec)
        else max(LEARNED_AT_ONCE // config.images_per_class, 1)
    )
    gradient = torch.zeros_like(state.images)
    distances_of_groups = []
    for labels in torch.arange(classes).split(classes_at_once):
        images = {
            label: matching.of_class(state.images, label, classes).detach().requires_grad_()
            for label in labels.tolist()
        }
        with torch.enable_grad():
            distances = class_distances(config, inputs, state.step, images, spec, weights)
            slopes = torch.autograd.grad(distances.sum(), list(images.values()))
        # `of_class` is a view into the gradient of all images, so this writes each class's part.
        for label, slope in zip(images, slopes, strict=True):
            matching.of_class(gradient, label, classes).copy_(slope)
        distances_of_groups.append(distances.detach())
    return gradient, torch.cat(distances_of_groups)


total_steps = descent.total_steps


def init(config: Config, inputs: Inputs) -> State:
    """Return the first images.

    Raises:
        DDLabError: no data, or more images per class than a class has.
    """
    images = descent.first_images(NAME, config, inputs)
    return State(0, images, optimisers.sgd_init({"images": images}))


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Update all images once, in a network of this update's own."""
    gradient, distances = matched_step(config, inputs, state)
    images, optimiser = descent.sgd_step(
        state.images, gradient, state.optimiser, config.learning_rate, config.momentum
    )
    return State(state.step + 1, images, optimiser), Trace(distances, distances.sum())


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images with hard labels, and with a teacher's where there is one."""
    return descent.images_in_turn(NAME, config, inputs, state, total_steps(config, inputs))


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images, and the distance, summed over the classes."""
    return descent.look_at(
        inputs, state, {} if trace is None else {"distance": Number(trace.loss, scale="log")}
    )


SMALL = Config(  # for the contract tests
    network=networks.spec("convnet", width=4, norm="instance"),
    iterations=4,
    batch_size=4,
    strategy="crop_flip",
)
