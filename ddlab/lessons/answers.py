"""What exercises do with a function that a reader has written."""

from __future__ import annotations

from typing import Any


def called(function: Any, *arguments: Any, of: str) -> tuple[Any, str]:
    """(what an answer's function gives, "") or (None, what went wrong, in a sentence).

    Args:
        of: its arguments in words, for who gave no function.
    """
    if not callable(function):
        return None, f"Write a function of {of}."
    try:
        return function(*arguments), ""
    except Exception as problem:
        return None, f"Your function raised {type(problem).__name__}: {problem}."


def numbers(function: Any, *cases: tuple[Any, ...], of: str) -> tuple[list[float], str]:
    """(the number that an answer's function gives of each case, "") or ([], what went wrong, in a sentence)."""
    given = [called(function, *case, of=of) for case in cases]
    for _, hint in given:
        if hint:
            return [], hint
    try:
        return [float(value) for value, _ in given], ""
    except (TypeError, ValueError):
        return [], f"Give a number; yours is {given[0][0]!r}."
