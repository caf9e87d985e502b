"""The standard normal distribution, and the numbers of the toy of two Gaussian classes that several modules take."""

from __future__ import annotations

import math
from typing import Any

from ..core import errors

SMALLEST, LARGEST = 1e-6, 1e6  # of lengths: their fourth powers and quotients stay far from what float64 cannot hold


def density(z: float) -> float:
    """phi(z) = exp(-z^2 / 2) / sqrt(2 pi)."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def distribution(z: float) -> float:
    """Phi(z), the share of the standard normal below z; precise in the lower tail."""
    return math.erfc(-z / math.sqrt(2)) / 2


def check_spread(argument: str, value: Any) -> float:
    """Return `value` if it is a standard deviation: above 0 and of a size that its powers can be held."""
    return errors.check_number(argument, value, SMALLEST, LARGEST)


def check_gap(argument: str, value: Any) -> float:
    """Return `value` if it is a distance between two means."""
    return errors.check_number(argument, value, 0, LARGEST)
