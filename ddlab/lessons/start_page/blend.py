"""A blend of two images and its target: what should a student answer?

    Blend(data, teacher)

The target follows the share of the first image in the blend. Class labels and stored answers are mixed
in the same shares, so they follow straight lines; the teacher's answer to the blend itself bends.
"""

import functools
from dataclasses import dataclass

import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import networks
from ...core import Parameters, errors, narrow, parameter
from ...data import ImageData
from ...explorers import Chart, Lab, Named, Results, Strip
from ...figures import encode_grid, finish_figure, loss_curves
from ...networks import Network
from ...training import losses

LABELS = ("hard", "stored", "online")
SHARES = torch.linspace(0, 1, 21)
TEMPERATURE = 4.0
_CANDIDATES = 100  # of each class, among which the teacher is surest of one
_MOST_CURVES = 5
_HEIGHT = 340


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Which two classes are blended, in which shares, and what the target is."""

    share: float = parameter(
        0.9, range=(0, 1), explorable=(0, 1), step=0.05, help="Of the first image in the blend."
    )
    labels: str = parameter(
        "hard", choices=LABELS, explorable=True, help="What the student is to answer."
    )
    first: str = parameter("", help="The class of the first image.")
    second: str = parameter("", help="The class of the second image.")


class World:
    """The image of each class that a teacher is surest of, and its answers to their blends.

    Args:
        data: its training images are blended.
        teacher: answers.
    """

    def __init__(self, data: ImageData, teacher: Network) -> None:
        self.data = errors.check_instance("data", data, ImageData)
        self.teacher = errors.check_instance("teacher", teacher, Network)
        names = data.class_names
        settings = narrow(Settings, first=names, second=names)
        self.start = settings(first=names[0], second=names[min(7, data.classes - 1)])
        # Each slider position asks for the same answers again.
        self.targets = functools.lru_cache(maxsize=64)(self._targets)
        self.clearest = functools.cache(self._clearest)

    def _clearest(self, name: str) -> Tensor:
        """Return the image of a class that the teacher is surest of, normalised [1, c, h, w]."""
        label = self.data.class_names.index(name)
        candidates = self.data.normalised(self.data.of_class(label)[:_CANDIDATES])
        logits = networks.predict(self.teacher, candidates).logits
        return candidates[logits.softmax(1)[:, label].argmax()][None]

    def view(self, settings: Settings) -> Tensor:
        """Return the blend on show, normalised [1, c, h, w]."""
        first, second = self.clearest(settings.first), self.clearest(settings.second)
        return settings.share * first + (1 - settings.share) * second

    def _targets(self, first: str, second: str, labels: str) -> Tensor:
        """Return the targets of all blends of two classes, [shares, classes]."""
        images = torch.cat([self.clearest(first), self.clearest(second)])
        weights = torch.stack([SHARES, 1 - SHARES], 1)
        if labels == "hard":
            classes = [self.data.class_names.index(name) for name in (first, second)]
            one_hot = torch.nn.functional.one_hot(torch.tensor(classes), self.data.classes)
            return weights @ one_hot.float()
        if labels == "stored":
            logits = networks.predict(self.teacher, images).logits
            return weights @ losses.soft_targets(logits, TEMPERATURE)
        views = torch.einsum("vi,ichw->vchw", weights, images)
        return losses.soft_targets(networks.predict(self.teacher, views).logits, TEMPERATURE)


def target_on_show(world: World, settings: Settings) -> Tensor:
    """Return the target of the blend on show, [classes]."""
    place = (SHARES - settings.share).abs().argmin()
    return world.targets(settings.first, settings.second, settings.labels)[place]


def strip_data(world: World, settings: Settings, results: Results) -> Named:
    """Return what decides the strip: not the labels."""
    return {"world": world, "settings": settings.replace(labels="hard")}


def strip(world: World, settings: Settings) -> tuple[bytes, str]:
    """Draw both images and their blend."""
    names = settings.first, settings.second
    pictures = torch.cat([*map(world.clearest, names), world.view(settings)])
    heads = [*names, "the view"]
    encoded = encode_grid(world.data.to_uint8(pictures), 3, cell=96, column_labels=heads, gap=6)
    return encoded, f"An image of {names[0]}, one of {names[1]}, and their blend."


def curve_data(world: World, settings: Settings, results: Results) -> Named:
    """Return what decides the curves: not the share, at which the cursor stands."""
    return {"world": world, "settings": settings.replace(share=0.0)}


def curves(world: World, settings: Settings) -> go.Figure:
    """Draw the target of each class along the blend, for the classes with the largest shares."""
    names = world.data.class_names
    first, second = names.index(settings.first), names.index(settings.second)
    # The same classes for each kind of labels, so that a colour stays one class.
    largest = world.targets(settings.first, settings.second, "online").amax(0)
    largest[[first, second]] = 2.0
    drawn = largest.argsort(descending=True, stable=True)[:_MOST_CURVES].tolist()
    targets = world.targets(settings.first, settings.second, settings.labels)
    figure = loss_curves(
        {names[label]: targets[:, label].numpy() for label in drawn},
        100 * SHARES.numpy(),
        title=f"Target of the view, {settings.labels} labels",
        x_label=f"share of the {settings.first} in the view (%)",
        y_label="target",
        height=_HEIGHT,
    )
    words = f"{settings.labels.capitalize()} targets of blends of {settings.first} and {settings.second}"
    return finish_figure(
        figure.update_yaxes(range=[0, 1.02]), alt=f"{words}, by the share of the first."
    )


def cursor(world: World, settings: Settings, results: Results) -> float:
    """Return where the blend on show stands."""
    return 100 * settings.share


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say which classes the target names, and whether the largest is in neither image."""
    names = world.data.class_names
    target = target_on_show(world, settings)
    largest = target.argsort(descending=True, stable=True)[:3].tolist()
    shares = [f"{names[label]} {target[label]:.0%}" for label in largest if target[label] >= 0.005]
    told = (
        f"{settings.share:.0%} {settings.first} and {1 - settings.share:.0%} {settings.second}: the "
        f"{settings.labels} target is {', '.join(shares)}."
    )
    winner = names[largest[0]]
    if winner in (settings.first, settings.second):
        return told
    return f"{told} Its largest share goes to the {winner}, which is in neither image."


Blend = Lab(
    "What should a student answer for a blend?",
    World,
    controls=("share", "labels"),
    folded=("first", "second"),
    labels={"share": "share of the first image", "first": "first image", "second": "second image"},
    views=[Strip(strip_data, strip), Chart(curve_data, curves, cursor=cursor)],
    sentence=sentence,
    pairs=[("share", "labels")],
)
