"""Tables as pictures: what labels say of each image, and one number per combination of two choices."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core import checked, fail
from . import alt as words
from . import theme as look
from ._check import Format, as_array, as_names


@checked
def cell_table(
    values: Any,
    column_names: Sequence[str],
    row_names: Sequence[str],
    *,
    title: str,
    x_label: str,
    y_label: str,
    empty: str = "",
    smallest_written: float = 0.0,
    text_format: Format = ".2f",
    height: int = 340,
) -> go.Figure:
    """Draw numbers in [0, 1] as shaded cells with the number written in each.

    NaN is a cell without a value.

    Args:
        values: [rows, columns].
        empty: what stands in a cell without a value.
        smallest_written: smaller numbers are only shaded.
    """
    table = as_array("values", values, dimensions=(2,))
    numbers = table[~np.isnan(table)]
    if numbers.size and (numbers.min() < 0 or numbers.max() > 1 + 1e-6):
        fail("values", "a table [rows, columns] of numbers in [0, 1] or NaN", table)
    columns, rows = (
        as_names("column_names", column_names, table.shape[1]),
        as_names("row_names", row_names, len(table)),
    )
    figure = look.start_figure(title=title, x_label=x_label, y_label=y_label, height=height)
    blue = look.series_style(0).colour
    text = [[_write(value, empty, smallest_written, text_format) for value in row] for row in table]
    draw_cells(
        figure,
        np.round(np.nan_to_num(table), 4).tolist(),
        text,
        columns,
        rows,
        limits=(0, 1),
        # One hue, told apart by lightness; the numbers say it too.
        scale=[[0, look.faint(blue, 0.04)], [1, look.faint(blue, 0.75)]],
        hover=f"{y_label} %{{y}}, {x_label} %{{x}}: %{{z:{text_format}}}<extra></extra>",
        # A page without a kernel fills such a cell from settings that were tried before.
        meta={"empty": empty},
    )
    figure.update_yaxes(autorange="reversed")
    cells = []
    for row, line in zip(rows, table, strict=True):
        for column, value in zip(columns, line, strict=True):
            if not np.isnan(value):
                cells.append(f"{row}, {column} {words.number(value)}")
    listed = (
        "; ".join(cells)
        if len(cells) <= 16
        else f"{len(cells)} numbers, on average {words.number(numbers.mean())}"
    )
    description = listed or "no values yet"
    return look.finish_figure(figure, alt=f"{title}, {y_label} by {x_label}: {description}.")


def draw_cells(
    figure: go.Figure,
    table: Any,
    text: list[list[str]],
    columns: list[str],
    rows: list[str],
    *,
    scale: list[list[Any]],
    limits: tuple[float, float],
    hover: str,
    **trace_options: Any,
) -> None:
    """Draw cells [rows, columns], shaded between the ends of a colour scale, with text in each."""
    figure.add_heatmap(
        z=table,
        x=list(range(len(columns))),
        y=list(range(len(rows))),
        zmin=limits[0],
        zmax=limits[1],
        colorscale=scale,
        text=text,
        texttemplate="%{text}",
        textfont={"color": look.neutral("text")},
        showscale=False,
        xgap=1,
        ygap=1,
        hovertemplate=hover,
        **trace_options,
    )
    ticks = {"tickmode": "array", "showgrid": False, "zeroline": False}
    figure.update_xaxes(
        tickvals=list(range(len(columns))),
        ticktext=[look.literal(name) for name in columns],
        **ticks,
    )
    figure.update_yaxes(
        tickvals=list(range(len(rows))), ticktext=[look.literal(name) for name in rows], **ticks
    )


def label_matrix(
    probabilities: Any,
    class_names: Sequence[str],
    image_names: Sequence[str] | None = None,
    *,
    title: str = "What the labels say",
    height: int = 340,
) -> go.Figure:
    """Draw target probabilities [images, classes], one row per image.

    Args:
        class_names: one per column.
        image_names: one per row; default numbers.

    Example:
        label_matrix([[1, 0], [0.3, 0.7]], ["cat", "dog"])
    """
    table = as_array("probabilities", probabilities, dimensions=(2,))
    if np.isnan(table).any():
        fail("probabilities", "a table [images, classes] of probabilities", table)
    names = [str(row + 1) for row in range(len(table))] if image_names is None else image_names
    figure = cell_table(
        table,
        class_names,
        names,
        title=title,
        x_label="class",
        y_label="image",
        smallest_written=0.05,
        height=height,
    )
    top = table.max(1)
    description = (
        f"the largest probability of an image is {words.number(top.mean())} on average and "
        f"{words.number(top.min())} at least"
    )
    return look.finish_figure(
        figure,
        alt=f"{title}: target probabilities, {len(table)} images by {table.shape[1]} classes; "
        f"{description}.",
    )


def _write(value: float, empty: str, smallest: float, text_format: str) -> str:
    if np.isnan(value):
        return empty
    return f"{value:{text_format}}" if value >= smallest else ""
