"""Real patches mixed into images on the way: the stages and what they cost, and what is left of the images between.

They replay Fig 2 (bottom right) and Fig 3 (left) of Cui et al. 2025 (FADRM, arXiv 2506.24125). Its Fig 4 is an `image_grid` with a
column for each merge ratio; Fig 3 (right) is `class_bars`, Table 5 a `heat_map`, Table 6 a `sweep_bands`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import plotly.graph_objects as go

from ..core.boundary import checked, within
from ..core.errors import check_integer, fail
from ..theory import printed_resolution_cost_ratio, resolution_cost_ratio, resolution_stages
from . import alt as words
from . import theme as look
from ._check import Named, Words, as_series, as_steps
from .curves import loss_curves
from .levels import add_levels
from .theme import ThemeName

MERGED = "real patches mixed in"
_SIZE, _RESAMPLED = "image side", "resampled at the end"
_COST, _FULL = "cost so far", "at full size only"
_EXACT, _PRINTED = "Algorithm 1 in all", "eq 8 as printed"


@checked
def schedule_diagram(
    *,
    iterations: Annotated[int, within(1, 10**9)],
    merges: int,
    image_size: Annotated[int, within(2, 10**5)],
    small_size: int | None,
    title: str = "Stages of a run, and what they cost",
    theme: ThemeName = "light",
    height: int = 480,
) -> go.Figure:
    """FADRM's Algorithm 1: the size of the images at each step, above; the cost so far beside that of full size, below.

    A step costs as many units as an image has values (eq 7), here as a share of what all steps at full size cost. Eq 8 as printed is
    right for odd `merges` alone: with an even number the last stage is a small one too, and its images are resampled at the end.

    Args:
        iterations: updates of an image. merges: how often the patches are mixed in, below `iterations`.
        image_size, small_size: sides of square images in pixels; None: full size all the way.

    Example:
        schedule_diagram(iterations=2000, merges=3, image_size=224, small_size=200)
    """
    check_integer("merges", merges, 0, min(iterations - 1, 1000))
    small = image_size if small_size is None else check_integer("small_size", small_size, 1, image_size - 1)
    stages = resolution_stages(budget=iterations, merges=merges)
    ends = np.cumsum([0, *(stage.steps for stage in stages)])
    sides = [small if stage.small else image_size for stage in stages]
    figure = look.start_figure(
        title=title, x_label="image update (step)", y_label="side (px)", theme=theme, height=height
    )
    _add_sizes(figure, ends, sides, image_size, theme)
    setting = {"budget": iterations, "merges": merges, "small_side": small, "side": image_size}
    exact, printed = resolution_cost_ratio(**setting), printed_resolution_cost_ratio(**setting)
    _add_costs(figure, ends, sides, image_size, {_EXACT: exact, _PRINTED: printed}, theme)
    look.legend_below(figure)
    return look.finish_figure(figure, alt=_stages_in_words(ends, sides, image_size, exact, printed))


@checked
def vanishing_curves(
    curves: Mapping[str, Any],
    *,
    unit: Words,
    merges: Sequence[int] | np.ndarray = (),
    references: Named | None = None,
    steps: Any = None,
    bands: Mapping[str, tuple[Any, Any]] | None = None,
    title: str = "What is left of the images while they are updated",
    x_label: str = "image update (step)",
    theme: ThemeName = "light",
    height: int = 400,
    close: bool = False,
) -> go.Figure:
    """What images hold, or how far they are from their patches, from step to step (FADRM Fig 3, left).

    Args:
        curves: name -> values [steps + 1], the first before any update; shorter while a run is going on.
        unit: what the values are, with their unit, for the y axis: "entropy of the features (bits)".
        merges: the steps after which patches were mixed in; a curve's value there is that after mixing.
        references: name -> level, drawn across; the y axis then begins at 0, or lower where something is negative.
        steps: where the values were taken; default 0, 1, ... bands: name -> (lower, upper) around the curve of that name.
        close: the y axis holds curves and levels and no more, so that what differs by a tenth is seen.

    Example:
        vanishing_curves({"alpha = 0.5": [3, 2, 2.5, 2]}, unit="entropy (bits)", merges=[2], references={"real": 3, "noise": 6})
    """
    series = as_series("curves", curves)
    longest = max(curve.size for curve in series.values())
    at = np.arange(longest, dtype=float) if steps is None else as_steps(steps, longest)
    if isinstance(merges, str) or not isinstance(merges, Sequence | np.ndarray):
        fail("merges", "a list of steps", merges)
    mixed = [check_integer("merges", step, 0, 10**9) for step in merges]
    figure = loss_curves(
        series, at, title=title, x_label=x_label, y_label=unit, theme=theme, height=height, bands=bands
    )
    for number, step in enumerate(mixed):
        figure.add_vline(
            x=step, line={"color": look.neutral("quiet", theme), "dash": "dot", "width": 1.5}, layer="below",
            name=MERGED, legendgroup=MERGED, showlegend=number == 0,
        )  # fmt: skip
    if mixed:
        look.legend_below(figure)
    said = f" Real patches are mixed in at {words.names([str(step) for step in mixed])}." if mixed else ""
    said += add_levels(figure, references, np.concatenate([*series.values()]), theme=theme, close=close)
    return look.finish_figure(figure, alt=look.alt_text(figure) + said)


def _add_sizes(figure: go.Figure, ends: np.ndarray, sides: list[int], full: int, theme: ThemeName) -> None:
    """The upper panel: a step line, a mark at the new size wherever patches are mixed in, and what is done at the end."""
    line, mark, last = (look.series_style(index, theme) for index in range(3))
    figure.add_scatter(x=ends.repeat(2)[1:-1], y=np.repeat(sides, 2), name=_SIZE, **look.line_style(line, width=2.5))
    figure.add_scatter(
        x=ends[1:-1], y=sides[1:], name=MERGED, mode="markers", showlegend=len(sides) > 1,
        marker={"symbol": "diamond", "size": 11, "color": mark.colour},
    )  # fmt: skip
    enlarged = sides[-1] < full
    figure.add_scatter(
        x=ends[[-1, -1]] if enlarged else [], y=[sides[-1], full] if enlarged else [], name=_RESAMPLED, mode="lines+markers",
        showlegend=enlarged, line={"color": last.colour, "dash": "dot", "width": 2},
        marker={"symbol": "triangle-up", "size": [0, 11], "opacity": 1, "color": last.colour},
    )  # fmt: skip
    low, high = min(sides), max(full, *sides)
    room = max(0.25 * (high - low), 0.1 * high)
    figure.update_yaxes(range=[max(low - room, 0), high + room], domain=[0.58, 1])


def _add_costs(
    figure: go.Figure, ends: np.ndarray, sides: list[int], full: int, marks: Mapping[str, float], theme: ThemeName
) -> None:
    """The lower panel: the cost so far as a share of all steps at full size, and two numbers for the whole."""
    quiet, line = look.neutral("quiet", theme), look.series_style(0, theme)
    spent = np.concatenate([[0.0], np.cumsum(np.diff(ends) * (np.array(sides) / full) ** 2)]) / ends[-1]
    dashed = {"color": quiet, "dash": "dash", "width": 1.5}
    figure.add_scatter(x=ends[[0, -1]], y=[0.0, 1.0], name=_FULL, mode="lines", line=dashed, yaxis="y2")
    figure.add_scatter(
        x=ends,
        y=spent,
        name=_COST,
        mode="lines",
        yaxis="y2",
        line={"color": line.colour, "width": 2.5, "dash": "dashdot"},
    )
    for (name, share), symbol, index in zip(marks.items(), ("circle-open", "x-thin"), (5, 1), strict=True):
        colour = look.series_style(index, theme).colour
        figure.add_scatter(
            x=ends[-1:], y=[share], name=f"{name}: {share:.3g}", mode="markers", yaxis="y2", cliponaxis=False,
            marker={"symbol": symbol, "size": 12, "color": colour, "line": {"color": colour, "width": 2.5}},
        )  # fmt: skip
    axis = {"title": {"text": "cost (share)"}, "domain": [0, 0.42], "range": [0, 1.05], "anchor": "x"}
    # One x axis for both, under the lower panel.
    figure.update_layout(yaxis2={**figure.layout.template.layout.yaxis.to_plotly_json(), **axis})
    figure.update_xaxes(anchor="y2", range=[0, ends[-1] * 1.02], zeroline=False)


def _stages_in_words(ends: np.ndarray, sides: list[int], full: int, exact: float, printed: float) -> str:
    lengths, small = np.diff(ends), np.array(sides) < full
    text = f"Steps 0 to {ends[-1]} in {len(sides)} stage{'s' * (len(sides) > 1)}, "
    text += f"{lengths[small].sum()} of the steps at {min(sides)} px, " if small.any() else ""
    text += f"{lengths[~small].sum()} at {full} px; real patches are "
    text += f"mixed in at {words.names([str(step) for step in ends[1:-1]])}" if len(sides) > 1 else "never mixed in"
    text += f"; the last stage is small, and its images are resampled to {full} px" if small[-1] else ""
    return f"{text}. The cost is {words.number(exact)} of that at full size; eq 8 as printed gives {words.number(printed)}."
