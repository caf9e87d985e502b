r"""Kernel ridge regression on few images: its accuracy, and how near it comes to the one on all images.

A learning algorithm A makes of a labelled set a function: A_D of the dataset D, A_D~ of a distilled one. Nguyen, Chen & Lee 2021
(arXiv 2011.00050), Definitions 2 and 3, call D~ an epsilon-approximation of D where these two functions are epsilon-close:

weakly      | E l(A_D(x), y) - E l(A_D~(x), y) | <= epsilon      weak_epsilon: as good, in whatever way
strongly    E l(A_D(x), A_D~(x)) <= epsilon                      strong_epsilon: the same, image by image

Here both are measured on the images of a split: the least epsilon for which they hold there. l is the mean square over classes, or 0-1:
whether the largest values stand at different classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from ..core import errors
from ..core.boundary import checked, floats, within
from ..data import ImageData
from ..data.images import Split
from ..distilled import DistilledSet
from ..methods import kip
from ..methods.kernels import KernelSpec, kernel_matrix
from .students import check_like

Loss = Literal["squared", "zero_one"]
Ridge = Annotated[float, within(0, 1e30)]
Predicted = Annotated[Tensor, floats("m classes")]
_AT_ONCE = 1000  # images whose kernel is taken at once
_FC1 = KernelSpec()


@checked
def kernel_predictions(
    images: Annotated[Tensor, floats("n c h w")],
    labels: Annotated[Tensor, floats("n classes", alike=False)],
    asked: Annotated[Tensor, floats("m c h w", alike=False)],
    *,
    kernel: KernelSpec = _FC1,
    ridge: Ridge = 1e-6,
    megabytes: Annotated[float, within(1)] = 512,
) -> Tensor:
    """What the regression on `images` says of those that are `asked` about: float64 [m, classes].

    Args:
        images: [n, c, h, w], normalised; labels: [n, classes]. asked: [m, c, h, w]. kernel: a `KernelSpec`, or its name.
        ridge: as a part of the mean of the kernel's diagonal. megabytes: of working memory.

    Raises:
        DDLabError: shapes that do not belong together, no image, or a kernel that is singular with this ridge.
    """
    if not len(images):
        errors.fail("images", "at least one image", images)
    support = images.double()
    own = kernel_matrix(kernel, support, support, megabytes=megabytes)
    found = [asked.new_zeros((0, labels.shape[1]), dtype=torch.float64)]
    for some in asked.split(_AT_ONCE):
        cross = kernel_matrix(kernel, some.double(), support, megabytes=megabytes)
        found.append(kip.predictions(own, cross, labels, strength=ridge))
    return torch.cat(found)


@checked
def kernel_accuracy(
    distilled: DistilledSet,
    data: ImageData,
    *,
    labels: Literal["hard", "regression"],
    split: Split = "test",
    kernel: KernelSpec = _FC1,
    ridge: Ridge = 1e-6,
) -> float:
    """The fraction in [0, 1] of images of a split that the regression on a distilled set has right.

    Args:
        labels: of the set: class numbers, as one-hot less 1 / classes, or those of a regression. Others as `kernel_predictions`.

    Raises:
        DDLabError: a set unlike the data or without such labels, or a kernel that is singular with this ridge.
    """
    found = _of_set(distilled, data, labels, split, kernel, ridge)
    return float((found.argmax(1) == data.labels(split)).double().mean())


@checked
def full_predictions(
    data: ImageData, *, split: Split = "test", kernel: KernelSpec = _FC1, ridge: Ridge = 1e-6
) -> Tensor:
    """A_D: what the regression on all training images says of a split, float64 [m, classes]; memory grows with their square."""
    labels = kip.centred_labels(data.train_labels, data.classes)
    asked = data.normalised(split=split)
    return kernel_predictions(data.normalised(), labels, asked, kernel=kernel, ridge=ridge)


@checked
def weak_epsilon(full: Predicted, few: Predicted, wanted: Predicted, *, loss: Loss) -> float:
    """Definition 2, eq 1: |E l(f(x), y) - E l(f~(x), y)|; full: f(x), few: f~(x), wanted: y, [m, classes] each."""
    return abs(_mean_loss(full, wanted, loss) - _mean_loss(few, wanted, loss))


@checked
def strong_epsilon(full: Predicted, few: Predicted, *, loss: Loss) -> float:
    """Definition 2, eq 2: E l(f(x), f~(x)); full: f(x), few: f~(x), [m, classes] each."""
    return _mean_loss(full, few, loss)


@dataclass(frozen=True, kw_only=True)
class Approximation:
    """How near a distilled set comes to its dataset, on the images of a split.

    Attributes:
        accuracy, full_accuracy: of the regression on the set, and on all training images.
        weak, strong: the least epsilon, by loss: "squared", the mean square over the classes, and "zero_one".
    """

    accuracy: float
    full_accuracy: float
    weak: dict[str, float]
    strong: dict[str, float]


@checked
def approximation(
    distilled: DistilledSet,
    data: ImageData,
    *,
    labels: Literal["hard", "regression"],
    split: Split = "test",
    kernel: KernelSpec = _FC1,
    ridge: Ridge = 1e-6,
    full: Annotated[Tensor, floats("m classes")] | None = None,
) -> Approximation:
    """Definition 3 for kernel regression: the epsilon of a set as a weak and as a strong approximation of its dataset.

    Args:
        full: A_D, where `full_predictions` has made it before. Others as `kernel_accuracy`.
    """
    few = _of_set(distilled, data, labels, split, kernel, ridge)
    full = full_predictions(data, split=split, kernel=kernel, ridge=ridge) if full is None else full
    errors.check_tensor("full", full, shape=list(few.shape), dtype=few.dtype)
    wanted = kip.centred_labels(data.labels(split), data.classes)
    losses: tuple[Loss, ...] = ("squared", "zero_one")
    return Approximation(
        accuracy=1 - _mean_loss(few, wanted, "zero_one"),
        full_accuracy=1 - _mean_loss(full, wanted, "zero_one"),
        weak={loss: weak_epsilon(full, few, wanted, loss=loss) for loss in losses},
        strong={loss: strong_epsilon(full, few, loss=loss) for loss in losses},
    )


def _mean_loss(one: Tensor, other: Tensor, loss: Loss) -> float:
    if loss == "squared":
        return float((one - other).detach().square().mean())
    return float((one.argmax(1) != other.argmax(1)).double().mean())


def _of_set(
    distilled: DistilledSet, data: ImageData, labels: str, split: Split, kernel: KernelSpec, ridge: float
) -> Tensor:
    check_like(distilled, data)
    if labels == "regression":
        values = distilled.target("regression").values
    else:
        values = kip.centred_labels(distilled.labels, data.classes)
    asked = data.normalised(split=split)
    return kernel_predictions(distilled.images, values, asked, kernel=kernel, ridge=ridge)
