"""One training point that leads a student with one weight to where an expert's training went.

OneExpert()
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...core import Parameters, parameter
from ...explorers import DRAG, Lab, Quest, Results
from ...explorers.lab import ALL_PAIRS
from ...explorers.ready import HEIGHT, world_of
from ...figures import finish_figure, line_style, series_style
from ...figures.theme import legend_below
from ..shared import dragging, one_weight

START = -0.6
# What an epoch on the real data leaves of the distance between the expert and their weight.
_EPOCH_LEAVES = 0.6
# Of the squared distance: what the quest asks to leave at most, in one step.
_SMALL_LOSS = 0.01


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """The student's steps on the point, their rate, the expert's epochs, where the point lies."""

    steps: int = parameter(
        3, symbol="N", range=(1, 6), explorable=(1, 6), help="The student's, all on the point."
    )
    rate: float = parameter(
        0.4, range=(0, 2), explorable=(0.1, 1), step=0.1, help="Of every step (α)."
    )
    epochs: int = parameter(
        2, symbol="M", range=(1, 4), explorable=(1, 4), help="The expert's, on the real data."
    )
    points: str = parameter("0.8 -0.2", help="Where the point lies, such as '1 1'.")

    def rules(self) -> None:
        """Raise unless there is one point."""
        one_weight.check(self.points, 1)


def expert_weight(epochs: int) -> float:
    """Return the expert's weight after some epochs from the common start."""
    distance = (START - one_weight.REAL_WEIGHT) * _EPOCH_LEAVES**epochs
    return one_weight.REAL_WEIGHT + distance


def loss_of(settings: Settings) -> float:
    """Return MTT's loss: the squared distance to the expert that is left, as a fraction."""
    points = dragging.numbers(settings.points)
    order = [0] * settings.steps
    last = one_weight.weights_along(points, order, settings.rate, START)[-1]
    target = expert_weight(settings.epochs)
    return float(((last - target) / (START - target)).square())


def plane(settings: Settings) -> go.Figure:
    """Draw the student after each step on the point, and the expert after its epochs."""
    points = dragging.numbers(settings.points)
    target = expert_weight(settings.epochs)
    title = f"Squared distance left: {loss_of(settings):.3f}"
    figure = one_weight.draw(
        points,
        [0] * settings.steps,
        settings.rate,
        START,
        title=title,
        height=HEIGHT,
        target=target,
    )
    line_x = np.array(one_weight.EXTENT[0])
    name = f"expert, {settings.epochs} epoch{'s' * (settings.epochs > 1)}"
    figure.add_scatter(
        x=line_x, y=line_x * target, name=name, **line_style(series_style(2), width=3)
    )
    return finish_figure(legend_below(figure), alt=f"{title}; the expert's weight is {target:.2f}.")


def sentence(world: Any, settings: Settings, results: Results) -> str:
    """Say how much of the distance is left."""
    return (
        f"{settings.steps} step{'s' * (settings.steps > 1)} on the point leave "
        f"{loss_of(settings):.3f} of the squared distance to the expert. The arrow shows where this loss pulls the point."
    )


OneExpert = Lab(
    "One point, one expert",
    world_of(Settings()),
    controls=("steps", "rate", "epochs"),
    pairs=ALL_PAIRS,
    labels={"rate": "rate (α)", "steps": "steps (N)", "epochs": "epochs (M)"},
    views=[one_weight.chart(plane)],
    sentence=sentence,
    quest=Quest(
        f"In a single step, leave less than {_SMALL_LOSS} of the squared distance.",
        lambda world, settings, results: settings.steps == 1 and loss_of(settings) < _SMALL_LOSS,
        solution=[("steps", 1), (DRAG, (0, 1.0, 1.8))],
    ),
)
