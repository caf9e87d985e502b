r"""Mosaics of parts of images: squares are cut out and scaled, and f x f of them make an image.

What RDED does to pixels (Sun et al. 2024, arXiv 2312.03526), apart from what its teacher says of
them; RandomResizedCrop is torchvision's.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import DDLabError

# Px of a patch: torch's antialiased scaling to one column forgets to scale the rows (seen in 2.15).
_LEAST_SIDE = 2


def crop_boxes(
    images: int,
    crops: int,
    *,
    image_size: tuple[int, int],
    smallest_area: float,
    generator: torch.Generator,
) -> Tensor:
    """Draw random squares.

    The area is uniform between a share of the image's and all of it, the position uniform among
    those that fit.

    RandomResizedCrop with the aspect 1, of images of at least 2 px; a part of an image that is not
    square has the image's aspect.

    Args:
        images, crops: how many images, and squares of each.
        image_size: (height, width).
        smallest_area: share in (0, 1].

    Returns:
        int64 [images, crops, 4]: top, left, rows, columns in pixels.
    """
    # The side is the root of a share of the area that is uniform.
    draws = torch.rand((3, images, crops), generator=generator, dtype=torch.float64)
    scale = (smallest_area + (1 - smallest_area) * draws[0]).sqrt()
    lengths = [(scale * side).round().clamp(1, side) for side in image_size]
    free = [side - length + 1 for side, length in zip(image_size, lengths, strict=True)]
    places = [(draw * count).floor() for draw, count in zip(draws[1:], free, strict=True)]
    return torch.stack([*places, *lengths], dim=2).long()


def cut_patches(images: Tensor, boxes: Tensor, *, patch_size: tuple[int, int]) -> Tensor:
    """Cut boxes out of images and scale them bilinearly, with PIL's low-pass where they become
    smaller.

    Args:
        images: float32 or float64 [n, c, h, w].
        boxes: int64 [n, m, 4], top, left, rows, columns.
        patch_size: (height, width), from 2 px to the image's.

    Returns:
        [n, m, c, *patch_size].
    """
    parts = []
    for image, places in zip(images, boxes.tolist(), strict=True):
        for top, left, rows, columns in places:
            parts.append(image[None, :, top : top + rows, left : left + columns])
    # One by one, because the parts differ in size; they are small.
    scaled = [
        F.interpolate(part, patch_size, mode="bilinear", align_corners=False, antialias=True)
        for part in parts
    ]
    return torch.cat(scaled).unflatten(0, (len(images), boxes.shape[1]))


def centre(patches: Tensor, *, image_size: tuple[int, int]) -> Tensor:
    """Put patches into the middle of images of zeros, the mean colour. [n, c, h, w] -> [n, c,
    *image_size]; one pixel more below and right.
    """
    free_rows, free_columns = (
        whole - part for whole, part in zip(image_size, patches.shape[2:], strict=True)
    )
    top_margin = free_rows // 2
    left_margin = free_columns // 2
    return F.pad(
        patches, (left_margin, free_columns - left_margin, top_margin, free_rows - top_margin)
    )


def stitch(patches: Tensor, *, factor: int) -> Tensor:
    """Make an image of f x f patches. [ipc f^2, c, h, w] -> [ipc, c, f h, f w]; the cells of image
    j, row by row, are j, j + ipc, ...
    """
    cells = patches.unflatten(0, (factor, factor, -1))
    return cells.permute(2, 3, 0, 4, 1, 5).flatten(4, 5).flatten(2, 3)


def patch_size_of(image_size: tuple[int, int], factor: int) -> tuple[int, int]:
    """Return (height, width) of a patch, f of which make each side of an image.

    Raises if f does not divide it, or leaves 1 px.
    """
    if any(side % factor or side // factor < _LEAST_SIDE for side in image_size):
        raise DDLabError(
            f"factor must divide both sides of the images, {image_size} px, into patches of "
            f"at least {_LEAST_SIDE} px; "
            f"given {factor}."
        )
    return image_size[0] // factor, image_size[1] // factor
