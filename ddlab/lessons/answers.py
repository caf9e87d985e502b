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
