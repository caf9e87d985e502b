"""The standard normal distribution."""

from __future__ import annotations

import math


def density(z: float) -> float:
    """phi(z) = exp(-z^2 / 2) / sqrt(2 pi)."""
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def distribution(z: float) -> float:
    """Phi(z), the share of the standard normal below z; precise in the lower tail."""
    return math.erfc(-z / math.sqrt(2)) / 2
