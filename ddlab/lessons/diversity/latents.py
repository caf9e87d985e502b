"""Do the mean gap and the variance gap pull a batch apart? A few free latents, to be dragged about (DWA, appendix A.1).

LatentConflict()

Every point has two arrows: where the mean gap's weighted gradient pulls it, and where the variance gap's does. The bars show the
inner product of the two at each point, and their sum over the batch, which is zero wherever the points are put. The slider of updates
lets gradient descent move the points: both gaps close.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import theory
from ...core import errors, randomness
from ...core.parameters import Parameters, parameter
from ...explorers.controls import controls
from ...explorers.layout import Explorer, side_by_side
from ...explorers.plot import Plot
from ...explorers.pointer import PointSliders
from ...figures import latent_arrows, move_latents, product_bars, raise_products
from ...figures.latents import LATENTS

EXTENT = ((-3.5, 3.5), (-3.5, 3.5))
TARGET_MEAN = torch.tensor([0.0, 0.0], dtype=torch.float64)
TARGET_VARIANCE = torch.tensor([1.5, 0.7], dtype=torch.float64)
SQUARED, NORM = "squared (A.1)", "norm (eq 4)"
LONGEST = 2.0  # the longest arrow at weight 1 and before any update, in units of the axes
RATE = 0.04  # times n, because the gradients carry 1/n; below 0.0433 no point in the plot flies off


@dataclass(frozen=True, kw_only=True)
class Conflict(Parameters):
    """What is shown: the two weights, the points, and how far descent has moved them."""

    lambda_mean: float = parameter(
        0.5,
        symbol=r"\lambda_{\mathrm{mean}}",
        range=(0, 1),
        step=0.01,
        explorable=(0, 1),
        help="Weight of the mean gap.",
    )
    lambda_var: float = parameter(
        0.5,
        symbol=r"\lambda_{\mathrm{var}}",
        range=(0, 1),
        step=0.01,
        explorable=(0, 1),
        help="Weight of the variance gap.",
    )
    gaps: str = parameter(
        SQUARED,
        choices=(SQUARED, NORM),
        explorable=True,
        help="Squared as in the appendix, or plain norms as in the code.",
    )
    updates: int = parameter(
        0, range=(0, 100), explorable=(0, 100), help="How many updates of gradient descent have moved the points."
    )
    latents: int = parameter(6, symbol="n", range=(3, 10), explorable=(3, 10), help="How many points the batch has.")
    seed: int = parameter(0, range=(0, 999), help="Of the points, until they are moved by hand.")
    hand: str = parameter("", help="Points put by hand: x and y of each, in hundredths, joined by dots.")


@dataclass(frozen=True)
class Pulls:
    """What one view shows.

    Attributes:
        points: [n, 2] after the updates. mean_arrows, variance_arrows: [n, 2], where the weighted gradients pull, drawn to one scale.
        opposed: bool [n]. products: [n], inner products of the weighted gradients. most: the largest before any update.
        mean_gap, variance_gap: L_mean and L_var.
    """

    points: Tensor
    mean_arrows: Tensor
    variance_arrows: Tensor
    opposed: Tensor
    products: Tensor
    most: float
    mean_gap: float
    variance_gap: float


def start_points(view: Conflict) -> Tensor:
    """float64 [n, 2]: those put by hand, or a batch drawn off the target's centre and narrower than it."""
    (low, high), _ = EXTENT
    if view.hand:
        numbers = [_hundredths(part) for part in view.hand.split(".")]
        if len(numbers) != 2 * view.latents:
            errors.fail("hand", f"two numbers for each of {view.latents} points", view.hand)
        return torch.tensor(numbers, dtype=torch.float64).view(-1, 2) / 100
    draw = randomness.generator(view.seed, 0, "latents")
    angle, width = torch.rand(2, generator=draw, dtype=torch.float64)
    centre = torch.stack([(6.3 * angle).cos(), (6.3 * angle).sin()])
    points = centre + (0.3 + 0.4 * width) * torch.randn((view.latents, 2), generator=draw, dtype=torch.float64)
    return points.clamp(low, high)


def pulls(view: Conflict) -> Pulls:
    """Everything that the explorer shows for a view."""
    start, squared = start_points(view), view.gaps == SQUARED
    points = theory.moving(
        start, TARGET_MEAN, TARGET_VARIANCE, lambda_mean=view.lambda_mean, lambda_var=view.lambda_var,
        learning_rate=RATE * view.latents, steps=view.updates, squared=squared,
    )[-1]  # fmt: skip
    gradients = _gradients(points, squared)
    # One scale for both arrows, taken before the first update: arrows shrink as the gaps close.
    longest = max(float(gradient.norm(dim=1).max()) for gradient in _gradients(start, squared))
    scale = LONGEST / longest if longest > 0 else 0.0
    weight = view.lambda_mean * view.lambda_var
    first, now = (
        weight * theory.single_products(some, TARGET_MEAN, TARGET_VARIANCE, squared=squared) for some in (start, points)
    )
    return Pulls(
        points=points, mean_arrows=-scale * view.lambda_mean * gradients[0], variance_arrows=-scale * view.lambda_var * gradients[1],
        opposed=theory.opposed(points, TARGET_MEAN, TARGET_VARIANCE) & (weight > 0), products=now, most=float(first.abs().max()),
        mean_gap=float(theory.mean_gap(points, TARGET_MEAN, squared=squared)),
        variance_gap=float(theory.variance_gap(points, TARGET_VARIANCE, squared=squared)),
    )  # fmt: skip


