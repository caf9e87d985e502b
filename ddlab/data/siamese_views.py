r"""Differentiable Siamese augmentation (DSA): one drawn view for real and learned images alike.

Zhao & Bilen 2021, arXiv 2102.08259.

| operation | of an image x | drawn from | function |
|---|---|---|---|
| color | x + b | b in U(-.5, .5) | `brightness` |
| color, then | m + s (x - m), m the mean of the channels at each pixel | s in U(0, 2) | `saturation` |
| color, then | m + s (x - m), m the mean of the whole image | s in U(.5, 1.5) | `contrast` |
| crop | x[i + top, j + left], 0 outside | whole pixels, -1/8 to 1/8 of the side | `crop` |
| cutout | 0 in a box of half the sides | centre: 0 to h or w, the end itself only for an even side of the box | `cutout` |
| flip | x[i, w - 1 - j] | one in two | `flip` |
| scale | x at s times the distance from the centre, 0 outside | s in U(1/1.2, 1.2), one for each axis | `scale` |
| rotate | x turned around the centre, 0 outside | U(-15, 15) degrees | `rotate` |

Rows i and columns j count from 0; parts of a side are rounded half up to whole pixels. Images are
normalised: 0 is the dataset's mean colour, not black, and b is in its standard deviations. Each
operation takes images [n, c, h, w] and one value for all of them, a tensor [1], or one for each,
[n].

As in the authors' code one operation is drawn for a batch. They leave flip out for digits, and show
students a view of its own for each image (`each`). One deviation: images that are not square are
turned without being sheared.
"""

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors, randomness, to_device

STRATEGIES = ("color", "crop", "cutout", "flip", "scale", "rotate")
"""The operations that a strategy can name, in the published order."""
ALL = "_".join(STRATEGIES)  # the published strategy for natural images
# And for digits, which must not be mirrored.
UPRIGHT = "_".join(name for name in STRATEGIES if name != "flip")


def siamese_view(
    images: Tensor, strategy: str, *, seed: int, step: int, per_image: bool = False
) -> Tensor:
    """Return one view of images [n, c, h, w], by one operation of `strategy`.

    Any batch that is given the same seed and step gets the same view.

    Args:
        strategy: operations joined by "_", such as "crop_flip", in any order; "" gives back the
            images themselves.
        per_image: values of its own for each image; False: the same for all, whatever their number,
            dtype and device.
    """
    names = operations(strategy)
    if names:
        # Seeded by the step and not by the batch: real and learned images get the same operation.
        draw = randomness.generator(seed, step, "siamese operation")
        names = (names[int(torch.randint(len(names), (), generator=draw))],)
    count = len(images) if per_image else 1
    for name in names:
        # A stream for each operation, so that a shorter strategy draws the same values for the ones
        # it keeps.
        images = _draw_operation(
            name, images, count, randomness.generator(seed, step, f"siamese {name}")
        )
    return images


@functools.cache
def operations(strategy: str) -> tuple[str, ...]:
    """Return the operations of a strategy, in the published order.

    >>> operations("rotate_crop")
    ('crop', 'rotate')
    """
    named = strategy.split("_") if strategy else []
    for name in named:
        errors.check_choice("an operation of strategy", name, STRATEGIES)
    if len(set(named)) < len(named):
        errors.fail("strategy", "operations of which none is repeated", strategy)
    # In the published order, so that "crop_flip" and "flip_crop" are one strategy with one key.
    return tuple(name for name in STRATEGIES if name in named)


def brightness(images: Tensor, amount: Tensor) -> Tensor:
    """Return x + amount."""
    return images + _per_image(amount)


def saturation(images: Tensor, factor: Tensor) -> Tensor:
    """Return each pixel's distance from the mean of its channels, times the factor.

    Images of one channel stay as they are.
    """
    mean = images.mean(1, keepdim=True)
    return mean + _per_image(factor) * (images - mean)


def contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Return each value's distance from the mean of its image, times the factor."""
    mean = images.mean((1, 2, 3), keepdim=True)
    return mean + _per_image(factor) * (images - mean)


