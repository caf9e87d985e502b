r"""A batch of points, which a reader drags, between two goals: the mean of the real data, and their
variance. Where do the two pull a point the same way?

    TwoGaps()

Du et al. 2024 (DWA), appendix A.1, equations 17 to 20. With $\mu, \sigma^2$ the batch's mean and variance of
each number, and $\mu_T, \sigma^2_T$ those of the real data,

    L_mean = |mu - mu_T|^2,                d L_mean / d s_i = 2/n (mu - mu_T)                               (18)
    L_var = |sigma^2 - sigma^2_T|^2,       d L_var / d s_i = 2 (sigma^2 - sigma^2_T) 2/n (s_i - mu)          (19)

so the product of the two is proportional to s_i - mu: it changes its sign at the middle of the batch, and
sums to zero over all of it. The paper prints a factor 1 - 1/n in equation 19, which is not there.
"""

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import Parameters, parameter
from ...explorers import Lab, Quest, Results
from ...explorers.lab import ALL_PAIRS
from ...explorers.ready import HEIGHT, world_of
from ...figures import finish_figure, series_style, start_figure
from ...figures.theme import DASHED, legend_below
from ..shared import dragging, one_weight

COUNT = 5
REAL_MEAN = 0.0
REAL_VARIANCE = 0.25
EACH_GAP = "each gap"
SUM = "their sum"
_CLOSE = 0.02  # both losses, for the quest


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """The weights of both gaps, and where the points of the batch lie."""

    lambda_mean: float = parameter(
        1.0, range=(0, None), explorable=(0, 4), step=0.5, help="Weight of the mean gap."
    )
    lambda_var: float = parameter(
        1.0, range=(0, None), explorable=(0, 4), step=0.5, help="Weight of the variance gap."
    )
    arrows: str = parameter(
        EACH_GAP,
        choices=(EACH_GAP, SUM),
        explorable=True,
        help="A pull for each gap, or their sum.",
    )
    points: str = parameter(
        "0.2 0.4; 0.7 0.2; 0.5 0.7; 0.9 0.6; 0.7 0.9", help="Where the points lie."
    )

    def rules(self) -> None:
        """Raise unless there are five points."""
        one_weight.check(self.points, COUNT)


def mean_gap(points: Tensor) -> Tensor:
    """Return the squared distance of the batch's mean from the real one, [n, 2] -> []."""
    return (points.mean(0) - REAL_MEAN).square().sum()


def variance_gap(points: Tensor) -> Tensor:
    """Return the squared distance of the batch's variances from the real ones, [n, 2] -> []."""
    return (points.var(0, correction=0) - REAL_VARIANCE).square().sum()


def pulls(settings: Settings) -> tuple[Tensor, Tensor]:
    """Return where each gap pulls each point: minus its weighted gradient, [n, 2] each."""
    leaf = dragging.numbers(settings.points).requires_grad_()
    (of_mean,) = torch.autograd.grad(mean_gap(leaf), leaf)
    (of_variance,) = torch.autograd.grad(variance_gap(leaf), leaf)
    return -settings.lambda_mean * of_mean, -settings.lambda_var * of_variance


def plane(settings: Settings) -> go.Figure:
    """Draw the batch, the mean and deviation of the real data, and two arrows at each point."""
    points = dragging.numbers(settings.points)
    figure = start_figure(
        title="Where two gaps pull five points",
        x_label="first number",
        y_label="second number",
        height=HEIGHT,
    )
    deviation = REAL_VARIANCE**0.5
    turn = torch.linspace(0, 2 * torch.pi, 60)
    figure.add_scatter(
        x=(REAL_MEAN + deviation * turn.cos()).tolist(),
        y=(REAL_MEAN + deviation * turn.sin()).tolist(),
        mode="lines",
        name="real data: one standard deviation",
        line=DASHED,
    )
    figure.add_scatter(
        x=points[:, 0].tolist(),
        y=points[:, 1].tolist(),
        mode="markers",
        name=one_weight.POINTS,
        marker={"size": 16, "color": series_style(2).colour},
    )
    middle = points.mean(0)
    figure.add_scatter(
        x=[float(middle[0])],
        y=[float(middle[1])],
        mode="markers",
        name="mean of the batch",
        marker={"symbol": "x", "size": 11, "color": series_style(2).colour},
    )
    of_mean, of_variance = pulls(settings)
    arrows = {"pull of the mean gap": of_mean, "pull of the variance gap": of_variance}
    if settings.arrows == SUM:
        arrows = {"both pulls together": of_mean + of_variance}
    for index, (name, pull) in enumerate(arrows.items()):
        colour = series_style(index).colour
        one_weight.add_arrows(figure, points, pull, colour)
        figure.add_scatter(x=[None], y=[None], mode="lines", name=name, line={"color": colour})
    figure.update_xaxes(range=one_weight.EXTENT[0]).update_yaxes(range=one_weight.EXTENT[1])
    return finish_figure(legend_below(figure), alt=describe_pulls(settings))


def describe_pulls(settings: Settings) -> str:
    """Say at how many points the two pulls oppose each other, and what their products sum to."""
    of_mean, of_variance = pulls(settings)
    products = (of_mean * of_variance).sum(1)
    points = dragging.numbers(settings.points)
    # Of two pulls that cancel, rounding alone would leave a sign.
    total = float(products.sum().round(decimals=6)) + 0.0
    return (
        f"The two pulls oppose each other at {int((products < -1e-9).sum())} of {COUNT} points, and their "
        f"products sum to {total:.3f}. Mean gap {float(mean_gap(points)):.3f}, variance gap "
        f"{float(variance_gap(points)):.3f}."
    )


def quest_met(world: Any, settings: Settings, results: Results) -> bool:
    """Return whether both gaps are closed."""
    points = dragging.numbers(settings.points)
    return max(float(mean_gap(points)), float(variance_gap(points))) < _CLOSE


TwoGaps = Lab(
    "Two gaps",
    world_of(Settings()),
    controls=("lambda_mean", "lambda_var", "arrows"),
    pairs=ALL_PAIRS,
    labels={
        "arrows": "arrows for",
        "lambda_mean": "weight of the mean gap",
        "lambda_var": "weight of the variance gap",
    },
    views=[one_weight.chart(plane)],
    sentence=lambda world, settings, results: describe_pulls(settings),
    quest=Quest("Drag the points until both gaps are below .02.", quest_met),
)
