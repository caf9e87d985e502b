"""One error class for a user's mistakes, and the helpers that word it.

Every message is one sentence: the argument, what is allowed, what was given. Anything else that escapes from ddlab is a bug in ddlab.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import torch


class DDLabError(ValueError):
    """A mistake in what ddlab was given, worded in one sentence."""


class NonFiniteError(DDLabError):
    """A run produced NaN or infinity; the message names the step and the term."""


def describe(value: object) -> str:
    """A short description of `value` for an error message: type, shape and range rather than contents."""
    if isinstance(value, torch.Tensor):
        return f"a {str(value.dtype).removeprefix('torch.')} tensor of shape {list(value.shape)}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"a {value.dtype} array of shape {list(value.shape)}"  # type: ignore[attr-defined]
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = repr(value)
    if isinstance(value, str):
        return text if len(text) <= 120 else text[:117] + "..."
    # Long, of several lines, or an address in memory: say what it is instead.
    kind = f"{type(value).__module__.rpartition('.')[2]}.{type(value).__qualname__}".removeprefix("builtins.")
    return f"a {kind}" if len(text) > 120 or text.startswith("<") or "\n" in text else text


def fail(argument: str, allowed: str, given: object) -> NoReturn:
    """Raise `DDLabError`: "{argument} must be {allowed}; given {description of given}."."""
    raise DDLabError(f"{argument} must be {allowed}; given {describe(given)}.") from None


def one_of(choices: Iterable[object]) -> str:
    """The allowed values in words: "one of 'a', 'b'"."""
    return "one of " + ", ".join(repr(choice) for choice in choices)


def check_choice(argument: str, value: object, choices: Sequence[Any]) -> Any:
    """Return `value` if it is one of `choices`; the error names the nearest valid ones."""
    if any(value is choice or (type(value) is type(choice) and value == choice) for choice in choices):
        return value
    near = difflib.get_close_matches(str(value), [str(choice) for choice in choices], n=2, cutoff=0.5)
    hint = f" (nearest: {', '.join(repr(name) for name in near)})" if near else ""
    fail(argument, one_of(choices) + hint, value)


def check_integer(argument: str, value: object, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as int if it is a whole number (bool excluded) in [low, high]."""
    allowed = "an integer" + _between(low, high)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        fail(argument, allowed, value)
    whole = int(value)
    if (low is not None and whole < low) or (high is not None and whole > high):
        fail(argument, allowed, value)
    return whole


def check_number(
    argument: str, value: object, low: float | None = None, high: float | None = None, *, open_low: bool = False
) -> float:
    """Return `value` as float if it is a finite number in [low, high] (in (low, high] with `open_low`)."""
    allowed = "a finite number" + _between(low, high, open_low)
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not _is_finite(value):
        fail(argument, allowed, value)
    number = float(value)
    if (low is not None and (number < low or (open_low and number == low))) or (high is not None and number > high):
        fail(argument, allowed, value)
    return number


def check_boolean(argument: str, value: object) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, bool):
        fail(argument, "True or False", value)
    return value


def check_tensor(
    argument: str,
    value: object,
    *,
    shape: Sequence[int | None] | None = None,
    dtype: torch.dtype | None = None,
    finite: bool = True,
) -> torch.Tensor:
    """Return `value` if it is a tensor of this shape (None matches any length) and dtype, without NaN or infinity."""
    wanted = "" if shape is None else f" of shape [{', '.join('any' if n is None else str(n) for n in shape)}]"
    kind = "" if dtype is None else f"{str(dtype).removeprefix('torch.')} "
    allowed = f"a {kind}tensor{wanted}"
    if not isinstance(value, torch.Tensor):
        fail(argument, allowed, value)
    if dtype is not None and value.dtype != dtype:
        fail(argument, allowed, value)
    if shape is not None and (
        value.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, value.shape, strict=True))
    ):
        fail(argument, allowed, value)
    if finite and value.is_floating_point() and not bool(torch.isfinite(value).all()):
        bad = int((~torch.isfinite(value)).sum())
        raise DDLabError(
            f"{argument} must be finite everywhere; given {describe(value)} with {bad} values that are NaN or infinite."
        )
    return value


def _is_finite(value: numbers.Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number too large for a float
        return False


def checked_device(device: torch.device | str) -> torch.device:
    """The device of that name; "auto" is CUDA when there is one, else the CPU."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        fail("device", "'auto', 'cpu' or 'cuda'", device)
    if found.type not in ("cpu", "cuda"):
        fail("device", "'auto', 'cpu' or 'cuda'", str(device))
    if found.type == "cuda" and not torch.cuda.is_available():
        fail("device", "'auto' or 'cpu' on a machine without CUDA", str(device))
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        fail("device", f"one of the {torch.cuda.device_count()} CUDA devices", str(device))
    return found


def _between(low: float | None, high: float | None, open_low: bool = False) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f" {'above' if open_low else 'of at least'} {low:g}"
    if low is None:
        return f" of at most {high:g}"
    return f" in {'(' if open_low else '['}{low:g}, {high:g}]"
