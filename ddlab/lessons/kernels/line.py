"""Three labelled points on a line, which a reader drags: the kernel regression passes through all of
them.

    KernelLine()
"""

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import Parameters, parameter
from ...explorers import Chart, Drag, Lab, Results
from ...explorers.lab import ALL_PAIRS
from ...explorers.ready import HEIGHT, world_of
from ...figures import finish_figure, line_style, series_style, start_figure
from ...figures.theme import faint, legend_below
from ..shared import dragging, one_weight

COUNT = 3
PLACES = torch.linspace(*one_weight.EXTENT[0], 161, dtype=torch.float64)
_POINTS = "labelled points"


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """How near two places must be to be alike, the ridge, and where the points lie."""

    gamma: float = parameter(
        2.0, range=(0.1, 10), explorable=(0.5, 8), step=0.5, help="Sharpness of the kernel (γ)."
    )
    ridge: float = parameter(
        0.0, range=(0, 2), explorable=(0, 1), step=0.1, help="Penalty on large weights (λ)."
    )
    points: str = parameter(
        "-1.0 -1.0; 0.2 1.0; 1.2 -1.0", help="Where the points lie: place and label of each."
    )

    def rules(self) -> None:
        """Raise unless there are three points."""
        one_weight.check(self.points, COUNT)


def contributions(settings: Settings) -> tuple[Tensor, Tensor]:
    """Return the curve that each point adds to the answer, [places, points], and its weight.

    The answer at x is sum_i w_i exp(-gamma (x - x_i)^2), and w solves (K + lambda I) w = y.
    """
    places, labels = dragging.numbers(settings.points).unbind(1)

    def kernel(x: Tensor, z: Tensor) -> Tensor:
        return (-settings.gamma * (x[:, None] - z).square()).exp()

    # Two points in one place have no weights without a ridge, however small.
    ridge = max(settings.ridge, 1e-6) * torch.eye(COUNT, dtype=torch.float64)
    weights = torch.linalg.solve(kernel(places, places) + ridge, labels)
    return kernel(PLACES, places) * weights, weights


def lines(settings: Settings) -> go.Figure:
    """Draw the points, what each contributes, and the sum."""
    points = dragging.numbers(settings.points)
    curves, weights = contributions(settings)
    figure = start_figure(
        title="Three labelled points and a kernel", x_label="place", y_label="answer", height=HEIGHT
    )
    x = PLACES.tolist()
    for index in range(COUNT):
        colour = faint(series_style(index + 1).colour, 0.7)
        figure.add_scatter(
            x=x,
            y=curves[:, index].tolist(),
            mode="lines",
            name=f"of point {index + 1}",
            line={"color": colour, "width": 1.5, "dash": "dot"},
        )
    figure.add_scatter(
        x=x, y=curves.sum(1).tolist(), name="their sum: the answer", **line_style(series_style(0))
    )
    figure.add_scatter(
        # Plain lists: the plot widget moves single points of this trace.
        x=points[:, 0].tolist(),
        y=points[:, 1].tolist(),
        mode="markers",
        name=_POINTS,
        marker={"size": 16, "color": series_style(4).colour},
    )
    figure.update_xaxes(range=one_weight.EXTENT[0]).update_yaxes(range=one_weight.EXTENT[1])
    return finish_figure(legend_below(figure), alt=_words(weights))


def _words(weights: Tensor) -> str:
    listed = ", ".join(f"{weight:+.2f}" for weight in weights.tolist())
    return f"The answer is the sum of three curves with the weights {listed}."


def sentence(world: Any, settings: Settings, results: Results) -> str:
    """Say with which weights the three curves are added, and how near the sum is to the labels."""
    curves, weights = contributions(settings)
    places, labels = dragging.numbers(settings.points).unbind(1)
    nearest = (PLACES - places[:, None]).abs().argmin(1)
    miss = float((curves.sum(1)[nearest] - labels).abs().max())
    ending = f"misses the three labels by up to {miss:.2f}"
    if settings.ridge == 0:
        ending = "passes through the three labels"
    return f"{_words(weights)} The sum {ending}."


KernelLine = Lab(
    "Three points and a kernel",
    world_of(Settings()),
    controls=("gamma", "ridge"),
    pairs=ALL_PAIRS,
    recorded={"gamma": 9, "drag": 27},
    labels={"gamma": "sharpness (γ)", "ridge": "ridge (λ)"},
    views=[
        Chart(
            lambda world, settings, results: (settings,),
            lines,
            drag=Drag(_POINTS, one_weight.put, one_weight.handles),
            ghosts=False,
        )
    ],
    sentence=sentence,
)
