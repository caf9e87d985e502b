"""Comparisons with intervals: conditions side by side, each seed as a point; and plain bars."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core.boundary import checked
from ..core.errors import DDLabError, check_instance, fail
from . import alt as words
from . import theme as look
from ._check import Format, Named, as_array, as_names, as_pair
from .theme import ThemeName


@checked
def comparison(
    names: Sequence[str],
    means: Any,
    lows: Any,
    highs: Any,
    *,
    seeds: Sequence[Any] | None = None,
    title: str = "Accuracy on the test images",
    x_label: str = "",
    y_label: str = "test accuracy (fraction)",
    interval: str = "95% interval",
    reference: tuple[str, float] | None = None,
    theme: ThemeName = "light",
    height: int = 360,
) -> go.Figure:
    """Mean and interval of each condition, with every seed as a small point beside it.

    Args:
        names: one per condition. means, lows, highs: [conditions]; lows <= means <= highs.
        seeds: per condition the values of the single seeds.
        interval: what the bar means, in words, as it stands in the alt text and hover.
        reference: (name, value) of a dashed line across, such as chance or the full data.

    Example:
        comparison(["noise", "real"], [0.61, 0.84], [0.55, 0.80], [0.67, 0.88], seeds=[[0.6, 0.62], [0.83, 0.85]])
    """
    groups = {"": (means, lows, highs) if seeds is None else (means, lows, highs, seeds)}
    return grouped_comparison(
        names, groups, title=title, x_label=x_label or "condition", y_label=y_label, interval=interval, reference=reference,
        theme=theme, height=height,
    )  # fmt: skip


@checked
def grouped_comparison(
    names: Sequence[str],
    groups: Named,
    *,
    title: str = "Accuracy on the test images",
    x_label: str = "condition",
    y_label: str = "test accuracy (fraction)",
    interval: str = "95% interval",
    reference: tuple[str, float] | None = None,
    theme: ThemeName = "light",
    height: int = 380,
) -> go.Figure:
    """Several groups (such as kinds of labels) over the same conditions (such as kinds of images).

    Args:
        names: the conditions on the x axis.
        groups: name -> (means, lows, highs) or (means, lows, highs, seeds), each with one entry per condition.

    Other arguments as in `comparison`.
    """
    conditions = as_names("names", names)
    shown = [look.literal(name) for name in conditions]
    figure = look.start_figure(title=title, x_label=x_label, y_label=y_label, theme=theme, height=height)
    positions = np.arange(len(conditions), dtype=float)
    said = []
    for index, (group, columns) in enumerate(groups.items()):
        means, lows, highs, seeds = _columns(group, columns, len(conditions))
        style = look.series_style(index, theme)
        offset = (index - (len(groups) - 1) / 2) * min(0.22, 0.7 / len(groups))
        label = group or "mean"
        _add_seeds(figure, positions + offset, seeds, conditions, label, style)
        figure.add_scatter(
            x=positions + offset, y=means, mode="markers", name=label, customdata=np.stack([lows, highs], 1),
            marker={"symbol": style.marker, "size": 11, "color": style.colour},
            error_y={"type": "data", "symmetric": False, "array": highs - means, "arrayminus": means - lows,
                     "thickness": 2, "width": 7, "color": style.colour},
            text=shown,
            hovertemplate=f"%{{text}}, {label}: %{{y:.3f}}<br>{interval} %{{customdata[0]:.3f}} to %{{customdata[1]:.3f}}<extra></extra>",
        )  # fmt: skip
        said += [
            f"{name}{f', {group}' if group else ''} {words.number(mean)} ({words.number(low)} to {words.number(high)})"
            for name, mean, low, high in zip(conditions, means, lows, highs, strict=True)
        ]
    said += _referred(figure, reference, theme)
    figure.update_xaxes(
        tickmode="array",
        tickvals=positions,
        ticktext=[name.replace(", ", ",<br>") for name in shown],
        ticklabeloverflow="allow",
        range=[-0.6, len(conditions) - 0.4],
        showgrid=False,
        zeroline=False,
    )
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(showlegend=False)
    if len(groups) > 1:
        look.legend_below(figure)
    points = " Small points are single seeds." if any(len(columns) > 3 for columns in groups.values()) else ""
    return look.finish_figure(figure, alt=f"{y_label} with {interval}: {'; '.join(said)}.{points}")


@checked
def raise_bars(figure: go.Figure, values: Any, *, text_format: Format = ".3g") -> go.Figure:
    """Other values for a figure that `bars` made of one group. Changes `figure` in place, and returns it.

    For bars that follow a slider: a new figure takes ten times as long.
    """
    if len(figure.data) != 1 or figure.data[0].type != "bar":
        fail("figure", "a figure that bars made of one group", figure)
    trace = figure.data[0]
    heights = _column("values", values, len(trace.x))
    said = look.alt_text(figure)
    names = [html.unescape(name) for name in trace.x]
    before = "; ".join(f"{name} {words.number(v)}" for name, v in zip(names, trace.y, strict=True))
    after = "; ".join(f"{name} {words.number(v)}" for name, v in zip(names, heights, strict=True))
    trace.y = heights
    trace.text = [f"{height:{text_format}}" for height in heights]
    return look.finish_figure(figure, alt=said.replace(before, after))


@checked
def bars(
    names: Sequence[str],
    values: Any,
    *,
    title: str,
    y_label: str,
    x_label: str = "",
    theme: ThemeName = "light",
    height: int = 340,
    text_format: Format = ".3g",
    reference: tuple[str, float] | None = None,
) -> go.Figure:
    """Bars from zero with their values written on them.

    Args:
        values: [names], or a mapping of group -> [names] for bars side by side.
    """
    labels = as_names("names", names)
    shown = [look.literal(name) for name in labels]
    groups = values if isinstance(values, Mapping) else {"": values}
    figure = look.start_figure(title=title, x_label=x_label or "group", y_label=y_label, theme=theme, height=height)
    if not x_label:
        figure.update_xaxes(title={"text": ""})
    said = []
    for index, (group, column) in enumerate(groups.items()):
        heights = _column(f"values{f'[{group!r}]' if group else ''}", column, len(labels))
        style = look.series_style(index, theme)
        figure.add_bar(
            x=shown, y=heights, name=str(group or y_label), text=[f"{height:{text_format}}" for height in heights],
            textposition="outside", cliponaxis=False, marker={
                "color": look.faint(style.colour, 0.75), "line": {"color": style.colour, "width": 1.5},
                "pattern": {"shape": style.pattern, "solidity": 0.25},
            },
        )  # fmt: skip
        said += [
            f"{name}{f', {group}' if group else ''} {words.number(v)}" for name, v in zip(labels, heights, strict=True)
        ]
    said += _referred(figure, reference, theme)
    figure.update_layout(barmode="group")
    figure.update_layout(showlegend=False)
    if len(groups) > 1:
        look.legend_below(figure)
    return look.finish_figure(figure, alt=f"Bar chart of {y_label}: {'; '.join(said)}.")


@checked
def add_reference(figure: go.Figure, name: str, value: float, *, theme: ThemeName = "light") -> go.Figure:
    """A dashed line across the figure at `value`, with its name beside the right end."""
    quiet = look.neutral("quiet", theme)
    words_beside = f"{name}<br>{value:.3g}"
    figure.add_hline(
        y=value,
        line={"color": quiet, "dash": "dash", "width": 1.5},
        annotation={"text": words_beside, "font": {"color": quiet, "size": 12}, "showarrow": False, "align": "left"},
        annotation_position="right",
    )
    figure.update_layout(margin={"r": 14 + 7 * max(len(name), 6)})
    return figure


def _referred(figure: go.Figure, reference: Any, theme: ThemeName) -> list[str]:
    """Add a reference line where one is given, and say so."""
    if reference is None:
        return []
    name, value = as_pair("reference", reference, "(name, value) of a dashed line")
    add_reference(figure, name, value, theme=theme)
    return [f"the dashed line is {name}, {words.number(value)}"]


def _columns(
    group: str, columns: tuple[Any, ...], count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    of = f" of group {group!r}" if group else ""
    if not isinstance(columns, tuple | list) or len(columns) not in (3, 4):
        raise DDLabError(
            f"the columns{of} must be (means, lows, highs) or (means, lows, highs, seeds); given {type(columns).__name__}."
        )
    means, lows, highs = (
        _column(name + of, value, count) for name, value in zip(("means", "lows", "highs"), columns, strict=False)
    )
    if (lows > means).any() or (highs < means).any():
        worst = int(np.argmax(np.maximum(lows - means, means - highs)))
        raise DDLabError(
            f"lows and highs{of} must enclose the means; given {lows[worst]:.4g} to {highs[worst]:.4g} around {means[worst]:.4g}."
        )
    if len(columns) == 4:
        check_instance(f"seeds{of}", columns[3], Sequence, "a list with the values of each name")
    per_seed = [] if len(columns) == 3 else [as_array(f"seeds{of}", values) for values in columns[3]]
    if per_seed and len(per_seed) != count:
        raise DDLabError(f"seeds{of} must be a list with one entry per name, {count}; given {len(per_seed)} entries.")
    return means, lows, highs, per_seed


def _column(argument: str, value: Any, count: int) -> np.ndarray:
    array = as_array(argument, value)
    if array.size != count:
        raise DDLabError(f"{argument} must be an array with one value per name, {count}; given {array.size} values.")
    return array


def _add_seeds(
    figure: go.Figure, x: np.ndarray, seeds: list[np.ndarray], names: list[str], label: str, style: look.SeriesStyle
) -> None:
    if not seeds:
        return
    figure.add_scatter(
        x=np.concatenate([np.full(values.size, at + 0.07) for at, values in zip(x, seeds, strict=True)]), y=np.concatenate(seeds),
        mode="markers", name=f"{label}, single seeds", showlegend=False,
        marker={"symbol": f"{style.marker}-open", "size": 6, "color": style.colour},
        text=[look.literal(name) for name, values in zip(names, seeds, strict=True) for _ in range(values.size)],
        hovertemplate="%{text}, one seed: %{y:.3f}<extra></extra>",
    )  # fmt: skip
