"""Ten pictures, and what a teacher's batch-norm layers see in them: how far are they from what is
stored?

    StoredStatistics(data, teacher)
"""

import functools
from dataclasses import dataclass

import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import Parameters, errors, parameter
from ...core.randomness import generator
from ...data import ImageData
from ...explorers import Chart, Lab, Named, Results, Strip
from ...figures import encode_grid
from ...networks import Network
from .lab import channel_offsets, offset_histogram

ONE_OF_EACH = "one of each class"
ONE_CLASS = "one class"
PICTURES = (ONE_OF_EACH, ONE_CLASS, "shuffled pixels", "negatives")
_HEIGHT = 330
_CELL = 48  # pixels of an image in the strip


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Which ten pictures enter the teacher, and how much of each is noise."""

    pictures: str = parameter(
        ONE_OF_EACH, choices=PICTURES, explorable=True, help="What the teacher is shown."
    )
    noise: float = parameter(
        0.0, range=(0, 1), explorable=(0, 1), step=0.1, help="Share of noise in each picture."
    )


class World:
    """Ten real images in several forms, noise, and a teacher with batch norm.

    Args:
        data: its first images of each class are shown.
        teacher: whose layers see them.
    """

    def __init__(self, data: ImageData, teacher: Network) -> None:
        self.data = errors.check_instance("data", data, ImageData)
        self.teacher = errors.check_instance("teacher", teacher, Network).to("cpu")
        self.start = Settings()
        of_class = [data.of_class(label) for label in range(data.classes)]
        self._rows = {
            ONE_OF_EACH: torch.stack([rows[0] for rows in of_class]),
            ONE_CLASS: of_class[0][: data.classes],
        }
        draws = generator(0, 0, "stored statistics")
        shape = data.classes, data.channels, *data.image_size
        self._noise = torch.randn(shape, generator=draws)
        self._places = torch.randperm(shape[2] * shape[3], generator=draws)
        self.offsets = functools.lru_cache(maxsize=64)(self._offsets)

    def pictures(self, settings: Settings) -> Tensor:
        """Return the pictures on show, normalised [classes, c, h, w]."""
        rows = self._rows[ONE_CLASS if settings.pictures == ONE_CLASS else ONE_OF_EACH]
        images = self.data.normalised(rows)
        if settings.pictures == "shuffled pixels":
            images = images.flatten(2)[:, :, self._places].view_as(images)
        elif settings.pictures == "negatives":
            low, high = self.data.valid_range()
            images = low + high - images
        return (1 - settings.noise) * images + settings.noise * self._noise[: len(images)]

    def _offsets(self, settings: Settings) -> Tensor:
        return channel_offsets(self.teacher, self.pictures(settings))


def picture_data(world: World, settings: Settings, results: Results) -> Named:
    """Return what decides the pictures."""
    return {"world": world, "settings": settings}


def strip(world: World, settings: Settings) -> tuple[bytes, str]:
    """Draw the ten pictures."""
    pixels = world.data.to_uint8(world.pictures(settings))
    return encode_grid(pixels, len(pixels), cell=_CELL, gap=4), f"Ten pictures: {_words(settings)}."


def histogram(world: World, settings: Settings) -> go.Figure:
    """Draw the offsets of all channels for these pictures."""
    return offset_histogram({"these pictures": world.offsets(settings)}, height=_HEIGHT)


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how far the channels lie from the stored means."""
    mean_offset = float(world.offsets(settings).abs().mean())
    return (
        f"{_words(settings).capitalize()}: on average the mean of a channel lies {mean_offset:.2f} "
        "stored standard deviations from the mean that the teacher has stored (0 on the axis)."
    )


def _words(settings: Settings) -> str:
    if settings.noise == 1:
        return "noise"
    mixed = f", {settings.noise:.0%} noise" if settings.noise else ""
    return f"{settings.pictures}{mixed}"


StoredStatistics = Lab(
    "Which pictures does the network remember?",
    World,
    controls=("pictures", "noise"),
    labels={"noise": "share of noise"},
    views=[Strip(picture_data, strip), Chart(picture_data, histogram)],
    sentence=sentence,
    pairs=[("pictures", "noise")],
)
