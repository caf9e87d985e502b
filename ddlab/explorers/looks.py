"""What the looks of a run are drawn as: its images as one picture, a chart for each curve, its
numbers in words.
"""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go

from ..core import DDLabError
from ..data.images import denormalise
from ..figures import encode_grid, encode_png, loss_curves
from ..runs import Frame, Inputs, Look
from .plot import Plot

_HEIGHT = 316  # of the charts
_MOST_IMAGES = 40  # four rows: with a chart below they fit on a screen
_EMPTY = "The curves begin with the first update"


def picture(inputs: Inputs, frame: Frame) -> tuple[bytes, str] | None:
    """Encode the images of a frame's look; return them and an alt text, or None where there are
    none.
    """
    look: Look = frame.content
    source = inputs.distilled if inputs.data is None else inputs.data
    if look.images is None or source is None:
        return None
    if not len(look.images):
        return encode_png(np.zeros((96, 96, 4), np.uint8)), "No images yet."
    pixels = denormalise(look.images[:_MOST_IMAGES], source.mean, source.std).numpy()
    columns = min(len(pixels), 5 if len(pixels) <= 10 else 10)
    count = len(pixels)
    whole = len(look.images)
    names = (
        []
        if look.labels is None
        else [source.class_names[label] for label in look.labels[:count].tolist()]
    )
    classes = f", from class {names[0]} to {names[-1]}" if names else ""
    count_text = f"{count} images" if count == whole else f"The first {count} of {whole} images"
    return encode_grid(
        pixels, columns=columns, cell=96 if columns <= 5 else 48
    ), f"{count_text} after step {frame.step}{classes}."


def words(look: Look) -> str:
    """Write numbers as "loss 0.31 nats, learning rate 0.001"."""
    numbers = [
        f"{name} {number.value:.3g} {number.unit}".strip() for name, number in look.numbers.items()
    ]
    return ", ".join(numbers)


def chart_names(frames: Sequence[Frame]) -> list[str]:
    """Return the curves that the numbers of these frames belong to, in their order."""
    named = (
        number.curve or name for frame in frames for name, number in frame.content.numbers.items()
    )
    return list(dict.fromkeys(named))


def cursor(frame: Frame, chart: str) -> float | None:
    """Return the place of a frame on the x axis of a chart, or None."""
    for name, number in frame.content.numbers.items():
        if (number.curve or name) == chart:
            return float(frame.step if number.x is None else number.x)
    return None


def curve(
    frames: Sequence[Frame], chart: str | None, before: tuple[str, Sequence[Frame]] = ("", ())
) -> go.Figure:
    """Draw one chart of the numbers in the looks of frames.

    Args:
        before: what an earlier run differs in, and its frames, of which the last number of the
            chart is drawn too.
    """
    series, number_now = _series(frames, chart)
    earlier, number_before = _series(before[1], chart)
    for name in list(earlier)[-1:]:
        series[f"{name} before ({before[0]})"] = earlier[name]
    number = number_now or number_before
    if chart is None or number is None:
        nothing = {"no update yet": [float("nan")]}
        return loss_curves(nothing, title=_EMPTY, x_label="update", y_label="value", height=_HEIGHT)
    # Two runs keep different steps: both lines are drawn on all of them, without leaving their own
    # range.
    x = sorted({place for points in series.values() for place in points})
    lines = {
        name: np.interp(x, list(points), list(points.values()), left=np.nan, right=np.nan)
        for name, points in series.items()
    }
    title = f"{chart[0].upper()}{chart[1:]} along the run"
    unit = f"{chart} ({number.unit})" if number.unit and len(series) == 1 else chart
    log = number.scale == "log"
    return loss_curves(
        lines, x, title=title, x_label=number.x_label, y_label=unit, log_y=log, height=_HEIGHT
    )


def _series(
    frames: Sequence[Frame], chart: str | None
) -> tuple[dict[str, dict[float, float]], Any]:
    """name -> x -> value of the numbers of a chart, and the last of them."""
    series = {}
    last = None
    for frame in frames:
        for name, number in frame.content.numbers.items():
            if (number.curve or name) == chart:
                series.setdefault(name, {})[float(frame.step if number.x is None else number.x)] = (
                    number.value
                )
                last = number
    return series, last


class Charts(widgets.VBox):
    """One plot for several charts, of which buttons choose one.

    Attributes:
        plot: what is on show. buttons: the names of the charts; hidden where there is only one.
    """

    def __init__(
        self,
        draw: Callable[[str | None], tuple[go.Figure, float | None]],
        names: Sequence[str] = (),
    ) -> None:
        """
        Args:
            draw: name of a chart, None where there is none yet -> its figure and where its cursor
                stands.
        """
        self._draw_chart = draw
        self._offering = False
        figure, place = draw(next(iter(names), None))
        self.plot = Plot(figure, announce=False, cursor=place)
        self.buttons = widgets.ToggleButtons(
            options=list(names), tooltips=["Show this curve"] * len(names)
        )
        self.buttons.style.button_width = "auto"
        super().__init__([self.buttons, self.plot])
        self.show(names)
        self.buttons.observe(lambda _change: None if self._offering else self.redraw(), "value")

    @property
    def figure(self) -> go.Figure:
        """The chart on show."""
        return self.plot.figure

    def draw_by(
        self, draw: Callable[[str | None], tuple[go.Figure, float | None]], names: Sequence[str]
    ) -> None:
        """Draw by another function from now on, and offer these charts."""
        self._draw_chart = draw
        self.show(names)

    def show(self, names: Sequence[str]) -> None:
        """Offer these charts and draw the one on show. Where some are new, the first of those is."""
        options = list(self.buttons.options)
        if options != list(names):
            added = next((name for name in names if name not in options), None)
            chosen = added or (
                self.buttons.value if self.buttons.value in names else next(iter(names), None)
            )
            self._offering = True  # new options choose the first of them, which is not drawn
            self.buttons.options = list(names)
            self.buttons.value = chosen
            self._offering = False
        self.buttons.layout.display = None if len(names) > 1 else "none"
        self.redraw()

    def redraw(self) -> None:
        """Draw the chart on show anew."""
        self.plot.figure, place = self._draw_chart(self.buttons.value)
        self.plot.cursor = place


def check_looks(argument: str, frames: Sequence[Frame]) -> Sequence[Frame]:
    """Return the frames, if there are any and each holds a look.

    Raises:
        DDLabError: a run that was not advanced, or whose `Keep` makes something else.
    """
    if not frames or not all(isinstance(frame.content, Look) for frame in frames):
        problem = "none" if not frames else f"frames that hold a {type(frames[0].content).__name__}"
        raise DDLabError(
            f"{argument} must have frames that hold looks, as Run(...).advance() keeps them; "
            f"given {problem}."
        )
    return frames
