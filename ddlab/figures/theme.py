"""Colours, line styles and templates of all figures, for light and dark pages.

Colours are those of Okabe and Ito, which readers with colour-vision deficiency can tell apart. The
two themes use the same list in another order, so that every line keeps enough contrast on its
background; line dash and marker shape differ as well as colour.

A figure is built in the light theme. The plot widget moves it to the dark one, in the browser and
without asking Python, by exchanging colour codes one for one (`palette`).

    figure = start_figure(title="Loss", x_label="step", y_label="loss")
    style = series_style(0)
    figure.add_scatter(x=[1, 2], y=[3, 4], name="train", **line_style(style))
    finish_figure(figure, alt="Line chart of ...")
"""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import plotly.graph_objects as go

from ..core import checked, fail, within
from ._check import Words

ThemeName = Literal["light", "dark"]
THEMES: tuple[ThemeName, ...] = ("light", "dark")

# One colour per series, in the order of use. Vermillion and green stand far apart: red is never set
# against green.
_SERIES = {
    "light": ("#0072B2", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#009E73", "#000000"),
    "dark": ("#56B4E9", "#E69F00", "#CC79A7", "#F0E442", "#0072B2", "#009E73", "#FFFFFF"),
}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
_MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "triangle-down", "star")
_PATTERNS = ("", "/", "x", ".", "-", "\\", "+")

# What is not a series: background, text, quiet text, axis lines, grid.
_NEUTRALS = {
    "light": ("#FFFFFE", "#1B1B1B", "#5E5E5E", "#8A8A8A", "#E4E4E4"),
    "dark": ("#111112", "#EDEDED", "#B4B4B4", "#7C7C7C", "#333333"),
}
_NEUTRAL_NAMES = ("background", "text", "quiet", "axis", "grid")


@dataclass(frozen=True, kw_only=True)
class SeriesStyle:
    """How the series at one position looks: never by colour alone."""

    colour: str
    dash: str
    marker: str
    pattern: str


@checked
def series_style(index: Annotated[int, within(0)]) -> SeriesStyle:
    """Return the colour, dash, marker and bar pattern of series number `index`.

    They count from 0 and repeat after seven.
    """
    at = index % len(_DASHES)
    return SeriesStyle(
        colour=_SERIES["light"][at], dash=_DASHES[at], marker=_MARKERS[at], pattern=_PATTERNS[at]
    )


def neutral(name: Literal["background", "text", "quiet", "axis", "grid"]) -> str:
    """Return the colour of something that is not a series."""
    return _NEUTRALS["light"][_NEUTRAL_NAMES.index(name)]


# Of a line that others are held against.
DASHED = {"color": neutral("quiet"), "dash": "dash", "width": 1.5}


def faint(colour: str, alpha: float) -> str:
    """`colour` (#RRGGBB) made see-through, its first seven signs those of the palette."""
    return f"{colour}{round(255 * alpha):02X}"


@checked
def line_style(
    style: SeriesStyle, *, width: Annotated[float, within(0)] = 2.0, markers: bool = False
) -> dict[str, Any]:
    """Return the keyword arguments of a scatter trace."""
    chosen: dict[str, Any] = {
        "line": {"color": style.colour, "dash": style.dash, "width": width},
        "mode": "lines",
    }
    if markers:
        chosen.update(
            mode="lines+markers", marker={"symbol": style.marker, "size": 7, "color": style.colour}
        )
    return chosen


def palette(theme: ThemeName) -> list[str]:
    """Return every colour code of a theme.

    Codes at the same place in both themes stand for each other.
    """
    return list(_SERIES[theme] + _NEUTRALS[theme])


def template() -> dict[str, Any]:
    """Return the plotly template of all figures, as plain dict."""
    text, quiet, axis, grid = (neutral(name) for name in ("text", "quiet", "axis", "grid"))
    background = neutral("background")
    one_axis = {
        "automargin": True,
        "color": text,
        "gridcolor": grid,
        "linecolor": axis,
        "showline": True,
        "ticks": "outside",
        "tickcolor": axis,
        "ticklen": 4,
        "title": {"standoff": 8, "font": {"size": 13}},
        "zerolinecolor": axis,
        "zerolinewidth": 1,
    }
    layout = {
        "autosize": True,
        "colorway": list(_SERIES["light"]),
        "font": {
            "color": text,
            "family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif",
            "size": 13,
        },
        "hoverlabel": {"bgcolor": background, "bordercolor": axis, "font": {"color": text}},
        "legend": {"bgcolor": "rgba(0,0,0,0)", "font": {"color": text}, "itemsizing": "constant"},
        "margin": {"l": 60, "r": 20, "t": 48, "b": 48},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": axis, "activecolor": text},
        "paper_bgcolor": background,
        "plot_bgcolor": background,
        "title": {
            "font": {"size": 14},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 14, "l": 8},
        },
        "xaxis": one_axis,
        "yaxis": one_axis,
        "annotationdefaults": {"font": {"color": quiet, "size": 12}, "arrowcolor": axis},
    }
    return {"layout": layout}


@checked
def start_figure(
    *,
    title: Words,
    x_label: Words,
    y_label: Words,
    height: Annotated[int, within(10, 20_000)] = 360,
) -> go.Figure:
    """Return an empty figure with title and labelled axes."""
    return go.Figure(
        layout={
            "template": template(),
            "title": {"text": literal(title)},
            "xaxis": {"title": {"text": literal(x_label)}},
            "yaxis": {"title": {"text": literal(y_label)}},
            "height": height,
            "meta": {"alt": ""},
        }
    )


def changed(figure: go.Figure, moving: Mapping[str, Mapping[str, Any]]) -> go.Figure:
    """Give other values to a figure's traces, by name and attribute, in place.

    Raises:
        DDLabError: a figure that has not all of these traces.
    """
    if missing := moving.keys() - {trace.name for trace in figure.data}:
        fail("figure", f"one with a trace {min(missing)!r}", figure)
    for trace in figure.data:
        for attribute, values in moving.get(trace.name, {}).items():
            trace[attribute] = values
    return figure


@checked
def finish_figure(figure: go.Figure, *, alt: Words, coordinates: str = "") -> go.Figure:
    """Store the alt text: one sentence, with numbers, of what the figure shows.

    Args:
        coordinates: what the axes mean where their titles don't say it, such as which plane was
            fitted. Curves of other coordinates leave no ghost.
    """
    meta = {"alt": " ".join(alt.split()), "coordinates": coordinates}
    figure.layout.meta = {**(figure.layout.meta or {}), **meta}
    return figure


def literal(name: object) -> str:
    """Return a reader's own name so that plotly shows it letter by letter, on one line.

    `<b>` in it is no markup, `$x$` no formula.
    """
    return html.escape(" ".join(str(name).split()), quote=False).replace("$", "&#36;")


def legend_below(figure: go.Figure) -> go.Figure:
    """Put the legend under the x axis, where it takes no width from the data.

    However long it is, the plot makes room for it.
    """
    place = {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
    }
    figure.update_layout(showlegend=True, legend=place)
    return figure


@checked
def alt_text(figure: go.Figure) -> str:
    """Return the stored alt text of a figure, or "" where it has none."""
    meta = figure.layout.meta
    return str(meta.get("alt", "")) if isinstance(meta, dict) else ""
