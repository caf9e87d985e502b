"""What sets take to store, as bars beside a budget (section 4 and appendix A.1 of Yu, Yao & Chiu 2025, Boost)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ...figures import theme as look
from ...figures._check import Named


def storage_bill(
    bills: Named,
    *,
    budget: tuple[str, float] | None = None,
    title: str = "What the sets take",
    x_label: str = "numbers stored (floats)",
    height: int = 380,
) -> go.Figure:
    """A bar for each set, from left to right the floats of its parts, beside the line of what may be stored.

    Args:
        bills: name -> `storage_budget.Bill`, or a mapping of part -> floats; parts that are 0 in all of them are left out. The first
            set is the uppermost; parts of one name have one colour and pattern.
        budget: (name, floats) of an upright line.

    Example:
        storage_bill({"bases": Factorised().bill(114), "plain": {"images": 350208}}, budget=("100 images", 307200))
    """
    tables = {name: _parts(bill) for name, bill in bills.items()}
    totals = [sum(parts.values()) for parts in tables.values()]
    figure = look.start_figure(title=title, x_label=x_label, y_label="set", height=height)
    named = dict.fromkeys(part for parts in tables.values() for part, floats in parts.items() if floats)
    bars = [_bar(part, tables, index) for index, part in enumerate(named)]
    written = {
        "type": "scatter", "x": totals, "y": [*tables], "mode": "text", "text": [f" {total:,.0f}" for total in totals],
        "textposition": "middle right", "name": "in all", "showlegend": False, "hoverinfo": "skip", "cliponaxis": False,
    }  # fmt: skip
    figure.add_traces([*bars, written])
    limit = _add_budget(figure, budget)
    figure.update_layout(
        barmode="stack",
        xaxis={"range": [0, 1.22 * max(*totals, limit, 1)], "tickformat": "~s"},
        yaxis={"autorange": "reversed", "type": "category", "zeroline": False},
    )
    look.legend_below(figure).update_layout(legend={"traceorder": "normal"})
    return look.finish_figure(figure, alt=_bills_in_words(tables, totals, budget))


def _bar(part: str, tables: dict[str, dict[str, float]], index: int) -> dict[str, Any]:
    """The pieces of one part in every bar; as a plain dict, because a slider makes them anew."""
    style = look.series_style(index)
    pattern = look.series_style(index + index // 7).pattern  # else the eighth part would look like the first
    return {
        "type": "bar",
        "orientation": "h",
        "name": part,
        "y": [*tables],
        "x": [parts.get(part, 0) for parts in tables.values()],
        "hovertemplate": f"{look.literal(part)}: %{{x:,}}<extra>%{{y}}</extra>",
        "marker": {
            "color": look.faint(style.colour, 0.75),
            "line": {"color": style.colour, "width": 1},
            "pattern": {"shape": pattern, "solidity": 0.25},
        },
    }


def _bills_in_words(tables: dict[str, dict[str, float]], totals: Sequence[float], budget: Any) -> str:
    said = []
    for (name, parts), total in zip(tables.items(), totals, strict=True):
        of = ", ".join(f"{part} {floats:,.0f}" for part, floats in parts.items() if floats)
        against = "" if budget is None else f", {'within' if total <= budget[1] else 'above'} the budget"
        said.append(f"{name} takes {total:,.0f}{against}" + (f" ({of})" if of else ""))
    limit = "" if budget is None else f" The budget is {budget[0]}, {budget[1]:,.0f}."
    return f"Floats of sets, part by part: {'; '.join(said)}.{limit}"


def _parts(bill: Any) -> dict[str, float]:
    given = bill if isinstance(bill, Mapping) else vars(bill)  # of a Bill the field's name, of a mapping what it says
    return {part.replace("_", " "): float(floats) for part, floats in given.items()}


def _add_budget(figure: go.Figure, budget: Any) -> float:
    """The line of what may be stored, with its name at its upper end; returns where it stands, 0 without one."""
    if budget is None:
        return 0.0
    name, floats = budget
    text = f"{name}: {floats:,.0f}"
    quiet = look.neutral("text")
    figure.update_layout(
        margin={"t": 70},
        shapes=[{"type": "line", "x0": floats, "x1": floats, "y0": 0, "y1": 1, "yref": "paper",
                 "line": {"color": quiet, "dash": "dash", "width": 2}}],
        annotations=[{"text": text, "x": floats, "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": 2, "showarrow": False,
                      "font": {"color": quiet, "size": 12}}],
    )  # fmt: skip
    return floats
