"""Maps of real and distilled images: which real points are covered, where the real ones are dense,
where the distilled ones lie.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core import DDLabError
from . import alt as words
from . import theme as look
from ._check import as_array, as_extent, as_names

# The densest 90%, 60% and 30% of the points lie inside.
_CONTOURS = {"start": 0.1, "end": 0.7, "size": 0.3}
DISTILLED = "distilled"
_BARE = "real, not covered"
_COVERED = "real, covered"


def embedding_map(
    real: Any,
    distilled: Any,
    *,
    covered: Any,
    real_classes: Sequence[str],
    distilled_classes: Sequence[str],
    density: tuple[Any, Any, Any] | None = None,
    extent: tuple[tuple[float, float], tuple[float, float]] | None = None,
    title: str = "Real and distilled images",
    x_label: str = "map, first axis",
    y_label: str = "map, second axis",
    height: int = 460,
) -> go.Figure:
    """Draw real points in a plane, covered ones filled and others hollow, and distilled ones.

    The distilled points are large, with their class; classes are named where they lie.

    Args:
        real: [n, 2].
        distilled: [m, 2].
        covered: [n], True where a distilled point is near (decided in feature space, not on the
            map).
        real_classes: the class of each real point, in words.
        distilled_classes: of each distilled one.
        density: (x, y, rank) as `ddlab.evaluation.embeddings.density` gives them, for contours
            around the densest 90, 60 and 30% of the points.
        extent: (low, high) of both axes, so that the map stands still while points move; default:
            what the points need.

    Example:
        embedding_map([[0, 0], [1, 0]], [[0.9, 0.1]], covered=[False, True], real_classes=["a", "b"], distilled_classes=["b"])
    """
    moving, alt = _points(real, distilled, covered, real_classes, distilled_classes)
    figure = look.start_figure(title=title, x_label=x_label, y_label=y_label, height=height)
    quiet = look.neutral("axis")
    text = look.neutral("text")
    if density is not None:
        add_contours(figure, density)
    for name, marker in (
        (_BARE, {"symbol": "circle-open", "color": quiet, "size": 5}),
        (_COVERED, {"symbol": "circle", "color": look.series_style(0).colour, "size": 6}),
    ):
        figure.add_scatter(
            **moving[name],
            mode="markers",
            name=name,
            marker=marker,
            hovertemplate="%{text}<extra>" + name + "</extra>",
        )
    orange = look.series_style(1).colour
    figure.add_scatter(
        **moving[DISTILLED],
        mode="markers+text",
        name=DISTILLED,
        cliponaxis=False,
        marker={
            "symbol": "diamond",
            "color": orange,
            "size": 19,
            "line": {"color": text, "width": 1.2},
        },
        textposition="middle center",
        textfont={"size": 11, "color": text},
        hovertemplate="%{text}<extra>distilled</extra>",
    )
    look.legend_below(figure)
    for update, limits in zip(
        (figure.update_xaxes, figure.update_yaxes), as_extent(extent), strict=True
    ):
        update(showgrid=False, zeroline=False, range=limits)
    return look.finish_figure(figure, alt=alt)


def _points(
    real: Any, distilled: Any, covered: Any, real_classes: Any, distilled_classes: Any
) -> tuple[dict[str, dict[str, Any]], str]:
    """Return what changes by trace when points move, and the alt text."""
    points = as_plane("real", real)
    marks = as_plane("distilled", distilled)
    is_covered = as_array("covered", covered).astype(bool)
    names = as_names("real_classes", real_classes, len(points))
    labels = as_names("distilled_classes", distilled_classes, len(marks))
    if len(is_covered) != len(points):
        raise DDLabError(
            f"covered must be an array of {len(points)} values, one per real point; given "
            f"{len(is_covered)}."
        )
    of_class = np.array([look.literal(name) for name in names])
    moving: dict[str, dict[str, Any]] = {
        name: {
            "x": short(points[mask, 0]),
            "y": short(points[mask, 1]),
            "text": of_class[mask],
        }
        for name, mask in ((_BARE, ~is_covered), (_COVERED, is_covered))
    }
    # Plain lists: the plot widget moves single points of this trace.
    moving[DISTILLED] = {
        "x": marks[:, 0].round(3).tolist(),
        "y": marks[:, 1].round(3).tolist(),
        "text": [look.literal(name) for name in labels],
    }
    classes = list(dict.fromkeys(names))
    alt = (
        f"Map of {len(points)} real images of {len(classes)} classes "
        f"({words.names(classes, limit=10)}) and {len(marks)} distilled "
        f"ones; {int(is_covered.sum())} real ones, {is_covered.mean():.0%}, have a distilled one near."
    )
    return moving, alt


def as_plane(argument: str, value: Any) -> np.ndarray:
    """Return the points of a map, [n, 2], checked."""
    array = as_array(argument, value, dimensions=(2,))
    if array.shape[1] != 2 or not np.isfinite(array).all():
        raise DDLabError(
            f"{argument} must be an array of shape [any, 2] with finite values; given one of "
            f"shape {list(array.shape)}."
        )
    return array


def add_contours(figure: go.Figure, density: Any) -> None:
    """Draw contours around the densest 90, 60 and 30% of the points.

    (x, y, rank) is what `embeddings.density` returns.
    """
    if not isinstance(density, tuple) or len(density) != 3:
        raise DDLabError(f"density must be a tuple (x, y, rank); given a {type(density).__name__}.")
    x, y = as_array("density x", density[0]), as_array("density y", density[1])
    rank = as_array("density rank", density[2], dimensions=(2,))
    if rank.shape != (y.size, x.size):
        raise DDLabError(
            f"density rank must be of shape {[y.size, x.size]}; given {list(rank.shape)}."
        )
    figure.add_contour(
        x=short(x),
        y=short(y),
        z=short(rank),
        contours={"coloring": "none", **_CONTOURS},
        showscale=False,
        line={"color": look.neutral("quiet"), "width": 1, "smoothing": 0.8},
        hoverinfo="skip",
        name="real images, densest 30, 60, 90%",
        showlegend=False,
    )


def short(values: np.ndarray) -> np.ndarray:
    """Return coordinates in half of the bytes."""
    # Plotly sends an array as its bytes: half of them are enough for a screen.
    return values.astype(np.float32)
