"""Lesson 41: figures and tables of drawn views, of budgets, and of its records (Boost, Tables 1, 2, 3, 11 and 12)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from ... import figures, records, theory
from ...records.self_supervised import BOOST, KRR_ST, SELECTED
from ..shared import printed_tables as printed
from ..shared import recorded
from ..shared.unlabelled import BUDGETS, ROWS, percent, values
from . import sweep
from .claims import ARCHITECTURES, VIEWS, shift_values
from .sweep import BY_BUDGET, SHIFT_MODELS, UNTRAINED


def drawn_gradients(found: Mapping[str, theory.RandomViewGradients]) -> Any:
    """Outer gradients with drawn views: each one, their mean, and the gradient with all views, in units of its length."""
    figure = figures.start_figure(
        title="Does a draw point where all views point?", x_label="along the gradient with all views (its length = 1)",
        y_label="across it (same unit)", height=400,
    )  # fmt: skip
    said = []
    for index, (name, each) in enumerate(found.items()):
        style = figures.series_style(index)
        figure.add_scatter(
            x=each.along.tolist(), y=each.across.tolist(), mode="markers", name=f"{name}: each draw",
            marker={"symbol": f"{style.marker}-open", "color": style.colour, "size": 5}, opacity=0.5,
        )  # fmt: skip
        along = float(each.probabilities @ each.along)
        across = math.sqrt(max(each.bias**2 - (along - 1) ** 2, 0.0))
        figure.add_scatter(
            x=[along], y=[across], mode="markers", name=f"{name}: mean",
            marker={"symbol": style.marker, "color": style.colour, "size": 14, "line": {"width": 1.5}},
        )  # fmt: skip
        said.append(f"with {name} the mean gradient is {each.bias:.2f} of its length away")
    figure.add_scatter(
        x=[1.0], y=[0.0], mode="markers", name="all views",
        marker={"symbol": "star", "size": 16, "color": figures.series_style(len(found)).colour},
    )  # fmt: skip
    figure.update_layout(showlegend=True)
    return figures.finish_figure(figure, alt=f"Outer gradients beside that with all views: {'; '.join(said)}.")


def budget_curves() -> Any:
    """Accuracy by budget (Table 2)."""
    curves = {
        name: torch.tensor(
            [values("source", ROWS[name][0], budget=size, **ROWS[name][1]) for size in BUDGETS]
        ).T.tolist()
        for name in ("random real images", "k-means", "KRR-ST", "Boost")
    }
    return figures.sweep_bands(
        list(BUDGETS),
        curves,
        x_label="budget N (images)",
        title="By budget, with twice as many bases as images (Table 2)",
    )


def parts_table() -> str:
    """Tables 3 and 12 as printed, beside ours."""
    rows = {
        "KRR-ST": (printed.BOOST_3[0], values(method=KRR_ST)),
        "KRR-ST, counter not reset": (None, values(method=KRR_ST, reset=False)),
        "bases, no views": (printed.BOOST_3[1], values(augmentation="none")),
    } | {f"bases, {kind}": (printed.BOOST_12[kind], values(augmentation=kind)) for kind in VIEWS}
    lines = ["| | paper | here |", "|---|---|---|"]
    return "\n".join(
        lines + [f"| {name} | {percent(paper)} | {recorded.cell(ours)} |" for name, (paper, ours) in rows.items()]
    )


def shifts_table() -> str:
    """Table 11 as printed, beside ours; errors as a part of that of no shift."""
    lines = [
        "| shift of the views | error, paper (over .31, that of no shift) | error, here | accuracy, paper | accuracy, here | pairs, here |",
        "|---|" + "---|" * 5,
    ]
    none = printed.BOOST_11_SHIFTS["same"][1]
    for shift, hidden in SHIFT_MODELS:
        name = shift if hidden is None else f"networks of width {hidden}"
        accuracy, error = printed.BOOST_11_SHIFTS[name]
        theirs = "0" if math.isnan(error) else f"{error / none:.2f}"
        ours = recorded.cell(shift_values("error", shift, hidden), fraction=False)
        reached = recorded.cell(shift_values("source", shift, hidden, compared_on=BY_BUDGET))
        pairs = shift_values("pairs", shift, hidden, compared_on=BY_BUDGET)[0]
        lines.append(f"| {name} | {theirs} | {ours} | {percent(accuracy)} | {reached} | {pairs:.0f} |")
    return "\n".join(lines)


def architectures_table() -> str:
    """Table 1 as printed (CIFAR-100: Boost and the best other method), beside ours: networks of other architectures."""
    table = records.load(ARCHITECTURES)
    chosen = (UNTRAINED, SELECTED, KRR_ST, BOOST)
    lines = [f"| network | best other, paper | Boost, paper | {' | '.join(chosen)} |", "|---|" + "---|" * 6]
    # The first column of the printed table is the ConvNet, which made the sets.
    for name, paper in zip(sweep.ARCHITECTURES, printed.BOOST_1["CIFAR-100"][1:], strict=True):
        ours = [recorded.cell(table.values("source", architecture=name, method=method)) for method in chosen]
        lines.append(f"| {name} | {' | '.join([*map(percent, paper), *ours])} |")
    return "\n".join(lines)
