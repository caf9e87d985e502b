"""The interval of a mean, for evaluations and for figures, which may not import each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from . import errors


def interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's t interval for the mean of independent values; None for fewer than two."""
    from scipy import stats

    errors.check_number("confidence", confidence, 0, 1, open_low=True)
    errors.check_instance("values", values, Sequence, "a sequence of numbers")
    values = [errors.check_number("values", value) for value in values]
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)
    half: Any = stats.t.ppf((1 + confidence) / 2, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return float(mean - half), float(mean + half)
