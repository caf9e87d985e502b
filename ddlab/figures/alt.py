"""Words for alt texts: numbers as a reader would say them, and lists of names."""

from collections.abc import Sequence

import numpy as np


def number(value: float) -> str:
    """Write a number with three significant digits.

    Very small and very large ones are powers of ten.
    """
    if not np.isfinite(value):
        return "not a number" if np.isnan(value) else "infinite"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        decimal = np.format_float_positional(value, precision=3, fractional=False, trim="-")
        return decimal
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa} times 10 to the {int(exponent)}"


def names(words: Sequence[str], limit: int = 6) -> str:
    """Join names as "a, b and c". A long list is cut and counted."""
    listed = [str(word) for word in words]
    if len(listed) > limit:
        return f"{', '.join(listed[:limit])} and {len(listed) - limit} more"
    return (
        listed[0]
        if len(listed) == 1
        else f"{', '.join(listed[:-1])} and {listed[-1]}"
        if listed
        else "nothing"
    )


def course(values: np.ndarray) -> str:
    """Describe a curve in one clause, such as "falls from 2.3 to 0.1, lowest 0.09"."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    if finite.size == 0:
        return "has no finite value"
    first, last = float(finite[0]), float(finite[-1])
    if finite.size == 1:
        return f"is {number(first)}"
    spread = float(finite.max() - finite.min())
    if spread == 0:
        return f"stays at {number(first)}"
    verb = (
        "falls"
        if last < first - 0.02 * spread
        else "rises"
        if last > first + 0.02 * spread
        else "goes"
    )
    text = f"{verb} from {number(first)} to {number(last)}"
    low, high = float(finite.min()), float(finite.max())
    if low < min(first, last) - 0.02 * spread:
        text += f", lowest {number(low)}"
    if high > max(first, last) + 0.02 * spread:
        text += f", highest {number(high)}"
    return text
