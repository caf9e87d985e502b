"""ZCA whitening, after which neighbouring pixels are no longer correlated.

MTT's printed numbers are for such data.
"""

from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor

from ..core import as_usual, checked, errors, within
from ..core.memory import half_of_memory
from .images import ImageData, denormalise

_AT_ONCE = 1024  # images
# Of float64 [d, d] at once: the covariance, its axes, what LAPACK works with, and their product.
_MATRICES = 5
# Standard deviations of all whitened values on either side of 0; what lies further out is cut.
_DEVIATIONS_KEPT = 4.0


@as_usual
@checked
def whitened(
    data: ImageData, *, epsilon: Annotated[float, within(0, open_low=True)] = 0.1
) -> ImageData:
    """Return `data` with decorrelated pixels.

    `normalised` hands out the whitened values, which are kept as bytes like every pixel.

    x -> (x - mean) W with W = U (S + epsilon)^(-1/2) U^T, of the covariance U S U^T of all channels
    and places of the training images, with pixels in [0, 1] (Cazenavette et al. 2022, whose epsilon
    is .1). The byte is a 32nd of the values' deviation. Images of 32 pixels take a matrix of 75 MB
    and a minute; of 64 pixels 16 times and 64 times as much.

    Raises:
        DDLabError: an epsilon that is not above 0; images whose matrices would take more than half
            of the memory.
    """
    places = data.train_images[0].numel()
    needed = _MATRICES * 8 * places**2
    if needed > half_of_memory():
        height, width = data.image_size
        errors.fail(
            "data",
            "of images so small that their whitening takes at most half of the memory "
            f"({half_of_memory() / 1e9:.1f} GB; data.load(..., size=) makes them smaller)",
            f"{height} x {width} pixels, {needed / 1e9:.1f} GB",
        )
    # Of the training images alone; the test images are moved by the same matrix.
    centre, covariance = moments(data.train_images)
    matrix = zca(covariance, epsilon)
    # The deviation of (x - mean) W over all places follows from the covariance: no second pass. Of
    # images all alike it is 0.
    spread = (
        _DEVIATIONS_KEPT * float((matrix @ covariance * matrix).sum().div(len(centre)).sqrt())
        or 1.0
    )
    # From -spread to spread.
    mean = torch.full((data.channels,), 0.5)
    std = torch.full((data.channels,), 0.5 / spread)
    middle = centre.float()
    narrow = matrix.float()

    def whiten(part: Tensor) -> Tensor:
        return denormalise(
            ((part.flatten(1).float() / 255 - middle) @ narrow).view(part.shape), mean, std
        )

    splits = ("train_images", "test_images")
    images = {}
    for name in splits:
        images[name] = torch.cat([whiten(part) for part in getattr(data, name).split(_AT_ONCE)])
    return replace(data, name=f"{data.name}, whitened", mean=mean, std=std, **images)


def moments(images: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean [c h w] and covariance [c h w, c h w] of uint8 images [n, c, h, w].

    float64, in units of [0, 1] and over n - 1; the covariance of one image is 0.
    """
    mean = torch.stack([part.double().sum(0).flatten() for part in images.split(_AT_ONCE)]).sum(
        0
    ) / (255 * len(images))
    covariance = mean.new_zeros(len(mean), len(mean))
    for part in images.split(_AT_ONCE):
        centred = part.flatten(1).double() / 255 - mean
        # In float64: with float32 the smallest eigenvalues of CIFAR-10 come out negative.
        covariance.addmm_(centred.T, centred)
    return mean, covariance / max(len(images) - 1, 1)


def zca(covariance: Tensor, epsilon: float) -> Tensor:
    """Return W = U (S + epsilon)^(-1/2) U^T of a covariance U S U^T: [d, d] -> [d, d], symmetric."""
    scales, axes = torch.linalg.eigh(covariance)
    # Clamped, because an eigenvalue that should be 0 may be a rounding error below it.
    return (axes * (scales.clamp_min(0) + epsilon).rsqrt()) @ axes.T
