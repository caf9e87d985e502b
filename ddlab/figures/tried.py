"""Settings that were tried: points along one control, a colour and a shape for each arm, rivals that
stay, and a ring on what is on show.

figure = tried_settings(
    {"fixed start": {1: [0.3, 0.4], 3: [0.6, 0.7]}},          # arm -> where -> a value for each seed
    rivals={"class means": 0.5},
    on_show=(3, 0.65),
    title="After N steps", x_label="steps N",
)
"""

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any

import plotly.graph_objects as go

from ..core.interval import interval, within_accuracy
from .theme import (
    DASHED,
    faint,
    finish_figure,
    legend_below,
    line_style,
    literal,
    neutral,
    series_style,
    start_figure,
)

_DASHES = ("dash", "dot", "dashdot", "longdash")  # of rivals
_FEWEST = 3  # seeds of which an interval says something
_MOST_ARMS = 7  # then their looks repeat
# Mark, in `meta`, what a page without a kernel adds of other settings.
_ARM = "arm"
_SEED = "seed"
_RIVAL = "rival"
Arm = Mapping[Any, Sequence[float]]


def tried_settings(
    arms: Mapping[str, Arm],
    *,
    title: str,
    x_label: str,
    y_label: str = "test accuracy",
    rivals: Mapping[str, float | Arm] | None = None,
    on_show: tuple[Any, float] | None = None,
    stops: Mapping[Hashable, str] | None = None,
    places: Sequence[float] | None = None,
    log: bool = False,
    limits: tuple[float, float] = (0.0, 1.0),
    percent: bool = True,
    across: bool = False,
    lines: bool = True,
    height: int = 360,
) -> go.Figure:
    """Draw the values of the settings that were tried.

    Args:
        arms: name -> where along the control -> the value of each seed, one or more. An arm without
            a value keeps its place in the legend.
        rivals: name -> a level, or values along the control; dashed.
        on_show: where along the control, and which value, has the ring.
        stops: the places of a control of choices, in their order, each with its words.
        places: of the marks on the axis of a control of numbers, of which the ends are shown.
        log: whether a control of numbers has a logarithmic axis.
        limits: of the values, unless one lies beyond.
        percent: whether values are fractions that are written in percent.
        across: whether the control stands upright, and the values run from left to right.
        lines: whether the means of an arm are joined.
    """
    figure = start_figure(title=title, x_label=x_label, y_label=y_label, height=height)
    order = {stop: place for place, stop in enumerate(stops or {})}
    add = _Adder(figure, order, across)
    described = []
    all_values = []
    for index, (name, arm) in enumerate(arms.items()):
        means = {place: statistics.fmean(values) for place, values in arm.items()}
        all_values += [value for values in arm.values() for value in values]
        style = line_style(series_style(index), markers=True)
        style["mode"] = "lines+markers" if lines else "markers"
        add([*means.items()], name=literal(name), meta=[_ARM, name], **style, **_bars(arm, across))
        seeds = []
        for place, accuracies in arm.items():
            seeds += [(place, value) for value in accuracies] if len(accuracies) > 1 else []
        if seeds:
            look = {"mode": "markers", "marker": looks()[index % _MOST_ARMS]["seed"]}
            add(seeds, showlegend=False, hoverinfo="skip", meta=[_SEED, name], **look)
        written = ", ".join(
            f"{_words(value, percent)} at {place}" for place, value in means.items()
        )
        described.append(f"{name} {written or 'not tried yet'}")
    axis_ends = [0, len(order) - 1] if order else [min(places or [0]), max(places or [1])]
    for dash, (name, rival) in zip(_DASHES, (rivals or {}).items(), strict=False):
        values: Arm = rival if isinstance(rival, Mapping) else {end: [rival] for end in axis_ends}
        is_level = values is not rival
        means = {place: statistics.fmean(seeds) for place, seeds in values.items()}
        all_values += means.values()
        style = {"mode": "lines" if is_level else "lines+markers", "line": DASHED | {"dash": dash}}
        style |= {} if is_level else {"meta": [_RIVAL, name]}
        add(
            [*means.items()], name=literal(name), is_level=is_level, marker={"symbol": "x"}, **style
        )
        described.append(f"{name} {', '.join(_words(value, percent) for value in means.values())}")
    if on_show is not None:
        ring = {"symbol": "circle-open", "size": 16, "color": neutral("text"), "line": {"width": 2}}
        add([on_show], name="on show", mode="markers", marker=ring)
        all_values.append(on_show[1])
    _set_axes(figure, stops or {}, places, log=log, across=across)
    margin = 0.04 * (limits[1] - limits[0])
    low, high = (
        min([limits[0], *(value - margin for value in all_values)]),
        max([limits[1], *all_values]),
    )
    values_axis = figure.layout.xaxis if across else figure.layout.yaxis
    values_axis.update(range=[low, high + margin * 0.5], tickformat=".0%" if percent else "")
    alt = f"{title}, by {x_label}: {'; '.join(described)}."
    tried = {"along": "y" if across else "x", "has_words": bool(stops)}
    figure.update_layout(meta={"tried": tried})
    return finish_figure(legend_below(figure), alt=alt)


