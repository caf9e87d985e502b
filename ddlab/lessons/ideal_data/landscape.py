"""The loss over a plane of weights, with the ways that networks took in it (Li et al. 2018; ReLA, Figures 1a and 2a)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...core.errors import DDLabError, check_instance, fail
from ...figures import alt as words
from ...figures import theme as look
from ...figures._check import Share, Words, as_array
from ...figures.embedding import as_plane, short

_MOST_PATHS = 3


def landscape_contours(
    x: Any,
    y: Any,
    loss: Any,
    paths: Mapping[str, Any],
    *,
    captured: Share | None = None,
    title: Words = "Loss landscape",
    loss_label: Words = "mean squared error on G",
    height: int = 440,
) -> go.Figure:
    """Contours of the loss over a plane, with the path of each network in it.

    Args:
        x: [columns]. y: [rows]. loss: [rows, columns], finite. paths: name -> [frames, 2], at most three; what leaves the plane is cut.
        captured: share of the paths' movement that lies in the plane; said in the title.

    Raises:
        DDLabError: shapes that do not fit, values that are not finite, or more than three paths.

    Example:
        landscape_contours([0, 1], [0, 1], [[0, 1], [1, 2]], {"Σ = 0.1": [[0, 0], [1, 1]]}, captured=0.9)
    """
    across, up, table, ways = _checked(x, y, loss, paths)
    figure = _start(title, captured, height)
    figure.add_contour(
        x=short(across),
        y=short(up),
        z=short(table),
        name=loss_label,
        ncontours=24,
        colorscale=_shades(),
        contours={"coloring": "heatmap"},
        line={"color": look.neutral("axis"), "width": 0.6},
        hovertemplate="%{x:.2f}, %{y:.2f}: %{z:.3f}<extra></extra>",
        colorbar={"title": {"text": loss_label, "side": "right"}, "thickness": 12, "outlinewidth": 0},
    )
    for index, (name, way) in enumerate(ways.items()):
        style = look.series_style(index + 1)
        marks = {
            "color": style.colour,
            "symbol": style.marker,
            "line": {"color": look.neutral("background"), "width": 1},
        }
        sizes = [7] * (len(way) - 1) + [15]
        figure.add_scatter(
            x=short(way[:, 0]),
            y=short(way[:, 1]),
            mode="lines+markers",
            name=(shown := look.literal(name)),
            marker={**marks, "size": sizes, "opacity": 1},
            line={"color": style.colour, "dash": style.dash, "width": 3},
            hovertemplate=f"{shown}: %{{x:.2f}}, %{{y:.2f}}<extra></extra>",
        )
    look.legend_below(figure)
    figure.update_xaxes(range=[float(across[0]), float(across[-1])], showgrid=False, zeroline=False)
    figure.update_yaxes(range=[float(up[0]), float(up[-1])], showgrid=False, zeroline=False)
    return look.finish_figure(figure, alt=_alt(across, up, table, ways, captured, loss_label))


def _start(title: str, captured: float | None, height: int) -> go.Figure:
    share = "" if captured is None else f"; the plane holds {captured:.0%} of the paths"
    return look.start_figure(
        title=title + share, x_label="first direction (weights)", y_label="second direction (weights)", height=height
    )


def _shades() -> list[list[Any]]:
    blue = look.series_style(0).colour
    return [[0, look.faint(blue, 0.75)], [0.25, look.faint(blue, 0.4)], [1, look.faint(blue, 0.03)]]


def _checked(x: Any, y: Any, loss: Any, paths: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    across, up, table = as_array("x", x), as_array("y", y), as_array("loss", loss, dimensions=(2,))
    for name, axis in (("x", across), ("y", up)):
        if axis.size < 2 or not (np.diff(axis) > 0).all():
            fail(name, "at least two values, rising", axis)
    if table.shape != (up.size, across.size) or not np.isfinite(table).all():
        raise DDLabError(f"loss must be finite and of shape {[up.size, across.size]}; given {list(table.shape)}.")
    check_instance("paths", paths, Mapping, "a mapping of name to path")
    if len(paths) > _MOST_PATHS:
        fail("paths", f"at most {_MOST_PATHS}", len(paths))
    return across, up, table, {str(name): as_plane(f"paths[{str(name)!r}]", path) for name, path in paths.items()}


def _alt(
    x: np.ndarray,
    y: np.ndarray,
    table: np.ndarray,
    paths: Mapping[str, np.ndarray],
    captured: float | None,
    loss_label: str,
) -> str:
    row, column = np.unravel_index(table.argmin(), table.shape)
    said = f"{loss_label} over a plane of weights: from {words.number(table.min())} at ({words.number(x[column])}, "
    said += f"{words.number(y[row])}) to {words.number(table.max())}."
    for name, way in paths.items():
        (a, b), (c, d) = way[0], way[-1]
        said += f" {name} goes from ({words.number(a)}, {words.number(b)}) to ({words.number(c)}, {words.number(d)})."
    return said + ("" if captured is None else f" The plane holds {captured:.0%} of the movement.")
