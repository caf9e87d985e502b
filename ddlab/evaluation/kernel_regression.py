"""Kernel ridge regression on few images, and its accuracy (Nguyen, Chen & Lee 2021, arXiv
2011.00050).
"""

from typing import Annotated, Literal

import torch
from torch import Tensor

from ..core import checked, errors, tensor, within
from ..data import ImageData
from ..data.images import Split
from ..distilled import DistilledSet
from ..methods import kip
from ..methods.shared.kernels import KernelSpec, kernel_matrix
from .students import check_like

Ridge = Annotated[float, within(0, 1e30)]
_AT_ONCE = 1000  # images whose kernel is taken at once
_FC1 = KernelSpec()


@checked
def kernel_predictions(
    images: Annotated[Tensor, tensor("n c h w")],
    labels: Annotated[Tensor, tensor("n classes")],
    queries: Annotated[Tensor, tensor("m c h w")],
    *,
    kernel: KernelSpec = _FC1,
    ridge: Ridge = 1e-6,
    megabytes: Annotated[float, within(1)] = 512,
) -> Tensor:
    """Predict the labels of `queries` by the regression on `images`: float64 [m, classes].

    Args:
        images: [n, c, h, w], normalised;
        labels: [n, classes].
        queries: [m, c, h, w].
        kernel: a `KernelSpec`, or its name.
        ridge: as a part of the mean of the kernel's diagonal.
        megabytes: of working memory.

    Raises:
        DDLabError: shapes that do not belong together, no image, or a kernel that is singular with
            this ridge.
    """
    if not len(images):
        errors.fail("images", "at least one image", images)
    support = images.double()
    support_kernel = kernel_matrix(kernel, support, support, megabytes=megabytes)
    blocks = [queries.new_zeros((0, labels.shape[1]), dtype=torch.float64)]
    for some in queries.split(_AT_ONCE):
        cross = kernel_matrix(kernel, some.double(), support, megabytes=megabytes)
        blocks.append(kip.predictions(support_kernel, cross, labels, strength=ridge))
    return torch.cat(blocks)


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
    """Return the fraction in [0, 1] of images of a split that the regression on a distilled set has right.

    Args:
        labels: of the set: class labels, as one-hot less 1 / classes, or those of a regression.
            Others as `kernel_predictions`.

    Raises:
        DDLabError: a set unlike the data or without such labels, or a kernel that is singular with
            this ridge.
    """
    check_like(distilled, data)
    if labels == "regression":
        values = distilled.target("regression").values
    else:
        values = kip.centred_labels(distilled.labels, data.classes)
    test_images = data.normalised(split=split)
    outputs = kernel_predictions(distilled.images, values, test_images, kernel=kernel, ridge=ridge)
    errors.check_tensor("the predicted labels", outputs)  # NaN would count as the first class
    return float((outputs.argmax(1) == data.labels(split)).double().mean())
