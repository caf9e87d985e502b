r"""Predefined augmentations: a fixed list of views tau_1 ... tau_A of every image.

They are the same each time, and differentiable.

Yu, Yao & Chiu 2025 (Boost), section 3.3 and appendix A.8: drawn augmentations bias the outer loss,
so that the views are fixed beforehand.

X~_s = {X_s, tau_1(X_s), ..., tau_A(X_s)}    augmented    [A + 1, m, c, h, w], the images first

rotation    A = 3: by 90, 180 and 270 degrees, counter-clockwise (the paper does not say which way)
jigsaw      A = 3: of four patches, left and right swapped, top and bottom swapped, both
crop        A = 5: four corners and the centre, 20 of 32 pixels, scaled back
            (bilinearly; the paper does not name the filter)
none        A = 0: Table 12 compares with it

Rotation and jigsaw move whole pixels: each view is a permutation of them (`permutations`).
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors

Kind = Literal["none", "rotation", "jigsaw", "crop"]
Permutation = Literal["none", "rotation", "jigsaw"]
"""The kinds whose views move whole pixels."""
NAMES: dict[str, tuple[str, ...]] = {
    "none": ("as it is",),
    "rotation": ("as it is", "turned by 90°", "turned by 180°", "turned by 270°"),
    "jigsaw": ("as it is", "left and right swapped", "top and bottom swapped", "both swapped"),
    "crop": ("as it is", "top left", "top right", "bottom left", "bottom right", "centre"),
}
"""What each kind's views are called, in their order."""
KINDS = tuple(NAMES)


def augmented(images: Tensor, kind: Kind, *, crop_share: float = 0.625) -> Tensor:
    """Return all views of all images: [n, c, h, w] -> [A + 1, n, c, h, w].

    The images themselves come first.

    Args:
        crop_share: of height and width that a crop keeps; of crops alone.

    Raises:
        DDLabError: images that are not square, where they are turned, or cannot be halved, where
            their patches are swapped.
    """
    height, width = images.shape[2:]
    _check_size("images", kind, images, height, width)
    # Crops interpolate, so they are the only kind that is no permutation of pixels.
    if kind == "crop":
        return torch.stack(
            [
                images,
                *(_crop(images, box) for box in crop_boxes(height, width, share=crop_share)),
            ]
        )
    return _move(images[None], permutations(kind, height, width))


def permutations(kind: Permutation, height: int, width: int) -> Tensor:
    """Return where each view takes its pixels from, int64 [A + 1, h w].

    Pixel t of view a is pixel p[a, t] of the image, counted row by row.
    """
    _check_size("height and width", kind, (height, width), height, width)
    places = torch.arange(height * width).reshape(height, width)
    views = [places]
    if kind == "rotation":
        # Turning the table of positions instead of the images: kernels and bases use the same
        # table.
        views = [places.rot90(turns) for turns in range(4)]
    elif kind == "jigsaw":
        shifts = [(0, 0), (0, width // 2), (height // 2, 0), (height // 2, width // 2)]
        views = [places.roll(shift, (0, 1)) for shift in shifts]
    return torch.stack([view.flatten() for view in views])


def crop_boxes(height: int, width: int, *, share: float = 0.625) -> list[tuple[int, int, int, int]]:
    """Return the boxes of the four corners and the centre, in the order of `NAMES`.

    Each is (top, left, rows, columns) in pixels.

    Rows and columns are rounded to whole pixels; where the centre cannot be in the middle it is
    half a pixel up or left of it.

    Args:
        share: of height and width that is kept, in (0, 1]; 20 of 32 pixels in the paper.
    """
    rows, columns = max(1, round(share * height)), max(1, round(share * width))
    down, right = height - rows, width - columns
    corners = [(0, 0), (0, right), (down, 0), (down, right), (down // 2, right // 2)]
    return [(top, left, rows, columns) for top, left in corners]


def _crop(images: Tensor, box: tuple[int, int, int, int]) -> Tensor:
    """Return one part of all images, scaled back to their size: [n, c, h, w] in and out."""
    top, left, rows, columns = box
    part = images[:, :, top : top + rows, left : left + columns]
    return F.interpolate(part, size=images.shape[2:], mode="bilinear", align_corners=False)


def _move(views: Tensor, places: Tensor) -> Tensor:
    """Take pixel t of view a from position places[a, t].

    views [1 or a, n, c, h, w], places [a, h w] -> [a, n, c, h, w].
    """
    flat = views.expand(len(places), *views.shape[1:]).flatten(3)
    # `gather` has a derivative, so a learned image gets the gradients of all its views.
    index = places.to(views.device)[:, None, None].expand_as(flat)
    return flat.gather(3, index).reshape(len(places), *views.shape[1:])


def _check_size(argument: str, kind: Kind, value: object, height: int, width: int) -> None:
    if isinstance(value, Tensor) and 0 in value.shape[-3:]:
        errors.fail(argument, "of at least one pixel", value)
    if kind == "rotation" and height != width:
        errors.fail(argument, "square where images are turned", value)
    if kind == "jigsaw" and (height % 2 or width % 2):
        errors.fail(argument, "even, height and width, where patches are swapped", value)
