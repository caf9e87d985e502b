"""The laboratory of crops: random parts of the images of two classes, on one map. The smaller a part
may be, the more of them lie next to a part of the other class (ReLA, Remark 1, figures 5 to 9).

    OverlapLab(data, network)
"""

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import networks
from ...core import Parameters, narrow, parameter
from ...data import ImageData
from ...data.augmentation import Views
from ...evaluation import embeddings
from ...explorers import Chart, Lab, Named, Results, Strip, Value
from ...figures import encode_grid, finish_figure, series_style, start_figure
from ...figures.theme import legend_below, literal
from ...networks import Network

_PER_CLASS = 200
_EXAMPLES = 10
Watch = Callable[[str, float], None]
_SPACES = ("pixels", "features")


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """How small a part may be, of which classes, and where its neighbours are looked for."""

    crop_area: float = parameter(
        0.08,
        choices=(0.02, 0.04, 0.08, 0.2, 0.5, 1.0),
        explorable=True,
        source="ReLA, figures 6 to 9",
        help="Smallest share of an image that a view keeps; 1 keeps the whole image.",
    )
    first: int = parameter(0, range=(0, None), help="The first class.")
    second: int = parameter(1, range=(0, None), help="The second class.")
    space: str = parameter("features", choices=_SPACES, help="Where distances are measured.")


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Views of two classes and their nearest neighbours.

    Attributes:
        images, views: normalised [n, c, h, w], first those of the first class.
        is_second: bool [n], whether a view is of the second class.
        places: [n, 2], on a t-SNE of the views.
        nearest: [n], the nearest other view of each one.
        astray: bool [n], whether this neighbour is of the other class.
    """

    images: Tensor
    views: Tensor
    is_second: Tensor
    places: Tensor
    nearest: Tensor
    astray: Tensor


class World:
    """Images, and a network in whose features views are compared.

    Args:
        settings: what is shown first, such as "crop_area=.5".
    """

    def __init__(self, data: ImageData, network: Network, *, settings: str = "") -> None:
        self.data = data
        self.network = network
        classes = tuple(range(data.classes))
        self.start = narrow(Settings, first=classes, second=classes).from_string(settings)

    def neighbours(self, settings: Settings, *, watch: Watch) -> Neighbours:
        """Crop up to 200 images of each class at random, and find the neighbours of the views."""
        watch("views", 0.0)
        rows = [
            (self.data.train_labels == label).nonzero()[:_PER_CLASS, 0]
            for label in (settings.first, settings.second)
        ]
        images = self.data.normalised(torch.cat(rows))
        crops = Views(crop_pixels=0, flip=False, mixup_alpha=0.0, crop_area=settings.crop_area)
        views = crops.view(images, mean=self.data.mean, std=self.data.std, step=0).images
        points = views.flatten(1)
        if settings.space == "features":
            points = networks.predict(self.network, views).features.flatten(1)
        nearest = torch.cdist(points, points).fill_diagonal_(torch.inf).argmin(1)
        is_second = torch.arange(len(views)) >= len(rows[0])
        # Few pictures allow only few neighbours.
        perplexity = min(30.0, (len(points) - 1) / 3)
        config = embeddings.Config(kind="t_sne", perplexity=perplexity)
        fitted = embeddings.fit({"views": points}, config, announce=None)
        return Neighbours(
            images=images,
            views=views,
            is_second=is_second,
            places=fitted.positions["views"],
            nearest=nearest,
            astray=is_second != is_second[nearest],
        )


def list_jobs(world: World, settings: Settings, run: None = None) -> list[Value]:
    """Return the views for these settings; none of a class beside itself."""
    return [] if settings.first == settings.second else [Value(world.neighbours, settings)]


def shown_data(world: World, settings: Settings, results: Results) -> Named | None:
    """Return the views, and the names of their classes."""
    if settings.first == settings.second:
        return None
    current = results(list_jobs(world, settings)[0])
    if current is None:
        return None
    first, second = (world.data.class_names[label] for label in (settings.first, settings.second))
    return {"world": world, "first": first, "second": second, "current": current}


def pairs_strip(world: World, first: str, second: str, current: Neighbours) -> tuple[bytes, str]:
    """Draw views and their nearest views, with the images that they are cut from; those whose
    nearest view is of the other class come first.
    """
    rows = (~current.astray).long().argsort(stable=True)[:_EXAMPLES]
    neighbour_rows = current.nearest[rows]
    parts = (
        current.images[rows],
        current.views[rows],
        current.views[neighbour_rows],
        current.images[neighbour_rows],
    )
    grid = encode_grid(
        world.data.to_uint8(torch.cat(parts)).numpy(),
        len(rows),
        cell=44,
        row_labels=["image", "its view", "nearest view", "its image"],
    )
    return (
        grid,
        f"{len(rows)} views of {first} or {second}, the nearest view of "
        f"{int(current.astray[rows].sum())} of them of the other class.",
    )


def views_map(world: World, first: str, second: str, current: Neighbours) -> go.Figure:
    """Draw the views of both classes on their map."""
    figure = start_figure(
        title="Views of two classes (t-SNE)",
        x_label="first axis",
        y_label="second axis",
        height=340,
    )
    places_by_class = {
        first: current.places[~current.is_second],
        second: current.places[current.is_second],
    }
    for number, (name, places) in enumerate(places_by_class.items()):
        style = series_style(number)
        figure.add_scatter(
            x=places[:, 0].tolist(),
            y=places[:, 1].tolist(),
            mode="markers",
            name=literal(name),
            marker={"color": style.colour, "symbol": style.marker, "size": 6},
        )
    figure.update_xaxes(showticklabels=False).update_yaxes(showticklabels=False)
    words = f"Map of {len(current.places)} views of {first} and {second}."
    return finish_figure(legend_below(figure), alt=words)


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how often the nearest view is of the other class."""
    if settings.first == settings.second:
        return f"Twice {world.data.class_names[settings.first]}: choose another class beside it."
    on_show = shown_data(world, settings, results)
    if on_show is None:
        return "Cropping the images ..."
    astray = on_show["current"].astray.float().mean()
    return (
        f"For {astray:.1%} of the views of {on_show['first']} and {on_show['second']}, the nearest "
        "other view is of the other class."
    )


OverlapLab = Lab(
    "How small may a crop be?",
    World,
    controls=("crop_area", "first", "second"),
    folded=("space",),
    labels={
        "crop_area": "smallest share",
        "first": "class",
        "second": "other class",
        "space": "compared by",
    },
    choice_words=lambda world: {
        name: lambda label: world.data.class_names[label] for name in ("first", "second")
    },
    jobs=list_jobs,
    opens_with=1,
    views=[Strip(shown_data, pairs_strip), Chart(shown_data, views_map, ghosts=False)],
    sentence=sentence,
    pairs=[("crop_area", "second")],
    recorded={"crop_area": 6, "first": 4, "second": 4},
)
