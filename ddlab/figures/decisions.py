"""What a network decides in the plane, and the samples that it learned from."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core import DDLabError, checked, fail
from . import alt as words
from . import theme as look
from ._check import as_array, as_extent
from .embedding import as_plane, short

_OUTPUT = "network's output"
_BOUNDARY = "where it is 1/2"
_BEST = "best boundary"
_CLASSES = ("class 0", "class 1")


def decision_map(
    *,
    title: str = "What the networks decide",
    extent: Any = None,
    height: int = 380,
    **outcome: Any,
) -> go.Figure:
    """Return the output of a network over the plane, its boundary, and the samples it learned from.

    Args:
        extent: (low, high) of both axes; default: that of what is drawn.
        given: as of `move_decisions`.

    Raises:
        DDLabError: arrays that do not belong together, or values outside their ranges.

    Example:
        decision_map(x=[0, 1], y=[0, 1], outputs=[[0, 1], [0, 1]], points=[[0, 0], [1, 1]], labels=[0, 1], targets=[0.1, 0.9])
    """
    figure = look.start_figure(
        title=title, x_label="x, first dimension", y_label="x, second dimension", height=height
    )
    blue = look.series_style(0).colour
    orange = look.series_style(1).colour
    text = look.neutral("text")
    quiet = look.neutral("quiet")
    background = look.neutral("background")
    shades = [
        [0, look.faint(orange, 0.55)],
        [0.5, look.faint(orange, 0)],
        [0.5, look.faint(blue, 0)],
    ]
    shades.append([1, look.faint(blue, 0.55)])
    figure.add_heatmap(
        name=_OUTPUT,
        colorscale=shades,
        zmin=0,
        zmax=1,
        zsmooth="fast",
        showscale=False,
        hovertemplate="%{x:.2f}, %{y:.2f}: %{z:.2f}<extra></extra>",
    )
    half = {"start": 0.5, "end": 0.5, "size": 1, "coloring": "none"}
    line = {"color": text, "width": 3}
    figure.add_contour(
        name=_BOUNDARY, contours=half, hoverinfo="skip", line=line, showscale=False, showlegend=True
    )
    figure.add_scatter(
        mode="lines",
        name=_BEST,
        line={"color": quiet, "dash": "dash", "width": 2},
        hoverinfo="skip",
    )
    marker = {
        "size": 8,
        "colorscale": [[0, orange], [0.5, background], [1, blue]],
        "cmin": 0,
        "cmax": 1,
    }
    marker["line"] = {"color": text, "width": 1}
    for name, symbol in zip(_CLASSES, ("circle", "square"), strict=True):
        hover_text = f"{name}, target %{{marker.color:.2f}}<extra></extra>"
        figure.add_scatter(
            mode="markers", name=name, marker=marker | {"symbol": symbol}, hovertemplate=hover_text
        )
    look.legend_below(figure)
    across, up = as_extent(extent)
    figure.update_xaxes(zeroline=False, showgrid=False, range=across, constrain="domain")
    # Equal units, so that the distance to the boundary is what it looks like.
    figure.update_yaxes(
        zeroline=False, showgrid=False, range=up, constrain="domain", scaleanchor="x"
    )
    return move_decisions(figure, **outcome)


@checked
def move_decisions(
    figure: go.Figure,
    *,
    x: Any,
    y: Any,
    outputs: Any,
    points: Any,
    labels: Any,
    targets: Any,
    best_boundary: Any = None,
) -> go.Figure:
    """Give other outputs and samples to a figure of `decision_map`, in place.

    A new figure takes ten times as long.

    Args:
        x: [columns].
        y: [rows].
        outputs: [rows, columns], probabilities of class 1 in [0, 1]; boundary where they are 1/2.
        points: [n, 2].
        labels: [n], 0 or 1, told by shape.
        targets: [n] in [0, 1], told by colour, like the outputs.
        best_boundary: two ends [2, 2] of a line to compare with; default: none.

    Raises:
        DDLabError: as `decision_map`, or another figure.
    """
    across, up, classes, colour = map(
        as_array, ("x", "y", "labels", "targets"), (x, y, labels, targets)
    )
    table = as_array("outputs", outputs, dimensions=(2,))
    at = as_plane("points", points)
    if table.shape != (up.size, across.size):
        shape = f"of shape {[up.size, across.size]}, rows of y by columns of x"
        raise DDLabError(f"outputs must be {shape}; given {list(table.shape)}.")
    for name, values in (("labels", classes), ("targets", colour)):
        if len(values) != len(at):
            raise DDLabError(
                f"{name} must be an array of {len(at)} values, one per point; given {len(values)}."
            )
    for name, values in (("outputs", table), ("targets", colour), ("labels", classes)):
        if not ((values >= 0) & (values <= 1)).all():
            fail(name, "in [0, 1]", values)
    line = np.empty((0, 2)) if best_boundary is None else as_plane("best_boundary", best_boundary)
    grid = {"x": short(across), "y": short(up), "z": short(table)}
    moving: dict[str, dict[str, Any]] = {_OUTPUT: grid, _BOUNDARY: grid}
    moving[_BEST] = {"x": short(line[:, 0]), "y": short(line[:, 1])}
    for name, mask in zip(_CLASSES, (classes < 0.5, classes >= 0.5), strict=True):
        moving[name] = {
            "x": short(at[mask, 0]),
            "y": short(at[mask, 1]),
            "marker.color": short(colour[mask]),
        }
    description = (
        f"Map of a network's output from 0 (orange) to 1 (blue): {np.mean(table > 0.5):.0%} "
        "of the plane shown is class 1. "
        f"{len(at)} samples, {int((classes >= 0.5).sum())} of class 1, with targets from "
        f"{words.number(colour.min())} to "
        f"{words.number(colour.max())}."
    )
    return look.finish_figure(look.changed(figure, moving), alt=description)
