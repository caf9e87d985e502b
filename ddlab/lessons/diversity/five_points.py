"""Five points that a reader drags: how far apart do they lie, and how much of a crowd do they cover?

FivePoints()
"""

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import Parameters, parameter
from ...core.randomness import generator
from ...explorers import DRAG, Chart, Drag, Lab, Quest, Results
from ...explorers.ready import world_of
from ...figures import finish_figure, series_style, start_figure
from ...figures.theme import faint, legend_below, neutral
from ..shared import dragging, one_weight

COUNT = 5
CROWD = 0.7 * torch.randn(300, 2, generator=generator(0, 0, "crowd"), dtype=torch.float64)
RADIUS = 0.5  # of a circle, at first
ENOUGH = 0.65  # of the crowd, for the quest
_POINTS = "your five points"
_HEIGHT = 440


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """How large a circle is, and where the five points lie."""

    radius: float = parameter(
        RADIUS, range=(0, 2), explorable=(0.2, 0.8), step=0.1, help="Of each point's circle."
    )
    points: str = parameter(
        "0.1 0.2; 0.5 0.1; 0.2 -0.3; -0.3 0.1; -0.1 -0.2", help="Where the points lie."
    )

    def rules(self) -> None:
        """Raise unless there are five points."""
        one_weight.check(self.points, COUNT)


def mean_distance(points: Tensor) -> float:
    """Return the mean squared distance over all pairs of points, [n, 2] -> a number."""
    return float(torch.pdist(points).square().mean())


def covered(settings: Settings) -> Tensor:
    """Return which of the crowd lie in the circle of a point, bool [crowd]."""
    distances = torch.cdist(CROWD, dragging.numbers(settings.points))
    return (distances <= settings.radius).any(1)


def share_covered(settings: Settings) -> float:
    """Return the share of the crowd that is covered."""
    return float(covered(settings).double().mean())


def plane(settings: Settings) -> go.Figure:
    """Draw the crowd, what is covered of it, and a circle around each of the five points."""
    points = dragging.numbers(settings.points)
    is_covered = covered(settings)
    title = f"Covered: {share_covered(settings):.0%} of the crowd"
    figure = start_figure(
        title=title, x_label="first feature", y_label="second feature", height=_HEIGHT
    )
    for name, chosen, colour in (
        ("not covered", ~is_covered, faint(neutral("quiet"), 0.7)),
        ("covered", is_covered, series_style(0).colour),
    ):
        x, y = CROWD[chosen].T.tolist()
        figure.add_scatter(x=x, y=y, mode="markers", name=name, marker={"size": 6, "color": colour})
    for x, y in points.tolist():
        figure.add_shape(
            type="circle",
            x0=x - settings.radius,
            x1=x + settings.radius,
            y0=y - settings.radius,
            y1=y + settings.radius,
            line={"color": series_style(1).colour, "width": 1.5},
        )
    figure.add_scatter(
        # Plain lists: the plot widget moves single points of this trace.
        x=points[:, 0].tolist(),
        y=points[:, 1].tolist(),
        mode="markers",
        name=_POINTS,
        marker={"size": 16, "symbol": "diamond", "color": series_style(1).colour},
    )
    figure.update_xaxes(range=one_weight.EXTENT[0]).update_yaxes(
        range=one_weight.EXTENT[1], scaleanchor="x"
    )
    return finish_figure(legend_below(figure), alt=_words(settings))


def _words(settings: Settings) -> str:
    distance = mean_distance(dragging.numbers(settings.points))
    return (
        f"The five points cover {share_covered(settings):.0%} of the crowd. Their mean squared distance "
        f"from each other is {distance:.2f}."
    )


def sentence(world: Any, settings: Settings, results: Results) -> str:
    """Say what the points cover, and how far apart they lie."""
    return _words(settings)


FivePoints = Lab(
    "Five points for three hundred",
    world_of(Settings()),
    controls=("radius",),
    labels={"radius": "radius of a circle"},
    views=[
        Chart(
            lambda world, settings, results: (settings,),
            plane,
            drag=Drag(_POINTS, one_weight.put, one_weight.handles),
            ghosts=False,
        )
    ],
    sentence=sentence,
    quest=Quest(
        f"Drag the points until they cover {ENOUGH:.0%} of the crowd, with circles of {RADIUS:g} or less.",
        lambda world, settings, results: (
            settings.radius <= RADIUS and share_covered(settings) >= ENOUGH
        ),
        solution=[
            (DRAG, (0, -0.8, -0.15)),
            (DRAG, (1, 0.3, -0.15)),
            (DRAG, (2, -0.3, -0.7)),
            (DRAG, (3, -0.15, 0.6)),
            (DRAG, (4, 0.8, 0.6)),
        ],
    ),
)
