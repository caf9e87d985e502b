"""Views of images of a few classes on a map, as ReLA's Figures 6 to 9 show them (Sun et al. 2024, arXiv 2405.14669)."""

from __future__ import annotations

import plotly.graph_objects as go

from ..core.boundary import checked
from . import alt as words
from . import theme as look
from ._check import Named
from .embedding import as_plane, short
from .theme import ThemeName


@checked
def classes_on_map(
    classes: Named,
    *,
    title: str = "Views of the images of two classes",
    x_label: str = "map, first axis",
    y_label: str = "map, second axis",
    theme: ThemeName = "light",
    height: int = 420,
) -> go.Figure:
    """Points of each class with its own colour and marker.

    Args:
        classes: name -> [n, 2].

    Raises:
        DDLabError: no class, or points that are not [any, 2] and finite.

    Example:
        classes_on_map({"disc": [[0, 0], [1, 0]], "cross": [[2, 1]]})
    """
    figure = look.start_figure(title=title, x_label=x_label, y_label=y_label, theme=theme, height=height)
    said: list[str] = []
    for index, (name, positions) in enumerate(classes.items()):
        points, style = as_plane(f"classes[{name!r}]", positions), look.series_style(index, theme)
        figure.add_scatter(
            x=short(points[:, 0]), y=short(points[:, 1]), mode="markers", name=look.literal(name), hoverinfo="name",
            marker={"symbol": style.marker, "color": style.colour, "size": 7, "opacity": 0.8},
        )  # fmt: skip
        said.append(f"{len(points)} of {name}")
    look.legend_below(figure)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(showgrid=False, zeroline=False)
    return look.finish_figure(figure, alt=f"Map of views: {words.names(said)}.")
