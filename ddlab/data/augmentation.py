"""Augmented views of a batch, for training; all draws are functions of (seed, step).

Mixup: Zhang et al. 2018, arXiv 1710.09412. CutMix: Yun et al. 2019, arXiv 1905.04899. DSA:
`siamese_views`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import Parameters, errors, parameter, randomness, to_device


class View(NamedTuple):
    """An augmented batch: images [n, c, h, w], and how they were mixed.

    Image i holds `share` of x_i and the rest of x_partner[i].

    For mixup the share is of every pixel's value, for CutMix of the pixels.
    """

    images: Tensor
    share: float
    partner: Tensor


@dataclass(frozen=True, kw_only=True)
class Views(Parameters):
    """Which images make a batch in training, and how they are augmented.

    Everything is a function of these fields and the step alone.
    """

    batch_size: int = parameter(128, range=(1, None), unit="images", help="Images per step.")
    crop_pixels: int = parameter(
        4, range=(0, None), unit="px", help="Random crop after padding by so many black pixels."
    )
    flip: bool = parameter(True, help="Random horizontal flip (not for digits).")
    mixup_alpha: float = parameter(
        0.8,
        symbol=r"\alpha",
        range=(0, None),
        help="Mixup share is drawn from Beta(alpha, alpha); 0 is off.",
        explorable=(0, 2),
    )
    cutmix_alpha: float = parameter(
        0.0,
        range=(0, None),
        help="CutMix share is drawn from Beta(alpha, alpha); 0 is off; not together with mixup.",
    )
    crop_area: float = parameter(
        1.0,
        range=(0, 1),
        open_low=True,
        help="Each image is cut to a random part of at least this share, scaled back; 1 is off.",
    )
    seed: int = parameter(0, range=(0, None), help="Of weights, order and views.")

    def rules(self) -> None:
        """Raise if a batch is to be mixed in two ways."""
        super().rules()
        if self.mixup_alpha and self.cutmix_alpha:
            errors.fail(
                "cutmix_alpha", f"0 beside a mixup_alpha of {self.mixup_alpha:g}", self.cutmix_alpha
            )

    def steps_per_epoch(self, count: int) -> int:
        """Return how many batches `count` images make; a last smaller one counts."""
        return math.ceil(count / self.batch_size)

    def indices(self, count: int, step: int) -> Tensor:
        """Return which of `count` images are seen at `step`, int64 [at most batch_size].

        Each is seen once per epoch, in a new order every epoch.
        """
        # Derived from the step alone, so a run that resumes in the middle of an epoch sees the rest
        # of it.
        epoch, number = divmod(step, max(self.steps_per_epoch(count), 1))
        order = _order(self.seed, epoch, count)
        # Cloned: the order is kept for the whole epoch, and a slice would hand out that memory.
        return order[number * self.batch_size : (number + 1) * self.batch_size].clone()

    def view(self, images: Tensor, *, mean: Tensor, std: Tensor, step: int) -> View:
        """Return the view of images [n, c, h, w] at `step`.

        They are normalised with `mean` and `std` [c].
        """
        return augment(
            images,
            crop_pixels=self.crop_pixels,
            flip=self.flip,
            mixup_alpha=self.mixup_alpha,
            cutmix_alpha=self.cutmix_alpha,
            crop_area=self.crop_area,
            black=to_device((-mean / std)[None, :, None, None], images.device),
            seed=self.seed,
            step=step,
        )


# Of a million images drawing it takes longer than a step: one for each epoch and run under way.
@lru_cache(4)
def _order(seed: int, epoch: int, count: int) -> Tensor:
    return randomness.permutation(count, seed, epoch, "order")


def augment(
    images: Tensor,
    *,
    crop_pixels: int,
    flip: bool,
    mixup_alpha: float,
    black: Tensor,
    seed: int,
    step: int,
    crop_area: float = 1.0,
    cutmix_alpha: float = 0.0,
) -> View:
    """Return a view: random part, random crop, flip, then mixup or CutMix.

    All draws depend on (seed, step) alone.

    Args:
        images: float [n, c, h, w].
        black: [1, c, 1, 1], the normalised value of the padding.
        crop_pixels: padding on each side, at most the longer side of the images.
        mixup_alpha, cutmix_alpha: 0 is off.
        crop_area: each image is cut to a `random_rectangle` of at least this share, scaled back
            bilinearly; 1 is off.
    """
    errors.check_integer("crop_pixels", crop_pixels, 0, max(images.shape[2:]))
    count = len(images)
    # A stream of its own: switching this on leaves the draws of crop and flip as they were.
    if crop_area < 1 and count:
        images = _resize(images, crop_area, randomness.generator(seed, step, "random part"))
    draw = randomness.generator(seed, step, "augment")
    if crop_pixels:
        images = _crop(
            images,
            crop_pixels,
            torch.randint(0, 2 * crop_pixels + 1, (2, count), generator=draw),
            black,
        )
    if flip:
        flipped = to_device(torch.rand(count, generator=draw) < 0.5, images.device)
        # `where` and no indexing: the shape stays fixed, and a GPU need not wait to learn how many
        # were flipped.
        images = torch.where(flipped[:, None, None, None], images.flip(3), images)
    share = 1.0
    partner = torch.arange(count, device=images.device)
    if mixup_alpha:
        # One share for the batch, as in the authors' code; one for each image is a different
        # method.
        share = float(
            randomness.numpy_generator(seed, step, "mixup").beta(mixup_alpha, mixup_alpha)
        )
        partner = to_device(torch.randperm(count, generator=draw), images.device)
        images = share * images + (1 - share) * images[partner]
    elif cutmix_alpha:
        partner = to_device(torch.randperm(count, generator=draw), images.device)
        height, width = images.shape[2:]
        box = cutmix_box(
            height, width, cutmix_alpha, randomness.numpy_generator(seed, step, "cutmix")
        )
        top, left, bottom, right = box
        inside = torch.zeros(images.shape[2:], dtype=torch.bool, device=images.device)
        inside[top:bottom, left:right] = True
        images = torch.where(inside, images[partner], images)
        # Of the box after it was cut off at the edges, not of the one that was drawn: labels follow
        # the pixels.
        share = 1 - float(inside.double().mean())
    return View(images, share, partner)


def cutmix_box(
    height: int, width: int, alpha: float, draw: np.random.Generator
) -> tuple[int, int, int, int]:
    """Return the box that one image gets from another.

    It is (top, left, bottom, right) in pixels, the last two excluded.

    Its sides are those of the image times sqrt(1 - share), share from Beta(alpha, alpha), around
    any pixel; what lies outside is cut off (Yun et al. 2019, arXiv 1905.04899, eq 2).
    """
    side = math.sqrt(1 - float(draw.beta(alpha, alpha)))
    row, column = int(draw.integers(height)), int(draw.integers(width))
    rows, columns = int(height * side) // 2, int(width * side) // 2
    return (
        max(row - rows, 0),
        max(column - columns, 0),
        min(row + rows, height),
        min(column + columns, width),
    )


def random_rectangle(
    height: int, width: int, *, smallest_area: float, generator: torch.Generator | None = None
) -> tuple[int, int, int, int]:
    """Return a random part of an image, (top, left, rows, columns) in pixels.

    It is drawn as torchvision's RandomResizedCrop does it.

    Its area is uniform between `smallest_area` and 1, as a share of the image's, its aspect ratio
    log-uniform between 3/4 and 4/3; after ten draws that do not fit it is the whole image.
    """
    for _ in range(10):
        area, ratio = torch.rand(2, generator=generator).tolist()
        area = height * width * (smallest_area + (1 - smallest_area) * area)
        aspect = math.exp((2 * ratio - 1) * math.log(4 / 3))
        columns, rows = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < columns <= width and 0 < rows <= height:
            top = int(torch.randint(0, height - rows + 1, (1,), generator=generator))
            left = int(torch.randint(0, width - columns + 1, (1,), generator=generator))
            return top, left, rows, columns
    return 0, 0, height, width


def _resize(images: Tensor, smallest_area: float, generator: torch.Generator) -> Tensor:
    """Return a random part of each image, scaled back bilinearly; [n, c, h, w] in and out.

    Corners are not aligned.
    """
    height, width = images.shape[2:]
    parts = [
        random_rectangle(height, width, smallest_area=smallest_area, generator=generator)
        for _ in range(len(images))
    ]
    # One by one, because the parts differ in size.
    scaled = []
    for image, (top, left, rows, columns) in zip(images.split(1), parts, strict=True):
        part = image[:, :, top : top + rows, left : left + columns]
        scaled.append(
            F.interpolate(part, size=images.shape[2:], mode="bilinear", align_corners=False)
        )
    return torch.cat(scaled)


def _crop(images: Tensor, pixels: int, offsets: Tensor, black: Tensor) -> Tensor:
    """Pad by `pixels` black pixels, then cut each image at its own offset; [n, c, h, w] in and out."""
    _, _, height, width = images.shape
    # `pad` fills with 0, which is the mean colour here; shifting by black first makes the border
    # black.
    padded = F.pad(images - black, [pixels] * 4) + black
    offsets = to_device(offsets, images.device)
    rows = offsets[0][:, None] + torch.arange(height, device=images.device)
    columns = offsets[1][:, None] + torch.arange(width, device=images.device)
    # Every image has its own offset, so rows and columns are gathered in one call instead of a
    # loop.
    number = torch.arange(len(images), device=images.device)
    return padded[number[:, None, None], :, rows[:, :, None], columns[:, None, :]].permute(
        0, 3, 1, 2
    )
