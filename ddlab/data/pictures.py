"""Between PIL's pictures, arrays and bytes: what every reader of somebody else's images shares.

One rule for all: what is transparent lies on white, pixels fill the range that their kind has or
somebody says what black and white are, a camera's turn is undone, and of an animation the first
frame is taken.
"""

import base64
import html
import io
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from torch import Tensor

from ..core import DDLabError, errors

_SIXTEEN_BITS = ("I", "I;16", "I;16B", "I;16L")
GREY = ("1", "L", "LA", "La", *_SIXTEEN_BITS)  # PIL's modes without colour
_ALPHA = ("LA", "La", "RGBA", "RGBa", "PA")
# Below it as highest value of all images what is black and white is a guess.
_LEAST = {255: 32, 65535: 20_000}

Fit = Literal["crop", "pad", "stretch"]
Size = tuple[int, int]


def checked_size(argument: str, size: Any) -> Size:
    """Return (height, width), from 1 to 512 each. One number makes a square."""
    sides = size if isinstance(size, (tuple, list)) else (size, size)
    if len(sides) != 2:
        errors.fail(argument, "a number of pixels, or (height, width)", size)
    height, width = (errors.check_integer(argument, side, 1, 512) for side in sides)
    return height, width


def checked_range(argument: str, value: Any) -> tuple[float, float]:
    """Return (low, high), the values of black and of white, if they are that."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        errors.fail(argument, "(low, high), the values of black and white", value)
    # White must lie above black; an inverted picture is one that somebody inverts on purpose.
    low = errors.check_number(argument, value[0])
    return low, errors.check_number(argument, value[1], low, open_low=True)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How pictures become bytes.

    Attributes:
        channels: 1 or 3; 0 for those that a picture has.
        size: (height, width), or None for their own.
        fit: of a picture of another shape the middle is cut out ("crop"), or all is kept, on the
            background ("pad") or drawn out ("stretch").
        background: what transparent pixels lie on, 0 to 255.
        range: (low, high) of black and white; None where the values say it.
    """

    channels: int = 3
    size: Size | None = None
    fit: Fit = "crop"
    background: int = 255
    range: tuple[float, float] | None = None


def pixels(picture: Any, reading: Reading) -> tuple[np.ndarray, float]:
    """Return a picture as uint8 [height, width, channels].

    With it comes how well its values fill their range (`check_filled`).

    Raises:
        ValueError: pixels that are floats without a `range`, or outside of it.
    """
    from PIL import Image, ImageOps

    if reading.size is not None and picture.format == "JPEG":
        # Decoded at an eighth of the size where that is enough.
        picture.draft(None, (2 * max(reading.size),) * 2)
    # Before anything else reads a width or a height.
    picture = ImageOps.exif_transpose(picture)
    share = 1.0
    if picture.mode == "F" and reading.range is None:
        raise ValueError(
            "its pixels are floats, of which range=(low, high) says what is black and white"
        )
    # PIL would clip to white instead of scaling.
    if picture.mode == "F" or picture.mode in _SIXTEEN_BITS:
        values = np.asarray(picture)
        # A 12-bit scan in a 16-bit file reaches 4,095 at most: scaled by 65,535 it would be almost
        # black.
        share = float(values.max()) / _LEAST[65535]
        picture = Image.fromarray(_scale(values, reading.range or (0, 65535)))
    elif picture.mode in _ALPHA or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        # Composed and not just stripped: under full transparency a file may hold any colour.
        picture = Image.alpha_composite(
            Image.new("RGBA", picture.size, (reading.background,) * 3 + (255,)), picture
        )
    elif picture.mode != "1":
        # A palette's numbers are no brightness, so it is converted first.
        extrema = (
            picture.convert("RGB").getextrema() if picture.mode == "P" else picture.getextrema()
        )
        share = (
            max(high for _, high in (extrema if isinstance(extrema[0], tuple) else (extrema,)))
            / _LEAST[255]
        )
        if reading.range is not None:
            picture = Image.fromarray(
                _scale(
                    np.asarray(picture.convert("L" if picture.mode == "L" else "RGB")),
                    reading.range,
                )
            )
    # Before the resize: a palette cannot be interpolated.
    picture = picture.convert("L" if reading.channels == 1 else "RGB")
    if reading.size is not None and picture.size != reading.size[::-1]:
        size = (reading.size[1], reading.size[0])
        colour = (reading.background,) * reading.channels
        if reading.fit == "pad":
            picture = ImageOps.pad(
                picture, size, color=colour if reading.channels > 1 else colour[0]
            )
        else:
            picture = ImageOps.fit(picture, size) if reading.fit == "crop" else picture.resize(size)
    return np.asarray(picture).reshape(picture.height, picture.width, reading.channels), share


def _scale(values: np.ndarray, black_and_white: tuple[float, float]) -> np.ndarray:
    """Values from black to white as bytes.

    Raises:
        ValueError: a value outside.
    """
    low, high = black_and_white
    # In this form NaN, which is neither below nor above, is refused too.
    if not (values.min() >= low and values.max() <= high):
        raise ValueError(
            f"its values go from {values.min():.9g} to {values.max():.9g}, and range is "
            f"({low:g}, {high:g})"
        )
    return np.rint((values.astype(np.float32) - low) * (255 / (high - low))).astype(np.uint8)


