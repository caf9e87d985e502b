"""A world of two dimensions: support points that may be dragged, and what the kernel regression on
them says of the whole plane.

KernelPlane()

Small dots are the real data, two half moons; few large points learn to stand for them. Drag one,
and the prediction follows; the slider of updates lets KIP move them.
"""

import functools
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import errors, optimisers, randomness
from ...core.parameters import Parameters, parameter
from ...explorers.controls import Controls
from ...explorers.layout import Explorer
from ...explorers.lines import QuestLine
from ...explorers.plot import Plot
from ...explorers.pointer import PointSliders
from ...figures import decision_map, move_decisions, series_style
from ...methods.kip import centred_labels, kernel_loss, predictions
from ...methods.shared.kernels import KernelSpec, support_and_cross

EXTENT = ((-2.5, 2.5), (-2.0, 2.0))
SUPPORT = "support points"
ENOUGH = 0.97  # of the real dots; both class means give less than .9
_REAL = 200
_GRID = (41, 33)
_UPDATES = 60
_RATE = 0.05  # of Adam


@dataclass(frozen=True, kw_only=True)
class Plane(Parameters):
    """What is shown: the kernel, the points, and how far KIP has moved them."""

    kernel: str = parameter(
        "rbf",
        choices=("rbf", "fc1", "fc2", "fc3"),
        explorable=True,
        help="RBF, or of an infinitely wide network with 1 to 3 hidden layers.",
    )
    per_class: int = parameter(
        2, range=(1, 5), explorable=(1, 5), help="Support points of each of the two classes."
    )
    ridge: float = parameter(
        1e-3,
        symbol=r"\lambda",
        range=(0, 10),
        scale="log",
        explorable=(1e-6, 10.0),
        help="As a part of the mean of the kernel's diagonal.",
    )
    updates: int = parameter(
        0,
        range=(0, _UPDATES),
        explorable=(0, _UPDATES),
        help="How many updates of KIP have moved the points.",
    )

    @property
    def spec(self) -> KernelSpec:
        """The kernel.

        Its biases are 1, or a network could not tell a point from one farther out in the same
        direction.
        """
        return KernelSpec(kernel=self.kernel, gamma=2.0, bias_std=1.0)


@functools.cache
def real_dots() -> tuple[Tensor, Tensor]:
    """Return two half moons: float64 [200, 2], and their classes [200]."""
    draw = randomness.generator(0, 0, "half moons")
    labels = torch.arange(_REAL) % 2
    angle = torch.pi * torch.rand(_REAL, generator=draw, dtype=torch.float64)
    side = 1.0 - 2.0 * labels
    moons = torch.stack([angle.cos() - 0.5 * side, side * (angle.sin() - 0.25)], 1)
    noise = torch.randn((_REAL, 2), generator=draw, dtype=torch.float64)
    return 1.1 * moons + 0.15 * noise, labels


def first_points(count: int) -> Tensor:
    """Return the first `count` real dots, classes in turn: float64 [count, 2].

    Support points begin there.
    """
    return real_dots()[0][:count]


def regression(view: Plane, support: Tensor, places: Tensor) -> Tensor:
    """Return the regression on support points [n, 2] at `places` [m, 2]: [m, 2], one-hot less 1/2.

    It is differentiable.
    """
    as_images = (points[:, :, None, None] for points in (support, places))
    labels = centred_labels(torch.arange(len(support)) % 2, 2)
    return predictions(*support_and_cross(view.spec, *as_images), labels, strength=view.ridge)


def moved(view: Plane, begin: Tensor) -> Tensor:
    """Return the points that begin at `begin` [n, 2] after `view.updates` updates of KIP on all
    dots.
    """
    dots, labels = real_dots()
    points = {"points": begin}
    outputs = centred_labels(labels, 2)
    state = optimisers.adam_init(points)
    for _ in range(view.updates):
        leaf = points["points"].detach().requires_grad_()
        (slope,) = torch.autograd.grad(kernel_loss(regression(view, leaf, dots), outputs), leaf)
        points, state = optimisers.adam_update(
            points, {"points": slope}, state, learning_rate=_RATE
        )
    return points["points"]


def right_fraction(view: Plane, support: Tensor) -> float:
    """Return how many real dots the regression puts into their class, as a fraction."""
    dots, labels = real_dots()
    return float((regression(view, support, dots).argmax(1) == labels).double().mean())


