"""Ghosts: what a figure showed with other settings, pale behind what it shows now.

So a change and its effect are seen in one picture. The settings before leave theirs by themselves;
what a reader keeps stays, one dash for each.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from . import theme as look

_MOST = 3  # more of them would hide what is on show
_ALPHA = 0.45
_KEPT_ALPHA = 0.8
# Marks a ghost, in `meta`: a `legendgroup` would stack the entries of the legend on each other.
_GHOST = "ghost"
KEPT_DASHES = {"dash": "╌", "dot": "┈", "longdashdot": "╌·"}
"""Dash of a kept curve -> the sign that names it in words."""


def have_same_axes(figure: go.Figure, other: go.Figure) -> bool:
    """Return whether both figures draw the same quantities in the same coordinates.

    Coordinates that the titles of the axes don't name, such as those of a plane that was fitted, are
    named in `finish_figure`.
    """
    return _axes(figure) == _axes(other)


def _axes(figure: go.Figure) -> tuple:
    layout = figure.layout
    axes = [(axis.title.text, axis.type) for axis in (layout.xaxis, layout.yaxis)]
    return *axes, (layout.meta or {}).get("coordinates", "")


def with_kept(figure: go.Figure, kept: Sequence[go.Figure]) -> go.Figure:
    """Put the curves of kept figures of the same axes behind those of `figure`, dashed and grey.

    Returns:
        `figure` itself, changed in place.
    """
    for dash, earlier in zip(KEPT_DASHES, kept, strict=False):
        if have_same_axes(figure, earlier):
            curves = _curves(figure, earlier)[:_MOST]
            figure.add_traces([_ghost(trace, "kept", dash, _KEPT_ALPHA) for trace in curves])
            for axis in ("xaxis", "yaxis"):
                _widen(figure.layout[axis], earlier.layout[axis])
    return figure


def _widen(
    axis: go.layout.XAxis | go.layout.YAxis, kept: go.layout.XAxis | go.layout.YAxis
) -> None:
    """Let an axis whose range is fixed hold that of a kept figure, too."""
    if axis.range is not None and kept.range is not None and axis.range[0] < axis.range[1]:
        low, high = sorted(kept.range)
        axis.range = [min(axis.range[0], low), max(axis.range[1], high)]


def with_ghosts(figure: go.Figure, earlier: go.Figure, words: str) -> go.Figure:
    """Put the curves of an earlier figure behind those of `figure`, pale, and say what they were.

    The words stand in the top margin: a place in the legend would take height from the plot.

    Of the earlier figure those scatter traces count that have a name and a place in the legend.
    What the figure still shows itself, all points of it, leaves no ghost. Bars become strokes at
    their ends. The earlier figure's own ghosts are not passed on. A figure of other axes leaves none.

    Args:
        words: what was different then, such as "before: N 3".

    Returns:
        `figure` itself, changed in place.
    """
    ghosts = []
    if have_same_axes(figure, earlier):
        ghosts = [_ghost(trace, words) for trace in _curves(figure, earlier)]
    if not ghosts:
        return figure
    if len(figure.data) == 1 and figure.layout.showlegend is None:
        # Plotly gives two traces a legend by itself; one had none, and keeps its place.
        figure.update_layout(showlegend=False)
    # At the end, so that a click still names the figure's own traces by their numbers.
    figure.add_traces(ghosts[:_MOST])
    return figure.add_annotation(_note(look.literal(words)))


def _note(words: str) -> dict[str, Any]:
    """Return the annotation in the top margin that names a ghost."""
    return {
        "text": f"{words} (pale)",
        "x": 1,
        "y": 1,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "right",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 11, "color": look.neutral("quiet")},
    }


def _curves(figure: go.Figure, earlier: go.Figure) -> list[go.Scatter | go.Bar]:
    """Return the curves of an earlier figure that `figure` doesn't show itself."""
    points_on_show = set()
    for trace in figure.data:
        points_on_show |= _points(trace)
    bars = [trace for trace in earlier.data if trace.type == "bar"]
    curves = []
    for trace in earlier.data:
        is_curve = trace.type == "scatter" and trace.name and trace.showlegend is not False
        # Bars of several series stand beside each other, at places that nothing but plotly knows.
        is_single_bar = trace.type == "bar" and len(bars) == 1
        points = _points(trace)
        is_new = bool(points) and not points <= points_on_show and trace.meta != _GHOST
        if (is_curve or is_single_bar) and is_new:
            curves.append(trace)
    return curves


def _ghost(
    trace: go.Scatter | go.Bar, words: str, dash: str = "", alpha: float = _ALPHA
) -> go.Scatter:
    colour = look.faint(look.neutral("quiet"), alpha)
    marker = {"color": colour, "size": 6}
    line = {"color": colour, "width": 2}
    if trace.type == "bar":
        stroke = "line-ns-open" if trace.orientation == "h" else "line-ew-open"
        marker |= {"symbol": stroke, "size": 26, "line": {"width": 3, "color": colour}}
        mode = "markers"
    else:
        mode = trace.mode or "lines+markers"
        marker |= {"symbol": trace.marker.symbol}
        line |= {"dash": dash or trace.line.dash}
    return go.Scatter(
        x=trace.x,
        y=trace.y,
        xaxis=trace.xaxis,
        yaxis=trace.yaxis,
        mode=mode,
        name=look.literal(words),
        meta=_GHOST,
        zorder=-1,
        showlegend=False,
        hoverinfo="skip",
        line=line,
        marker=marker,
    )


def looks() -> dict[str, Any]:
    """Return how ghosts look, for a page that makes its own: of curves, of bars and of kept curves, the
    signs of these, and the note that names a ghost, with "WORDS" for its words.
    """
    curve, bar = _ghost(go.Scatter(), ""), _ghost(go.Bar(), "")
    kept = [_ghost(go.Scatter(), "kept", dash, _KEPT_ALPHA) for dash in KEPT_DASHES]
    return {
        "curve": curve.to_plotly_json(),
        "bar": bar.to_plotly_json(),
        "kept": [trace.to_plotly_json() for trace in kept],
        "signs": [*KEPT_DASHES.values()],
        "note": _note("WORDS"),
    }


def _points(trace: object) -> set[tuple[str, str]]:
    x = getattr(trace, "x", None)
    y = getattr(trace, "y", None)
    if x is None or y is None:
        return set()
    # A gap between two lines is no point.
    points = {
        (str(across), str(up))
        for across, up in zip(list(x), list(y), strict=False)
        if up is not None and across is not None
    }
    return points
