"""The law of total variance and the added share, against loops in plain Python."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ddlab import theory
from tests.support import refuses


def variance(rows: list[list[float]]) -> float:
    """Biased, summed over the dimensions."""
    columns = list(zip(*rows, strict=True))
    means = [sum(column) / len(column) for column in columns]
    return sum((value - mean) ** 2 for column, mean in zip(columns, means, strict=True) for value in column) / len(rows)


@given(rows=st.integers(1, 12), width=st.integers(1, 4), kinds=st.integers(1, 4), seed=st.integers(0, 999))
def test_between_and_within_are_the_law_of_total_variance(rows: int, width: int, kinds: int, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    features = torch.randn((rows, width), generator=draw, dtype=torch.float64) + 3
    groups = torch.randint(-5, kinds, (rows,), generator=draw)
    parts = theory.variance_between_and_within(features, groups)
    members = {name: features[groups == name].tolist() for name in set(groups.tolist())}
    within = sum(len(some) * variance(some) for some in members.values()) / rows
    replaced = [features[groups == name].mean(0).tolist() for name in groups.tolist()]
    close: dict[str, Any] = {"rel": 1e-9, "abs": 1e-12}
    assert parts.within == pytest.approx(within, **close)
    assert parts.between == pytest.approx(variance(replaced), **close)
    assert parts.total == pytest.approx(variance(features.tolist()), **close)
    assert parts.total == pytest.approx(parts.between + parts.within, **close)


def test_equation_7_where_its_premises_hold() -> None:
    """Solutions that agree, and an independent xi: all variance of a class is that of xi."""
    draw = torch.Generator().manual_seed(0)
    solutions = torch.randn((3, 4), generator=draw, dtype=torch.float64)
    classes = torch.arange(3).repeat_interleave(500)
    without = solutions[classes]
    xi = 0.5 * torch.randn((1500, 4), generator=draw, dtype=torch.float64)
    assert theory.variance_between_and_within(without, classes).within == pytest.approx(0, abs=1e-25)
    with_term = theory.variance_between_and_within(without + xi, classes)
    assert with_term.within == pytest.approx(4 * 0.25, rel=0.05)


def test_added_variance_is_a_share() -> None:
    draw = torch.Generator().manual_seed(0)
    before = torch.randn((20, 3), generator=draw)
    assert theory.added_variance(before, before) == 0
    assert theory.added_variance(before, 2 * before - 5) == pytest.approx(3, rel=1e-5)
    after = torch.randn((30, 3), generator=draw)
    expected = variance(after.tolist()) / variance(before.tolist()) - 1
    assert theory.added_variance(before, after) == pytest.approx(expected, rel=1e-5)
    assert theory.added_variance(before, after[:1]) == -1


def test_what_is_refused() -> None:
    features = torch.randn((4, 2))
    with refuses("before", "not all equal"):
        theory.added_variance(torch.ones(4, 2), features)
