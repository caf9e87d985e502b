"""FADRM's equations 7 and 8 against Algorithm 1 walked step by step."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlab import theory
from tests.support import refuses


def walked(budget: int, merges: int, small_side: int, side: int) -> tuple[int, int]:
    """Lines 3 to 14 of Algorithm 1: the pixels that all steps go through, and the side of what is returned."""
    b, size, pixels = budget // (merges + 1), small_side, 0
    for _ in range(merges):
        for _ in range(b):
            pixels += size**2
        size = side if size == small_side else small_side
    for _ in range(budget - merges * b):
        pixels += size**2
    return pixels, size


@given(budget=st.integers(1, 300), merges=st.integers(0, 12), small=st.integers(1, 40), more=st.integers(1, 40))
def test_the_cost_is_the_walked_one(budget: int, merges: int, small: int, more: int) -> None:
    side = small + more
    given_: dict[str, Any] = {"budget": budget, "merges": merges}
    pixels, returned = walked(budget, merges, small, side)
    ratio = theory.resolution_cost_ratio(**given_, small_side=small, side=side)
    assert ratio * (budget * side**2) == pytest.approx(pixels)
    parts = theory.resolution_stages(**given_)
    assert len(parts) == merges + 1 and sum(part.steps for part in parts) == budget
    assert parts[-1].small is (returned == small)
    printed = theory.printed_resolution_cost_ratio(**given_, small_side=small, side=side)
    if merges % 2:
        assert printed == pytest.approx(ratio)
    else:
        last = (budget - merges * (budget // (merges + 1))) / budget
        assert printed - ratio == pytest.approx(last * (1 - (small / side) ** 2))


def test_the_specified_numbers() -> None:
    """k = 2, r = 1/4: .5, printed .75; k = 0: r, printed 1."""
    half: dict[str, Any] = {"small_side": 112, "side": 224}
    assert theory.resolution_cost_ratio(budget=1800, merges=2, **half) == pytest.approx(0.5)
    assert theory.printed_resolution_cost_ratio(budget=1800, merges=2, **half) == pytest.approx(0.75)
    assert theory.resolution_cost_ratio(budget=10, merges=0, **half) == 0.25
    assert theory.printed_resolution_cost_ratio(budget=10, merges=0, **half) == 1


def test_what_is_refused() -> None:
    with refuses("small_side", "[1, 32]"):
        theory.resolution_cost_ratio(budget=10, merges=1, small_side=33, side=32)
