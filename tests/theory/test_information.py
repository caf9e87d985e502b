"""ReLA's appendix C: exact information against integrals of the densities, in one and in two dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from ddlab import theory

# The specification's table: I / H(Y) at S = .1, .2, .3, .5, .7, 1, with its rounding.
SPREADS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
SPECIFIED = {1: (1.0, 0.975, 0.824, 0.486, 0.295, 0.161), 2: (1.0, 0.999, 0.964, 0.722, 0.493, 0.291)}


def bits_left(shares: Any) -> Any:
    """The entropy of a coin that shows heads with these odds."""
    return stats.entropy(np.array([shares, 1 - np.asarray(shares)]))


@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_specified_table(dimensions: int) -> None:
    found = [theory.mixture_information(spread=spread, dimensions=dimensions) for spread in SPREADS]
    assert [one.share for one in found] == pytest.approx(SPECIFIED[dimensions], abs=6e-4)
    assert all(one.dimensions == dimensions and one.target_entropy == math.log(2) for one in found)
    assert found[0].distance == pytest.approx(math.sqrt(dimensions))


@pytest.mark.parametrize(("spread", "gap"), [(0.5, 1.0), (1.0, 1.0), (0.2, 1.0), (2.0, 0.5)])
def test_one_dimension_is_the_integral_over_the_densities(spread: float, gap: float) -> None:
    def densities(x: float) -> tuple[float, float]:
        return stats.norm.pdf(x, 1, spread), stats.norm.pdf(x, 1 + gap, spread)

    def told(x: float) -> float:
        parts = densities(x)
        return sum(part / 2 * math.log(2 * part / sum(parts)) for part in parts if part > 0)

    def entropy(x: float) -> float:
        mixed = sum(densities(x)) / 2
        return -mixed * math.log(mixed) if mixed > 0 else 0.0

    edges = (1 - 10 * spread, 1 + gap + 10 * spread)
    found = theory.mixture_information(spread=spread, gap=gap, dimensions=1)
    middle: dict[str, Any] = {"points": [1, 1 + gap / 2, 1 + gap], "epsabs": 1e-12}
    assert found.mutual == pytest.approx(
        math.log(2) + integrate.quad(told, *edges, **middle)[0] - math.log(2), abs=1e-9
    )
    assert found.sample_entropy == pytest.approx(integrate.quad(entropy, *edges, **middle)[0], abs=1e-8)
    both = 2 * found.mutual / (found.sample_entropy + math.log(2))
    assert found.mixed == pytest.approx(both)


@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_two_dimensions_are_the_double_integral(spread: float) -> None:
    """Means (1, 1) and (2, 2): I by summing the densities over a fine square grid, which sees no line through the means."""
    axis = np.linspace(1 - 8 * spread, 2 + 8 * spread, 601)
    first = np.multiply.outer(stats.norm.pdf(axis, 1, spread), stats.norm.pdf(axis, 1, spread))
    second = np.multiply.outer(stats.norm.pdf(axis, 2, spread), stats.norm.pdf(axis, 2, spread))
    mixed = (first + second) / 2
    told = (first / 2 * np.log(first / mixed) + second / 2 * np.log(second / mixed)).sum() * (axis[1] - axis[0]) ** 2
    entropy = -(mixed * np.log(mixed)).sum() * (axis[1] - axis[0]) ** 2
    found = theory.mixture_information(spread=spread, dimensions=2)
    assert found.mutual == pytest.approx(told, abs=1e-9)
    assert found.sample_entropy == pytest.approx(entropy, abs=1e-9)


@given(spread=st.floats(0.02, 20), gap=st.floats(0, 5), scale=st.floats(0.01, 100))
def test_information_depends_on_distance_over_spread_alone(spread: float, gap: float, scale: float) -> None:
    found = theory.mixture_information(spread=spread, gap=gap, dimensions=1)
    assert 0 <= found.share <= 1
    scaled = theory.mixture_information(spread=scale * spread, gap=scale * gap, dimensions=1)
    assert scaled.mutual == pytest.approx(found.mutual, abs=1e-12)
    wider = theory.mixture_information(spread=spread * math.sqrt(2), gap=gap, dimensions=2)
    assert wider.mutual == pytest.approx(found.mutual, abs=1e-12)
    assert theory.mixture_information(spread=1.1 * spread, gap=gap, dimensions=1).mutual <= found.mutual + 1e-14


def test_the_printed_form() -> None:
    """Eq 24: 1 at .242, above it below, a pole at .0605, negative under it; it does not tend to 1."""
    printed = theory.printed_normalised_information
    assert printed(spread=1 / math.sqrt(2 * math.pi * math.e)) == pytest.approx(1, rel=1e-12)
    assert round(1 / math.sqrt(2 * math.pi * math.e), 3) == 0.242
    pole = 1 / (4 * math.sqrt(2 * math.pi * math.e))
    assert round(pole, 4) == 0.0605
    assert printed(spread=pole * (1 + 1e-9)) > 1e6 and printed(spread=pole * (1 - 1e-9)) < -1e6
    assert printed(spread=0.1) > 1 and printed(spread=0.02) < 0
    by_hand = 2 * math.log(2) / (stats.norm(scale=0.5).entropy() + 2 * math.log(2))
    assert printed(spread=0.5) == pytest.approx(by_hand)
    near = theory.mixture_information(spread=0.05, dimensions=1)  # where the modes are disjoint, eq 16 says the same
    assert near.mixed == pytest.approx(printed(spread=0.05), rel=1e-9) and near.share == pytest.approx(1)


def table_of_cells(spread: float, rho: float, teacher: Any, levels: int | None) -> theory.TableInformation:
    """x cut into fine cells, each with the masses of both classes from the normal distribution function."""
    edges = np.linspace(-9, 9, 6001)  # 0 is an edge
    masses = [np.diff(stats.norm.cdf(edges, mean, spread)) / 2 for mean in (-0.5, 0.5)]
    middles = (edges[1:] + edges[:-1]) / 2
    values = np.stack([rho * teacher(middles) + (1 - rho) * y for y in (0, 1)])
    cells = np.minimum((values * levels).astype(int), levels - 1) if levels else values.round(9)
    names, column = np.unique(cells, return_inverse=True)
    table = np.zeros((len(middles), len(names)))
    for mass, one in zip(masses, column.reshape(2, -1), strict=True):
        np.add.at(table, (np.arange(len(middles)), one), mass)
    return theory.table_information(torch.from_numpy(table))


@pytest.mark.parametrize("rho", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_relabelled_targets_are_the_table_of_fine_cells(spread: float, rho: float) -> None:
    found = theory.relabelled_information(spread=spread, relabelled=rho, dimensions=1)
    cells = table_of_cells(spread, rho, lambda x: (x > 0).astype(float), None)
    assert found.mutual == pytest.approx(cells.mutual, abs=2e-6)
    assert found.target_entropy == pytest.approx(cells.second_entropy, abs=1e-9)
    assert found.share == pytest.approx(cells.mutual / cells.second_entropy, abs=1e-5)


@pytest.mark.parametrize(("rho", "levels"), [(0.0, 5), (0.3, 10), (0.6, 7), (1.0, 50)])
def test_soft_targets_are_the_table_of_fine_cells(rho: float, levels: int) -> None:
    found = theory.soft_relabelled_information(
        spread=0.6, relabelled=rho, teacher_spread=0.8, levels=levels, dimensions=1
    )
    cells = table_of_cells(0.6, rho, lambda x: 1 / (1 + np.exp(-x / 0.64)), levels)
    assert found.mutual == pytest.approx(cells.mutual, abs=3e-3)
    assert found.target_entropy == pytest.approx(cells.second_entropy, abs=3e-3)


def test_what_c6_says_of_rho() -> None:
    """The share jumps at 0, 1/2 and 1 and is constant between; its limit for rho -> 1 is not its value there."""
    at = {rho: theory.relabelled_information(spread=1, relabelled=rho) for rho in (0, 1e-6, 0.3, 0.5, 0.7, 1 - 1e-6, 1)}
    shares = {rho: round(one.share, 3) for rho, one in at.items()}
    assert shares == {0: 0.290, 1e-6: 0.605, 0.3: 0.605, 0.5: 0.544, 0.7: 0.605, 1 - 1e-6: 0.605, 1: 1.0}
    assert at[0].mutual == pytest.approx(theory.mixture_information(spread=1).mutual)
    assert at[0.7].mutual > at[1].mutual == pytest.approx(math.log(2))


def test_soft_targets_tell_more_the_finer_they_are_read() -> None:
    def mutual(levels: int, rho: float) -> float:
        return theory.soft_relabelled_information(spread=1, relabelled=rho, teacher_spread=1, levels=levels).mutual

    assert mutual(10, 1.0) < mutual(100, 1.0) < mutual(1000, 1.0) - 2
    assert (
        mutual(10, 0.0)
        == pytest.approx(mutual(1000, 0.0))
        == pytest.approx(theory.mixture_information(spread=1).mutual, abs=1e-6)
    )
    steep = theory.soft_relabelled_information(spread=1, relabelled=0.3, teacher_spread=1e-3, levels=1000)
    assert steep.mutual == pytest.approx(theory.relabelled_information(spread=1, relabelled=0.3).mutual, abs=2e-3)


def test_a_tenth_of_the_points_is_nearly_as_precise() -> None:
    for rho, levels in ((0.3, 2), (0.5, 10), (0.9, 100)):
        settings = {"spread": 1, "relabelled": rho, "teacher_spread": 0.1, "levels": levels}
        whole, tenth = (
            theory.soft_relabelled_information(**settings, **some).share for some in ({}, {"points": 10_001})
        )
        assert whole != tenth == pytest.approx(whole, abs=2e-3)


def test_far_apart_everything_is_told() -> None:
    assert theory.mixture_information(spread=1e-5, gap=1e5).share == 1
    assert theory.mixture_information(spread=1, gap=0).mutual == 0
    found = theory.soft_relabelled_information(spread=1e-5, gap=1e5, relabelled=0.4, teacher_spread=1, levels=10)
    assert found.mutual == pytest.approx(math.log(2), abs=1e-9)
