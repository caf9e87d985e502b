"""A table of numbers in an explorer, as HTML: one look for all of them."""

import html
from collections.abc import Sequence

_STYLE = (
    "<style>.ddlab-table { border-collapse: collapse; font-size: 13px; color: "
    "var(--jp-ui-font-color1, inherit); line-height: 1.5; }"
    ".ddlab-table caption { text-align: left; font-weight: 600; padding: 4px 0; white-space: "
    "nowrap; }"
    ".ddlab-table th, .ddlab-table td { padding: 2px 9px 2px 0; text-align: right; "
    "vertical-align: bottom; }"
    ".ddlab-table td, .ddlab-table tbody th { white-space: nowrap; }"
    ".ddlab-table tr :nth-child(1) { text-align: left; }"
    ".ddlab-table thead th { border-bottom: 1px solid #8A8A8A; }</style>"
)


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the table; the first cell of each row is its name."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in heads)
    table_rows = []
    for row in rows:
        table_rows.append(
            f'<tr><th scope="row">{html.escape(row[0])}</th>'
            + "".join(f"<td>{html.escape(value)}</td>" for value in row[1:])
            + "</tr>"
        )
    body = "".join(table_rows)
    return (
        f'{_STYLE}<div style="overflow-x: auto"><table '
        f'class="ddlab-table"><caption>{html.escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
