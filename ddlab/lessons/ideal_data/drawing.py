"""How each setting learns, and the loss over a plane of weights, as in Figures 1 and 2 of the ReLA
paper.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...figures import alt as words
from ...figures import theme as look
from ...figures.embedding import short

HEIGHT = 358
_CHOSEN = "chosen"
_BAND = "chosen, two standard errors"
_LEAST = "least possible"


def setting_curves(y_label: str = "mean squared error on G", **values: Any) -> go.Figure:
    """Draw one curve per setting, and the chosen one thick on top of them.

    `given` is as for `move_curves`.
    """
    title = "Error on the original data while networks learn"
    figure = look.start_figure(title=title, x_label="update", y_label=y_label, height=HEIGHT)
    text = look.neutral("text")
    bare = {"mode": "lines", "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(
        name=_BAND, fill="toself", fillcolor=look.faint(text, 0.14), line={"width": 0}, **bare
    )
    for index, name in enumerate(values["curves"]):
        figure.add_scatter(name=name, **look.line_style(look.series_style(index), width=1.8))
    marker = {"symbol": "circle-open", "size": 8, "color": text}
    figure.add_scatter(
        mode="lines+markers", name=_CHOSEN, line={"color": text, "width": 3.5}, marker=marker
    )
    figure.add_scatter(mode="lines", name=_LEAST, line=look.DASHED, showlegend=True)
    look.legend_below(figure)
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(hovermode="x unified")
    return move_curves(figure, **values)


def move_curves(
    figure: go.Figure,
    *,
    steps: Any,
    curves: Mapping[str, Any],
    chosen: tuple[str, Any],
    error: Any,
    least: float,
) -> go.Figure:
    """Give other values of the same settings to a figure, in place.

    A new figure takes ten times as long.

    Args:
        steps: [frames].
        curves: name -> values [frames], at most seven.
        chosen: (name, values) with the standard error [frames].
        least: what no setting can be below, drawn dashed.
    """
    at = _array(steps)
    (name, values) = chosen
    error = 2 * _array(error)
    values = _array(values)
    moving: dict[str, dict[str, Any]] = {
        curve_name: {"x": at, "y": _array(curve)} for curve_name, curve in curves.items()
    }
    hover = f"{look.literal(name)}: %{{y:.4f}}<extra></extra>"
    moving[_CHOSEN] = {"x": at, "y": values, "text": [name] * len(at), "hovertemplate": hover}
    edges = np.concatenate([values + error, (values - error)[::-1]])
    moving[_BAND] = {"x": np.concatenate([at, at[::-1]]), "y": edges}
    moving[_LEAST] = {"x": at[[0, -1]], "y": [least, least]}
    clauses = [
        f"{curve_name} {words.course(curve['y'])}"
        for curve_name, curve in moving.items()
        if curve_name in curves
    ]
    description = "; ".join(clauses)
    alt = (
        f"Line chart of {figure.layout.yaxis.title.text} over {words.number(at[-1])} updates: "
        f"{description}. Chosen is {name}, which "
    )
    alt += f"{words.course(values)}. The least possible is {words.number(least)}."
    return look.finish_figure(look.changed(figure, moving), alt=alt)


def landscape(x: Any, y: Any, loss: Any, paths: Mapping[str, Any], captured: float) -> go.Figure:
    """Draw contours of the loss over a plane, with the path of each network in it.

    Args:
        x: [columns].
        y: [rows].
        loss: [rows, columns].
        paths: name -> [frames, 2].
        captured: share of the paths' movement that lies in the plane; said in the title.
    """
    across = _array(x)
    up = _array(y)
    table = _array(loss)
    label = "mean squared error on G"
    title = f"Loss on G, in a plane with {captured:.0%} of the paths' movement"
    axes = {"x_label": "first direction (weights)", "y_label": "second direction (weights)"}
    figure = look.start_figure(title=title, **axes, height=HEIGHT)
    blue = look.series_style(0).colour
    figure.add_contour(
        x=across,
        y=up,
        z=table,
        name=label,
        ncontours=24,
        colorscale=[
            [0, look.faint(blue, 0.75)],
            [0.25, look.faint(blue, 0.4)],
            [1, look.faint(blue, 0.03)],
        ],
        contours={"coloring": "heatmap"},
        line={"color": look.neutral("axis"), "width": 0.6},
        hovertemplate="%{x:.2f}, %{y:.2f}: %{z:.3f}<extra></extra>",
        colorbar={"title": {"text": label, "side": "right"}, "thickness": 12, "outlinewidth": 0},
    )
    row, column = np.unravel_index(table.argmin(), table.shape)
    description = (
        f"{label} over a plane of weights: from {words.number(table.min())} at "
        f"({words.number(across[column])}, "
    )
    description += f"{words.number(up[row])}) to {words.number(table.max())}."
    for index, (name, path) in enumerate(paths.items(), start=1):
        style = look.series_style(index)
        points = _array(path)
        marker = {
            "color": style.colour,
            "symbol": style.marker,
            "size": [7] * (len(points) - 1) + [15],
            "opacity": 1,
        }
        marker["line"] = {"color": look.neutral("background"), "width": 1}
        line = {"color": style.colour, "dash": style.dash, "width": 3}
        hover = f"{name}: %{{x:.2f}}, %{{y:.2f}}"
        style_options = {
            "mode": "lines+markers",
            "name": name,
            "hovertemplate": hover + "<extra></extra>",
        }
        figure.add_scatter(
            x=points[:, 0], y=points[:, 1], marker=marker, line=line, **style_options
        )
        (a, b) = points[0]
        (c, d) = points[-1]
        description += f" {name} goes from ({words.number(a)}, {words.number(b)}) to ({words.number(c)}, {words.number(d)})."
    look.legend_below(figure)
    figure.update_xaxes(range=[float(across[0]), float(across[-1])], showgrid=False, zeroline=False)
    figure.update_yaxes(range=[float(up[0]), float(up[-1])], showgrid=False, zeroline=False)
    return look.finish_figure(
        figure, alt=f"{description} The plane holds {captured:.0%} of the movement."
    )


def _array(values: Any) -> np.ndarray:
    return short(np.asarray(values))
