"""Curves over steps: losses, and the gaps between batch-norm statistics."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core import checked
from . import alt as words
from . import theme as look
from ._check import as_series, as_steps

# More points than pixels only cost time in the browser.
_MOST_POINTS = 2000


@checked
def loss_curves(
    series: Mapping[str, Any],
    steps: Any = None,
    *,
    title: str = "Loss while the images are updated",
    x_label: str = "image update (step)",
    y_label: str = "loss",
    log_y: bool = False,
    height: int = 360,
) -> go.Figure:
    """Draw named curves over steps.

    Args:
        series: name -> values [steps]; curves may be shorter than `steps`, as while a run is going
            on.
        steps: x values [steps]; default 1, 2, ...
        log_y: logarithmic y axis; values that are not above zero leave a hole.

    Example:
        loss_curves({"cross-entropy": [2.3, 1.1, 0.4], "BN variance gap": [9.0, 4.0, 3.1]}, log_y=True)
    """
    curves = as_series("series", series)
    longest = max(curve.size for curve in curves.values())
    x = as_steps(steps, longest)
    figure = _start(title, x_label, y_label, height, log_y)
    for index, (name, curve) in enumerate(curves.items()):
        style = look.series_style(index)
        places = _thin(curve.size)
        # One point draws no line: show it as a marker.
        shape = look.line_style(style, markers=curve.size <= 12)
        figure.add_scatter(
            x=x[: curve.size][places],
            y=(np.where(curve > 0, curve, np.nan) if log_y else curve)[places],
            name=look.literal(name),
            **shape,
        )
    above = np.concatenate([curve[curve > 0] for curve in curves.values()])
    if log_y and above.size and above.max() < 10 * above.min():
        figure.update_yaxes(dtick=None)  # there may be no power of ten to write at a tick
    if len(curves) > 1:
        look.legend_below(figure)
    clauses = [f"{name} {words.course(curve)}" for name, curve in list(curves.items())[:6]]
    descriptions = "; ".join(clauses)
    scale = " (logarithmic scale)" if log_y else ""
    text = (
        f"Line chart of {y_label}{scale} over {x_label}, {words.number(x[0])} to "
        f"{words.number(x[-1])}: {descriptions}."
    )
    return look.finish_figure(figure, alt=text)


def _start(title: str, x_label: str, y_label: str, height: int, log_y: bool) -> go.Figure:
    figure = look.start_figure(title=title, x_label=x_label, y_label=y_label, height=height)
    figure.update_yaxes(type="log" if log_y else "linear", tickformat="~g" if log_y else "")
    if log_y:
        figure.update_yaxes(dtick=1, minor={"ticks": "outside", "ticklen": 2})
    else:
        figure.update_yaxes(rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return figure


def _thin(length: int) -> np.ndarray:
    """Indices of at most `_MOST_POINTS` points, first and last included."""
    if length <= _MOST_POINTS:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, _MOST_POINTS).round().astype(int))


def add_band(
    figure: go.Figure, name: str, x: np.ndarray, low: np.ndarray, high: np.ndarray, style: Any
) -> None:
    """Add a faint band between a lower and an upper curve. It is drawn before the curve itself."""
    figure.add_scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        fillcolor=look.faint(style.colour, 0.18),
        line={"width": 0},
        mode="lines",
        name=f"{look.literal(name)}, interval",
        showlegend=False,
        hoverinfo="skip",
    )
