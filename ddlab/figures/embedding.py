"""What maps of images share: points in a plane, and contours of where the real ones are dense."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core import DDLabError
from . import theme as look
from ._check import as_array

# The densest 90%, 60% and 30% of the points lie inside.
_CONTOURS = {"start": 0.1, "end": 0.7, "size": 0.3}


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
