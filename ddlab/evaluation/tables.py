"""A result as a table: what `print` writes, and what a notebook draws."""

from __future__ import annotations

from collections.abc import Sequence


def markdown(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table whose columns stand under each other.

    >>> print(markdown(["a", "b"], [["one", 2]]))
    | a   | b |
    |-----|---|
    | one | 2 |
    """
    cells = [[*map(str, row)] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


class Tabled:
    """A result with a `table()`, which a notebook shows."""

    def table(self) -> str:
        """Markdown."""
        raise NotImplementedError

    def _repr_markdown_(self) -> str:
        return self.table()
