"""Sweeps: an accuracy along one setting with a band over seeds, and over two settings as cells.

They replay Figs 3 and 5 of Du et al. 2024 (DWA, arXiv 2409.17612).
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from ..core import checked, fail
from ..core.interval import interval
from . import alt as words
from . import theme as look
from ._check import Format, Named, Unit, Words, as_array, as_names, as_pair, in_unit, with_unit
from .comparison import add_reference
from .curves import add_band
from .labels import draw_cells

_BETWEEN_TICKS = 0.06  # of the axis' length: values of a sweep that lie nearer share one tick
_MISSING = "not run"


@checked
def sweep_bands(
    x: Any,
    curves: Named,
    *,
    x_label: str,
    title: str = "Accuracy along a sweep",
    y_label: str = "test accuracy (fraction)",
    unit: Unit = "",
    log_x: bool = False,
    reference: tuple[str, float] | None = None,
    best: Literal["largest", "smallest"] = "largest",
    height: int = 380,
) -> go.Figure:
    """Draw the mean and interval of each curve along one setting.

    It is the plot of DWA's Figure 3 (lambda_var coupled and decoupled).

    Args:
        x: the values of the setting [x], rising; above 0 where `log_x`.
        curves: name -> values of single seeds [seeds, x], of which the mean and Student's 95%
            interval over seeds are drawn. NaN is a seed that is missing; every x needs one that is
            there, and has no band with one only.
        unit: of the y axis; curves and reference are fractions then.
        reference: (name, value) of a dashed line across.
        best: which end is the good one, for the alt text: "smallest" for errors.

    Raises:
        DDLabError: x that does not rise, or a curve of another length or without any value at some
            x.

    Example:
        sweep_bands([0.01, 0.11], {"coupled": [[0.3, 0.4], [0.32, 0.41]], "decoupled": [[0.3, 0.5], [0.31, 0.52]]}, x_label="λ_var")
    """
    at = _rising(x, log_x)
    y_label = with_unit(y_label, unit)
    digits = 1 if unit else 3
    figure = look.start_figure(title=title, x_label=x_label, y_label=y_label, height=height)
    descriptions = []
    for index, (name, values) in enumerate(curves.items()):
        style = look.series_style(index)
        means, lows, highs = in_unit(np.stack(_band(f"curves[{name!r}]", values, at.size)), unit)
        add_band(figure, str(name), at, lows, highs, style)
        figure.add_scatter(
            x=at,
            y=means,
            name=look.literal(name),
            customdata=np.stack([lows, highs], 1),
            **look.line_style(style, markers=True),
            hovertemplate=f"%{{x}}: %{{y:.{digits}f}}<br>95% interval "
            f"%{{customdata[0]:.{digits}f}} to %{{customdata[1]:.{digits}f}}"
            f"<extra>{look.literal(name)}</extra>",
        )
        at_best = int(means.argmax() if best == "largest" else means.argmin())
        descriptions.append(
            f"{name} {words.course(means)}; its best is {words.number(means[at_best])} "
            f"({words.number(lows[at_best])} to "
            f"{words.number(highs[at_best])}) at {words.number(at[at_best])}"
        )
    if reference is not None:
        label, value = as_pair("reference", reference, "(name, value) of a dashed line")
        value = in_unit(value, unit)
        add_reference(figure, label, value)
        descriptions.append(f"the dashed line is {label}, {words.number(value)}")
    ticks = _ticks(at, log_x)
    figure.update_xaxes(
        type="log" if log_x else "linear",
        tickmode="array",
        tickvals=ticks,
        ticktext=[f"{value:g}" for value in ticks],
    )
    look.legend_below(figure)
    scale = " (logarithmic scale)" if log_x else ""
    return look.finish_figure(
        figure,
        alt=f"Line chart of {y_label} with 95% interval over {x_label}{scale}: {'; '.join(descriptions)}.",
    )


@checked
def heat_map(
    rows: Sequence[Any],
    columns: Sequence[Any],
    values: Any,
    *,
    row_label: Words,
    column_label: Words,
    title: str = "Accuracy over two settings",
    value_label: Words = "test accuracy (fraction)",
    text_format: Format = ".3f",
) -> go.Figure:
    """Draw one number for each pair of two settings, written in its cell; deeper shades are larger.

    It is the plot of DWA's Figure 5 (steps K by radius rho).

    Args:
        rows, columns: the values of the two settings, first row at the bottom.
        values: [rows, columns]; NaN: not run.

    Raises:
        DDLabError: tables of another shape, or values that are infinite.

    Example:
        heat_map([4, 12], [0.005, 0.015], [[0.38, 0.39], [0.39, 0.40]], row_label="K", column_label="ρ")
    """
    table = _finite("values", values)
    shape = table.shape
    row_names = [_name(row) for row in as_names("rows", rows, shape[0])]
    column_names = [_name(column) for column in as_names("columns", columns, shape[1])]
    figure = look.start_figure(title=title, x_label=column_label, y_label=row_label, height=380)
    text = [["" if np.isnan(value) else f"{value:{text_format}}" for value in row] for row in table]
    scale, limits = _scale(table)
    draw_cells(
        figure,
        table,
        text,
        column_names,
        row_names,
        scale=scale,
        limits=limits,
        name=value_label,
        hover=f"{row_label} %{{y}}, {column_label} %{{x}}: %{{z:.3f}}<extra></extra>",
    )
    _mark_missing(figure, table)
    description = _cells_in_words(table, row_names, column_names, (row_label, column_label))
    return look.finish_figure(
        figure, alt=f"{value_label} by {row_label} and {column_label}: {description}."
    )


def _rising(x: Any, log_x: bool) -> np.ndarray:
    at = as_array("x", x)
    if not np.isfinite(at).all() or (np.diff(at) <= 0).any() or (log_x and at[0] <= 0):
        fail("x", f"rising finite numbers{' above 0' if log_x else ''}", at)
    return at


def _ticks(at: np.ndarray, log_x: bool) -> list[float]:
    """Choose as many of the values that were run as there is room for."""
    # So that their difference is finite.
    places = np.log(at) if log_x else at / max(np.abs(at).max(), 1.0)
    chosen = [0]
    for index in range(1, at.size):
        if places[index] - places[chosen[-1]] > _BETWEEN_TICKS * (places[-1] - places[0]):
            chosen.append(index)
    return at[chosen].tolist()


def _band(argument: str, values: Any, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, low and high at each x."""
    seeds = as_array(argument, values, dimensions=(2,))
    columns = [column[~np.isnan(column)] for column in seeds.T]
    if (
        seeds.shape[1] != count
        or not all(len(column) for column in columns)
        or np.isinf(seeds).any()
    ):
        fail(
            argument,
            f"an array [seeds, {count}] of finite numbers or NaN, one number at each x at least",
            seeds,
        )
    means = np.array([column.mean() for column in columns])
    # One seed says nothing about the spread: the band closes there.
    pairs = [
        interval(column.tolist()) or (mean, mean)
        for column, mean in zip(columns, means.tolist(), strict=True)
    ]
    return means, np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])


