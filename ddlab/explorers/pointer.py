"""Sliders that move a point of a plot, for a keyboard: what `Plot(draggable=...)` does for the
mouse.

sliders = PointSliders(lambda point, x, y: ..., guard=explorer.guard)
sliders.follow(["0", "1"], positions, extent)       # after every drawing: whose points, and where they lie
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ipywidgets as widgets
import torch
from torch import Tensor

_STEP = 0.02  # as a share of the plot


class PointSliders(widgets.Accordion):
    """A folded box with three controls: which point, how far across, how far up (shares of the
    plot).

    The sliders begin where the point is. While they move it they stay where they are put, also
    where the point snaps elsewhere.
    """

    def __init__(self, move: Callable[[int, float, float], Any], guard: Callable[..., Any]) -> None:
        """
        Args:
            move: called with the point's index and where it is to go, in units of the plot.
            guard: wraps every handler (`Explorer.guard`).
        """
        self._move = move
        self._names: list[str] = []
        self._positions = torch.zeros((0, 2))
        self._extent = ((0.0, 1.0), (0.0, 1.0))
        self._busy = False
        self._put = None
        style = {"description_width": "9em"}
        layout = widgets.Layout(width="auto", max_width="44em")
        self.point = widgets.Dropdown(
            options=[("", 0)], description="move point", style=style, layout=layout
        )
        self.across = widgets.FloatSlider(
            0.5,
            min=0,
            max=1,
            step=_STEP,
            description=f"{'across'} (share)",
            tooltip="Share of the plot",
            style=style,
            layout=layout,
        )
        self.up = widgets.FloatSlider(
            0.5,
            min=0,
            max=1,
            step=_STEP,
            description=f"{'up'} (share)",
            tooltip="Share of the plot",
            style=style,
            layout=layout,
        )
        for slider in (self.across, self.up):
            slider.observe(guard(lambda _change: self._slid()), "value")
        self.point.observe(guard(lambda _change: self._go_to_point()), "value")
        content = widgets.VBox([self.point, self.across, self.up])
        super().__init__([content], titles=("Move a point by keyboard",), selected_index=None)
        self.observe(guard(lambda _change: self._go_to_point()), "selected_index")

    def follow(
        self,
        names: Sequence[str],
        positions: Tensor,
        extent: tuple[tuple[float, float], tuple[float, float]],
    ) -> None:
        """Take over what is drawn now.

        It is given the names of the points, positions [m, 2], and (low, high) of both axes.
        """
        self._positions = positions
        self._extent = extent
        if list(names) != self._names:
            self._names, chosen = list(names), self.point.value
            self.point.options = [
                (f"{number}: {name}", number - 1) for number, name in enumerate(names, 1)
            ]
            self.point.value = chosen if chosen is not None and chosen < len(names) else 0
        self._go_to_point()

    def _go_to_point(self) -> None:
        point = self.point.value
        # While the box is folded nobody sees them, and messages to the page cost time.
        if (
            self.selected_index is None
            or self._busy
            or point is None
            or point >= len(self._positions)
        ):
            return
        shares = [
            min(max((at - low) / (high - low), 0.0), 1.0)
            for at, (low, high) in zip(self._positions[point].tolist(), self._extent, strict=True)
        ]
        with self._alone():
            # On a step of the slider: the page would round to one, and its echo would count as a
            # move.
            self.across.value, self.up.value = (round(share / _STEP) * _STEP for share in shares)
        self._put = self.across.value, self.up.value

    def _slid(self) -> None:
        at = self.across.value, self.up.value
        # The page sends back what it was given, rounded to a step; that is no move of the reader's.
        echo = self._put is not None and all(
            abs(a - b) < _STEP / 2 for a, b in zip(at, self._put, strict=True)
        )
        if self._busy or echo or self.point.value is None:
            return
        self._put = None
        x, y = (
            low + share * (high - low) for share, (low, high) in zip(at, self._extent, strict=True)
        )
        with self._alone():
            self._move(self.point.value, x, y)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
