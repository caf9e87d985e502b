"""What is left of images while they are updated and real patches are mixed in: FADRM, Fig 3 (Cui et
al. 2025, arXiv 2506.24125).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...figures import alt as words
from ...figures import theme as look
from ...figures._check import Named, Words, as_array, as_series
from ...figures.curves import loss_curves

_LINE = 15  # pixels from one name to the next
MERGED = "real patches mixed in"


def vanishing_curves(
    curves: Mapping[str, Any],
    *,
    unit: Words,
    merges: Sequence[int] | np.ndarray = (),
    references: Named | None = None,
    steps: Any = None,
    title: str = "What is left of the images while they are updated",
    height: int = 400,
    close: bool = False,
) -> go.Figure:
    """Draw what images hold, or their distance from their patches, from step to step.

    Args:
        curves: name -> values [steps + 1], the first before any update; shorter while a run is
            going on.
        unit: what the values are, with their unit, for the y axis: "entropy of the features
            (bits)".
        merges: the steps after which patches were mixed in; a curve's value there is that after
            mixing.
        references: name -> level, drawn across; the y axis then begins at 0, or lower where
            something is negative.
        steps: where the values were taken, and will be; default 0, 1, ...
        close: the y axis holds curves and levels and no more, so that what differs by a tenth is
            seen.

    Example:
        vanishing_curves({"alpha = 0.5": [3, 2, 2.5, 2]}, unit="entropy (bits)", merges=[2], references={"real": 3, "noise": 6})
    """
    series = as_series("curves", curves)
    longest = max(curve.size for curve in series.values())
    at = np.arange(longest, dtype=float) if steps is None else as_array("steps", steps)[:longest]
    mixed = [int(step) for step in merges]
    figure = loss_curves(
        series, at, title=title, x_label="image update (step)", y_label=unit, height=height
    )
    for number, step in enumerate(mixed):
        figure.add_vline(
            x=step,
            line={"color": look.neutral("quiet"), "dash": "dot", "width": 1.5},
            layer="below",
            name=MERGED,
            legendgroup=MERGED,
            showlegend=number == 0,
        )
    if mixed:
        look.legend_below(figure)
    description = (
        f" Real patches are mixed in at {words.names([str(step) for step in mixed])}."
        if mixed
        else ""
    )
    description += add_levels(figure, references, np.concatenate([*series.values()]), close=close)
    return look.finish_figure(figure, alt=look.alt_text(figure) + description)


def add_levels(
    figure: go.Figure,
    references: Mapping[str, Any] | None,
    values: np.ndarray,
    *,
    close: bool = False,
) -> str:
    """Draw name -> level as dashed lines; returns what the alt text adds.

    The y axis begins at 0 and holds them and all `values`; with `close` it holds no more than
    those.
    """
    if references is None:
        return ""
    levels = {name: float(level) for name, level in references.items()}
    drawn_values = [
        *([] if close else [0.0]),
        *levels.values(),
        *values[np.isfinite(values)].tolist(),
    ]
    low, high = min(drawn_values), max(drawn_values)
    room = 0.06 * (high - low) if close else 0.0
    low, high = low - room, high + (room or 0.05 * (high - low)) if high > low else low + 1.0
    figure.update_yaxes(range=[low, high])
    quiet = look.neutral("quiet")
    plot_height = max((figure.layout.height or 360) - 120, 100)
    lowest_free = -np.inf
    for name, level in sorted(levels.items(), key=lambda item: item[1]):
        at = (level - low) / (high - low) * plot_height
        raised = max(at, lowest_free)  # names of near levels stand above each other
        lowest_free = raised + _LINE
        figure.add_hline(y=level, line=look.DASHED)
        figure.add_annotation(
            text=f"{name} {level:.3g}",
            x=1,
            xref="paper",
            xanchor="left",
            xshift=6,
            y=level,
            yref="y",
            yshift=raised - at,
            font={"color": quiet, "size": 12},
            showarrow=False,
            align="left",
        )
    longest = max(len(f"{name} {level:.3g}") for name, level in levels.items())
    figure.update_layout(margin={"r": 14 + 7 * max(longest, 6)})
    descriptions = [f"{name} {words.number(level)}" for name, level in levels.items()]
    return f" Dashed lines: {words.names(descriptions)}."
