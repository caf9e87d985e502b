"""The interval of a mean, for evaluations and for figures, which may not import each other."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

from . import errors


def interval_text(values: Sequence[float], form: str = ".3f", *, signed: bool = False) -> str:
    """Return the mean of accuracies with its interval, as "0.854 (0.802 to 0.906)".

    With `signed` the values are differences of accuracies.

    The interval ends where an accuracy does, at 0 and 1. That of two values says nothing: they are
    shown themselves.
    """
    form = f"+{form}" if signed else form
    if len(values) == 2:
        return f"{values[0]:{form}} and {values[1]:{form}}"
    # The t factor for two values is 12.7: such an interval covers everything and would look like a
    # finding.
    bounds = interval(values)
    mean = f"{statistics.fmean(values):{form}}"
    if bounds is None:
        return mean
    # A difference of two accuracies lies between -1 and 1, an accuracy between 0 and 1.
    low, high = within_accuracy(bounds, -1 if signed else 0)
    return f"{mean} ({low:{form}} to {high:{form}})"


def within_accuracy(bounds: Any, lowest: float = 0) -> Any:
    """Return an interval cut to what an accuracy can be. None stays None."""
    return bounds and (max(bounds[0], lowest), min(bounds[1], 1.0))


def interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's t interval for the mean of independent values; None for fewer than two."""
    from scipy import special  # that of scipy.stats is the same, for 50 MB

    errors.check_number("confidence", confidence, 0, 1, open_low=True)
    errors.check_instance("values", values, Sequence, "a sequence of numbers")
    # numpy's and torch's numbers arrive here too; NaN would otherwise give an interval of NaN.
    values = [errors.check_number("values", value) for value in values]
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)
    errors_away: Any = special.stdtrit(len(values) - 1, (1 + confidence) / 2)  # Student's t
    half = errors_away * statistics.stdev(values) / math.sqrt(len(values))
    return float(mean - half), float(mean + half)