class KernelPlane(Explorer):
    """Support points to be dragged, and what the regression on them says of the plane; see the
    module.

    Attributes:
        panel: its `value` is a `Plane`. support: the points on the screen, float64 [n, 2]. by_hand:
            whether a reader moved one.
    """

    def __init__(self, *, key: str = "kernel plane") -> None:
        self.panel = Controls(
            Plane(),
            labels={"per_class": "points per class", "ridge": "ridge (λ)"},
            stacked=True,
            choice_words={"kernel": str.upper},
        )
        self.by_hand = False
        self.support = self._begin = first_points(2 * self.panel.value.per_class)
        self.plot = Plot(self._first_figure(), announce=False, draggable=SUPPORT)
        self.quest = QuestLine(
            f"Put {ENOUGH:.0%} of the dots on the right side by hand, with two points per class."
        )
        self.reset_button = widgets.Button(
            description="Reset", tooltip="The points where they began"
        )
        self.sliders = PointSliders(self._move, self.guard)
        super().__init__(
            "Drag a point: what changes where?",
            controls=[self.quest, self.panel, self.reset_button],
            views=[self.plot, self.sliders],
            key=key,
            beside=True,
        )
        self.panel.observe(self.guard(lambda _: self._draw(self._begin)), "value")
        self.plot.observe(self.guard(self._dragged), "dragged")
        self.reset_button.on_click(self.guard(lambda _: self._put(None)))
        self._tell()

    def _dragged(self, change: Any) -> None:
        if to := change["new"]:
            self._move(int(to["point"]), float(to["x"]), float(to["y"]))

    def _move(self, point: int, x: float, y: float) -> None:
        """Put a point at (x, y); KIP begins anew from where the points are now."""
        errors.check_choice("point", point, range(len(self.support)))
        points = self.support.clone()
        points[point] = torch.tensor([x, y], dtype=torch.float64)
        self.sliders.point.value = point
        self._put(
            torch.stack([points[:, axis].clamp(*limits) for axis, limits in enumerate(EXTENT)], 1)
        )

    def _put(self, points: Tensor | None) -> None:
        """Begin at these points, put by hand; None: at real dots."""
        count = 2 * self.panel.value.per_class
        begin = first_points(count) if points is None else points
        # Refuses what cannot be solved, before anything moves.
        regression(self.panel.value, begin, begin)
        self._begin = begin
        self.by_hand = points is not None
        if self.panel.value.updates:
            self.panel.value = self.panel.value.replace(updates=0)  # draws
        else:
            self._draw(begin)

    def _draw(self, begin: Tensor) -> None:
        """Show where the points come from `begin`, and what the regression on them says.

        Another number of points begins anew.
        """
        view = self.panel.value
        if len(begin) != 2 * view.per_class:
            return self._put(None)
        self.support = moved(view, begin)
        self.plot.figure = self._with_support(move_decisions(self.plot.figure, **self._decisions()))
        return self._tell()

    def _decisions(self) -> dict[str, Any]:
        x, y = (
            torch.linspace(*limits, count, dtype=torch.float64)
            for limits, count in zip(EXTENT, _GRID, strict=True)
        )
        grid = torch.cartesian_prod(y, x).flip(1)
        outputs = (
            regression(self.panel.value, self.support, grid)[:, 1]
            .add(0.5)
            .clamp(0, 1)
            .view(len(y), len(x))
        )
        dots, labels = real_dots()
        return {
            "x": x,
            "y": y,
            "outputs": outputs,
            "points": dots,
            "labels": labels,
            "targets": labels.double(),
        }

    def _first_figure(self) -> go.Figure:
        figure = decision_map(
            **self._decisions(),
            extent=EXTENT,
            title="What the regression says, and the real dots",
            height=430,
        )
        classes = [figure.data[-2], figure.data[-1]]
        for dots in classes:
            dots.marker.update(size=5, opacity=0.6)
        marker = {"size": 19, "line": {"width": 3, "color": classes[0].marker.line.color}}
        figure.add_scatter(
            mode="markers+text",
            name=SUPPORT,
            marker=marker,
            texttemplate="%{customdata}",
            textfont={"size": 11},
            hovertemplate="point %{customdata}: %{x:.2f}, %{y:.2f}<extra></extra>",
        )
        return self._with_support(figure)

    def _with_support(self, figure: go.Figure) -> go.Figure:
        trace = figure.data[-1]
        count = len(self.support)
        # Plain lists: the plot widget moves single points of this trace.
        trace.x = self.support[:, 0].tolist()
        trace.y = self.support[:, 1].tolist()
        trace.customdata = list(range(1, count + 1))
        trace.marker.symbol = ["circle", "square"] * (count // 2)
        trace.marker.color = [series_style(1).colour, series_style(0).colour] * (count // 2)
        return figure

    def _tell(self) -> None:
        view = self.panel.value
        right = right_fraction(view, self.support)
        self.quest.look(
            right >= ENOUGH and self.by_hand and not view.updates and view.per_class <= 2
        )
        names = []
        for number in range(len(self.support)):
            names.append(f"class {number % 2}")
        self.sliders.follow(names, self.support, EXTENT)
        origin = (
            f"after {view.updates} updates of KIP"
            if view.updates
            else "put by hand"
            if self.by_hand
            else "real dots"
        )
        self.say(
            f"{len(self.support)} support points, {origin}: the regression puts {right:.1%} of "
            f"{_REAL} dots on their side."
        )
