"""Augmented views of a batch, for training; all draws are functions of (seed, step).

Mixup: Zhang et al. 2018, arXiv 1710.09412.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from . import errors, randomness


class View(NamedTuple):
    """An augmented batch: images [n, c, h, w], and how it was mixed: image i is share x_i + (1 - share) x_partner[i]."""

    images: Tensor
    share: float
    partner: Tensor


def augment(
    images: Tensor, *, crop_pixels: int, flip: bool, mixup_alpha: float, black: Tensor, seed: int, step: int
) -> View:
    """Random crop after padding, horizontal flip, mixup, in this order; all draws depend on (seed, step) alone.

    Args:
        images: float [n, c, h, w]. black: [1, c, 1, 1], the normalised value of the padding.
        crop_pixels: padding on each side, at most the longer side of the images. mixup_alpha: 0 is off.
    """
    errors.check_tensor("images", images, shape=[None] * 4, floating=True, finite=False)
    errors.check_integer("crop_pixels", crop_pixels, 0, max(images.shape[2:]))
    errors.check_boolean("flip", flip)
    mixup_alpha = errors.check_number("mixup_alpha", mixup_alpha, 0)
    errors.check_tensor("black", black, shape=[1, images.shape[1], 1, 1], dtype=images.dtype, finite=False)
    count = len(images)
    draw = randomness.generator(seed, step, "augment")
    if crop_pixels:
        images = _crop(images, crop_pixels, torch.randint(0, 2 * crop_pixels + 1, (2, count), generator=draw), black)
    if flip:
        flipped = (torch.rand(count, generator=draw) < 0.5).to(images.device)
        images = torch.where(flipped[:, None, None, None], images.flip(3), images)
    share, partner = 1.0, torch.arange(count)
    if mixup_alpha:
        share = float(randomness.numpy_generator(seed, step, "mixup").beta(mixup_alpha, mixup_alpha))
        partner = torch.randperm(count, generator=draw)
        images = share * images + (1 - share) * images[partner.to(images.device)]
    return View(images, share, partner.to(images.device))


def _crop(images: Tensor, pixels: int, offsets: Tensor, black: Tensor) -> Tensor:
    """Pad by `pixels` black ones, then cut each image at its own offset; [n, c, h, w] in and out."""
    _, _, height, width = images.shape
    padded = F.pad(images - black, [pixels] * 4) + black
    rows = (offsets[0][:, None] + torch.arange(height)).to(images.device)
    columns = (offsets[1][:, None] + torch.arange(width)).to(images.device)
    number = torch.arange(len(images), device=images.device)
    return padded[number[:, None, None], :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
