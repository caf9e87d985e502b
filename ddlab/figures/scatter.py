"""Points with names and families in a plane of any two measures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from ..core import checked, fail
from . import alt as words
from . import theme as look

_WIDTH = 520.0  # px of a plot beside controls
_LETTER = 6.6  # px of a letter of a label
_LINE = 15.0  # and of its line
_PLACES = {
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top center": (0, 1),
    "bottom center": (0, -1),
}


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point of `scatter`: where it lies, its family, and the ends of its interval, None where
    it has none.
    """

    x: float
    y: float
    family: str
    low: float | None = None
    high: float | None = None


@checked
def scatter(
    points: dict[str, Point],
    *,
    title: str,
    x_label: str,
    y_label: str,
    logarithmic: bool = False,
    chosen: str = "",
    first: Sequence[str] = (),
    named: Sequence[str] | None = None,
    height: int = 400,
) -> go.Figure:
    """Draw named points, a colour and shape for each family, with intervals upwards.

    Names stand where there is room, `first` ones first.

    Args:
        points: name -> `Point`.
        logarithmic: whether x is; it is then above 0.
        chosen: the name that is ringed.
        named: the points whose names are written; default all.

    Raises:
        DDLabError: no points, or one that has no place.

    Example:
        scatter({"DM": Point(x=2.0, y=0.88, family="matching")}, title="...", x_label="seconds", y_label="accuracy")
    """
    if not points:
        fail("points", "a mapping of at least one name to a Point", points)
    for name, point in points.items():
        if not np.isfinite([point.x, point.y]).all() or (logarithmic and point.x <= 0):
            fail(f"points[{name!r}]", "of finite numbers, x above 0 on a logarithmic axis", point)
    figure = look.start_figure(title=title, x_label=x_label, y_label=y_label, height=height)
    families = list(dict.fromkeys(point.family for point in points.values()))
    top, bottom = 40, 60 + 20 * (len(families) // 2 + 1)
    order = [
        name
        for name in (chosen, *first, *points)
        if name in points and (named is None or name in named)
    ]
    places = _labels(points, logarithmic, order, height - top - bottom)
    for number, family in enumerate(families):
        family_points = {name: point for name, point in points.items() if point.family == family}
        style = look.series_style(number)
        xs = [p.x for p in family_points.values()]
        ys = [p.y for p in family_points.values()]
        error_bars = [
            (p.y - (p.y if p.low is None else p.low), (p.y if p.high is None else p.high) - p.y)
            for p in family_points.values()
        ]
        edges = [look.neutral("text") if name == chosen else style.colour for name in family_points]
        figure.add_scatter(
            x=xs,
            y=ys,
            mode="markers+text",
            name=look.literal(family),
            customdata=[look.literal(name) for name in family_points],
            cliponaxis=False,
            text=[look.literal(name) if name in places else "" for name in family_points],
            textposition=[places.get(name, "top center") for name in family_points],
            textfont={"size": 11, "color": look.neutral("text")},
            marker={
                "symbol": style.marker,
                "color": style.colour,
                "size": [14 if name == chosen else 10 for name in family_points],
                "line": {
                    "color": edges,
                    "width": [3 if name == chosen else 0 for name in family_points],
                },
            },
            error_y={
                "type": "data",
                "symmetric": False,
                "arrayminus": [low for low, _ in error_bars],
                "array": [high for _, high in error_bars],
                "thickness": 1,
                "width": 0,
                "color": style.colour,
            },
            hovertext=[look.literal(name) for name in family_points],
            hovertemplate="%{hovertext}: %{x:.3g}, %{y:.3f}<extra>"
            + look.literal(family)
            + "</extra>",
        )
    if logarithmic:
        figure.update_xaxes(type="log", dtick=1)
    descriptions = [
        f"{name} ({point.family}) at {words.number(point.x)}, {words.number(point.y)}"
        for name, point in points.items()
    ]
    # Margins that do not follow labels: axes change with every press of a key, and plotly would
    # measure them twice.
    figure.update_xaxes(automargin=False).update_yaxes(automargin=False)
    figure.update_layout(margin={"l": 64, "r": 12, "t": top, "b": bottom})
    return look.finish_figure(
        look.legend_below(figure), alt=f"{y_label} against {x_label}: {'; '.join(descriptions)}."
    )


def _labels(
    points: dict[str, Point], logarithmic: bool, order: Sequence[str], height: float
) -> dict[str, str]:
    """Choose which names are written and where: away from all points and from the names before.

    Args:
        height: of the plotting area, in pixels.
    """
    rows = [[np.log10(point.x) if logarithmic else point.x, point.y] for point in points.values()]
    at = np.array(rows)
    # The axis makes room for the intervals, too, which moves the points closer together.
    interval_ends = [point.y if point.low is None else point.low for point in points.values()]
    interval_ends += [point.y if point.high is None else point.high for point in points.values()]
    low = np.minimum(at.min(0), [np.inf, min(interval_ends)])
    high = np.maximum(at.max(0), [-np.inf, max(interval_ends)])
    size = np.array([_WIDTH, height])
    # Plotly leaves about a twentieth free on each side.
    shares = 0.05 + 0.9 * (at - low) / np.maximum(high - low, 1e-9)
    pixels = dict(zip(points, shares * size, strict=True))
    boxes = [(*(centre - 6), *(centre + 6)) for centre in pixels.values()]
    places = dict[str, str]()
    for name in dict.fromkeys(order):
        half = np.array([_LETTER * len(name), _LINE]) / 2
        for position, direction in _PLACES.items():
            centre = pixels[name] + np.array(direction) * (half + 7)
            box = (*(centre - half), *(centre + half))
            inside = box[0] > -10 and box[2] < _WIDTH + 10
            if inside and not any(
                box[0] < x1 and x0 < box[2] and box[1] < y1 and y0 < box[3]
                for x0, y0, x1, y1 in boxes
            ):
                places[name] = position
                boxes = [*boxes, box]
                break
    return places