class LatentConflict(Explorer):
    """Points to be dragged, with the two pulls at each; see the module.

    Attributes:
        panel: its `value` is a `Conflict`. shown: the `Pulls` on the screen.
    """

    def __init__(self, settings: str = "", *, key: str = "latent conflict") -> None:
        """
        Args:
            settings: what is shown first, as the explorer's own text of that name says it, such as "lambda_var=1,latents=4".
        """
        self.panel = controls(Conflict.from_string(settings))
        self.shown = pulls(self.panel.value)
        self._drawing = threading.RLock()
        self.plot = Plot(latent_arrows(**self._arrows(), extent=EXTENT), announce=False, draggable=LATENTS)
        self.bars = Plot(self._product_bars(), announce=False)
        self.other_button = widgets.Button(description="Other points", tooltip="Draw another batch of as many points")
        self.reset_button = widgets.Button(
            description="Reset", tooltip="The points as they were drawn, before any update"
        )
        self.sliders = PointSliders(self._move, self.guard)
        super().__init__(
            "Do the two gaps pull the batch apart?",
            controls=[self.panel, widgets.HBox([self.other_button, self.reset_button])],
            views=[side_by_side([self.plot, self.bars]), self.sliders],
            key=key,
        )
        # First: the plot is sent before the text that can be shared.
        self.panel.observe(self.guard(self._moved), "value")
        self.share(self.panel)
        self.plot.observe(self.guard(self._dragged), "dragged")
        self.other_button.on_click(
            self.guard(lambda _button: self._put(seed=(self.panel.value.seed + 1) % 1000, hand=""))
        )
        self.reset_button.on_click(self.guard(lambda _button: self._put(hand="")))
        self._tell()

    # -- what the reader does

    def _moved(self, change: Any) -> None:
        old, view = change["old"], change["new"]
        if (view.latents, view.seed) != (old.latents, old.seed) and view.hand and view.hand == old.hand:
            # Another batch: what was put by hand belonged to the last one.
            self._put(hand="")
            return
        with self._drawing:
            self.shown = pulls(view)
            self.plot.figure = move_latents(self.plot.figure, **self._arrows())
            same = len(self.bars.figure.data[0].x) == view.latents + 1
            self.bars.figure = self._product_bars(self.bars.figure if same else None)
        self._tell()

    def _dragged(self, change: Any) -> None:
        moved = change["new"]
        if moved:
            self._move(int(moved["point"]), float(moved["x"]), float(moved["y"]))

    def _move(self, point: int, x: float, y: float) -> None:
        """Put a point at (x, y); descent begins anew from where the points are now."""
        errors.check_choice("point", point, range(len(self.shown.points)))
        points = self.shown.points.clone()
        points[point] = torch.tensor([x, y], dtype=torch.float64)
        self.sliders.point.value = point
        self._put(hand=_joined(points))

    def _put(self, **changes: Any) -> None:
        self.panel.value = self.panel.value.replace(updates=0, **changes)

    # -- views

    def _arrows(self) -> dict[str, Any]:
        shown = self.shown
        return {
            "points": shown.points, "mean_arrows": shown.mean_arrows, "variance_arrows": shown.variance_arrows,
            "target_mean": TARGET_MEAN, "target_variance": TARGET_VARIANCE, "opposed": shown.opposed,
        }  # fmt: skip

    def _product_bars(self, known: go.Figure | None = None) -> go.Figure:
        # The axis is that of the products before any update, so that bars are seen to shrink as the gaps close.
        top = 1.3 * self.shown.most or None
        if known is not None:
            return raise_products(known, self.shown.products, top=top)
        return product_bars(self.shown.products, top=top)

    def _tell(self) -> None:
        self.sliders.follow(["latent"] * len(self.shown.points), self.shown.points, EXTENT)
        self.say(self._words())

    def _words(self) -> str:
        view, shown = self.panel.value, self.shown
        silent = [name for name in ("lambda_mean", "lambda_var") if getattr(view, name) == 0]
        apart = f"{int(shown.opposed.sum())} of {view.latents} points are pulled apart"
        if silent:
            apart = f"With {' and '.join(silent)} at 0 no point is pulled apart"
        product = float(shown.products.sum())
        when = f"After {view.updates} updates" if view.updates else "Before any update"
        return (
            f"{apart}, the batch's inner product is {product + 0.0 if abs(product) > 5e-7 else 0:.3f}. {when} the mean gap is "
            f"{shown.mean_gap:.3f} and the variance gap {shown.variance_gap:.3f}."
        )


def _gradients(points: Tensor, squared: bool) -> tuple[Tensor, Tensor]:
    return (
        theory.mean_gap_gradient(points, TARGET_MEAN, squared=squared),
        theory.variance_gap_gradient(points, TARGET_VARIANCE, squared=squared),
    )


def _joined(points: Tensor) -> str:
    (low, high), _ = EXTENT
    return ".".join(str(int(value)) for value in (100 * points.clamp(low, high)).round().flatten())


def _hundredths(text: str) -> int:
    number = text.removeprefix("-")
    (low, high), _ = EXTENT
    if not (number.isascii() and number.isdecimal() and len(number) <= 3 and 100 * low <= int(text) <= 100 * high):
        errors.fail("hand", f"whole numbers from {100 * low:.0f} to {100 * high:.0f} joined by dots", text)
    return int(text)
