r"""Selection: real images instead of made ones. The baselines that a distilled set has to beat.

kind        What is taken for each class                                            Source
random      images at random
average     the mean image of each of ipc random parts of the class;                what a "prototype" without learning is
            the class mean where ipc = 1
centres     ipc k-means centres, in pixels; the class mean where ipc = 1            Lloyd 1982 (scikit-learn)
k_means     the real image nearest to each of these centres                         Lloyd 1982 (scikit-learn)
herding     greedily the image that brings the mean of the chosen nearest           Welling 2009; Rebuffi et al. 2017, arXiv 1611.07725
            to the mean of the class
k_center    greedily the image farthest from all chosen, starting nearest           Gonzalez 1985; Sener & Savarese 2018, arXiv 1708.00489
            to the class mean

Symbol      In code              Shape                       Unit
ipc         images_per_class
f           features             [images of a class, d]      pixels (normalised) or teacher features

One step selects for one class. Distances are Euclidean in `space`: pixels, or the teacher's
penultimate features.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from .. import networks
from ..core import DDLabError, Parameters, errors, parameter, randomness
from ..distilled import DistilledSet
from ..runs import Inputs, Look, Number
from ..runs.process import check_finite
from .shared import descent

NAME = "selection"
ALIASES = ()
NEEDS = ("data",)


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    """What is selected."""

    kind: str = parameter(
        "random",
        choices=("random", "average", "centres", "k_means", "herding", "k_center"),
        help="Rule of selection.",
        explorable=True,
    )
    images_per_class: int = parameter(
        10,
        symbol=r"\mathrm{ipc}",
        range=(1, None),
        help="Images taken from each class.",
        explorable=(1, 10),
    )
    space: str = parameter(
        "pixels",
        choices=("pixels", "features"),
        help="Where distances are taken: pixels, or the teacher's features.",
    )
    seed: int = parameter(0, range=(0, None), help="Of every draw.")

    def rules(self) -> None:
        """Raise where centres are to be taken in features: they are images themselves."""
        if self.kind == "centres" and self.space != "pixels":
            errors.fail(
                "space",
                "'pixels' for the kind 'centres' (centres of features are no images)",
                self.space,
            )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return one image per class."""
        return cls.preset(changes, images_per_class=1)

    @classmethod
    def paper(cls, dataset: str = "cifar10", **changes: Any) -> Self:
        """Return ten images per class, whatever the dataset."""
        return cls(**changes)


@dataclass(frozen=True)
class State:
    """`step` classes done; the images [ipc, c, h, w] of each, and their training-set indices
    [classes done, ipc]. Averages and centres have -1.

    One tensor of images for each class: to join them at every step would copy all of them every
    time.
    """

    step: int
    images: tuple[Tensor, ...]
    indices: Tensor


@dataclass(frozen=True)
class Trace:
    """One class: its number, the indices taken [ipc], and how far the mean of the chosen is from
    that of the class [].
    """

    label: int
    indices: Tensor
    mean_distance: Tensor


def herding(features: Tensor, count: int) -> Tensor:
    r"""Choose greedily: the k-th choice minimises || mean(f) - (sum of chosen + f_i) / k ||.

    features [n, d] -> indices [count], all different.
    """
    target = features.mean(0)
    total = features.new_zeros(features.shape[1])
    chosen: list[int] = []
    free = torch.ones(len(features), dtype=torch.bool, device=features.device)
    for k in range(1, count + 1):
        # The mean that each candidate would leave, for all of them at once.
        distance = (target - (total + features) / k).square().sum(1).masked_fill(~free, torch.inf)
        pick = int(distance.argmin())
        chosen.append(pick)
        free[pick] = False
        total = total + features[pick]
    return torch.tensor(chosen)


def k_center(features: Tensor, count: int) -> Tensor:
    """Choose the farthest image greedily, starting with the one nearest to the mean.

    features [n, d] -> indices [count], all different.
    """
    chosen = [int((features - features.mean(0)).square().sum(1).argmin())]
    nearest = (features - features[chosen[0]]).square().sum(1)
    for _ in range(count - 1):
        # Duplicates of a chosen image have distance 0 and may still be taken.
        nearest[chosen] = -1.0
        chosen.append(int(nearest.argmax()))
        nearest = torch.minimum(nearest, (features - features[chosen[-1]]).square().sum(1))
    return torch.tensor(chosen)


