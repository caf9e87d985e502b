"""Where the images of every method lie among the real ones, and how many of these they cover.

    rows = recorded("digits", "1")                # of the record: method -> its row
    method_map("digits", "1", "kip")

The map is fitted to real images alone, and coverage is measured in the teacher's features, not on
the map.
"""

import functools
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ... import records
from ...core.interval import interval
from ...figures import alt_text, finish_figure, series_style, sets_on_map
from ...figures.theme import neutral

REAL = "everything"  # the record's name for all images
RANDOM = "random"
_MAP_WIDTH = 0.6  # of the plot; coverage has the rest
_RING = 12  # px of a ring around one of few marks
_FONT = 9  # px of the names: there are 21
_SMALL = 6  # px of a mark: there are two thousand with ten images of each class


@functools.cache
def recorded(data: str, budget: str) -> dict[str, dict[str, Any]]:
    """Return the rows of each method within a budget, and of the real images."""
    return {
        row["method"]: row
        for row in records.load("arena_map").rows
        if row["data"] == data and row["budget"] in (budget, "all")
    }


def coverage(row: Mapping[str, Any]) -> float:
    """Return the mean coverage of a method's sets."""
    return fmean(row["coverages"])


def method_map(
    families: Mapping[str, tuple[str, ...]], data: str, budget: str, method: str, height: int
) -> go.Figure:
    """Draw the images of all methods on one map, and beside it the coverage of each.

    Args:
        families: name -> its methods; each has the colour that it has in the arena.
        data, budget: of the record; "1" or "10".
        method: whose images are ringed.
    """
    rows = recorded(data, budget)
    own_row = rows.get(method)
    covered = "no set of this size" if own_row is None else f"{coverage(own_row):.1%} covered"
    members = {
        family: [name for name in names if name in rows] for family, names in families.items()
    }
    figure = sets_on_map(
        _places(rows[REAL]),
        {
            family: np.concatenate([_places(rows[name]) for name in names])
            for family, names in members.items()
        },
        real_classes=rows[REAL]["labels"],
        title=f"{method}: {covered}, random images {coverage(rows[RANDOM]):.1%}",
        height=height,
    )
    figure.update_traces(marker_size=_SMALL, selector={"mode": "markers"})
    figure.update_traces(showlegend=False, selector={"name": "real images"})
    for family, names in members.items():
        # A click on an image chooses its method.
        clicked = [name for name in names for _ in rows[name]["x"]]
        figure.update_traces(customdata=clicked, selector={"name": family})
    if own_row is not None:
        figure.add_scatter(
            x=own_row["x"],
            y=own_row["y"],
            mode="markers",
            name=method,
            showlegend=False,
            text=own_row["labels"],
            hovertemplate=f"%{{text}}<extra>{method}</extra>",
            marker={
                "symbol": "circle-open",
                "color": neutral("text"),
                "size": _RING if len(own_row["x"]) <= 20 else _SMALL + 2,
                "line_width": 2,
            },
        )
    # The classes' names lie on top.
    figure.data = sorted(figure.data, key=lambda trace: trace.mode == "text")
    order = sorted((name for name in rows if name != REAL), key=lambda name: coverage(rows[name]))
    _add_coverage(figure, rows, members, order)
    figure.update_layout(
        xaxis={"domain": [0, _MAP_WIDTH], "showticklabels": False, "title": None},
        yaxis={"showticklabels": False, "title": None},
        xaxis2={"domain": [_MAP_WIDTH + 0.24, 1], "visible": False},
        yaxis2={"anchor": "x2", "range": [-0.7, len(order) - 0.3], "visible": False},
    )
    listed = ", ".join(f"{name} {coverage(rows[name]):.1%}" for name in reversed(order))
    return finish_figure(figure, alt=f"{alt_text(figure)} Coverage: {listed}.")


def _add_coverage(
    figure: go.Figure,
    rows: Mapping[str, dict[str, Any]],
    members: Mapping[str, list[str]],
    order: list[str],
) -> None:
    """Draw the coverage of each method beside the map, the largest at the top, with its interval."""
    shared: dict[str, Any] = {"showlegend": False, "xaxis": "x2", "yaxis": "y2"}
    for number, names in enumerate(members.values()):
        limits = [interval(rows[name]["coverages"]) or (0.0, 0.0) for name in names]
        style = series_style(number)
        figure.add_scatter(
            x=[coverage(rows[name]) for name in names],
            y=[order.index(name) for name in names],
            mode="markers",
            cliponaxis=False,
            error_x={
                "type": "data",
                "array": [(high - low) / 2 for low, high in limits],
                "width": 0,
                "thickness": 1,
            },
            marker={"symbol": style.marker, "color": style.colour, "size": 7},
            customdata=names,
            hovertext=names,
            hovertemplate="%{hovertext}: %{x:.1%}<extra></extra>",
            **shared,
        )
    figure.add_scatter(
        x=[0.0] * len(order),
        y=[*range(len(order))],
        mode="text",
        text=[f"{name} {coverage(rows[name]):.0%} " for name in order],
        textposition="middle left",
        textfont={"size": _FONT, "color": neutral("text")},
        cliponaxis=False,
        hoverinfo="skip",
        **shared,
    )


def _places(row: Mapping[str, Any]) -> np.ndarray:
    return np.array([row["x"], row["y"]]).T
