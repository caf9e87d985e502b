"""A result as a table: what `print` writes, what a notebook draws, and what other programs read."""

import csv
import html
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core import DDLabError, errors, storage

_MARKS = re.compile(r"([\\|`*\[\]~])")  # what would be more than itself in Markdown


def markdown(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table with aligned columns. Nothing in a cell is read as markup.

    >>> print(markdown(["a", "b"], [["one", 2]]))
    | a   | b |
    |-----|---|
    | one | 2 |
    """
    cells = [[escaped(str(cell)) for cell in row] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        lines.append(
            "| "
            + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            + " |"
        )
    return "\n".join(
        [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
    )


def escaped(text: str) -> str:
    """Return somebody's text on one line of Markdown, its tags, formulas and marks as they are
    written.
    """
    plain = _MARKS.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))
    # One sign for Markdown, one for MathJax, which reads what Markdown has made.
    return plain.replace("$", "\\\\$")


def _plain_cell(value: Any) -> Any:
    """Return what a cell of a file holds: a text never reads as a formula, a number stays one."""
    is_formula = isinstance(value, str) and value.lstrip().startswith(("=", "+", "-", "@"))
    return f"'{value}" if is_formula else value


class Tabled:
    """A result with a `table()`, which a notebook shows, and `records()`, which files and data
    frames take.
    """

    def table(self) -> str:
        """Return the result as a Markdown table."""
        raise NotImplementedError

    def records(self) -> list[dict[str, Any]]:
        """Return one flat mapping for each line of a data frame."""
        raise NotImplementedError

    def _repr_markdown_(self) -> str:
        return self.table()

    def __str__(self) -> str:
        return self.table()

    def to_pandas(self) -> Any:
        """Return a DataFrame of `records`.

        Raises:
            DDLabError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as missing:
            raise DDLabError(
                "pandas must be installed for to_pandas; given none (pip install pandas)."
            ) from missing
        return pandas.DataFrame(self.records())

    def to_csv(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write `records` to a file of comma-separated values, whole or not at all.

        The file has a head and a line for each record. A text that a spreadsheet would compute (it
        begins with = + - @) gets an apostrophe in front.

        Raises:
            DDLabError: something is there and `overwrite` is False, or a place that cannot be
                written to.
        """
        place = storage.checked_path(path)
        if os.path.lexists(place) and not errors.check_boolean("overwrite", overwrite):
            raise DDLabError(
                "path must be a place where nothing is yet, or overwrite True; given "
                f"{str(place)!r}."
            )
        text = io.StringIO()
        records = self.records()
        rows = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
        rows.writeheader()
        for record in records:
            rows.writerow({name: _plain_cell(value) for name, value in record.items()})
        storage.write_atomically(place, text.getvalue().encode())
        return place
