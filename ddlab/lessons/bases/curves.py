"""What the first bases leave of images and vectors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...figures import alt as words
from ...figures import theme as look
from ...figures._check import as_series

# What is smaller is rounding, and leaves a hole in a logarithmic plot.
_LEAST_ERROR = 1e-6
_MOST_POINTS = 150  # of a curve: on a logarithmic axis more of them lie on each other
# More would run into each other at the height of these plots.
_MOST_TICKS = 6


def reconstruction_error_curve(
    curves: Mapping[str, Any], scaling: float = 0.0, *, title: str, x_label: str, height: int
) -> go.Figure:
    """Draw the relative squared error of the first 1, 2, ... bases, both axes logarithmic.

    Args:
        curves: name -> errors [k], entry U - 1 that of the first U bases; of any lengths. Those
            below 1e-6 are not drawn. A name stands at the end of its curve.
        scaling: what scaling down and up alone leaves, as a dashed line where it is something.
    """
    figure = look.start_figure(title=title, x_label=x_label, y_label="error left", height=height)
    descriptions: list[str] = []
    for index, (name, values) in enumerate(as_series("curves", curves).items()):
        places = _thin(values.size)
        style = look.line_style(look.series_style(index), markers=values.size == 1)
        drawn_values = np.where(values > _LEAST_ERROR, values, np.nan)[places]
        figure.add_scatter(x=places + 1, y=drawn_values, name=look.literal(name), **style)
        if len(curves) > 1:
            _name_at_the_end(figure, name, places + 1, drawn_values)
        descriptions.append(f"{name} {words.course(values)} with {values.size}")
    if scaling > _LEAST_ERROR:
        figure.add_hline(y=scaling, line=look.DASHED)
        place = {
            "x": 0,
            "xref": "paper",
            "xanchor": "left",
            "xshift": 4,
            "yref": "y",
            "yanchor": "bottom",
        }
        font = {"color": look.neutral("quiet"), "size": 12}
        label = f"scaling alone {scaling:.3g}"
        figure.add_annotation(text=label, y=np.log10(scaling), font=font, showarrow=False, **place)
        descriptions.append(f"dashed, {label}")
    _logarithmic(figure)
    return look.finish_figure(
        figure,
        alt=f"Relative squared error over {x_label}, both logarithmic: {'; '.join(descriptions)}.",
    )


def _name_at_the_end(
    figure: go.Figure, name: str, places: np.ndarray, drawn_values: np.ndarray
) -> None:
    """Write a curve's name beside its last point; on a logarithmic axis words stand at log10."""
    last = np.flatnonzero(np.isfinite(drawn_values))[-1:]
    for index in last:
        figure.add_annotation(
            text=look.literal(name),
            x=np.log10(places[index]),
            y=np.log10(drawn_values[index]),
            xanchor="left",
            xshift=4,
            showarrow=False,
            font={"color": figure.data[-1].line.color, "size": 12},
        )


def _logarithmic(figure: go.Figure) -> None:
    """Make both axes logarithmic, with a few ticks at round numbers.

    plotly's own ticks are powers of ten, or too many.
    """
    figure.update_layout(showlegend=False, margin={"r": 48})
    values_by_axis = []
    for axis in ("x", "y"):
        values_by_axis.append(
            np.concatenate([np.asarray(trace[axis], float) for trace in figure.data])
        )
    levels = [shape.y0 for shape in figure.layout.shapes or () if shape.y0 == shape.y1]
    for update, values in (
        (figure.update_xaxes, values_by_axis[0]),
        (figure.update_yaxes, np.concatenate([values_by_axis[1], levels])),
    ):
        ticks = _round_ticks(values[np.isfinite(values)])
        update(
            type="log",
            tickvals=ticks,
            ticktext=[f"{tick:g}".replace("e-0", "e-") for tick in ticks],
        )


def _round_ticks(values: np.ndarray) -> list[float]:
    """Return powers of ten, every n-th where they are many.

    Less than two decades have 1, 2 and 5 times each, half of one has 1 to 9 times.
    """
    low, high = np.log10([values.min(), values.max()]) if values.size else (0.0, 1.0)
    first, last = int(np.floor(low)), int(np.ceil(high))
    decades = -(-(last - first) // _MOST_TICKS)
    if high - low < 2:
        steps = (1, 2, 5) if high - low > 0.5 else range(1, 10)
        return [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
    return [float(f"1e{power}") for power in range(first, last + 1) if power % max(decades, 1) == 0]


def _thin(length: int) -> np.ndarray:
    """Return the indices of at most `_MOST_POINTS` points, evenly spread on a logarithmic axis.

    The first and the last are included.
    """
    if length <= _MOST_POINTS:
        return np.arange(length)
    return np.unique(np.geomspace(1, length, _MOST_POINTS).round().astype(int)) - 1