def _finite(argument: str, value: Any) -> np.ndarray:
    table = as_array(argument, value, dimensions=(2,))
    if np.isinf(table).any() or np.nanmax(np.abs(table), initial=0.0) > 1e15:
        fail(argument, "a table [rows, columns] of numbers of at most 1e15 or NaN", table)
    return table


def _name(value: str) -> str:
    """Return a setting as it stands at the axis; text, so that unequal steps take equal room."""
    try:
        return f"{float(value):g}"
    except ValueError:
        return value


def _scale(table: np.ndarray) -> tuple[list[list[Any]], tuple[float, float]]:
    """Return the colours of a scale and the values it ends at.

    Text must stay readable on them, so no colour is at its full strength.
    """
    blue = look.series_style(0).colour
    low, high = np.nanmin(table, initial=np.inf), np.nanmax(table, initial=-np.inf)
    if not low <= high:
        low, high = 0.0, 1.0
    margin = 0.0 if high > low else max(abs(high), 1.0)
    return [[0, look.faint(blue, 0.06)], [1, look.faint(blue, 0.6)]], (
        float(low) - margin,
        float(high) + margin,
    )


def _mark_missing(figure: go.Figure, table: np.ndarray) -> None:
    at = np.argwhere(np.isnan(table))
    if len(at):
        figure.add_scatter(
            x=at[:, 1],
            y=at[:, 0],
            mode="text",
            text=[_MISSING] * len(at),
            name=_MISSING,
            hoverinfo="skip",
            showlegend=False,
            textfont={"color": look.neutral("quiet"), "size": 12},
        )


def _cells_in_words(
    table: np.ndarray, rows: list[str], columns: list[str], labels: tuple[str, str]
) -> str:
    def cell(row: int, column: int) -> str:
        return (
            f"{words.number(table[row, column])} at {labels[0]} {rows[row]}, {labels[1]} "
            f"{columns[column]}"
        )

    run_count = int((~np.isnan(table)).sum())
    missing = f"; {table.size - run_count} cells were not run" if run_count < table.size else ""
    if not run_count:
        return f"none of {table.size} cells was run"
    best = np.unravel_index(np.nanargmax(table), table.shape)
    worst = np.unravel_index(np.nanargmin(table), table.shape)
    description = (
        f"{run_count} numbers, the largest {cell(*map(int, best))}, the smallest "
        f"{cell(*map(int, worst))}"
    )
    return description + missing
