"""Between PIL's pictures and bytes: what every reader of somebody else's images shares."""

from __future__ import annotations

import base64
import html
import io
import math
from typing import Any

import numpy as np
from torch import Tensor

from ..core.errors import DDLabError

_SIXTEEN_BITS = ("I", "I;16", "I;16B", "I;16L")
GREY = ("1", "L", "LA", *_SIXTEEN_BITS)  # PIL's modes without colour


def pixels(picture: Any, channels: int, size: int | None = None) -> np.ndarray:
    """A picture as uint8 [height, width, channels], of 1 or 3 channels; what it says of transparency is left out.

    Args:
        size: height and width; the shorter side is scaled to it and the centre square cut out. None keeps the picture's own.

    Raises:
        ValueError: pixels that are floats, whose black and white nobody knows; whoever knows where they come from says so.
    """
    from PIL import Image, ImageOps

    if picture.mode == "F":
        raise ValueError("its pixels are floats")
    if picture.mode in _SIXTEEN_BITS:
        # PIL would clip 16 bits to white instead of scaling them.
        picture = Image.fromarray((np.asarray(picture).clip(0, 65535) // 257).astype(np.uint8))
    picture = picture.convert("L" if channels == 1 else "RGB")
    if size is not None and picture.size != (size, size):
        picture = ImageOps.fit(picture, (size, size))
    return np.asarray(picture).reshape(picture.height, picture.width, channels)


def picture(image: np.ndarray) -> Any:
    """The PIL picture of uint8 [height, width, 1 or 3]."""
    from PIL import Image

    return Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)


def pictures(images: Tensor) -> list[Any]:
    """The PIL picture of each image of uint8 [n, 1 or 3, height, width].

    Raises:
        DDLabError: another number of channels.
    """
    if images.shape[1] not in (1, 3):
        raise DDLabError(f"Images must have 1 or 3 channels to become pictures; given {images.shape[1]}.")
    return [picture(image) for image in images.cpu().permute(0, 2, 3, 1).numpy()]


def shown(words: str, images: Tensor, columns: int) -> str:
    """HTML for a notebook: words, and images uint8 [n, c, h, w] under them, so many in a row, of 17 to 127 pixels each."""
    from torchvision.utils import make_grid

    zoom, every = max(1, 32 // images.shape[-1]), max(1, images.shape[-1] // 64)
    sized = images[..., ::every, ::every].cpu().repeat_interleave(zoom, 2).repeat_interleave(zoom, 3)
    grid = make_grid(sized, nrow=columns, padding=2, pad_value=128)
    picture(grid.permute(1, 2, 0).numpy()).save(file := io.BytesIO(), "PNG")
    content = base64.b64encode(file.getvalue()).decode()
    said = html.escape(words)
    return f'<div>{said}</div><img alt="{said}" src="data:image/png;base64,{content}">'


def curve(name: str, steps: list[float], values: list[float]) -> str:
    """HTML for a notebook: a line over the steps, 240 by 48 pixels, between its least and its greatest value."""
    finite = [(step, value) for step, value in zip(steps, values, strict=True) if math.isfinite(value)]
    if len(finite) < 2:
        return ""
    least, most = (choice(value for _, value in finite) for choice in (min, max))
    across, up = 240 / (finite[-1][0] - finite[0][0]), 44 / (most - least or 1)
    points = " ".join(f"{(step - finite[0][0]) * across:.1f},{46 - (value - least) * up:.1f}" for step, value in finite)
    said = html.escape(f"{name} from step {finite[0][0]} to {finite[-1][0]}, between {least:.4g} and {most:.4g}")
    line = f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="2"/>'
    return f'<div>{said}<br><svg role="img" aria-label="{said}" width="240" height="48">{line}</svg></div>'
