"""Grids of images: as PNG bytes for an image widget, and as a plotly figure for a static view.

Encoding is by hand (zlib level 1): it takes about a tenth of the time of plotting the pixels, and
the scrubber encodes every frame of a run. Text in the grid is drawn in a grey that reads on light
and on dark pages. The gaps are see-through, but for a thin frame around each image: without it dark
images run into each other on a dark page.
"""

import base64
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import plotly.graph_objects as go

from ..core import DDLabError, checked, fail, within
from . import theme as look
from ._check import Scale, as_names

# 4.5:1 on white and 4.2:1 on #111112.
_LABEL_GREY = 118
# Red, green, blue and opacity: 2.6:1 on white, and 3.2:1 on #111112 and beside black pixels there.
_FRAME = (128, 128, 128, 190)
# Pixels of a line of words above or beside the images.
_LABEL_HEIGHT = 18
# Of a figure: a page beside the file browser of JupyterLab; a wider grid is drawn smaller.
WIDEST = 840


def as_pixels(images: Any) -> np.ndarray:
    """Return images as uint8 [n, height, width, 3].

    uint8 NCHW, NHWC or NHW with 1 or 3 channels is taken.

    Arrays whose second axis is 1 or 3 are taken for NCHW, otherwise those whose last axis is 1 or 3
    for NHWC.
    """
    if hasattr(images, "detach"):
        images = images.detach().cpu().numpy()
    array = np.asarray(images)
    allowed = (
        "a uint8 array of images [n, channels, height, width], [n, height, width, channels] or "
        "[n, height, width]"
    )
    if array.dtype != np.uint8 or array.ndim not in (3, 4) or array.size == 0:
        fail("images", allowed, array)
    if array.ndim == 3:
        array = array[..., None]
    elif array.shape[1] in (1, 3):
        array = array.transpose(0, 2, 3, 1)
    if array.shape[-1] not in (1, 3):
        fail("images", allowed + " with 1 or 3 channels", array)
    return np.ascontiguousarray(np.broadcast_to(array, (*array.shape[:3], 3)))


@checked
def encode_grid(
    images: Any,
    columns: int | None = None,
    scale: int = 1,
    *,
    cell: float | None = None,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    gap: int = 2,
) -> bytes:
    """Return a grid of images as PNG bytes (level 1).

    Args:
        images: see `as_pixels`; filled row by row.
        columns: images per row; default: as near to a square as possible, or one per column label.
        scale: each pixel becomes scale x scale pixels, not smoothed.
        cell: pixels that an image is wide on the page, about, instead of a scale.
        row_labels, column_labels: text left of the rows and above the columns.
        gap: pixels between images, of which one beside each is its frame.
    """
    return encode_png(
        compose_grid(
            images,
            columns,
            scale,
            cell=cell,
            row_labels=row_labels,
            column_labels=column_labels,
            gap=gap,
        )
    )


def compose_grid(
    images: Any,
    columns: int | None = None,
    scale: int = 1,
    *,
    cell: float | None = None,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    gap: int = 2,
) -> np.ndarray:
    """Return the grid of `encode_grid` as RGBA pixels, uint8 [height, width, 4]."""
    pixels = as_pixels(images)
    count, height, width, _ = pixels.shape
    columns = grid_columns(count, columns, column_labels)
    rows = -(-count // columns)
    if row_labels is not None:
        as_names("row_labels", row_labels, rows)
    if column_labels is not None:
        as_names("column_labels", column_labels, columns)
    scale = scale if cell is None else max(1, round(cell / width))
    high = height * scale
    wide = width * scale
    # 6 apart, and the 2 that a label is drawn wider.
    label_width = _text_width(row_labels) + 8 if row_labels is not None else 0
    top = _LABEL_HEIGHT if column_labels is not None else 0
    canvas = np.zeros(
        (top + rows * (high + gap) - gap, label_width + columns * (wide + gap) - gap, 4), np.uint8
    )
    large = pixels.repeat(scale, axis=1).repeat(scale, axis=2) if scale > 1 else pixels
    for index, image in enumerate(large):
        row, column = divmod(index, columns)
        y, x = top + row * (high + gap), label_width + column * (wide + gap)
        if gap:
            canvas[max(top, y - 1) : y + high + 1, max(label_width, x - 1) : x + wide + 1] = _FRAME
        canvas[y : y + high, x : x + wide, :3] = image
        canvas[y : y + high, x : x + wide, 3] = 255
    if row_labels is not None or column_labels is not None:
        centres = [(label_width + c * (wide + gap) + wide / 2, top / 2) for c in range(columns)]
        _draw_labels(canvas, list(column_labels or ()), centres, anchor="mm")
        middles = [(label_width - 6, top + r * (high + gap) + high / 2) for r in range(rows)]
        _draw_labels(canvas, list(row_labels or ()), middles, anchor="rm")
    return canvas


def grid_columns(
    count: int, columns: int | None = None, column_labels: Sequence[str] | None = None
) -> int:
    """Return the images per row: as given, one per column label, or as near to a square as
    possible.
    """
    if column_labels is not None:
        return len(as_names("column_labels", column_labels, columns))
    return int(np.ceil(np.sqrt(count))) if columns is None else min(columns, max(count, 1))


@checked
def encode_png(pixels: np.ndarray, level: Annotated[int, within(0, 9)] = 1) -> bytes:
    """Encode uint8 [height, width, channels] with 1, 3 or 4 channels as PNG bytes."""
    fits = pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.size > 0
    if not fits or pixels.shape[2] not in (1, 3, 4):
        fail("pixels", "a uint8 array of shape [height, width, 1, 3 or 4]", pixels)
    height, width, channels = pixels.shape
    lines = np.zeros((height, 1 + width * channels), np.uint8)
    # A zero before each line says "stored as it is": no filter, nothing to compute per pixel.
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), level)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


