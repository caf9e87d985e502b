"""Parts of the methods whose images descend a loss.

First images, a step, the set that they make, and its look.

Such a method's file holds its Config, its equations and the gradient of its loss; `total_steps` and
what follows is here.
"""

from typing import Any

import torch
from torch import Tensor

from ...core import DDLabError, optimisers, randomness
from ...core.optimisers import SGDState
from ...data import ImageData
from ...distilled import DistilledSet
from ...runs import Inputs, Look, Number
from .labelling import labelled_set


def total_steps(config: Any, inputs: Inputs) -> int:
    """Return the number of updates of a whole run."""
    return config.iterations


def first_images(name: str, config: Any, inputs: Inputs) -> Tensor:
    """Return images [images_per_class * classes, c, h, w], the classes in turn.

    They are noise, of which there may be more than images in a class, or real ones.

    Raises:
        DDLabError: no data for the method `name`, or more real images per class than a class has.
    """
    data = inputs.data
    if config.initialisation == "real":
        rows = real_image_indices(data, config.images_per_class, seed=config.seed)
        return data.normalised(rows.flatten(), device=inputs.device)
    count = config.images_per_class * data.classes
    return noise_images(data, count, seed=config.seed, batch=0, device=inputs.device)


def noise_images(data: ImageData, count: int, *, seed: int, batch: int, device: Any) -> Tensor:
    """`count` images of N(0, 1) values in normalised units."""
    shape = (count, data.channels, *data.image_size)
    return torch.randn(shape, generator=randomness.generator(seed, batch, "noise images")).to(
        device
    )


def real_image_indices(data: ImageData, images_per_class: int, *, seed: int) -> Tensor:
    """Draw so many different training images for each class, int64 [images_per_class, classes].

    The draw for a class does not depend on `images_per_class`: ten images per class begin with the
    five that five would give.
    """
    check_images_per_class(data, images_per_class)
    orders = data.orders_by_class(seed, "real images")
    return torch.stack([order[:images_per_class] for order in orders], dim=1)


def check_images_per_class(data: ImageData, images_per_class: int) -> None:
    """Raise if some class has fewer training images than that."""
    counts = torch.bincount(data.train_labels, minlength=data.classes)
    if images_per_class > int(counts.min()):
        smallest = data.class_names[int(counts.argmin())]
        raise DDLabError(
            f"images_per_class must be at most {int(counts.min())}, the images of class "
            f"{smallest!r}; given {images_per_class}."
        )


def classes_in_turn(count: int, data: ImageData) -> Tensor:
    """Return the class of each learned image, int64 [count]."""
    return torch.arange(count) % data.classes


def sgd_step(
    value: Tensor,
    gradient: Tensor,
    optimiser: SGDState,
    rate: float,
    momentum: float,
    name: str = "images",
) -> tuple[Tensor, SGDState]:
    """Return a learned tensor after one step against its gradient, and its optimiser."""
    options = {"learning_rate": rate, "momentum": momentum}
    moved, after = optimisers.sgd_update({name: value}, {name: gradient}, optimiser, **options)
    return moved[name], after


def distilled(
    name: str,
    config: Any,
    inputs: Inputs,
    state: Any,
    images: Tensor,
    labels: Tensor,
    total: int,
    **provenance: Any,
) -> DistilledSet:
    """Return a set of images [n, c, h, w] with class labels [n], and with a teacher's labels where
    there is one. It is not complete before `total` updates.
    """
    # What it takes to make the set again, in the set itself.
    record = {"method": name, "config": config.to_dict(), "step": state.step}
    complete = state.step >= total
    return labelled_set(images, labels, inputs, complete=complete, provenance=record | provenance)


def images_in_turn(
    name: str, config: Any, inputs: Inputs, state: Any, total: int, **provenance: Any
) -> DistilledSet:
    """Return the set of `state.images`, whose classes come in turn."""
    labels = classes_in_turn(len(state.images), inputs.data)
    return distilled(name, config, inputs, state, state.images, labels, total, **provenance)


def look_at(inputs: Inputs, state: Any, numbers: dict[str, Number]) -> Look:
    """Return the images of a state, whose classes come in turn, and some numbers."""
    labels = classes_in_turn(len(state.images), inputs.data)
    return Look(state.images, labels.to(state.images.device), numbers)
