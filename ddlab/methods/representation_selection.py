r"""Real images with a teacher's features: the baselines of self-supervised distillation.

Yu, Yao & Chiu 2025 (Boost), section 4, after Lee et al. 2024 (KRR-ST): "Random" draws images,
"KMeans" takes the image nearest to each centre of the teacher's features. Both keep the teacher's
representation of each. Labels are never read.

Symbol    In code          Shape         What
N, m      budget           m = N, or fewer where representations count
g_phi     teacher                        its features
f         features         [n, d_y]      g_phi of all training images

The two conventions of a budget of N images
images only (`targets_count=False`)        m = N, as in the paper; representations are free
images and representations                 m (c h w + (A + 1) d_y) <= N c h w

`augmentation` adds the predefined views of every image with the teacher's representation of each:
what Boost's views give without any distillation. The paper has no such baseline.
"""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from .. import networks
from ..core import Published, errors, parameter, randomness
from ..data.predefined_views import KINDS, NAMES, Kind, augmented
from ..distilled import DistilledSet, Representations
from ..runs import Inputs, Look, Number
from ..unlabelled.sets import (
    real_indices,
    require_finite_teacher,
    teacher_features,
    unlabelled_set,
)
from .selection import k_means

NAME = "representation_selection"
ALIASES = ()
NEEDS = ("data", "teacher")
WITHOUT_LABELS = True


@dataclass(frozen=True, kw_only=True)
class Config(Published):
    """What is selected."""

    kind: str = parameter(
        "random", choices=("random", "k_means"), help="Rule of selection.", explorable=True
    )
    budget: int = parameter(
        100,
        symbol="N",
        range=(1, None),
        unit="images",
        help="What the set may take, in floats of so many images.",
        explorable=(5, 100),
    )
    targets_count: bool = parameter(
        False, help="Whether representations take their part of the budget.", explorable=True
    )
    augmentation: Kind = parameter(
        "none", choices=KINDS, help="Views of every image that come with a representation."
    )
    seed: int = parameter(0, range=(0, None), help="Of every draw.")

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return twenty images."""
        return cls.preset(changes, budget=20)


@dataclass(frozen=True)
class State:
    """`step` images taken, in the order int64 [m] of their training-set indices.

    With them the teacher's features, float32 [A + 1, step, d_y].
    """

    step: int
    order: Tensor
    representations: Tensor


@dataclass(frozen=True)
class Trace:
    """One image: its training-set index, and the mean distance in features of all training images
    to the nearest one taken, [].
    """

    index: int
    distance: Tensor


def affordable(budget: int, *, image_floats: int, representation_floats: int) -> int:
    """Return m, how many images with their representations take at most the floats of `budget`
    images.

    Args:
        representation_floats: of one image and all its views; 0 where they do not count.

    Raises:
        DDLabError: a budget that does not buy one pair; the message names one that does.
    """
    floats_of_one = image_floats + representation_floats
    if budget * image_floats < floats_of_one:
        errors.fail(
            "budget",
            f"at least {-(-floats_of_one // image_floats)} images, for one image and its representations",
            budget,
        )
    return budget * image_floats // floats_of_one


def total_steps(config: Config, inputs: Inputs) -> int:
    """Take one step for each image."""
    return _count(config, inputs)


def init(config: Config, inputs: Inputs) -> State:
    """Return which images are taken, and in what order; the teacher has not been asked about any.

    Raises:
        DDLabError: no data or teacher, a budget for no pair, or for more than there are images.
    """
    require_finite_teacher(NAME, inputs)
    features = teacher_features(inputs)
    count = _count(config, inputs)
    if config.kind == "random":
        order = real_indices(len(features), count, seed=config.seed)
    else:
        order = k_means(
            features, count, seed=randomness.derived_seed(config.seed, 0, "k-means of all")
        )
    return State(
        0, order, features.new_zeros((len(NAMES[config.augmentation]), 0, features.shape[1]))
    )


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Take one image, and ask the teacher about all its views."""
    # The order was fixed at the beginning; a step only asks the teacher about one more image.
    taken_indices = state.order[: state.step + 1]
    views = augmented(
        inputs.data.normalised(taken_indices[-1:], device=inputs.device),
        config.augmentation,
    )
    view_features = networks.predict(inputs.teacher, views.flatten(0, 1)).features.cpu()
    representations = torch.cat([state.representations.cpu(), view_features[:, None]], 1)
    features = teacher_features(inputs)
    # In float32 an image would be a little away from itself.
    chosen = features[taken_indices.cpu()].double()
    nearest = [torch.cdist(part.double(), chosen).min(1).values for part in features.split(4096)]
    return State(state.step + 1, state.order, representations), Trace(
        int(taken_indices[-1]), torch.cat(nearest).mean().float()
    )


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images as they are, and the teacher's representation of each view."""
    indices = state.order[: state.step]
    total = total_steps(config, inputs)
    representations = {"representations": state.representations.cpu()}
    targets = Representations(tensors=representations, augmentation=config.augmentation)
    tensors = {"images": inputs.data.normalised(indices)}
    return unlabelled_set(
        NAME,
        config,
        inputs,
        state,
        total,
        tensors=tensors,
        targets=targets,
        indices=indices.tolist(),
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images taken; how far all others are from the nearest of them, in features."""
    images = inputs.data.normalised(state.order[: state.step], device=inputs.device)
    name = "distance to the nearest image taken"
    return Look(
        images, None, {} if trace is None else {name: Number(trace.distance, x_label="image")}
    )


def _count(config: Config, inputs: Inputs) -> int:
    data = inputs.data
    width = teacher_features(inputs).shape[1]
    image_floats = data.channels * data.image_size[0] * data.image_size[1]
    # Each view has a representation of its own, and all of them count.
    floats = width * len(NAMES[config.augmentation]) if config.targets_count else 0
    count = affordable(config.budget, image_floats=image_floats, representation_floats=floats)
    if count > len(data.train_labels):
        errors.fail(
            "budget",
            f"at most {len(data.train_labels)}, the number of training images",
            config.budget,
        )
    return count


SMALL = Config(budget=5)  # for the contract tests
