"""What the maps of cropped views know: views of two classes, where they lie on a map, how far they spread and overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ... import theory
from ...core import errors
from ...core.parameters import Parameters, parameter
from ...data import ImageData
from ...evaluation import embeddings

SCALES = {0.02: ".02", 0.04: ".04", 0.08: ".08", 0.2: ".2", 0.5: ".5", 1.0: "none"}
PICTURED = 8  # views of each class


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """What is shown; `first` and `second` get their choices from the classes of one data set."""

    least_area: float = parameter(
        0.08,
        range=(0.01, 1),
        scale="log",
        explorable=(0.02, 1),
        help="The smallest share of the image that a view shows; at 1 it shows all of it.",
        source="ReLA, Figures 6 to 9",
    )
    first: str = parameter("", help="One class.")
    second: str = parameter("", help="The other class.")

    def rules(self) -> None:
        """Two classes."""
        if self.first == self.second:
            errors.fail("second", f"another class than {self.first!r}", self.second)


@dataclass(frozen=True, eq=False)
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


class World:
    """Images of which random parts are cut out.

    Args:
        data: whose training images are cut out. classes: the two that are shown first.
        images: of each class, at least 2; views: of each image; at most 600 views on a map.
    """

    def __init__(self, data: ImageData, *, classes: tuple[int, int] = (0, 1), images: int = 30, views: int = 4) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        if not isinstance(classes, tuple) or len(classes) != 2 or classes[0] == classes[1]:
            errors.fail("classes", "two different class numbers", classes)
        one, other = (errors.check_integer("classes", label, 0, data.classes - 1) for label in classes)
        self.start = settings_of(data)(first=data.class_names[one], second=data.class_names[other])
        self.images = errors.check_integer("images", images, 2, 300)
        self.views = errors.check_integer("views", views, 2, 300 // self.images)

    def cropped(self, first: str, second: str, least_area: float, *, watch: Callable[[str, float], None]) -> Cropped:
        """Views of two classes, by name: a t-SNE map of the pixels and, from the pixels, spread and overlap."""
        watch(f"map at {least_area:g}", 0.0)
        size: dict[str, Any] = {"images": self.images, "views": self.views, "least_area": least_area}
        labels = [self.data.class_names.index(name) for name in (first, second)]
        cut = [views_of_class(self.data, label, seed=number, **size) for number, label in enumerate(labels)]
        points = {"first": cut[0].flatten(0, 1).flatten(1), "second": cut[1].flatten(0, 1).flatten(1)}
        count = sum(map(len, points.values()))
        config = embeddings.Config(kind="t_sne", perplexity=max(2.0, min(30.0, (count - 1) // 3)))
        placed = embeddings.fit(points, config, announce=None).positions
        within, overlap = spread_and_overlap(*cut)
        return Cropped(
            images=torch.stack([self.data.to_uint8(part[torch.arange(PICTURED) % len(part), 0]) for part in cut]),
            positions=(placed["first"], placed["second"]),
            within=within,
            overlap=overlap,
        )


def views_of_class(data: ImageData, label: int, *, images: int, views: int, least_area: float, seed: int) -> Tensor:
    """Views [images, views, channels, h, w] of the first training images of a class, normalised."""
    where = torch.nonzero(data.train_labels == label)[:images, 0]
    return theory.crop_views(data.normalised(where), minimum_scale=least_area, views=views, seed=seed)


def spread_and_overlap(*cut: Tensor) -> tuple[float, float]:
    """(variance of the views of two classes within them, overlap of the two); views of one image do not vote for each other."""
    first, second = (part.flatten(0, 1).flatten(1) for part in cut)
    sources = [torch.arange(len(part)).repeat_interleave(part.shape[1]) for part in cut]
    groups = torch.arange(2).repeat_interleave(torch.tensor([len(first), len(second)]))
    within = theory.variance_between_and_within(torch.cat([first, second]), groups).within
    return within, theory.class_overlap(first, second, first_sources=sources[0], second_sources=sources[1])


def settings_of(data: ImageData) -> type[Settings]:
    """The settings of one data set: its classes that have two images are the choices."""
    sizes = torch.bincount(data.train_labels, minlength=data.classes)
    names = tuple(name for name, size in zip(data.class_names, sizes.tolist(), strict=True) if size > 1)
    if len(names) < 2:
        errors.fail("data", "with two classes of at least two training images", data.name)

    def choice(default: str, words: str) -> Any:
        return parameter(default, choices=names, help=words, explorable=True)

    @dataclass(frozen=True, kw_only=True)
    class ClassSettings(Settings):
        """What is shown, among the classes of the data."""

        first: str = choice(names[0], "One class.")
        second: str = choice(names[1], "The other class.")

    return ClassSettings
