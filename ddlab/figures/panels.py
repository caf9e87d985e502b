"""Several grids of images beside each other, as one static figure."""

import base64
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import plotly.graph_objects as go

from ..core import DDLabError, checked, within
from . import theme as look
from ._check import Named, Scale, as_names
from .images import WIDEST, as_pixels, compose_grid, encode_png

_BETWEEN = 22  # see-through pixels between two panels
# room for row names, title and panel names, and nothing
_LABEL_WIDTH = 84
_TOP = 78
_EDGE = 10


@checked
def image_panels(
    panels: Named,
    columns: Annotated[int, within(1)],
    *,
    title: str,
    row_labels: Sequence[str] | None = None,
    scale: Scale = 2,
) -> go.Figure:
    """Draw grids of as many images each, from left to right, each with its name above it.

    Args:
        panels: name -> images as `as_pixels` takes them (uint8), the same number and size in each.
        columns: images per row of a panel.
        row_labels: one for each row; all panels share them.
        scale: screen pixels per image pixel.

    Raises:
        DDLabError: no panels, images of different number or size, or labels that do not fit the
            rows.

    Example:
        image_panels({"real": real, "made": made}, columns=5, title="Two sets", row_labels=["cat", "dog"])
    """
    pixels = {str(name): as_pixels(images) for name, images in panels.items()}
    shapes = {images.shape for images in pixels.values()}
    if len(shapes) > 1:
        shapes_text = ", ".join(f"{name!r} {list(images.shape)}" for name, images in pixels.items())
        raise DDLabError(
            f"panels must be of the same number and size of images; given {shapes_text}."
        )
    count, high = shapes.pop()[:2]
    columns = min(columns, count)
    rows = -(-count // columns)
    names = None if row_labels is None else as_names("row_labels", row_labels, rows)
    grids = [compose_grid(images, columns, scale) for images in pixels.values()]
    gap = np.zeros((grids[0].shape[0], _BETWEEN, 4), np.uint8)
    canvas = np.concatenate([part for grid in grids for part in (gap, grid)][1:], axis=1)

    figure = look.start_figure(title=title, x_label="set", y_label="class")
    source = "data:image/png;base64," + base64.b64encode(encode_png(canvas, level=6)).decode()
    figure.add_trace(go.Image(source=source, hoverinfo="skip"))
    quiet = {
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "title": {"text": ""},
    }
    quiet |= {"constrain": "domain", "ticklabelstandoff": 4, "tickmode": "array"}
    width = grids[0].shape[1]
    step = high * scale + 2
    centres = [number * (width + _BETWEEN) + width / 2 for number in range(len(grids))]
    figure.update_xaxes(
        **quiet,
        side="top",
        tickvals=centres,
        ticktext=[f"<b>{look.literal(name)}</b>" for name in pixels],
    )
    middles = [row * step + high * scale / 2 for row in range(rows)]
    figure.update_yaxes(
        **quiet,
        tickvals=middles,
        ticktext=[look.literal(name) for name in names or ()],
        showticklabels=names is not None,
    )
    margin = {"l": _EDGE if names is None else _LABEL_WIDTH, "r": _EDGE, "t": _TOP, "b": _EDGE}
    figure.update_layout(
        margin=margin,
        height=canvas.shape[0] + margin["t"] + margin["b"],
        width=min(canvas.shape[1] + margin["l"] + margin["r"], WIDEST),
    )
    description = (
        f"{title}: {len(grids)} grids beside each other ({', '.join(pixels)}), each of {count} "
        f"images in {rows} rows"
    )
    return look.finish_figure(
        figure, alt=description + ("." if names is None else f"; rows: {', '.join(names)}.")
    )
