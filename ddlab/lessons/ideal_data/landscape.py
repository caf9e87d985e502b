"""The loss over a plane of weights, with the ways that networks took in it (Li et al. 2018; ReLA, Figures 1a and 2a)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...figures import alt as words
from ...figures import theme as look
from ...figures.embedding import as_plane, short


def landscape_contours(
    x: Any,
    y: Any,
    loss: Any,
    paths: Mapping[str, Any],
    *,
    captured: float | None = None,
    title: str = "Loss landscape",
    loss_label: str = "mean squared error on G",
    height: int = 440,
) -> go.Figure:
    """Contours of the loss over a plane, with the path of each network in it.

    Args:
        x: [columns]. y: [rows]. loss: [rows, columns]. paths: name -> [frames, 2]; what leaves the plane is cut.
        captured: share of the paths' movement that lies in the plane; said in the title.
    """
    across, up, table = (np.asarray(each, float) for each in (x, y, loss))
    ways = {name: as_plane(name, path) for name, path in paths.items()}
    share = "" if captured is None else f"; the plane holds {captured:.0%} of the paths"
    axes = {"x_label": "first direction (weights)", "y_label": "second direction (weights)"}
    figure = look.start_figure(title=title + share, **axes, height=height)
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
    row, column = np.unravel_index(table.argmin(), table.shape)
    said = (
        f"{loss_label} over a plane of weights: from {words.number(table.min())} at ({words.number(across[column])}, "
    )
    said += f"{words.number(up[row])}) to {words.number(table.max())}."
    for name, way in ways.items():
        (a, b), (c, d) = way[0], way[-1]
        said += f" {name} goes from ({words.number(a)}, {words.number(b)}) to ({words.number(c)}, {words.number(d)})."
    said += "" if captured is None else f" The plane holds {captured:.0%} of the movement."
    return look.finish_figure(figure, alt=said)


def _shades() -> list[list[Any]]:
    blue = look.series_style(0).colour
    return [[0, look.faint(blue, 0.75)], [0.25, look.faint(blue, 0.4)], [1, look.faint(blue, 0.03)]]
