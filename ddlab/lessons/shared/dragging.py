"""Points that a reader drags, as text in the settings of a laboratory.

numbers("1.0 2.0; 3.0 4.0")                 # float64 [2, 2]
text(positions, extent)                       # the way back, within the plot
"""

import torch
from torch import Tensor

from ...core import errors

Extent = tuple[tuple[float, float], tuple[float, float]]


def numbers(points: str) -> Tensor:
    """Return "1.0 2.0; 3.0 4.0" as float64 [n, 2].

    Raises:
        DDLabError: a text that is none of these.
    """
    rows: list[list[float]] = []
    try:
        for pair in filter(str.strip, points.split(";")):
            x, y = pair.split()
            rows.append([float(x), float(y)])
    except ValueError:
        errors.fail("points", "pairs of numbers such as '1.0 2.0; 3.0 4.0', or empty", points)
    return torch.tensor(rows, dtype=torch.float64).view(-1, 2)


def text(positions: Tensor, extent: Extent) -> str:
    """Return positions [n, 2] as such a text; what lies outside the plot moves to its edge."""
    low, high = torch.tensor(extent, dtype=torch.float64).T
    inside = torch.minimum(torch.maximum(positions, low), high)
    return "; ".join(f"{x:.4f} {y:.4f}" for x, y in inside.tolist())


def put(points: str, point: int, x: float, y: float, extent: Extent) -> str:
    """Return the text after a point has moved to (x, y)."""
    positions = numbers(points)
    errors.check_choice("point", point, range(len(positions)))
    positions[point] = torch.tensor([x, y], dtype=torch.float64)
    return text(positions, extent)
