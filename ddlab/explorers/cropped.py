"""What the maps of cropped views know: views of two classes, where they lie on a map, how far they spread and overlap. No widgets."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .. import embeddings, theory
from ..data import ImageData

PICTURED = 8  # views of each class


@dataclass(frozen=True)
class Cropped:
    """Views of two classes.

    Attributes:
        images: some of them, uint8 [2, 8, c, h, w]. positions: of all, [n, 2] on their map, for each class.
        within: variance of the views about the mean of their class. overlap: of the classes, in [0, 1].
    """

    images: Tensor
    positions: tuple[Tensor, Tensor]
    within: float
    overlap: float


def cropped(data: ImageData, classes: tuple[str, str], *, least_area: float, images: int, views: int) -> Cropped:
    """Views of the first images of two classes, by name: a t-SNE map of the pixels and, from the pixels, spread and overlap."""
    cut: list[Tensor] = []
    for number, name in enumerate(classes):
        where = torch.nonzero(data.train_labels == data.class_names.index(name))[:images, 0]
        cut.append(theory.crop_views(data.normalised(where), minimum_scale=least_area, views=views, seed=number))
    sources = [torch.arange(len(part)).repeat_interleave(views) for part in cut]
    first, second = (part.flatten(0, 1).flatten(1) for part in cut)
    perplexity = max(2.0, min(30.0, (len(first) + len(second) - 1) // 3))
    config = embeddings.Config(kind="t_sne", perplexity=perplexity)
    fitted = embeddings.fit({"first": first, "second": second}, config, announce=None)
    groups = torch.arange(2).repeat_interleave(torch.tensor([len(first), len(second)]))
    return Cropped(
        images=torch.stack([data.to_uint8(part[torch.arange(PICTURED) % len(part), 0]) for part in cut]),
        positions=(fitted.positions["first"], fitted.positions["second"]),
        within=theory.variance_between_and_within(torch.cat([first, second]), groups).within,
        overlap=theory.class_overlap(first, second, first_sources=sources[0], second_sources=sources[1]),
    )