class _Adder:
    """Adds points to a figure, at the places of choices where there are some."""

    def __init__(self, figure: go.Figure, order: Mapping[Any, int], across: bool) -> None:
        self.figure = figure
        self.order = order
        self.across = across

    def __call__(
        self, points: Sequence[tuple[Any, float]], *, is_level: bool = False, **style: Any
    ) -> None:
        along = [place if is_level else self.order.get(place, place) for place, _ in points]
        values = [value for _, value in points]
        x, y = (values, along) if self.across else (along, values)
        self.figure.add_scatter(x=x, y=y, **style)


@cache
def looks() -> list[dict[str, Any]]:
    """Return how arms look in their order, for a page that adds some: line, marker, and the marker of
    a seed.
    """
    styles = [line_style(series_style(index), markers=True) for index in range(_MOST_ARMS)]
    return [
        {
            "line": style["line"],
            "marker": style["marker"],
            "seed": {"size": 4, "color": faint(style["marker"]["color"], 0.5)},
        }
        for style in styles
    ]


def _bars(arm: Arm, across: bool) -> dict[str, Any]:
    """Return the 95% intervals of the means, where there are seeds enough."""
    above, below = [], []
    for values in arm.values():
        mean = statistics.fmean(values)
        bounds = within_accuracy(interval(values)) if len(values) >= _FEWEST else None
        low, high = bounds or (mean, mean)
        above.append(high - mean)
        below.append(mean - low)
    if not any(above):
        return {}
    bars = {"array": above, "arrayminus": below, "symmetric": False, "width": 0, "thickness": 1}
    return {"error_x" if across else "error_y": bars}


def _set_axes(
    figure: go.Figure,
    stops: Mapping[Hashable, str],
    places: Sequence[float] | None,
    *,
    log: bool,
    across: bool,
) -> None:
    """Give the axis of the control its ends and its words."""
    axis = figure.layout.yaxis if across else figure.layout.xaxis
    if stops:
        # Categories named 1, 2, 5, 50 stay categories: places with words, and not a numeric axis.
        axis.update(
            tickvals=list(range(len(stops))),
            ticktext=[literal(words).replace("&#10;", "<br>") for words in stops.values()],
            range=[len(stops) - 0.5, -0.5] if across else [-0.5, len(stops) - 0.5],
        )
        if across:
            axis.title.text = ""
    elif places:
        axis.update(tickvals=list(places), ticktext=[f"{place:g}" for place in places])
        if log:
            log_range = math.log10(0.85 * min(places)), math.log10(1.2 * max(places))
            axis.update(type="log", range=log_range)
        else:
            margin = 0.05 * (max(places) - min(places))
            axis.update(range=[min(places) - margin, max(places) + margin])


def _words(value: float, percent: bool) -> str:
    return f"{value:.1%}" if percent else f"{value:.3g}"