def check_filled(argument: str, share: float, reading: Reading) -> None:
    """Raise where the highest of all values is so low that what is black and white is a guess.

    Args:
        share: that value, as a part of the least that is sure: 32 of 255, 20,000 of 65,535.
    """
    # 0 is an image of one value, of which `ImageData` warns.
    if reading.range is None and 0 < share < 1:
        requirement = (
            "fill their range, or range=(low, high) say what is black and white (masks, 12 bits "
            "of 16, 0 to 16)"
        )
        raise DDLabError(
            f"{argument} must {requirement}; given values that reach {share:.0%} of the least "
            "that is sure."
        )


def as_levels(argument: str, array: np.ndarray, reading: Reading) -> tuple[np.ndarray, float]:
    """Return numbers of any kind as bytes, and how well they fill their range (`check_filled`).

    Raises:
        DDLabError: values that are neither bytes, nor 16 bits in full, nor floats in [0, 1],
            without a `range`; or outside of it.
    """
    # Read once: the array may be a gigabyte.
    low, high = float(array.min()), float(array.max())
    if not np.isfinite(high - low):
        places = np.argwhere(~np.isfinite(array))
        raise DDLabError(
            f"{argument} must hold finite numbers, of floats those in [0, 1]; given {len(places):,} of {array.size:,} that are "
            f"NaN or infinite, the first in image {places[0][0]}."
        )
    span = f"{array.dtype} values from {low:.9g} to {high:.9g}"
    if reading.range is not None:
        try:
            return _scale(array, reading.range), 1.0
        except ValueError as problem:
            raise DDLabError(
                f"{argument} must lie within range; given {span}, but "
                f"{str(problem).partition(', and ')[2]}."
            ) from problem
    if array.dtype.kind == "f" and low >= -_ROUNDING and high <= 1 + _ROUNDING:
        return np.rint(array.astype(np.float32).clip(0, 1) * 255).astype(np.uint8), min(
            high * 63, 1.0
        ) if high > 0 else 0.0
    if array.dtype.kind != "f" and low >= 0 and high <= 255:
        return array.astype(np.uint8), high / _LEAST[255]
    # A signed type may hold anything, but 16 unsigned bits are what cameras and PNG mean by them.
    if array.dtype == np.uint16:
        return _scale(array, (0, 65535)), high / _LEAST[65535]
    allowed = "floats in [0, 1] or bytes 0 to 255, or range=(low, high) be given"
    raise DDLabError(f"{argument} must hold {allowed}; given {span}.")


_ROUNDING = 1e-3  # beyond 0 and 1, of floats that were computed


def on_background(array: np.ndarray, reading: Reading) -> np.ndarray:
    """Return bytes [n, h, w, 4] as [n, h, w, 3], with transparent pixels on the background."""
    if array.shape[-1] != 4:
        return array
    alpha = array[..., 3:].astype(np.float32) / 255
    return np.rint(array[..., :3] * alpha + reading.background * (1 - alpha)).astype(np.uint8)


def picture(image: np.ndarray) -> Any:
    """Return the PIL picture of uint8 [height, width, 1 or 3]."""
    from PIL import Image

    return Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)


def pictures(images: Tensor) -> list[Any]:
    """Return the PIL picture of each image of uint8 [n, 1 or 3, height, width].

    Raises:
        DDLabError: another number of channels.
    """
    if images.shape[1] not in (1, 3):
        raise DDLabError(
            f"Images must have 1 or 3 channels to become pictures; given {images.shape[1]}."
        )
    return [picture(image) for image in images.cpu().permute(0, 2, 3, 1).numpy()]


def html_grid(words: str, images: Tensor, columns: int) -> str:
    """Return HTML for a notebook: words with images uint8 [n, c, h, w] under them.

    There are `columns` images in a row, of 17 to 127 pixels each.
    """
    from torchvision.utils import make_grid

    # Whole factors only: a pixel stays a square, and a large image is thinned instead of blurred.
    zoom = max(1, 32 // images.shape[-1])
    every = max(1, images.shape[-1] // 64)
    sized = (
        images[..., ::every, ::every].cpu().repeat_interleave(zoom, 2).repeat_interleave(zoom, 3)
    )
    # Grey between the images separates black ones as well as white ones.
    grid = make_grid(sized, nrow=columns, padding=2, pad_value=128)
    # Inside the HTML, so that a notebook which is sent on keeps its pictures.
    picture(grid.permute(1, 2, 0).numpy()).save(file := io.BytesIO(), "PNG")
    content = base64.b64encode(file.getvalue()).decode()
    escaped = html.escape(words)
    caption = escaped.replace(
        "$", "\\$"
    )  # else MathJax would make formulas of what stands between two
    return f'<div>{caption}</div><img alt="{escaped}" src="data:image/png;base64,{content}">'
