"""How each setting learns, as in Figures 1 and 2 of the ReLA paper."""

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

    `values` are the arguments of `move_curves`, of which only `curves` counts here.
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


def _array(values: Any) -> np.ndarray:
    return short(np.asarray(values))
