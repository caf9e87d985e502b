"""Distilled sets beside each other: all on one map, by the distances inside their classes, and one
class of each.

They replay Figs 1, 4 and 2 of Du et al. 2024 (DWA, arXiv 2409.17612).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import plotly.graph_objects as go

from ..core import checked, fail, within
from . import alt as words
from . import theme as look
from ._check import Named, as_array, as_extent, as_names, as_pair
from .embedding import add_contours, as_plane, short
from .images import as_pixels
from .panels import image_panels

REAL = "real images"
_AREA = (320, 180)  # px of a map, at least
_LETTER = 7.5  # px of a letter of a class's name
_LINE = 16  # and of its line


@checked
def sets_on_map(
    real: Any,
    sets: Named,
    *,
    set_classes: Mapping[str, Sequence[str]] | None = None,
    real_classes: Sequence[str] | None = None,
    density: tuple[Any, Any, Any] | None = None,
    extent: tuple[tuple[float, float], tuple[float, float]] | None = None,
    title: str = "Distilled sets among the real images",
    x_label: str = "map, first axis",
    y_label: str = "map, second axis",
    height: int = 460,
) -> go.Figure:
    """Draw several distilled sets on one map of the real images, each with its colour (DWA Fig 1).

    Args:
        real: [n, 2], small and grey.
        sets: name -> [m, 2]; the first one is drawn over the others.
        set_classes: name of a set -> the class of each of its points, in words, shown on hover.
        real_classes: the class of each real point; the name stands at the middle of its points.
        density: (x, y, rank) as `ddlab.evaluation.embeddings.density` gives them, for contours
            around the densest 90, 60 and 30% of the real points.
        extent: (low, high) of both axes, so that the map stands still; default: what the points
            need.

    Raises:
        DDLabError: points that are not [any, 2] and finite, no set, or classes that do not fit the
            points.

    Example:
        sets_on_map([[0, 0], [1, 0]], {"SRe2L": [[0.2, 0.1]], "DWA": [[0.9, 0.1]]})
    """
    points = as_plane("real", real)
    if set_classes is not None and not isinstance(set_classes, Mapping):
        fail("set_classes", "a mapping of name to classes", set_classes)
    figure = look.start_figure(title=title, x_label=x_label, y_label=y_label, height=height)
    if density is not None:
        add_contours(figure, density)
    figure.add_scatter(
        x=short(points[:, 0]),
        y=short(points[:, 1]),
        mode="markers",
        name=REAL,
        hoverinfo="skip",
        marker={"symbol": "circle-open", "color": look.neutral("axis"), "size": 4},
    )
    descriptions: list[str] = []
    # Turned round: what is drawn last lies on top.
    for index, (name, positions) in reversed(list(enumerate(sets.items()))):
        marks = as_plane(f"sets[{name!r}]", positions)
        classes = (set_classes or {}).get(name)
        if classes is not None:
            classes = [
                look.literal(class_name)
                for class_name in as_names(f"set_classes[{name!r}]", classes, len(marks))
            ]
        style = look.series_style(index)
        figure.add_scatter(
            x=short(marks[:, 0]),
            y=short(marks[:, 1]),
            mode="markers",
            name=look.literal(name),
            text=classes,
            hovertemplate=("" if classes is None else "%{text}")
            + f"<extra>{look.literal(name)}</extra>",
            marker={
                "symbol": style.marker,
                "color": style.colour,
                "size": 11,
                "line": {"color": look.neutral("background"), "width": 1.2},
            },
        )
        descriptions.insert(
            0,
            f"{len(marks)} of {name}, spread over {_spread(marks, points)} of the map's "
            "width and height",
        )
    if real_classes is not None:
        _add_names(figure, points, as_names("real_classes", real_classes, len(points)))
    look.legend_below(figure).update_layout(legend_traceorder="reversed")
    for update, limits in zip(
        (figure.update_xaxes, figure.update_yaxes), as_extent(extent), strict=True
    ):
        update(showgrid=False, zeroline=False, range=limits)
    return look.finish_figure(
        figure,
        alt=f"Map of {len(points)} real images and distilled ones: {'; '.join(descriptions)}.",
    )


@checked
def one_class(
    images_by_method: Named,
    label: Annotated[int, within(0, 1_000_000)],
    *,
    class_name: str = "",
    columns: int = 5,
    scale: int = 3,
) -> go.Figure:
    """Return the images of one class as each method made them, side by side (DWA Fig 2).

    Args:
        images_by_method: method -> (images as `as_pixels` takes them, uint8 [n, ...]; labels [n]),
            with as many images of the class in each.
        label: the class.
        class_name: in words, for title and alt text.
        columns: images per row of a method.
        scale: screen pixels per image pixel.

    Raises:
        DDLabError: a method without an image of the class, or methods with different numbers or
            sizes of them.

    Example:
        one_class({name: (made.to_uint8(), made.labels) for name, made in sets.items()}, 3, class_name="three")
    """
    chosen = {}
    for name, pair in images_by_method.items():
        argument = f"images_by_method[{name!r}]"
        images, labels = as_pair(argument, pair, "(images, labels)")
        pixels = as_pixels(images)
        classes = as_array(f"the labels of {argument}", labels)
        if len(pixels) != classes.size or not (classes == label).any():
            fail(
                f"the labels of {argument}",
                f"{len(pixels)} class labels with {label} among them",
                classes.tolist(),
            )
        chosen[name] = pixels[classes == label]
    title = f"The images of class {class_name or label}"
    return image_panels(chosen, columns, title=title, scale=scale)


def _add_names(figure: go.Figure, points: np.ndarray, classes: list[str]) -> None:
    """Write each class's name at the middle of its points, or above another name that lies there.

    Few far points do not move a middle.
    """
    names = list(dict.fromkeys(classes))
    of_class = np.array(classes)
    middles = np.array([np.median(points[of_class == name], axis=0) for name in names])
    to_pixels = np.array(_AREA) / np.ptp(points, axis=0).clip(1e-9)
    placed = list[int]()
    for index in np.argsort(middles[:, 1]):
        for other in placed:
            gap = (middles[index] - middles[other]) * to_pixels
            width = _LETTER * (len(names[index]) + len(names[other])) / 2
            if abs(gap[0]) < width and gap[1] < _LINE:
                middles[index, 1] = middles[other, 1] + _LINE / to_pixels[1]
        placed.append(index)
    figure.add_scatter(
        x=short(middles[:, 0]),
        y=short(middles[:, 1]),
        mode="text",
        text=[f"<b>{look.literal(name)}</b>" for name in names],
        textfont={"size": 12, "color": look.neutral("text")},
        showlegend=False,
        hoverinfo="skip",
    )


def _spread(marks: np.ndarray, real: np.ndarray) -> str:
    """Describe the part of the real points' extent that a set takes, as in "70% and 40%"."""
    width = np.ptp(real, axis=0)
    shares = np.divide(np.ptp(marks, axis=0), width, out=np.zeros(2), where=width > 0)
    return words.names([f"{share:.0%}" for share in shares])
