"""Arguments that several figures take: arrays from anywhere become float numpy arrays, or one
sentence says why not.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from ..core import DDLabError, fail, within
from ..core.errors import check_number, check_text


def named(argument: str, value: Any) -> Mapping[str, Any]:
    """Require a mapping with at least one name. Its values are checked where they are drawn."""
    if not isinstance(value, Mapping) or not value:
        fail(argument, "a mapping of name to values that is not empty", value)
    return value


def number_format(argument: str, value: Any) -> str:
    """Require a format in which numbers can be written."""
    try:
        format(1.0, value)
    except (TypeError, ValueError):
        fail(argument, "how a number is written, such as '.3g'", value)
    return value


Format = Annotated[str, number_format]
Named = Annotated[Mapping[str, Any], named]
Scale = Annotated[int, within(1, 64)]
Share = Annotated[float, within(0, 1)]
# What accuracies, which are given as fractions, are drawn in; "" draws any number as it is given.
Unit = Literal["", "%", "points"]
Words = Annotated[str, functools.partial(check_text, empty=False)]


def in_unit(values: Any, unit: Unit) -> Any:
    """Return fractions in percent or in points."""
    return values * 100 if unit else values


def with_unit(label: str, unit: Unit) -> str:
    """Return the words of an axis in this unit."""
    return f"{label} ({unit})" if unit else label


def as_array(argument: str, value: Any, *, dimensions: tuple[int, ...] = (1,)) -> np.ndarray:
    """Return `value` as a float numpy array.

    It may be an array, a list, or a tensor on any device, with or without gradient.
    """
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
        if np.iscomplexobj(array := np.asarray(value)):
            raise TypeError("complex")
        array = array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        fail(argument, "an array of numbers", value)
    if array.ndim not in dimensions:
        fail(argument, f"an array of {' or '.join(map(str, dimensions))} dimension(s)", array)
    if array.size == 0:
        fail(argument, "an array that is not empty", array)
    return array


def as_pair(argument: str, value: Any, allowed: str) -> tuple[Any, Any]:
    """Return two values that belong together, checked."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        fail(argument, allowed, value)
    return value[0], value[1]


def as_series(argument: str, value: Any) -> dict[str, np.ndarray]:
    """Return a mapping of name -> curve, all one-dimensional and not empty."""
    curves = named(argument, value)
    return {
        str(name): as_array(f"{argument}[{str(name)!r}]", curve) for name, curve in curves.items()
    }


def as_steps(steps: Any, length: int) -> np.ndarray:
    """Return the x axis: given steps, or 1 to `length`."""
    if steps is None:
        return np.arange(1, length + 1, dtype=float)
    array = as_array("steps", steps)
    if array.size != length:
        fail("steps", f"an array of {length} values, one per point of the curves", array)
    return array


def as_names(argument: str, value: Any, count: int | None = None) -> list[str]:
    """Return a list of names, of a given length where one is given."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or len(value) == 0:
        fail(argument, "a list of names that is not empty", value)
    if count is not None and len(value) != count:
        raise DDLabError(f"{argument} must be a list of {count} names; given {len(value)} names.")
    return [str(name) for name in value]


def as_extent(value: Any) -> list[tuple[float, float] | None]:
    """Return (low, high) of both axes, checked, or None for either."""
    if value is None:
        return [None, None]
    pairs = [
        as_pair("extent", axis, "(low, high) of both axes")
        for axis in as_pair("extent", value, "(low, high) of both axes")
    ]
    return [(check_number("extent", low), check_number("extent", high)) for low, high in pairs]
