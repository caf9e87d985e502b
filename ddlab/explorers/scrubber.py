"""The scrubber: a slider over the frames of a recorded run, with the run's curve and a marker at the step shown.

    recording = Recording()
    for step in every(run, 5):
        recording.add(step.index, encode_grid(...))          # encoded once, here; scrubbing only sends bytes
    scrub = Scrubber(recording, curve=loss_curves({...}, steps), describe=lambda index: f"loss {loss[index - 1]:.3g}")

Frames are PNG or JPEG bytes. `refresh()` takes over the frames that were added meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go

from ..errors import DDLabError, check_function, check_instance, check_text
from .images import Picture
from .layout import Explorer, side_by_side
from .plot import Plot
from .recording import Recording


class Scrubber(Explorer):
    """A slider over a recording; `slider.value` is the position (0 to frames - 1)."""

    def __init__(
        self,
        recording: Recording[bytes],
        curve: go.Figure | None = None,
        *,
        title: str = "Move through the run",
        describe: Callable[[int], str] | None = None,
        what: str = "images",
        key: str = "",
    ) -> None:
        """
        Args:
            recording: frames of encoded images.
            curve: figure with the step on its x axis; the marker follows the slider.
            describe: step number -> what to say of it, after "Step 120 of 500: ".
            what: what the pictures show, for their alt text.
            key: name under which an earlier scrubber is closed.
        """
        check_instance("recording", recording, Recording, "a Recording of images")
        check_function("describe", describe, optional=True)
        check_text("what", what, empty=False)
        self._recording, self._describe, self._what = recording, describe, what
        self._frames = recording.frames
        if not self._frames:
            raise DDLabError("recording must be a recording with at least one frame; given one without frames.")
        last = len(self._frames) - 1
        self.slider = widgets.SelectionSlider(
            options=self._options(), index=last, description="step", continuous_update=True,
            tooltip="Left and right arrow keys move by one recorded frame", style={"description_width": "4em"},
            layout=widgets.Layout(width="auto", max_width="60em"),
        )  # fmt: skip
        self.picture = Picture(self._frames[last].content, alt=self._alt(last))
        self.plot = None if curve is None else Plot(curve, announce=False, cursor=self._frames[last].index)
        views: list[widgets.Widget] = [self.picture] if self.plot is None else [self.picture, self.plot]
        super().__init__(title, controls=[self.slider], views=[side_by_side(views)], key=key)
        self._show(last)
        self.slider.observe(self.guard(lambda change: self._show(change["new"])), "index")

    def refresh(self, curve: go.Figure | None = None) -> None:
        """Take over frames added since, and a new curve; the slider goes to the last frame."""
        self._frames = self._recording.frames
        if self.plot is not None and curve is not None:
            self.plot.figure = curve
        self.slider.options = self._options()
        self.slider.index = len(self._frames) - 1
        self._show(len(self._frames) - 1)

    def _options(self) -> list[tuple[str, int]]:
        return [(str(frame.index), position) for position, frame in enumerate(self._frames)]

    def _alt(self, position: int) -> str:
        frame = self._frames[position]
        return f"The {self._what} after step {frame.index}, frame {position + 1} of {len(self._frames)}."

    def _show(self, position: Any) -> None:
        if position is None:
            return
        frame = self._frames[position]
        self.picture.show_bytes(frame.content, alt=self._alt(position))
        if self.plot is not None:
            self.plot.cursor = float(frame.index)
        said = f" {self._describe(frame.index)}" if self._describe is not None else ""
        self.say(f"Step {frame.index} of {self._frames[-1].index}:{said or ' frame ' + str(position + 1)}")
