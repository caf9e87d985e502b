"""The scrubber: a slider over the frames of a recorded run, with the run's curve and a marker at the step shown.

    frames = [Frame(5, encode_grid(...)), ...]               # encoded once, here; scrubbing only sends bytes
    scrub = Scrubber(frames, curve=loss_curves({...}, steps), describe=lambda index: f"loss {loss[index - 1]:.3g}")

    film(run)                                                # the same over the looks that a run has kept

Frames hold PNG or JPEG bytes, as those of a `Run` do whose `Keep` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go

from ..core import errors
from ..figures import pipeline, pipelines
from ..runs import Frame, Run
from . import looks
from .images import Picture
from .layout import Explorer, side_by_side


class Scrubber(Explorer):
    """A slider over frames; `slider.value` is the position (0 to frames - 1)."""

    def __init__(
        self,
        frames: Sequence[Frame],
        curve: go.Figure | Mapping[str, go.Figure] | None = None,
        *,
        title: str = "Move through the run",
        describe: Callable[[int], str] | None = None,
        places: Callable[[int, str], float | None] | None = None,
        what: str = "images",
        drawing: Callable[[int], str] | None = None,
        key: str = "",
    ) -> None:
        """
        Args:
            frames: steps with encoded images, in order; None for an image shows none.
            curve: figure with the step on its x axis; the marker follows the slider. Of several by name buttons choose one.
            places: (step, name of a curve) -> where its marker stands; default at the step.
            describe: step number -> what to say of it, after "Step 120 of 500: ".
            what: what the pictures show, for their alt text. drawing: step number -> SVG above the views.
            key: name under which an earlier scrubber is closed.
        """
        if not isinstance(frames, list | tuple) or not frames or not all(isinstance(one, Frame) for one in frames):
            errors.fail("frames", "a list of Frames that is not empty", frames)
        for frame in frames:
            errors.check_integer("a step of frames", frame.step, 0)
        for argument, function in (("describe", describe), ("places", places), ("drawing", drawing)):
            errors.check_function(argument, function, optional=True)
        errors.check_text("what", what, empty=False)
        self._frames, self._describe, self._what, self._draw = tuple(frames), describe, what, drawing
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
        first = self._frames[last].content
        self.picture = None if first is None else Picture(first, alt=self._alt(last))
        curves = {} if curve is None else {"": curve} if isinstance(curve, go.Figure) else curve
        errors.check_instance("curve", curves, Mapping, "a plotly figure, or several by name")
        self._places = places or (lambda step, _name: float(step))
        self.charts = (
            looks.Charts(lambda name: self._chart(curves[str(name)], str(name)), list(curves)) if curves else None
        )
        self.plot = None if self.charts is None else self.charts.plot
        views = [view for view in (self.picture, self.charts) if view is not None]
        self.drawing = widgets.HTML()
        drawn = [] if drawing is None else [self.drawing]
        super().__init__(title, controls=[self.slider], views=[*drawn, side_by_side(views)], key=key)
        self._show(last)
        self.slider.observe(self.guard(lambda change: self._show(change["new"])), "index")

    def _chart(self, figure: go.Figure, name: str) -> tuple[go.Figure, float | None]:
        return figure, self._places(self._frames[self.slider.index or 0].step, name)

    def _alt(self, position: int) -> str:
        frame = self._frames[position]
        return f"The {self._what} after step {frame.step}, frame {position + 1} of {len(self._frames)}."

    def _show(self, position: Any) -> None:
        if position is None:
            return
        frame = self._frames[position]
        if self._draw is not None:
            self.drawing.value = self._draw(frame.step)
        if self.picture is not None:
            self.picture.show_bytes(frame.content, alt=self._alt(position))
        if self.charts is not None:
            self.charts.plot.cursor = self._places(frame.step, str(self.charts.buttons.value or ""))
        said = f" {self._describe(frame.step)}" if self._describe is not None else ""
        self.say(f"Step {frame.step} of {self._frames[-1].step}:{said or ' frame ' + str(position + 1)}")


def film(run: Run, *, title: str = "Back and forth through the run", key: str = "film") -> Scrubber:
    """A slider over the looks that a run has kept: images, the curves of its numbers, these in words; the method's drawing, lit.

    Raises:
        DDLabError: a run without a frame, or whose frames hold something else than looks.
    """
    frames = looks.check_looks("run", errors.check_instance("run", run, Run, "a Run").frames)
    by_step = {frame.step: frame for frame in frames}
    drawn = [(frame.step, looks.picture(run.inputs, frame)) for frame in frames]
    method = pipelines.METHODS.get(run.process.NAME)
    names = looks.chart_names([frames[-1], *frames])  # a curve that the last frame is on comes first, and has a marker
    return Scrubber(
        [Frame(step, None if encoded is None else encoded[0]) for step, encoded in drawn],
        {name: looks.curve(frames, name) for name in names},
        title=title,
        describe=lambda step: f"{looks.words(by_step[step].content) or 'before the first update'}.",
        places=lambda step, name: looks.cursor(by_step[step], name),
        drawing=None if method is None else lambda step: pipeline(method, by_step[step].content.running),
        key=key,
    )
