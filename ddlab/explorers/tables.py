"""A table of numbers in an explorer, as HTML: one look for all of them."""

import html
from collections.abc import Sequence


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table; the first cell of each row is its name."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in heads)
    body = "".join(map(_row, rows))
    return (
        f'<div style="overflow-x: auto"><table class="ddlab-table"><caption>{html.escape(caption)}'
        f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: Sequence[str]) -> str:
    name, *values = map(html.escape, row)
    cells = "".join(f"<td>{value}</td>" for value in values)
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'
