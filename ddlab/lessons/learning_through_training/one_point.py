"""One training point, seen N times by a student with one weight: where should the point lie?

OnePoint()
"""

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import Parameters, parameter
from ...explorers import DRAG, Lab, Quest, Results
from ...explorers.lab import ALL_PAIRS
from ...explorers.ready import HEIGHT, world_of
from ...figures import finish_figure
from ...figures.embedding import short
from ...figures.landscape import loss_shades
from ...figures.theme import legend_below
from ..shared import dragging, one_weight

# Real loss that the quest asks for; the other start must end ten times above it.
_LEARNED = 0.01
# Another start, which the point has not met.
OTHER_START = 2.0
THIS_START = "this start"
BOTH_STARTS = "mean of both starts"
_CELLS = 41
# Of the shades: nearer to zero, a logarithm would show the grid and not the valley.
_DARKEST = 1e-3


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Steps on the point, their rate, the start, and where the point lies."""

    steps: int = parameter(
        2, symbol="N", range=(1, 6), explorable=(1, 6), help="Steps of training, all on the point."
    )
    rate: float = parameter(
        0.3, range=(0, 2), explorable=(0.1, 1), step=0.1, help="Of every step (η)."
    )
    first_weight: float = parameter(
        -0.6, range=(-2, 2), explorable=(-2, 2), step=0.1, help="Of the student before (θ₀)."
    )
    shade: str = parameter(
        THIS_START,
        choices=(THIS_START, BOTH_STARTS),
        explorable=True,
        help="Whose real loss shades the plane: from the start on show, or the mean of two.",
    )
    points: str = parameter("0.8 0.3", help="Where the point lies, such as '1 1'.")

    def rules(self) -> None:
        """Raise unless there is one point."""
        one_weight.check(self.points, 1)


def losses_at(settings: Settings, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the real loss after N steps on a point (x, y), [...], from the start on show and from
    another one.
    """
    points = torch.stack([x, y], -1)[None]
    order = [0] * settings.steps
    ends = [
        one_weight.weights_along(points, order, settings.rate, first)[-1]
        for first in (settings.first_weight, OTHER_START)
    ]
    return one_weight.real_loss(ends[0]), one_weight.real_loss(ends[1])


def losses(settings: Settings) -> tuple[float, float]:
    """Return these losses of the point on show."""
    loss, other_loss = losses_at(settings, *dragging.numbers(settings.points)[0])
    return float(loss), float(other_loss)


def plane(settings: Settings) -> go.Figure:
    """Draw the student after each of N steps on the point."""
    points = dragging.numbers(settings.points)
    title = f"The student's line after each of {settings.steps} steps"
    order = [0] * settings.steps
    figure = one_weight.draw(
        points, order, settings.rate, settings.first_weight, title=title, height=HEIGHT
    )
    axis = torch.linspace(*one_weight.EXTENT[0], _CELLS)
    x, y = torch.meshgrid(axis, axis, indexing="xy")
    loss_map, other_map = losses_at(settings, x, y)
    shades = loss_map if settings.shade == THIS_START else (loss_map + other_map) / 2
    # Not contours, which take the browser twice as long, at every press.
    figure.add_heatmap(
        x=axis.numpy(),
        y=axis.numpy(),
        z=short(shades.clamp(min=_DARKEST).log10().numpy()),
        colorscale=loss_shades(),
        zsmooth="fast",
        showscale=False,
        hovertemplate="%{x:.2f}, %{y:.2f}: real loss 10<sup>%{z:.2f}</sup><extra></extra>",
    )
    loss, other_loss = losses(settings)
    alt = f"{title}; real loss {loss:.3f}, from another start {other_loss:.3f}."
    return finish_figure(legend_below(figure), alt=alt)


def sentence(world: Any, settings: Settings, results: Results) -> str:
    """Say how large the real loss is from this start and from another one."""
    loss, other_loss = losses(settings)
    return (
        f"Real loss of the trained student: {loss:.3f} from this start, {other_loss:.3f} from a start at "
        f"{OTHER_START:g}. The arrow shows where the real loss, through all steps, pulls the point."
    )


def quest_met(world: Any, settings: Settings, results: Results) -> bool:
    """Return whether the point teaches its own start, and off the real line fails the other."""
    loss, other_loss = losses(settings)
    return loss < _LEARNED and other_loss > 10 * _LEARNED


OnePoint = Lab(
    "One point, N steps",
    world_of(Settings()),
    controls=("steps", "rate", "first_weight", "shade"),
    pairs=ALL_PAIRS,
    labels={
        "shade": "shade by real loss of",
        "rate": "rate (η)",
        "first_weight": "start (θ₀)",
        "steps": "steps (N)",
    },
    views=[one_weight.chart(plane)],
    sentence=sentence,
    quest=Quest(
        f"Drag the point until this start has a loss below {_LEARNED}, and the start at "
        f"{OTHER_START:g} more than {10 * _LEARNED:g}.",
        quest_met,
        solution=[(DRAG, (0, 1.3, 2.0))],
    ),
)
