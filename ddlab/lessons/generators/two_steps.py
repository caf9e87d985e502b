"""Two training points for a student with one weight: does it matter which comes first?

TwoSteps()
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

ORDERS = {"point 1, then 2": (0, 1), "point 2, then 1": (1, 0)}
# Losses of the quest: one order has learned, the other has not.
_LEARNED = 0.01
_FAILED = 0.2


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Which of the two points comes first, the rate of both steps, and where the points lie."""

    order: str = parameter(
        "point 1, then 2", choices=tuple(ORDERS), explorable=True, help="One step on each point."
    )
    rate: float = parameter(
        0.5, range=(0, 2), explorable=(0.1, 1), step=0.1, help="Of both steps (η)."
    )
    first_weight: float = parameter(
        -0.6, range=(-2, 2), explorable=(-2, 2), step=0.1, help="Of the student before (w₀)."
    )
    points: str = parameter("1.0 -1.0; 0.7 1.6", help="Where the points lie, such as '1 1; 2 2'.")

    def rules(self) -> None:
        """Raise unless there are two points."""
        one_weight.check(self.points, len(ORDERS))


def losses(settings: Settings) -> dict[str, float]:
    """Return the real loss after both steps, by order."""
    points = dragging.numbers(settings.points)
    loss_by_order = {}
    for name, order in ORDERS.items():
        last = one_weight.weights_along(points, order, settings.rate, settings.first_weight)[-1]
        loss_by_order[name] = float(one_weight.real_loss(last))
    return loss_by_order


def plane(settings: Settings) -> go.Figure:
    """Draw the student after each step, and where the other order would have led."""
    points = dragging.numbers(settings.points)
    title = "The student's line turns with each step"
    order = ORDERS[settings.order]
    figure = one_weight.draw(
        points, order, settings.rate, settings.first_weight, title=title, height=HEIGHT
    )
    other_weight = one_weight.weights_along(
        points, order[::-1], settings.rate, settings.first_weight
    )[-1]
    line_x = np.array(one_weight.EXTENT[0])
    style = line_style(series_style(2))
    figure.add_scatter(x=line_x, y=line_x * float(other_weight), name="in the other order", **style)
    clauses = [f"{name}: loss {loss:.3f}" for name, loss in losses(settings).items()]
    return finish_figure(legend_below(figure), alt=f"{title}; {', '.join(clauses)}.")


def sentence(world: Any, settings: Settings, results: Results) -> str:
    """Say how large the real loss is after either order."""
    first, second = losses(settings).values()
    return (
        f"Real loss after both steps: {first:.3f} if point 1 comes first, {second:.3f} if point 2 "
        "comes first. Each arrow shows where the real loss pulls its point."
    )


def quest_met(world: Any, settings: Settings, results: Results) -> bool:
    """Return whether the student learns in one order and fails in the other."""
    low, high = sorted(losses(settings).values())
    return low < _LEARNED and high > _FAILED


TwoSteps = Lab(
    "Two steps, two orders",
    world_of(Settings()),
    controls=("order", "rate", "first_weight"),
    pairs=ALL_PAIRS,
    labels={"rate": "rate (η)", "first_weight": "weight before (w₀)"},
    views=[one_weight.chart(plane)],
    sentence=sentence,
    quest=Quest(
        f"Drag the points until one order has a loss below {_LEARNED} and the other more than "
        f"{_FAILED}.",
        quest_met,
        solution=[(DRAG, (1, 1.4, 1.4))],
    ),
)
