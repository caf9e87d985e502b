"""Horizontal lines to read a figure by, each with its name at the right end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..core.errors import check_number
from . import alt as words
from . import theme as look
from ._check import worded

_LINE = 15  # pixels from one name to the next


def add_levels(
    figure: go.Figure, references: Mapping[str, Any] | None, values: np.ndarray, *, close: bool = False
) -> str:
    """Draw name -> level as dashed lines; returns what the alt text adds.

    The y axis begins at 0 and holds them and all `values`; with `close` it holds no more than those.
    """
    if references is None:
        return ""
    levels = {
        worded("a name in references", name): check_number(f"references[{name!r}]", level, -1e15, 1e15)
        for name, level in references.items()
    }
    known = [*([] if close else [0.0]), *levels.values(), *values[np.isfinite(values)].tolist()]
    low, high = min(known), max(known)
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
        figure.add_hline(y=level, line={"color": quiet, "dash": "dash", "width": 1.5})
        figure.add_annotation(
            text=f"{name} {level:.3g}", x=1, xref="paper", xanchor="left", xshift=6, y=level, yref="y", yshift=raised - at,
            font={"color": quiet, "size": 12}, showarrow=False, align="left",
        )  # fmt: skip
    longest = max(len(f"{name} {level:.3g}") for name, level in levels.items())
    figure.update_layout(margin={"r": 14 + 7 * max(longest, 6)})
    said = [f"{name} {words.number(level)}" for name, level in levels.items()]
    return f" Dashed lines: {words.names(said)}."
