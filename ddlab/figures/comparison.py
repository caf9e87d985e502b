"""Comparisons with intervals: conditions side by side, each seed as a point; and plain bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core import DDLabError, checked, fail
from ..core.errors import check_instance
from ..evaluation import interval
from . import alt as words
from . import theme as look
from ._check import Format, Named, Unit, as_array, as_names, as_pair, in_unit, with_unit


@checked
def comparison(
    conditions: Named,
    *,
    title: str = "Accuracy on the test images",
    x_label: str = "",
    y_label: str = "test accuracy (fraction)",
    unit: Unit = "",
    intervals: bool = True,
    reference: tuple[str, float] | None = None,
    height: int = 360,
) -> go.Figure:
    """Draw the mean and 95% interval (Student's t) of each condition, with a small point per seed.

    Args:
        conditions: name -> one value for each seed. One value alone has no interval.
        unit: of the axis; conditions and reference are fractions then.
        intervals: False leaves them out, where three seeds would stretch the axis.
        reference: (name, value) of a dashed line across, such as chance, the full data, or ("no
            difference", 0).

    Example:
        comparison({"noise": [0.60, 0.62], "real": [0.83, 0.85]})
    """
    return grouped_comparison(
        {"": conditions},
        title=title,
        x_label=x_label,
        y_label=y_label,
        unit=unit,
        intervals=intervals,
        reference=reference,
        height=height,
    )


@checked
def grouped_comparison(
    groups: Named,
    *,
    title: str = "Accuracy on the test images",
    x_label: str = "",
    y_label: str = "test accuracy (fraction)",
    unit: Unit = "",
    intervals: bool = True,
    reference: tuple[str, float] | None = None,
    height: int = 380,
) -> go.Figure:
    """Draw several groups (such as kinds of labels) over the same conditions (such as images).

    Args:
        groups: name -> conditions as `comparison` takes them; all groups have the same ones.

    Other arguments as in `comparison`.
    """
    columns = {group: _seeds(group, conditions) for group, conditions in groups.items()}
    names = list(next(iter(columns.values())))
    for group, seeds in columns.items():
        if list(seeds) != names:
            fail(
                f"groups[{group!r}]",
                f"a mapping with the conditions of the first group, {', '.join(names)}",
                list(seeds),
            )
    literal_names = [look.literal(name) for name in names]
    is_fraction = unit == "%" or y_label.endswith("(fraction)")
    y_label = with_unit(y_label, unit)
    digits = 1 if unit else 3
    figure = _start(title, x_label, y_label, height)
    positions = np.arange(len(names), dtype=float)
    descriptions = []
    shown_values: list[float] = []
    for index, (group, seeds) in enumerate(columns.items()):
        means = in_unit(np.array([values.mean() for values in seeds.values()]), unit)
        spans = []
        for values in seeds.values():
            span = interval(values.tolist()) if intervals else None
            # The t interval of two seeds can pass 1, which no fraction does.
            if span is not None and is_fraction:
                span = (max(span[0], 0.0), min(span[1], 1.0))
            spans.append(None if span is None else in_unit(np.array(span), unit))
        lows, highs = np.array(
            [
                (mean, mean) if span is None else span
                for span, mean in zip(spans, means, strict=True)
            ]
        ).T
        drawn_seeds = [in_unit(values, unit) for values in seeds.values()]
        for low, high, values in zip(lows, highs, drawn_seeds, strict=True):
            shown_values += [low, high, *values]
        style = look.series_style(index)
        # Groups stand side by side around the condition's place, and never reach the next one.
        offset = (index - (len(columns) - 1) / 2) * min(0.22, 0.7 / len(columns))
        label = group or "mean"
        _add_seeds(figure, positions + offset, drawn_seeds, names, label, style)
        figure.add_scatter(
            x=positions + offset,
            y=means,
            mode="markers",
            name=look.literal(label),
            customdata=np.stack([lows, highs], 1),
            marker={"symbol": style.marker, "size": 11, "color": style.colour},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": highs - means,
                "arrayminus": means - lows,
                "thickness": 2,
                "width": 7,
                "color": style.colour,
            },
            text=literal_names,
            hovertemplate=f"%{{text}}, {look.literal(label)}: %{{y:.{digits}f}}<br>95% interval "
            f"%{{customdata[0]:.{digits}f}} to %{{customdata[1]:.{digits}f}}<extra></extra>",
        )
        for name, mean, span in zip(names, means, spans, strict=True):
            within = (
                "" if span is None else f" ({words.number(span[0])} to {words.number(span[1])})"
            )
            descriptions.append(
                f"{name}{f', {group}' if group else ''} {words.number(mean)}{within}"
            )
    descriptions += _add_reference(figure, reference, unit)
    figure.update_xaxes(
        tickmode="array",
        tickvals=positions,
        ticktext=[name.replace(", ", ",<br>") for name in literal_names],
        ticklabeloverflow="allow",
        range=[-0.6, len(names) - 0.4],
        showgrid=False,
        zeroline=False,
    )
    if reference is not None:
        shown_values.append(in_unit(reference[1], unit))
    # Points need no zero to be read against, so the axis shows where they differ.
    low, high = min(shown_values), max(shown_values)
    margin = 0.08 * (high - low) or 0.05
    figure.update_yaxes(range=[low - margin, high + margin])
    figure.update_layout(showlegend=False)
    if len(columns) > 1:
        look.legend_below(figure)
    with_interval = " with 95% interval" if intervals else ""
    return look.finish_figure(
        figure,
        alt=f"{y_label}{with_interval}: {'; '.join(descriptions)}. Small points are single seeds.",
    )


@checked
def bars(
    names: Sequence[str],
    values: Any,
    *,
    title: str,
    y_label: str,
    unit: Unit = "",
    x_label: str = "",
    height: int = 340,
    text_format: Format = ".3g",
    reference: tuple[str, float] | None = None,
) -> go.Figure:
    """Draw bars from zero with their values written on them.

    Args:
        values: [names], or a mapping of group -> [names] for bars side by side.
        unit: of the axis; values and reference are fractions then.
    """
    labels = as_names("names", names)
    literal_names = [look.literal(name) for name in labels]
    groups = values if isinstance(values, Mapping) else {"": values}
    y_label = with_unit(y_label, unit)
    figure = _start(title, x_label, y_label, height)
    descriptions = []
    for index, (group, column) in enumerate(groups.items()):
        heights = _column(f"values{f'[{group!r}]' if group else ''}", column, len(labels))
        heights = in_unit(heights, unit)
        style = look.series_style(index)
        figure.add_bar(
            x=literal_names,
            y=heights,
            name=look.literal(group or y_label),
            text=[f"{height:{text_format}}" for height in heights],
            textposition="outside",
            cliponaxis=False,
            marker={
                "color": look.faint(style.colour, 0.75),
                "line": {"color": style.colour, "width": 1.5},
                "pattern": {"shape": style.pattern, "solidity": 0.25},
            },
        )
        for name, v in zip(labels, heights, strict=True):
            descriptions.append(f"{name}{f', {group}' if group else ''} {words.number(v)}")
    descriptions += _add_reference(figure, reference, unit)
    figure.update_xaxes(
        type="category",  # also where they are called 1, 2, 5 and 50
        tickmode="array",
        tickvals=literal_names,
        ticktext=[name.replace(", ", ",<br>") for name in literal_names],
    )
    figure.update_layout(barmode="group", showlegend=False)
    if len(groups) > 1:
        look.legend_below(figure)
    return look.finish_figure(figure, alt=f"Bar chart of {y_label}: {'; '.join(descriptions)}.")


@checked
def add_reference(figure: go.Figure, name: str, value: float) -> go.Figure:
    """Return a dashed line across the figure at `value`, with its name beside the right end."""
    quiet = look.neutral("quiet")
    words_beside = f"{look.literal(name)}<br>{value:.3g}"
    figure.add_hline(
        y=value,
        line=look.DASHED,
        annotation={
            "text": words_beside,
            "font": {"color": quiet, "size": 12},
            "showarrow": False,
            "align": "left",
        },
        annotation_position="right",
    )
    figure.update_layout(margin={"r": 14 + 7 * max(len(name), 6)})
    return figure


def _start(title: str, x_label: str, y_label: str, height: int) -> go.Figure:
    """Return an empty figure; names under the places of an axis need no label of their own."""
    figure = look.start_figure(
        title=title, x_label=x_label or "compared", y_label=y_label, height=height
    )
    return figure if x_label else figure.update_xaxes(title_text="")


def _add_reference(figure: go.Figure, reference: Any, unit: Unit) -> list[str]:
    """Add a reference line where one is given, and say so."""
    if reference is None:
        return []
    name, value = as_pair("reference", reference, "(name, value) of a dashed line")
    add_reference(figure, name, in_unit(value, unit))
    return [f"the dashed line is {name}, {words.number(in_unit(value, unit))}"]


def _seeds(group: str, conditions: Any) -> dict[str, np.ndarray]:
    """Return the values of each condition's seeds, checked."""
    of = f" of group {group!r}" if group else ""
    check_instance(
        f"conditions{of}", conditions, Mapping, "a mapping of names to the values of their seeds"
    )
    names = as_names(f"conditions{of}", list(conditions))
    return {name: as_array(f"conditions[{name!r}]{of}", conditions[name]) for name in names}


def _column(argument: str, value: Any, count: int) -> np.ndarray:
    array = as_array(argument, value)
    if array.size != count:
        raise DDLabError(
            f"{argument} must be an array with one value per name, {count}; given "
            f"{array.size} values."
        )
    return array


def _add_seeds(
    figure: go.Figure,
    x: np.ndarray,
    seeds: list[np.ndarray],
    names: list[str],
    label: str,
    style: look.SeriesStyle,
) -> None:
    figure.add_scatter(
        x=np.concatenate(
            [np.full(values.size, at + 0.07) for at, values in zip(x, seeds, strict=True)]
        ),
        y=np.concatenate(seeds),
        mode="markers",
        name=f"{look.literal(label)}, single seeds",
        showlegend=False,
        marker={"symbol": f"{style.marker}-open", "size": 6, "color": style.colour},
        text=[
            look.literal(name)
            for name, values in zip(names, seeds, strict=True)
            for _ in range(values.size)
        ],
        hovertemplate="%{text}, one seed: %{y:.3f}<extra></extra>",
    )
