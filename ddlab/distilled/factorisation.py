r"""Images and representations as products of few bases and of coefficients.

Yu, Yao & Chiu 2025 (Boost), section 3.2: a set of m images and m representations is stored as bases
and coefficients.

C = (X - mean) B^T      project                 [m, k]; how coefficients begin
min_C |X - C B|^2       fitted                  [m, k]; the same for bases that are not orthonormal
Y_s = C^y B^y           reconstruct             [m, d]
X_s = D(C^x B^x, s)     decoded                 [m, c, s h, s w]; D is `upsampled`
h x w -> h/s x w/s      downsampled             goes before the image bases are looked for

The paper does not say what becomes of the mean. `mean` in `project` and in `reconstruct` leaves it
open:

bases            coefficients       reconstruction   floats of the mean
centred          X B^T              C B              0: bases of images hold most of the mean
centred          (X - mean) B^T     C B + mean       d
not centred      X B^T              C B              0: the first basis is nearly the mean
centred          (X - mean) B^T     C B              0, and the mean is lost

(`bases.principal_bases` makes both kinds.)

The first is right for images; representations behind a ReLU are far from 0 and want the second or
third. What is left of 4,000 images of CIFAR-10 (s = 2, U = 200, relative squared error): normalised
pixels .0143 in the first three ways, .0282 in the last; pixels in [0, 1] .0030 and .797.

The paper does not name the filter that scales images down either: here it is the mean of each s x s
block, for s = 2 the same as bilinear. It is nearer to what D needs than bilinear with antialiasing:
D makes of 500 images of CIFAR-10 .057 against .076, for s = 4 .156 and .177.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors


def project(points: Tensor, bases: Tensor, *, mean: Tensor | None = None) -> Tensor:
    """Return the coefficients C = (X - mean) B^T.

    points [m, *shape], bases [k, *shape], mean [*shape] -> [m, k]. Differentiable.

    Of orthonormal bases, as principal ones are, these are the coefficients that reconstruct the
    points best.
    """
    shifted = points if mean is None else points - mean
    return shifted.flatten(1) @ bases.flatten(1).T


def reconstruct(coefficients: Tensor, bases: Tensor, *, mean: Tensor | None = None) -> Tensor:
    """Return C B + mean. coefficients [m, k], bases [k, *shape], mean [*shape] -> [m, *shape].

    Differentiable (Boost: Y_s = C^y B^y).
    """
    products = (coefficients @ bases.flatten(1)).reshape(len(coefficients), *bases.shape[1:])
    return products if mean is None else products + mean


def fit_factors(points: Tensor, bases: Tensor) -> Tensor:
    """Return the coefficients that reconstruct points best from any bases. [m, *shape] and [k,
    *shape] -> [m, k]. No gradient.

    Of orthonormal bases they are `project`'s. Where several do as well (more bases than numbers),
    those of least length.
    """
    # "gelsd" alone handles bases that depend on each other, and it runs on the CPU only.
    columns = bases.detach().flatten(1).T.double().cpu()
    targets = points.detach().flatten(1).T.double().cpu()
    return torch.linalg.lstsq(columns, targets, driver="gelsd").solution.T.to(points)


def relative_squared_error(points: Tensor, reconstruction: Tensor) -> Tensor:
    """Return sum |x - x~|^2 / sum |x|^2 over points [m, *shape] and their reconstruction.

    A scalar, 0 where they are equal.
    """
    size = points.abs().max() if points.numel() else torch.zeros(())
    if not float(size.detach()) > 0:
        errors.fail("points", "not 0 everywhere", points)
    # Of numbers of size 1: very small or large ones have no square.
    return (points / size - reconstruction / size).square().sum() / (points / size).square().sum()


def downsampled(images: Tensor, *, scale: int) -> Tensor:
    """Return the means of scale x scale blocks.

    images [n, c, h, w] -> [n, c, h / scale, w / scale].

    Differentiable.

    Raises:
        DDLabError: a height or width that `scale` does not divide.
    """
    count, channels, height, width = images.shape
    if height % scale or width % scale:
        errors.fail("scale", f"a divisor of the height, {height}, and of the width, {width}", scale)
    blocks = images.reshape(count, channels, height // scale, scale, width // scale, scale)
    return blocks.mean((3, 5))


def upsampled(images: Tensor, *, scale: int) -> Tensor:
    """Return D, bilinear upsampling with corners not aligned.

    images [n, c, h, w] -> [n, c, scale h, scale w].

    Linear in them, differentiable.
    """
    size = (images.shape[2] * scale, images.shape[3] * scale)
    return F.interpolate(images, size=size, mode="bilinear", align_corners=False)


def decode(
    coefficients: Tensor, bases: Tensor, *, scale: int, mean: Tensor | None = None
) -> Tensor:
    """Return the images X_s = D(C^x B^x, s).

    coefficients [m, k], bases [k, c, h, w] and their mean [c, h, w] -> [m, c, scale h, scale w].
    """
    return upsampled(reconstruct(coefficients, bases, mean=mean), scale=scale)
