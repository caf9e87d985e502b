"""Parts of README.md and CLAIMS.md that are written by a command: between <!-- NAME: begin --> and <!-- NAME: end -->."""

from __future__ import annotations

from ..errors import DDLabError


def with_part(text: str, name: str, content: str) -> str:
    """The text with `content` between the two marks of `name`.

    Raises:
        DDLabError: the marks are missing, or stand in the wrong order.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise DDLabError(f"the page must have the marks {begin!r} and {end!r}; given one without them.")
    return f"{before}{begin}{content}{end}{after}"
