"""The scrubber: a slider over the frames of a recorded run, with the run's curve and a marker at the step shown.

    frames = [Frame(5, encode_grid(...)), ...]               # encoded once, here; scrubbing only sends bytes
    scrub = Scrubber(frames, curve=loss_curves({...}, steps), describe=lambda index: f"loss {loss[index - 1]:.3g}")

Frames hold PNG or JPEG bytes, as those of a `Run` do whose `Keep` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go

from ..errors import check_function, check_text, fail
from ..runs import Frame
from .images import Picture
from .layout import Explorer, side_by_side
from .plot import Plot


class Scrubber(Explorer):
    """A slider over frames; `slider.value` is the position (0 to frames - 1)."""

    def __init__(
        self,
        frames: Sequence[Frame],
        curve: go.Figure | None = None,
        *,
        title: str = "Move through the run",
        describe: Callable[[int], str] | None = None,
        what: str = "images",
        key: str = "",
    ) -> None:
        """
        Args:
            frames: steps with encoded images, in order.
            curve: figure with the step on its x axis; the marker follows the slider.
            describe: step number -> what to say of it, after "Step 120 of 500: ".
            what: what the pictures show, for their alt text.
            key: name under which an earlier scrubber is closed.
        """
        if not isinstance(frames, list | tuple) or not frames or not all(isinstance(one, Frame) for one in frames):
            fail("frames", "a list of Frames that is not empty", frames)
        check_function("describe", describe, optional=True)
        check_text("what", what, empty=False)
        self._frames, self._describe, self._what = tuple(frames), describe, what
        last = len(self._frames) - 1
        self.slider = widgets.SelectionSlider(
            options=[(str(frame.step), position) for position, frame in enumerate(self._frames)],
            index=last,
            description="step",
            continuous_update=True,
            tooltip="Left and right arrow keys move by one recorded frame",
            style={"description_width": "4em"},
            layout=widgets.Layout(width="auto", max_width="60em"),
        )
        self.picture = Picture(self._frames[last].content, alt=self._alt(last))
        self.plot = None if curve is None else Plot(curve, announce=False, cursor=self._frames[last].step)
        views: list[widgets.Widget] = [self.picture] if self.plot is None else [self.picture, self.plot]
        super().__init__(title, controls=[self.slider], views=[side_by_side(views)], key=key)
        self._show(last)
        self.slider.observe(self.guard(lambda change: self._show(change["new"])), "index")

    def _alt(self, position: int) -> str:
        frame = self._frames[position]
        return f"The {self._what} after step {frame.step}, frame {position + 1} of {len(self._frames)}."

    def _show(self, position: Any) -> None:
        if position is None:
            return
        frame = self._frames[position]
        self.picture.show_bytes(frame.content, alt=self._alt(position))
        if self.plot is not None:
            self.plot.cursor = float(frame.step)
        said = f" {self._describe(frame.step)}" if self._describe is not None else ""
        self.say(f"Step {frame.step} of {self._frames[-1].step}:{said or ' frame ' + str(position + 1)}")
