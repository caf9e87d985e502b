r"""LS: label solve (Nguyen, Chen & Lee 2021, ICLR, arXiv 2011.00050).

The images stay as they are, real ones, noise, or those of another dataset; the labels with which
kernel ridge regression on them says of real images what their own labels say have a closed form.

Symbol            In code             Shape              Unit
X_s, y_s          images, labels      [n, c, h, w], [n, classes]
X_t, y_t          real images         [N, c, h, w], [N, classes]     all training images; one-hot less 1 / classes
K_st K_ts         gram                [n, n]             summed over the real images, batch by batch
K_st y_t          moments             [n, classes]
r                 ridge               []                 strength * trace / n, of each of the two matrices

Equation                                                                       Function
eq 8  y_s = (K_ss + r I) (K_st K_ts + r I)^-1 K_st y_t                         solved_labels

One step sees one batch of real images, and solves for the labels of those seen so far: after the
last the labels are those of all training images. (The authors' demonstration solves on the images
on which it then tests; here test images are never seen.) Both sums and the solve are in float64. r
is relative to either matrix, because the two are of different size; eq 7's of the first is that of
KIP.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from ..core import Published, errors, parameter
from ..distilled import DistilledSet
from ..runs import Inputs, Look
from .kip import (
    centred_labels,
    first_labels,
    kernel_loss,
    mean_ridge,
    predictions,
    regression_numbers,
    regression_set,
)
from .shared import descent, kernel_ridge
from .shared.kernels import KernelSpec, kernel_matrix

NAME = "label_solve"
ALIASES = ("ls",)
NEEDS = ("data",)


@dataclass(frozen=True, kw_only=True)
class Config(KernelSpec, Published):
    """Hyper-parameters."""

    images_per_class: int = parameter(
        1,
        symbol=r"\mathrm{ipc}",
        range=(1, None),
        help="Images whose labels are solved, by class.",
        explorable=(1, 10),
    )
    initialisation: str = parameter(
        "real",
        choices=("real", "noise"),
        help="The images: random real ones, or N(0, 1); a distilled set among the inputs takes "
        "their place.",
        explorable=True,
    )
    batch_size: int = parameter(1000, range=(1, None), unit="images", help="Real images in a step.")
    ridge: float = parameter(
        1e-6,
        symbol="r",
        range=(0, 1e6),
        help="As a part of the mean of either matrix's diagonal.",
        source="eq 8",
    )
    megabytes: int = parameter(512, range=(1, None), unit="MB", help="Working memory of a kernel.")
    seed: int = parameter(0, range=(0, None), help="Of every draw.")

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a hundred images of ten classes."""
        return cls.preset(changes, images_per_class=10)


@dataclass(frozen=True)
class State:
    """`step` batches seen; images [n, c, h, w], their kernel and gram [n, n], moments and labels
    [n, classes]. All but the images are float64.
    """

    step: int
    images: Tensor
    kernel: Tensor
    gram: Tensor
    moments: Tensor
    labels: Tensor


@dataclass(frozen=True)
class Trace:
    """One step: loss and share classified right with the labels after it, on its own batch; []."""

    loss: Tensor
    accuracy_fraction: Tensor


def solved_labels(
    support: Tensor, gram: Tensor, moments: Tensor, *, strength: float = 1e-6
) -> Tensor:
    """Solve equation 8: (K_ss + r I) (K_st K_ts + r I)^-1 K_st y_t.

    K_ss, K_st K_ts [n, n], K_st y_t [n, o] -> [n, o], float64.
    """
    weights = kernel_ridge.solve(gram, moments, ridge=mean_ridge(gram, strength=strength))
    return support.double() @ weights + mean_ridge(support, strength=strength) * weights


def total_steps(config: Config, inputs: Inputs) -> int:
    """Batches that the training images make."""
    return math.ceil(len(inputs.data.train_labels) / config.batch_size)


def fixed_images(name: str, config: Any, inputs: Inputs) -> Tensor:
    """Return the images [n, c, h, w] of a distilled set among the inputs, else noise or real ones.

    Errors as `init`.
    """
    if inputs.distilled is None:
        return descent.first_images(name, config, inputs)
    data = inputs.data
    images = inputs.distilled.images.to(inputs.device)
    shape = [data.channels, *data.image_size]
    if list(images.shape[1:]) != shape or not len(images):
        errors.fail("distilled", f"at least one image of {shape}, like the data", images)
    return images


def init(config: Config, inputs: Inputs) -> State:
    """Return the images, with the labels of their classes.

    Raises:
        DDLabError: no data, more real images per class than a class has, or a distilled set of
            another shape.
    """
    images = fixed_images(NAME, config, inputs)
    labels = first_labels(inputs, len(images))
    kernel = kernel_matrix(config, images.double(), images.double(), megabytes=config.megabytes)
    return State(0, images, kernel, torch.zeros_like(kernel), torch.zeros_like(labels), labels)


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Return the sums with one more batch of real images, and the labels for them."""
    data = inputs.data
    start = state.step * config.batch_size
    rows = slice(start, start + config.batch_size)
    real = data.normalised(rows, device=inputs.device).double()
    targets = centred_labels(data.train_labels[rows].to(inputs.device), data.classes)
    cross = kernel_matrix(config, real, state.images.double(), megabytes=config.megabytes)
    # Two sums of [n, n] and [n, classes] stand for all real images seen, so none has to be kept.
    gram = state.gram + cross.T @ cross
    moments = state.moments + cross.T @ targets
    labels = solved_labels(state.kernel, gram, moments, strength=config.ridge)
    predicted = predictions(state.kernel, cross, labels, strength=config.ridge)
    accuracy_fraction = (predicted.argmax(1) == targets.argmax(1)).float().mean()
    state = State(state.step + 1, state.images, state.kernel, gram, moments, labels)
    return state, Trace(kernel_loss(predicted, targets), accuracy_fraction)


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images with their classes, and the labels for a regression."""
    return regression_set(NAME, config, inputs, state, total=total_steps(config, inputs))


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images, which stay; the loss, and how many images of the batch the regression has right."""
    return descent.look_at(inputs, state, regression_numbers(trace, x_label="batch"))


SMALL = Config(images_per_class=2, batch_size=12)  # for the contract tests
