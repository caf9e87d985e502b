"""The interval of a mean, for evaluations and for figures, which may not import each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from . import errors


def interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's t interval for the mean of independent values; None for fewer than two."""
    from scipy import special  # that of scipy.stats is the same, for 50 MB

    errors.check_number("confidence", confidence, 0, 1, open_low=True)
    errors.check_instance("values", values, Sequence, "a sequence of numbers")
    values = [errors.check_number("values", value) for value in values]
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)
    errors_away: Any = special.stdtrit(len(values) - 1, (1 + confidence) / 2)  # Student's t
    half = errors_away * statistics.stdev(values) / math.sqrt(len(values))
    return float(mean - half), float(mean + half)
