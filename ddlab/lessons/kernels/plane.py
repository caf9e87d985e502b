"""A world of two dimensions: support points that may be dragged, and what the kernel regression on
them says of the whole plane.

KernelPlane()

Small dots are the real data, two half moons; few large points learn to stand for them. Drag one,
and the prediction follows; the slider of updates lets KIP move them.
"""

import functools
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import Parameters, optimisers, parameter, randomness
from ...explorers import DRAG, Chart, Drag, Handles, Lab, Quest, Results
from ...figures import decision_map, move_decisions, series_style
from ...methods.kip import centred_labels, kernel_loss, predictions
from ...methods.shared.kernels import KernelSpec, support_and_cross
from ..shared import dragging

# Of the plane: left and right, bottom and top.
EXTENT = ((-2.5, 2.5), (-2.0, 2.0))
SUPPORT = "support points"
ENOUGH = 0.97  # of the real dots; both class means give less than .9
# Dots that the samples stand for.
_REAL = 200
# Places of the map, across and up.
_GRID = (41, 33)
# The most that KIP moves the samples.
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
        step=3,
        help="How many updates of KIP have moved the points.",
    )
    points: str = parameter(
        "", help="Where points were put, such as '1.0 2.0; 3.0 4.0'; empty: real dots."
    )

    def rules(self) -> None:
        """Raise unless the points are pairs of numbers."""
        dragging.numbers(self.points)

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


def begin_of(view: Plane) -> Tensor:
    """Return where the support points begin: put by hand, else at real dots; float64 [n, 2].

    Points that were put are forgotten where another number of them is asked for.
    """
    count = 2 * view.per_class
    return dragging.numbers(view.points) if is_by_hand(view) else first_points(count)


# Asked for by the map, the sliders, the sentence and the quest of one drawing.
@functools.lru_cache(maxsize=8)
def support_of(view: Plane) -> Tensor:
    """Return the support points on show, float64 [n, 2]: read them, or copy them to change them."""
    return moved(view, begin_of(view))


def is_by_hand(view: Plane) -> bool:
    """Return whether a reader put the points that are on show."""
    return len(dragging.numbers(view.points)) == 2 * view.per_class


class World:
    """The half moons, and points that learn to stand for them."""

    start = Plane()

    def check(self, view: Plane) -> None:
        """Raise if no regression on these points can be solved: equal points need a ridge."""
        begin = begin_of(view)
        regression(view, begin, begin)


def put(world: World, view: Plane, point: int, x: float, y: float) -> Plane:
    """Return the settings with a point at (x, y); KIP begins anew from where the points are."""
    on_show = dragging.text(support_of(view), EXTENT)
    return view.replace(points=dragging.put(on_show, point, x, y, EXTENT), updates=0)


def handles(world: World, view: Plane, results: Results) -> Handles:
    """Return the support points as they are on show."""
    support = support_of(view)
    return Handles([f"class {number % 2}" for number in range(len(support))], support, EXTENT)


def plane_data(world: World, view: Plane, results: Results) -> tuple[Plane]:
    """Return the settings, from which all that is drawn follows."""
    return (view,)


def decisions(view: Plane) -> dict[str, Any]:
    """Return what `decision_map` draws: the regression over the plane, and the real dots."""
    x, y = (
        torch.linspace(*limits, count, dtype=torch.float64)
        for limits, count in zip(EXTENT, _GRID, strict=True)
    )
    grid = torch.cartesian_prod(y, x).flip(1)
    outputs = regression(view, support_of(view), grid)[:, 1]
    dots, labels = real_dots()
    return {
        "x": x,
        "y": y,
        "outputs": outputs.add(0.5).clamp(0, 1).view(len(y), len(x)),
        "points": dots,
        "labels": labels,
        "targets": labels.double(),
    }


def plane(view: Plane) -> go.Figure:
    """Draw the regression over the plane, the real dots, and the support points."""
    figure = decision_map(
        **decisions(view),
        extent=EXTENT,
        title="The regression's answers, and the real dots",
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
    return _with_support(figure, view)


def move_plane(figure: go.Figure, view: Plane) -> go.Figure:
    """Give other settings to such a figure, in place."""
    return _with_support(move_decisions(figure, **decisions(view)), view)


def _with_support(figure: go.Figure, view: Plane) -> go.Figure:
    support = support_of(view)
    trace = figure.data[-1]
    count = len(support)
    # Plain lists: the plot widget moves single points of this trace.
    trace.x = support[:, 0].tolist()
    trace.y = support[:, 1].tolist()
    trace.customdata = list(range(1, count + 1))
    trace.marker.symbol = ["circle", "square"] * (count // 2)
    trace.marker.color = [series_style(1).colour, series_style(0).colour] * (count // 2)
    return figure


def sentence(world: World, view: Plane, results: Results) -> str:
    """Say how many dots the regression classifies correctly."""
    support = support_of(view)
    origin = "dragged by hand" if is_by_hand(view) else "chosen among the real dots"
    if view.updates:
        origin = f"after {view.updates} updates of KIP"
    return (
        f"{len(support)} support points, {origin}: the regression classifies "
        f"{right_fraction(view, support):.1%} of {_REAL} dots correctly."
    )


def quest_met(world: World, view: Plane, results: Results) -> bool:
    """Return whether few points that were put by hand decide nearly all dots."""
    return (
        is_by_hand(view)
        and not view.updates
        and view.per_class <= 2
        and right_fraction(view, begin_of(view)) >= ENOUGH
    )


KernelPlane = Lab(
    "Drag a point: what changes where?",
    World,
    controls=("kernel", "per_class", "ridge", "updates"),
    pairs=[("kernel", "updates"), ("per_class", "ridge")],
    recorded={"updates": 13, "ridge": 13, "drag": 18},
    labels={"per_class": "points per class", "ridge": "ridge (λ)"},
    choice_words=lambda world: {"kernel": str.upper},
    check=World.check,
    views=[Chart(plane_data, plane, move=move_plane, drag=Drag(SUPPORT, put, handles))],
    sentence=sentence,
    quest=Quest(
        f"Drag at most two points per class until {ENOUGH:.0%} of the dots are classified "
        "correctly.",
        quest_met,
        solution=[
            (DRAG, (0, -2.0, 0.1)),
            (DRAG, (1, -0.2, -0.3)),
            (DRAG, (2, 0.6, 0.3)),
            (DRAG, (3, 1.2, 0.3)),
        ],
    ),
)
