"""Ghosts: what a figure showed with the settings before, pale behind what it shows now.

So a change and its effect are seen in one picture.
"""

import plotly.graph_objects as go

from . import theme as look

_MOST = 3  # more of them would hide what is on show
_ALPHA = 0.45
# Marks a ghost, in `meta`: a `legendgroup` would stack the entries of the legend on each other.
_GHOST = "ghost"


def with_ghosts(figure: go.Figure, earlier: go.Figure, words: str) -> go.Figure:
    """Put the curves of an earlier figure behind those of `figure`, pale, and say what they were.

    The words stand in the top margin: a place in the legend would take height from the plot.

    Of the earlier figure those scatter traces count that have a name and a place in the legend.
    What the figure still shows itself, all points of it, leaves no ghost. Bars become strokes at
    their ends. The earlier figure's own ghosts are not passed on.

    Args:
        words: what was different then, such as "before: N 3".

    Returns:
        `figure` itself, changed in place.
    """
    ghosts = []
    points_on_show = set()
    for trace in figure.data:
        points_on_show |= _points(trace)
    bars = [trace for trace in earlier.data if trace.type == "bar"]
    for trace in earlier.data:
        is_curve = trace.type == "scatter" and trace.name and trace.showlegend is not False
        # Bars of several series stand beside each other, at places that nothing but plotly knows.
        is_single_bar = trace.type == "bar" and len(bars) == 1
        points = _points(trace)
        if not (is_curve or is_single_bar) or not points or points <= points_on_show:
            continue
        if trace.meta == _GHOST:
            continue
        ghosts.append(_ghost(trace, words))
    if not ghosts:
        return figure
    if len(figure.data) == 1 and figure.layout.showlegend is None:
        # Plotly gives two traces a legend by itself; one had none, and keeps its place.
        figure.update_layout(showlegend=False)
    # At the end, so that a click still names the figure's own traces by their numbers.
    figure.add_traces(ghosts[:_MOST])
    return figure.add_annotation(
        text=f"{look.literal(words)} (pale)",
        x=1,
        y=1,
        xref="paper",
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        showarrow=False,
        font={"size": 11, "color": look.neutral("quiet")},
    )


def _ghost(trace: go.Scatter | go.Bar, words: str) -> go.Scatter:
    colour = look.faint(look.neutral("quiet"), _ALPHA)
    marker = {"color": colour, "size": 6}
    mode = "lines+markers"
    line = {"color": colour, "width": 2}
    if trace.type == "bar":
        stroke = "line-ns-open" if trace.orientation == "h" else "line-ew-open"
        marker |= {"symbol": stroke, "size": 26, "line": {"width": 3, "color": colour}}
        mode = "markers"
    else:
        mode = trace.mode or "lines+markers"
        marker |= {"symbol": trace.marker.symbol}
        line |= {"dash": trace.line.dash}
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


def _points(trace: object) -> set[tuple[str, str]]:
    x = getattr(trace, "x", None)
    y = getattr(trace, "y", None)
    if x is None or y is None:
        return set()
    points = set()
    for across, up in zip(list(x), list(y), strict=False):
        # A gap between two lines is no point.
        if up is not None and across is not None:
            points.add((str(across), str(up)))
    return points