@checked
def image_grid(
    images: Any,
    columns: int | None = None,
    *,
    title: str,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    scale: Scale | None = None,
    description: str = "",
) -> go.Figure:
    """Draw a grid of images as one static figure.

    Inside explorers use `encode_grid` and an image widget.

    Args:
        scale: screen pixels per image pixel; default: what makes the grid at most 900 wide and 64
            per image.
        description: what the images are, for the alt text ("recovered after 500 steps").
    """
    pixels = as_pixels(images)
    count, height, width, _ = pixels.shape
    columns = grid_columns(count, columns, column_labels)
    rows = -(-count // columns)
    scale = max(1, min(64 // width, 900 // (columns * width))) if scale is None else scale
    canvas = compose_grid(pixels, columns, scale)
    figure = look.start_figure(title=title, x_label="column", y_label="row")
    source = "data:image/png;base64," + base64.b64encode(encode_png(canvas, level=6)).decode()
    figure.add_trace(go.Image(source=source, hoverinfo="skip"))
    step_x = width * scale + 2
    step_y = height * scale + 2
    hidden = {
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "title": {"text": ""},
        "constrain": "domain",
        "ticklabelstandoff": 4,
    }
    figure.update_xaxes(
        **hidden,
        side="top",
        showticklabels=column_labels is not None,
        tickmode="array",
        tickvals=[c * step_x + width * scale / 2 for c in range(columns)],
        ticktext=_literal_labels("column_labels", column_labels, columns),
    )
    figure.update_yaxes(
        **hidden,
        showticklabels=row_labels is not None,
        tickmode="array",
        tickvals=[r * step_y + height * scale / 2 for r in range(rows)],
        ticktext=_literal_labels("row_labels", row_labels, rows),
    )
    margin = {
        "l": 100 if row_labels is not None else 10,
        "r": 10,
        "t": 74 if column_labels is not None else 48,
        "b": 10,
    }
    figure.update_layout(
        margin=margin,
        height=canvas.shape[0] + margin["t"] + margin["b"],
        width=min(max(360, canvas.shape[1] + margin["l"] + margin["r"]), WIDEST),
    )
    return look.finish_figure(
        figure, alt=grid_alt(count, rows, columns, title, description, row_labels, column_labels)
    )


@checked
def grid_alt(
    count: Annotated[int, within(0)],
    rows: Annotated[int, within(0)],
    columns: Annotated[int, within(0)],
    title: str,
    description: str = "",
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
) -> str:
    """Return the sentence that stands for a grid: for the alt text of an image widget too."""
    text = (
        f"{title}: {count} image{'s' * (count != 1)} in {rows} row{'s' * (rows != 1)} and "
        f"{columns} column{'s' * (columns != 1)}"
    )
    text += f", {description}" if description else ""
    for kind, labels in (("rows", row_labels), ("columns", column_labels)):
        if labels is not None:
            text += f"; {kind}: {', '.join(as_names(f'{kind} labels', labels))}"
    return text + "."


def _literal_labels(argument: str, labels: Sequence[str] | None, count: int) -> list[str]:
    return (
        []
        if labels is None
        else [look.literal(label) for label in as_names(argument, labels, count)]
    )


@lru_cache(maxsize=1)
def _font() -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(13)


def _text_width(labels: Sequence[str]) -> int:
    return int(max(_font().getlength(str(label)) for label in labels)) + 1


def _draw_labels(
    canvas: np.ndarray, labels: list[str], places: Sequence[tuple[float, float]], anchor: str
) -> None:
    from PIL import Image, ImageDraw

    for label, (x, y) in zip(labels, places, strict=False):
        # Drawn on its own little picture: only the text area of the canvas is touched.
        wide = _text_width([label]) + 2
        mask = Image.new("L", (wide, _LABEL_HEIGHT), 0)
        ImageDraw.Draw(mask).text(
            (wide / 2, _LABEL_HEIGHT / 2), str(label), fill=255, font=_font(), anchor="mm"
        )
        x_offset = round(x - wide / 2) if anchor == "mm" else round(x - wide)
        y_offset = round(y - _LABEL_HEIGHT / 2)
        y0 = max(y_offset, 0)
        x0 = max(x_offset, 0)
        y1 = min(y_offset + _LABEL_HEIGHT, canvas.shape[0])
        x1 = min(x_offset + wide, canvas.shape[1])
        if y1 <= y0 or x1 <= x0:
            raise DDLabError(
                f"the label {label!r} must fit the grid; given images too small for it."
            )
        canvas[y0:y1, x0:x1, :3] = _LABEL_GREY
        canvas[y0:y1, x0:x1, 3] = np.asarray(mask)[
            y0 - y_offset : y1 - y_offset, x0 - x_offset : x1 - x_offset
        ]
