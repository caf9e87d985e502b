"""The toy world of two Gaussian classes: what networks decide in the plane, and how each setting learns (ReLA, Figures 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core.boundary import checked
from ..core.errors import DDLabError, fail
from . import alt as words
from . import theme as look
from ._check import as_array, as_extent, as_pair, as_series, worded
from .embedding import as_plane, short

_OUTPUT, _BOUNDARY, _BEST, _CLASSES = "network's output", "where it is 1/2", "best boundary", ("class 0", "class 1")
_CHOSEN, _BAND, _LEAST = "chosen", "chosen, two standard errors", "least possible"
_MOST_CURVES = 7  # as many as there are styles


def decision_map(
    x: Any,
    y: Any,
    outputs: Any,
    *,
    points: Any,
    labels: Any,
    targets: Any,
    best_boundary: Any = None,
    extent: tuple[tuple[float, float], tuple[float, float]] | None = None,
    title: str = "What the networks decide, and their samples",
    height: int = 420,
) -> go.Figure:
    """The output of a network over the plane, its boundary, and the samples it learned from.

    Args:
        x: [columns]. y: [rows]. outputs: [rows, columns], probabilities of class 1 in [0, 1]; boundary where they are 1/2.
        points: [n, 2]. labels: [n], 0 or 1, told by shape. targets: [n] in [0, 1], told by colour, like the outputs.
        best_boundary: two ends [2, 2] of a line to compare with; default: none.
        extent: (low, high) of both axes; default: that of x and y.

    Raises:
        DDLabError: arrays that do not belong together, or values outside these ranges.

    Example:
        decision_map([0, 1], [0, 1], [[0, 1], [0, 1]], points=[[0, 0], [1, 1]], labels=[0, 1], targets=[0.1, 0.9])
    """
    figure = look.start_figure(title=title, x_label="x, first dimension", y_label="x, second dimension", height=height)
    blue, orange = look.series_style(0).colour, look.series_style(1).colour
    text, quiet, background = (look.neutral(name) for name in ("text", "quiet", "background"))
    shades = [
        [0, look.faint(orange, 0.55)],
        [0.5, look.faint(orange, 0)],
        [0.5, look.faint(blue, 0)],
        [1, look.faint(blue, 0.55)],
    ]
    figure.add_heatmap(
        name=_OUTPUT,
        colorscale=shades,
        zmin=0,
        zmax=1,
        zsmooth="fast",
        showscale=False,
        hovertemplate="%{x:.2f}, %{y:.2f}: %{z:.2f}<extra></extra>",
    )
    figure.add_contour(
        name=_BOUNDARY,
        contours={"start": 0.5, "end": 0.5, "size": 1, "coloring": "none"},
        hoverinfo="skip",
        line={"color": text, "width": 3},
        showscale=False,
        showlegend=True,
    )
    figure.add_scatter(mode="lines", name=_BEST, line={"color": quiet, "dash": "dash", "width": 2}, hoverinfo="skip")
    solid = [[0, orange], [0.5, background], [1, blue]]
    for name, symbol in zip(_CLASSES, ("circle", "square"), strict=True):
        marker = {
            "symbol": symbol,
            "size": 8,
            "colorscale": solid,
            "cmin": 0,
            "cmax": 1,
            "line": {"color": text, "width": 1},
        }
        figure.add_scatter(
            mode="markers",
            name=look.literal(name),
            marker=marker,
            hovertemplate=f"{look.literal(name)}, target %{{marker.color:.2f}}<extra></extra>",
        )
    look.legend_below(figure)
    ends = as_extent(extent)
    figure.update_xaxes(zeroline=False, showgrid=False, range=ends[0], constrain="domain")
    # Equal units, so that the distance to the boundary is what it looks like.
    figure.update_yaxes(zeroline=False, showgrid=False, range=ends[1], constrain="domain", scaleanchor="x")
    return move_decisions(
        figure, x, y, outputs, points=points, labels=labels, targets=targets, best_boundary=best_boundary
    )


@checked
def move_decisions(
    figure: go.Figure,
    x: Any,
    y: Any,
    outputs: Any,
    *,
    points: Any,
    labels: Any,
    targets: Any,
    best_boundary: Any = None,
) -> go.Figure:
    """Other outputs and samples on a figure that `decision_map` made. Changes `figure` in place, and returns it.

    For a map that follows a slider: a new figure takes ten times as long. Arguments as of `decision_map`.
    """
    moving, alt = _decisions(x, y, outputs, points, labels, targets, best_boundary)
    _change(figure, moving, "a figure that decision_map made")
    return look.finish_figure(figure, alt=alt)


def setting_curves(
    steps: Any,
    curves: Mapping[str, Any],
    *,
    chosen: tuple[str, Any],
    band: tuple[Any, Any] | None = None,
    least: float | None = None,
    title: str = "Error on the original data while networks learn",
    y_label: str = "mean squared error on G",
    height: int = 420,
) -> go.Figure:
    """One curve per setting, and the chosen one thick on top of them.

    Args:
        steps: [frames]. curves: name -> values [frames], at most seven. chosen: (name, values).
        band: (lower, upper) [frames] around the chosen one. least: what no setting can be below, drawn dashed.

    Example:
        setting_curves([0, 1], {"Σ = 0.1": [0.3, 0.1], "Σ = 1": [0.3, 0.2]}, chosen=("Σ = 0.5", [0.3, 0.15]), least=0.06)
    """
    figure = look.start_figure(title=title, x_label="update (step)", y_label=y_label, height=height)
    series = as_series("curves", curves)
    if len(series) > _MOST_CURVES:
        fail("curves", f"at most {_MOST_CURVES}", len(series))
    text = look.neutral("text")
    figure.add_scatter(
        mode="lines",
        name=_BAND,
        fill="toself",
        fillcolor=look.faint(text, 0.14),
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )
    for index, name in enumerate(series):
        figure.add_scatter(name=name, **look.line_style(look.series_style(index), width=1.8))
    marker = {"symbol": "circle-open", "size": 8, "color": text}
    figure.add_scatter(mode="lines+markers", name=_CHOSEN, line={"color": text, "width": 3.5}, marker=marker)
    quiet = look.neutral("quiet")
    figure.add_scatter(
        mode="lines", name=_LEAST, line={"color": quiet, "dash": "dash", "width": 1.5}, showlegend=least is not None
    )
    look.legend_below(figure)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return move_curves(figure, steps, curves, chosen=chosen, band=band, least=least)


@checked
def move_curves(
    figure: go.Figure,
    steps: Any,
    curves: Mapping[str, Any],
    *,
    chosen: tuple[str, Any],
    band: tuple[Any, Any] | None = None,
    least: float | None = None,
) -> go.Figure:
    """Other values of the same settings on a figure that `setting_curves` made. Changes `figure` in place, and returns it.

    Arguments as of `setting_curves`; `curves` has the same names as before, in the same order.
    """
    at = _steps(steps)
    series = {name: _of_length(f"curves[{name!r}]", curve, at) for name, curve in as_series("curves", curves).items()}
    name, values = as_pair("chosen", chosen, "(name, values)")
    name, values = worded("chosen", name), _of_length("chosen", values, at)
    moving: dict[str, Any] = {own: {"x": short(at), "y": short(curve)} for own, curve in series.items()}
    moving[_CHOSEN] = {
        "x": short(at),
        "y": short(values),
        "text": [name] * len(at),
        "hovertemplate": f"{look.literal(name)}: %{{y:.4f}}<extra></extra>",
    }
    low, high = (
        (values, values)
        if band is None
        else (_of_length("band", edge, at) for edge in as_pair("band", band, "(lower, upper)"))
    )
    moving[_BAND] = {"x": short(np.concatenate([at, at[::-1]])), "y": short(np.concatenate([high, low[::-1]]))}
    floor = [] if least is None else [float(as_array("least", [least])[0])] * 2
    moving[_LEAST] = {"x": short(at[[0, -1]]) if floor else [], "y": floor}
    names = [trace.name for trace in figure.data]
    if names != [_BAND, *series, _CHOSEN, _LEAST]:
        fail("figure", f"a figure that setting_curves made of {words.names(list(series))}", figure)
    _change(figure, moving, "a figure that setting_curves made")
    said = "; ".join(f"{own} {words.course(curve)}" for own, curve in series.items())
    y_label = figure.layout.yaxis.title.text
    ground = "" if least is None else f" The least possible is {words.number(floor[0])}."
    alt = f"Line chart of {y_label} over {words.number(at[-1])} updates: {said}. Chosen is {name}, which {words.course(values)}.{ground}"
    return look.finish_figure(figure, alt=alt)


def _change(figure: go.Figure, moving: Mapping[str, Mapping[str, Any]], allowed: str) -> None:
    traces = {trace.name: trace for trace in figure.data}
    if not moving.keys() <= traces.keys():
        fail("figure", allowed, figure)
    for name, changes in moving.items():
        for attribute, values in changes.items():
            traces[name][attribute] = values


def _decisions(
    x: Any, y: Any, outputs: Any, points: Any, labels: Any, targets: Any, best_boundary: Any
) -> tuple[dict[str, dict[str, Any]], str]:
    """What changes on a decision map, by trace, and what it shows in words."""
    across, up = as_array("x", x), as_array("y", y)
    table = as_array("outputs", outputs, dimensions=(2,))
    if table.shape != (up.size, across.size):
        raise DDLabError(
            f"outputs must be of shape {[up.size, across.size]}, rows of y by columns of x; given {list(table.shape)}."
        )
    at, own = as_plane("points", points), as_array("labels", labels)
    colour = as_array("targets", targets)
    for name, values in (("labels", own), ("targets", colour)):
        if len(values) != len(at):
            raise DDLabError(f"{name} must be an array of {len(at)} values, one per point; given {len(values)}.")
    for name, values in (("outputs", table), ("targets", colour), ("labels", own)):
        if not ((values >= 0) & (values <= 1)).all():
            fail(name, "in [0, 1]", values)
    line = np.empty((0, 2)) if best_boundary is None else as_plane("best_boundary", best_boundary)
    grid = {"x": short(across), "y": short(up), "z": short(table)}
    moving: dict[str, dict[str, Any]] = {
        _OUTPUT: grid,
        _BOUNDARY: grid,
        _BEST: {"x": short(line[:, 0]), "y": short(line[:, 1])},
    }
    for name, mask in zip(_CLASSES, (own < 0.5, own >= 0.5), strict=True):
        moving[name] = {"x": short(at[mask, 0]), "y": short(at[mask, 1]), "marker.color": short(colour[mask])}
    alt = (
        f"Map of a network's output from 0 (orange) to 1 (blue): {np.mean(table > 0.5):.0%} of the plane shown is class 1. "
        f"{len(at)} samples, {int((own >= 0.5).sum())} of class 1, with targets from {words.number(colour.min())} to "
        f"{words.number(colour.max())}."
    )
    return moving, alt


def _steps(steps: Any) -> np.ndarray:
    at = as_array("steps", steps)
    if not (np.diff(at) > 0).all():
        fail("steps", "rising", steps)
    return at


def _of_length(argument: str, values: Any, at: np.ndarray) -> np.ndarray:
    array = as_array(argument, values)
    if array.shape != at.shape:
        raise DDLabError(f"{argument} must be an array of {at.size} values, one per step; given {array.size}.")
    return array
