"""How exercises judge what a reader hands in: a check returns what it measured, a sentence, or
raises `NotYet` with a hint.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class NotYet(Exception):
    """What is not right yet, and where to look, in words for the reader."""


def call_answer(
    function: Any,
    *arguments: Any,
    of: str,
    read: Callable[[Any], Any] = lambda result: result,
    **named: Any,
) -> Any:
    """Call a reader's function and return what it gives, read and checked.

    Args:
        of: its arguments in words, for who gave another.
        read: makes of it what the check needs; what it raises is the reader's.

    Raises:
        NotYet: no function, or one that raised.
    """
    if not callable(function):
        raise NotYet(f"Write a function of {of}.")
    try:
        return read(function(*arguments, **named))
    except NotYet:  # raised by `read`, in words for the reader
        raise
    except Exception as problem:
        raise NotYet(
            f"Your function raised {type(problem).__name__}: {problem}. Wanted is one of {of}."
        ) from None


def float64(value: Any) -> Tensor:
    """Return a tensor as one of its own in float64, without gradient, for `call_answer`.

    Raises:
        NotYet: NaN or an infinite number, of which no difference can be measured.
    """
    values = torch.as_tensor(value).detach().double()
    if not bool(values.isfinite().all()):
        raise NotYet("Your result has NaN or infinite numbers; look for a division by zero.")
    return values


def two(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, Any]]:
    """Read each of two things that a function returns, for `call_answer`.

    Another number of them is the reader's mistake.
    """

    def read_pair(pair: Any) -> tuple[Any, Any]:
        first, second = map(read, pair)
        return first, second

    return read_pair


def numbers(function: Any, *cases: tuple[Any, ...], of: str) -> list[float]:
    """Return the number that a reader's function gives of each case.

    A tensor or an array of one number counts as one.

    Raises:
        NotYet: as `call_answer`, and what is no number: a text, True, several numbers.
    """
    results = [call_answer(function, *case, of=of) for case in cases]
    for value in results:
        if isinstance(value, (str, bytes, bool)):
            raise NotYet(f"Give a number; yours is {value!r}.")
    try:
        return [float(value) for value in results]
    except (TypeError, ValueError, RuntimeError):  # a tensor of several numbers
        raise NotYet(f"Give a number; yours is {results[0]!r}.") from None