def centres(features: Tensor, count: int, *, seed: int) -> Tensor:
    """Return the `count` k-means centres, for count 1 the mean. features [n, d] -> [count, d]."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    points = features.detach().double().cpu().numpy()
    # One thread: several add up their parts of the images in any order, and another order has other
    # last bits.
    with warnings.catch_warnings(), threadpool_limits(1):
        # Fewer different images than centres: some centres then coincide.
        warnings.simplefilter("ignore", ConvergenceWarning)
        centroids = KMeans(count, n_init=4, random_state=seed).fit(points).cluster_centers_
    return torch.from_numpy(centroids).to(features)


def k_means(features: Tensor, count: int, *, seed: int) -> Tensor:
    """Return the member nearest to each of `count` k-means centres.

    features [n, d] -> indices [count], all different.
    """
    from sklearn.metrics import pairwise_distances

    points = features.detach().double().cpu()
    distances = torch.from_numpy(
        pairwise_distances(centres(points, count, seed=seed).numpy(), points.numpy())
    )
    chosen = []
    for row in distances:  # one after another, so that two centres never share an image
        row[chosen] = torch.inf
        chosen.append(int(row.argmin()))
    return torch.tensor(chosen)


def average(images: Tensor, count: int, *, generator: torch.Generator) -> Tensor:
    """Return the mean image of each of `count` random parts of equal size (up to one).

    images [n, c, h, w] -> [count, c, h, w].
    """
    order = torch.randperm(len(images), generator=generator).to(images.device)
    return torch.stack([images[part].mean(0) for part in torch.tensor_split(order, count)])


def total_steps(config: Config, inputs: Inputs) -> int:
    """Take one step per class."""
    return inputs.data.classes


def init(config: Config, inputs: Inputs) -> State:
    """Return a state without any class.

    Raises:
        DDLabError: no data, more images per class than a class has, or no teacher where its
            features are asked for.
    """
    data = inputs.data
    descent.check_images_per_class(data, config.images_per_class)
    if config.space == "features" and not inputs.teachers:
        raise DDLabError("teacher must be given to a selection by features; given none.")
    return State(0, (), torch.zeros((0, config.images_per_class), dtype=torch.int64))


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Select for one class."""
    data = inputs.data
    label = state.step
    ipc = config.images_per_class
    members = data.of_class(label)
    images = data.normalised(members, device=inputs.device)
    features = _features(config, inputs, images)
    # A broken teacher would not show in the images taken, and scikit-learn would raise an error of
    # its own.
    check_finite(NAME, label + 1, {"features": features})
    if config.kind in ("average", "centres"):
        chosen_images = _means(config, images, label)
        indices = torch.full((ipc,), -1)
        chosen_features = _features(config, inputs, chosen_images)
    else:
        rows = _rows(config, features, label)
        chosen_images = images[rows]
        indices = members[rows]
        chosen_features = features[rows]
    distance = torch.linalg.vector_norm(chosen_features.mean(0) - features.mean(0))
    after = State(
        label + 1, (*state.images, chosen_images), torch.cat([state.indices.cpu(), indices[None]])
    )
    return after, Trace(label, indices, distance)


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images with hard labels, and with stored and online ones if a teacher is given."""
    labels = torch.arange(state.step).repeat_interleave(config.images_per_class)
    images = _join(inputs, state)
    total = total_steps(config, inputs)
    return descent.distilled(
        NAME, config, inputs, state, images, labels, total, indices=state.indices.tolist()
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images of the classes done, and how far the mean of the last class's is from that
    of all its images.
    """
    classes = torch.arange(state.step).repeat_interleave(config.images_per_class)
    distance = (
        {}
        if trace is None
        else {"distance of the means": Number(trace.mean_distance, x_label="class")}
    )
    return Look(_join(inputs, state), classes, distance)


def _join(inputs: Inputs, state: State) -> Tensor:
    data = inputs.data
    return torch.cat(
        [torch.zeros((0, data.channels, *data.image_size), device=inputs.device), *state.images]
    )


def _means(config: Config, images: Tensor, label: int) -> Tensor:
    ipc = config.images_per_class
    if config.kind == "centres":
        return centres(images.flatten(1), ipc, seed=_k_means_seed(config, label)).unflatten(
            1, images.shape[1:]
        )
    return average(images, ipc, generator=randomness.generator(config.seed, label, "average"))


def _k_means_seed(config: Config, label: int) -> int:
    return randomness.derived_seed(config.seed, label, "k-means")


def _rows(config: Config, features: Tensor, label: int) -> Tensor:
    ipc = config.images_per_class
    if config.kind == "random":
        # The same images with which a recovery of this seed starts (`real_image_indices`).
        return randomness.permutation(len(features), config.seed, label, "real images")[:ipc]
    if config.kind == "k_means":
        return k_means(features, ipc, seed=_k_means_seed(config, label))
    return {"herding": herding, "k_center": k_center}[config.kind](features, ipc)


def _features(config: Config, inputs: Inputs, images: Tensor) -> Tensor:
    if config.space == "features":
        return networks.predict(inputs.teacher, images).features
    return images.flatten(1)


SMALL = Config(images_per_class=2)  # for the contract tests
