"""Loss landscapes: contours of a loss over a plane, and the paths and points that lie in it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core import DDLabError, checked
from . import alt as words
from . import theme as look
from ._check import Named, Share, Words, as_array
from .embedding import as_plane, short

_CONTOURS = 20
_SHADES = ((0, 0.85), (0.35, 0.4), (1, 0.03))  # share of the range of the loss -> opacity
_LAST = 15  # pixels of a path's last mark
# Written beside the colours: these times powers of ten, fewer where the range has many powers.
_TICKS = {2: (1,), 1: (1, 2, 5), 0: (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)}


@checked
def landscape(
    x: Any,
    y: Any,
    loss: Any = None,
    *,
    paths: Named | None = None,
    points: Named | None = None,
    share: Share | None = None,
    title: str = "Loss",
    x_label: str = "first direction",
    y_label: str = "second direction",
    loss_label: Words = "loss",
    height: int = 380,
) -> go.Figure:
    """Draw contours of a loss over a plane, equally far apart on a logarithmic scale.

    Args:
        x: [columns].
        y: [rows].
        loss: [rows, columns], none below 0; None leaves the contours out, for a loss that is still
            being computed.
        paths: name -> places [n, 2] in the order of time; the last mark is large.
        points: name -> one place (x, y), marked with its name.
        share: of the paths' movement that the plane holds; said in the title.
        x_label, y_label: what the directions are, such as "towards the real images".
        loss_label: with its unit, beside the colours.

    Example:
        landscape([0, 1], [0, 1], [[1, 2], [3, 4]], paths={"student": [[0, 0], [1, 1]]}, share=0.9)
    """
    across, up = as_array("x", x), as_array("y", y)
    unknown = np.zeros((up.size, across.size))
    table = unknown if loss is None else as_array("loss", loss, dimensions=(2,))
    if table.shape != (up.size, across.size) or not (np.isfinite(table) & (table >= 0)).all():
        raise DDLabError(
            f"loss must be of shape {[up.size, across.size]}, finite and at least 0; given one of "
            f"shape {list(table.shape)} from {table.min():g} to {table.max():g}."
        )
    places = {name: as_plane(f"paths[{name!r}]", path) for name, path in (paths or {}).items()}
    share_text = "" if share is None else f"; the plane holds {share:.0%}"
    moved = "" if share is None else f" that holds {share:.0%} of the movement"
    figure = look.start_figure(
        title=title + share_text, x_label=x_label, y_label=y_label, height=height
    )
    if loss is not None:
        _add_loss(figure, across, up, table, loss_label)
    for index, (name, path) in enumerate(places.items(), start=1):
        _add_path(figure, name, path, look.series_style(index))
    marks = {name: as_plane(f"points[{name!r}]", [point]) for name, point in (points or {}).items()}
    for name, mark in marks.items():
        figure.add_scatter(
            x=mark[:, 0],
            y=mark[:, 1],
            mode="markers+text",
            name=look.literal(name),
            text=[look.literal(name)],
            textposition="top center",
            textfont={"color": look.neutral("text")},
            showlegend=False,
            hoverinfo="skip",
            marker={"symbol": "star", "size": 14, "color": look.neutral("text")},
        )
    look.legend_below(figure)
    figure.update_xaxes(range=[float(across[0]), float(across[-1])], showgrid=False, zeroline=False)
    figure.update_yaxes(range=[float(up[0]), float(up[-1])], showgrid=False, zeroline=False)
    contours = "The loss is not computed yet." if loss is None else _contours(across, up, table)
    return look.finish_figure(
        figure, alt=f"{title}: a plane{moved}. {contours}{_ends(places | marks)}"
    )


def loss_shades() -> list[list[Any]]:
    """Return the colours of a loss: the lower, the bluer."""
    return [[share, look.faint(look.series_style(0).colour, alpha)] for share, alpha in _SHADES]


def _add_loss(
    figure: go.Figure, across: np.ndarray, up: np.ndarray, table: np.ndarray, label: str
) -> None:
    """Add contours of a loss [rows of `up`, columns of `across`]."""
    # A loss of 0 has no logarithm; a millionth of the largest is as dark as any.
    low = max(float(table.min()), 1e-6 * float(table.max()), 1e-30)
    heights = np.log10(np.maximum(table, low))
    top = float(heights.max())
    decades = min(int(top - np.log10(low)), 2)
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(top) + 1)
    ticks = np.outer(powers, _TICKS[decades]).flatten()
    ticks_on_axis = ticks[(ticks >= low) & (ticks <= 10**top)]
    figure.add_contour(
        x=short(across),
        y=short(up),
        z=short(heights),
        name=label,
        ncontours=_CONTOURS,
        colorscale=loss_shades(),
        contours={"coloring": "heatmap"},
        line={"color": look.neutral("axis"), "width": 0.6},
        hovertemplate="%{x:.2f}, %{y:.2f}: 10<sup>%{z:.2f}</sup><extra></extra>",
        colorbar={
            "title": {"text": label, "side": "right"},
            "thickness": 12,
            "outlinewidth": 0,
            "tickvals": np.log10(ticks_on_axis),
            "ticktext": [f"{tick:.3g}" for tick in ticks_on_axis],
        },
    )


def _add_path(figure: go.Figure, name: str, path: np.ndarray, style: look.SeriesStyle) -> None:
    figure.add_scatter(
        x=short(path[:, 0]),
        y=short(path[:, 1]),
        mode="lines+markers",
        name=look.literal(name),
        line={"color": style.colour, "dash": style.dash, "width": 3},
        marker={
            "color": style.colour,
            "symbol": style.marker,
            "size": [6] * (len(path) - 1) + [_LAST],
            "opacity": 1,
            "line": {"color": look.neutral("background"), "width": 1},
        },
        hovertemplate=f"{look.literal(name)}: %{{x:.2f}}, %{{y:.2f}}<extra></extra>",
    )


def _contours(across: np.ndarray, up: np.ndarray, table: np.ndarray) -> str:
    row, column = np.unravel_index(table.argmin(), table.shape)
    lowest = f"({words.number(across[column])}, {words.number(up[row])})"
    return (
        f"Contours of the loss: from {words.number(table.min())} at {lowest} to "
        f"{words.number(table.max())}."
    )


def _ends(places: Mapping[str, np.ndarray]) -> str:
    clauses = []
    for name, path in places.items():
        first, last = (f"({words.number(a)}, {words.number(b)})" for a, b in path[[0, -1]])
        clauses.append(
            f"{name} goes from {first} to {last}" if len(path) > 1 else f"{name} is at {last}"
        )
    return f" {'; '.join(clauses)}." if clauses else ""
