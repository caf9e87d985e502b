"""A student with one weight, which trains on points that a reader drags.

The student predicts y = w x and takes one step of gradient descent on each training point in turn.
The loss of its last weight on the real data, y = x, flows back through these steps to every point:
the gradient through training, small enough to be drawn.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import errors
from ...explorers import Chart, Drag, Handles, Results
from ...figures import line_style, series_style, start_figure
from ...figures.theme import DASHED, faint, neutral
from . import dragging

EXTENT: dragging.Extent = ((-2.0, 2.0), (-2.0, 2.0))
POINTS = "training points"
REAL_WEIGHT = 1.0
# Shortest and longest arrow, in units of the axes: a shorter one would hide behind its point.
_ARROW = (0.25, 0.7)
# Shorter pulls are rounding, and have no arrow.
_STILL = 1e-4
_REAL_DOTS = 21


def check(points: str, count: int) -> None:
    """Raise unless a text has so many points."""
    if len(dragging.numbers(points)) != count:
        pairs = "; ".join(["1 1"] * count)
        errors.fail("points", f"{count} of them, such as {pairs!r}", points)


def put(world: Any, settings: Any, point: int, x: float, y: float) -> Any:
    """Return the settings, whose `points` is a text of them, with one at (x, y)."""
    return settings.replace(points=dragging.put(settings.points, point, x, y, EXTENT))


def handles(world: Any, settings: Any, results: Results) -> Handles:
    """Return the points of the settings as they are drawn."""
    positions = dragging.numbers(settings.points)
    return Handles([f"point {index + 1}" for index in range(len(positions))], positions, EXTENT)


def chart(plane: Callable[[Any], go.Figure]) -> Chart:
    """Return the view of settings whose points a reader drags; `plane` draws them."""
    return Chart(
        lambda world, settings, results: (settings,),
        plane,
        drag=Drag(POINTS, put, handles),
        ghosts=False,
    )


def weights_along(points: Tensor, order: Sequence[int], rate: float, first: float) -> list[Tensor]:
    """Return the student's weight before the first step and after each.

    w <- w - rate x (w x - y), the gradient of half the squared error on one point.

    Args:
        points: (x, y) of each, [n, 2]; or [n, ..., 2], of several students at once.
        order: which point each step sees.
        first: the weight before the first step; that of the real data is 1.
    """
    weights = [points.new_tensor(first)]
    for index in order:
        x, y = points[index].unbind(-1)
        weights.append(weights[-1] - rate * x * (weights[-1] * x - y))
    return weights


def real_loss(weight: Tensor, target: float = REAL_WEIGHT) -> Tensor:
    """Return half the squared distance from the weight that is wanted: [].

    From that of the real data, y = x with a mean square of 1, it is half their mean squared error.
    """
    return (weight - target).square() / 2


def pulls(
    points: Tensor,
    order: Sequence[int],
    rate: float,
    first: float,
    target: float = REAL_WEIGHT,
) -> Tensor:
    """Return where the loss pulls each point: minus its gradient through all steps, [n, 2]."""
    leaf = points.detach().requires_grad_()
    loss = real_loss(weights_along(leaf, order, rate, first)[-1], target)
    return -torch.autograd.grad(loss, leaf)[0]


def draw(
    points: Tensor,
    order: Sequence[int],
    rate: float,
    first: float,
    *,
    title: str,
    height: int,
    target: float = REAL_WEIGHT,
) -> go.Figure:
    """Draw the real data, the student after each step, the points and an arrow at each of them.

    The arrow shows where the real loss pulls the point. A longer pull has a longer arrow.
    """
    figure = start_figure(title=title, x_label="x", y_label="y", height=height)
    line_x = np.array(EXTENT[0])
    dots = np.linspace(*EXTENT[0], _REAL_DOTS)
    grey = {"color": neutral("quiet"), "size": 5, "opacity": 0.6}
    figure.add_scatter(x=dots, y=dots, mode="markers", name="real data", marker=grey)
    style = series_style(0)
    weights = weights_along(points, order, rate, first)
    for step, weight in enumerate(weights):
        # The later the step, the stronger the line.
        line = {"color": faint(style.colour, 0.25 + 0.75 * step / len(order)), "width": 2.5}
        figure.add_scatter(
            x=line_x,
            y=line_x * float(weight),
            mode="lines",
            name=f"after step {step}" if step else "student before",
            line=line if step else DASHED,
        )
    marker = line_style(series_style(1), markers=True)["marker"] | {"size": 18, "symbol": "circle"}
    figure.add_scatter(
        # Plain lists: the plot widget moves single points of this trace.
        x=points[:, 0].tolist(),
        y=points[:, 1].tolist(),
        mode="markers+text",
        name=POINTS,
        marker=marker,
        text=[str(index + 1) for index in range(len(points))],
        textfont={"color": neutral("background")},
    )
    pull = pulls(points, order, rate, first, target)
    add_arrows(figure, points, pull, neutral("text"))
    figure.update_xaxes(range=EXTENT[0]).update_yaxes(range=EXTENT[1])
    return figure


def add_arrows(figure: go.Figure, points: Tensor, pull: Tensor, colour: str) -> None:
    """Draw an arrow at each point [n, 2], in the direction of its pull [n, 2]."""
    # Unequal pulls stay unequal, but none leaves the plot: lengths saturate.
    length = pull.norm(dim=1, keepdim=True)
    shortest, longest = _ARROW
    moves = length[:, 0] > _STILL
    points, pull, length = points[moves], pull[moves], length[moves]
    arrows = pull / length.clamp(min=1e-12) * (shortest + (longest - shortest) * length.tanh())
    for (x, y), (across, up) in zip(points.tolist(), arrows.tolist(), strict=True):
        figure.add_annotation(
            x=x + across,
            y=y + up,
            ax=x,
            ay=y,
            xref="x",
            yref="y",
            axref="x",
            ayref="y",
            text="",
            showarrow=True,
            arrowhead=2,
            arrowwidth=2.5,
            arrowcolor=colour,
        )