def crop(images: Tensor, top: Tensor, left: Tensor) -> Tensor:
    """Return a window of the images' own size, 0 outside the image.

    Its corner lies at row `top` and column `left` of the image.
    """
    height, width = images.shape[2:]
    rows = _per_image(top) + torch.arange(height, device=images.device)[:, None]
    columns = _per_image(left) + torch.arange(width, device=images.device)
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    # Clamped for `gather`, which has no notion of outside; those places are blanked afterwards.
    places = (rows.clamp(0, height - 1) * width + columns.clamp(0, width - 1)).flatten(2)
    window = images.flatten(2).gather(2, places.expand(*images.shape[:2], -1)).reshape(images.shape)
    return window.masked_fill(~inside, 0)


def cutout(images: Tensor, row: Tensor, column: Tensor) -> Tensor:
    """Set a box of half the height and half the width to 0, cut off at the edges.

    It lies around this pixel; half of an even side lies before it.
    """
    height, width = images.shape[2:]
    rows, columns = _round(height / 2), _round(width / 2)
    down = torch.arange(height, device=images.device)[:, None] - _per_image(row) + rows // 2
    right = torch.arange(width, device=images.device) - _per_image(column) + columns // 2
    return images.masked_fill((down >= 0) & (down < rows) & (right >= 0) & (right < columns), 0)


def flip(images: Tensor, flipped: Tensor) -> Tensor:
    """Exchange left and right where `flipped`."""
    return torch.where(_per_image(flipped), images.flip(3), images)


def scale(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Sample at these multiples of the distance from the centre, bilinearly, 0 outside.

    Below 1 the content grows, above 1 it shrinks.
    """
    down, right = _per_image(rows), _per_image(columns)
    zero = torch.zeros_like(down)
    return _sample(images, right, zero, zero, down)


def rotate(images: Tensor, degrees: Tensor) -> Tensor:
    """Turn counter-clockwise around the centre, bilinearly, 0 outside."""
    angle = _per_image(degrees).deg2rad()
    return _sample(images, angle.cos(), -angle.sin(), angle.sin(), angle.cos())


def _sample(images: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    """Sample (a x + b y, c x + d y) for each pixel (x, y) right of and below the centre.

    a, b, c, d: [1 or n, 1, 1, 1].
    """
    if images.numel() == 0:
        return images
    height, width = images.shape[2:]
    zero = torch.zeros_like(a)
    # The grid counts from -1 to 1 along both sides, whatever their lengths.
    # The two factors keep an image that is not square from being sheared.
    moves = torch.stack([a, b * (height / width), zero, c * (width / height), d, zero], 1).view(
        -1, 2, 3
    )
    grid = F.affine_grid(moves, [len(moves), *images.shape[1:]], align_corners=False)
    return F.grid_sample(
        images, grid.expand(len(images), -1, -1, -1), padding_mode="zeros", align_corners=False
    )


def _draw_operation(name: str, images: Tensor, count: int, draw: torch.Generator) -> Tensor:
    """Apply one operation, with `count` values of each kind.

    They are drawn in float64, so that every dtype gets the same.
    """

    def uniform(low: float, high: float) -> Tensor:
        values = low + (high - low) * torch.rand(count, generator=draw, dtype=torch.float64)
        return to_device(values.to(images.dtype), images.device)

    def whole(low: int, high: int) -> Tensor:
        return to_device(torch.randint(low, high + 1, (count,), generator=draw), images.device)

    height, width = images.shape[2:]
    if name == "color":
        images = saturation(brightness(images, uniform(-0.5, 0.5)), uniform(0, 2))
        return contrast(images, uniform(0.5, 1.5))
    if name == "crop":
        down, right = _round(height / 8), _round(width / 8)
        return crop(images, whole(-down, down), whole(-right, right))
    if name == "cutout":
        # The authors' draw: the end itself is possible for an even side of the box alone.
        last_row = height - _round(height / 2) % 2
        last_column = width - _round(width / 2) % 2
        return cutout(images, whole(0, last_row), whole(0, last_column))
    if name == "flip":
        return flip(images, whole(0, 1) == 1)
    if name == "scale":
        return scale(images, uniform(1 / 1.2, 1.2), uniform(1 / 1.2, 1.2))
    return rotate(images, uniform(-15, 15))


def _round(pixels: float) -> int:
    return int(pixels + 0.5)  # half up, where round() takes the even neighbour


def _per_image(values: Tensor) -> Tensor:
    """Return one value for all images, or one for each, as [1 or n, 1, 1, 1]."""
    return values[:, None, None, None]
