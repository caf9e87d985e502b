"""The mixture and its exact quantities: against scipy's densities, sums over fine grids, and under the symmetries of the world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from torch import Tensor

from ddlab.lessons.ideal_data import theory
from ddlab.lessons.ideal_data.theory import GaussianMixture
from tests.support import refuses

DEVIATIONS = st.floats(0.05, 3)


@st.composite
def mixtures(draw: Any) -> GaussianMixture:
    """Means a distance of at least 0.1 apart, in one to four dimensions."""
    dimensions = draw(st.integers(1, 4))
    numbers = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    means = torch.randn(2, dimensions, generator=numbers, dtype=torch.float64)
    means[1] = means[0] + (means[1] - means[0]) / (means[1] - means[0]).norm() * draw(st.floats(0.1, 4))
    return GaussianMixture(means=means, deviation=draw(DEVIATIONS))


def least_error(mixture: GaussianMixture) -> float:
    """Phi(-||mu_2 - mu_1|| / (2 Sigma))."""
    return float(stats.norm.cdf(-mixture.distance / 2 / mixture.deviation))


def some_points(mixture: GaussianMixture, seed: int = 0) -> Tensor:
    return 2 * torch.randn(6, mixture.dimensions, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rotation(dimensions: int, seed: int) -> Tensor:
    drawn = torch.randn(dimensions, dimensions, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.linalg.qr(drawn)[0]


def summed_risk(believed: GaussianMixture, data: GaussianMixture) -> tuple[float, float]:
    """By a fine grid over the first two coordinates of a two-dimensional world, densities from scipy."""
    middle, reach = data.means.mean(0), data.distance / 2 + 8 * data.deviation
    axis = np.linspace(-reach, reach, 1401)
    grid = torch.from_numpy(np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)) + middle
    density = [stats.multivariate_normal(mean.numpy(), data.deviation**2).pdf(grid.numpy()) for mean in data.means]
    mean_0, mean_1 = (
        stats.multivariate_normal(mean.numpy(), believed.deviation**2).logpdf(grid) for mean in believed.means
    )
    answer = 1 / (1 + np.exp(np.clip(mean_0 - mean_1, -700, 700)))
    cell = (axis[1] - axis[0]) ** 2
    squared = sum((own * (answer - label) ** 2).sum() for label, own in enumerate(density)) * cell / 2
    wrong = ((density[0] * (answer > 0.5)).sum() + (density[1] * (answer < 0.5)).sum()) * cell / 2
    return squared, wrong


def test_definition_4() -> None:
    paper = theory.bimodal_mixture()
    assert torch.allclose(paper.means, torch.tensor([[1.0, 1.0], [2.0, 2.0]], dtype=torch.float64))
    assert paper.deviation == 0.5 and paper.dimensions == 2 and paper.distance == pytest.approx(math.sqrt(2))
    line = theory.bimodal_mixture(distance=1, dimensions=1)
    assert line.means.flatten().tolist() == [1, 2]
    assert theory.bimodal_mixture(distance=3, dimensions=7).distance == pytest.approx(3)


def test_samples_are_of_the_mixture() -> None:
    world = GaussianMixture(means=torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 5.0]]), deviation=0.4)
    points, labels = theory.mixture_sample(world, 40_000, seed=3)
    assert points.shape == (40_000, 3) and set(labels.tolist()) == {0.0, 1.0}
    assert float(labels.mean()) == pytest.approx(0.5, abs=0.01)
    for label in (0, 1):
        own = points[labels == label]
        assert own.mean(0).tolist() == pytest.approx(world.means[label].tolist(), abs=0.015)
        assert torch.allclose(own.T.cov(), 0.16 * torch.eye(3, dtype=torch.float64), atol=0.006)
    fewer, fewer_labels = theory.mixture_sample(world, 30, seed=3)
    assert torch.equal(fewer, points[:30]) and torch.equal(fewer_labels, labels[:30])
    assert not torch.equal(theory.mixture_sample(world, 30, seed=4)[0], fewer)


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_spread_points_stand_for_the_mixture(dimensions: int) -> None:
    world = theory.bimodal_mixture(dimensions=dimensions, deviation=0.7)
    points, labels = theory.spread_points(world, 128)
    assert points.shape == (256, dimensions) and labels.tolist() == [0.0] * 128 + [1.0] * 128
    for label, own in enumerate(points.split(128)):
        assert torch.allclose(own.mean(0), world.means[label])
        assert torch.allclose((own.T.cov(correction=0)), 0.49 * torch.eye(dimensions, dtype=torch.float64))
    exact = theory.predictive_risk(world, world).mean_squared_error
    found = float((theory.posterior(world, points) - labels).square().mean())
    assert found == pytest.approx(exact, rel=0.08)


@pytest.mark.parametrize("count", [96, 160, 512])
def test_a_plane_is_covered_so_evenly_that_risks_come_out_right(count: int) -> None:
    """Squared error to 1 and share of errors to 3 percent, where as many random points are off by 20 and more."""
    for deviation in (0.5, 1.0):
        world = theory.bimodal_mixture(deviation=deviation)
        points, labels = theory.spread_points(world, count)
        exact, answers = theory.predictive_risk(world, world), theory.posterior(world, points)
        found = float((answers - labels).square().mean()), float(((answers > 0.5) != (labels > 0.5)).double().mean())
        assert found[0] == pytest.approx(exact.mean_squared_error, rel=0.01)
        assert found[1] == pytest.approx(exact.error_fraction, rel=0.03)


@given(mixtures(), st.integers(0, 100))
def test_the_posterior_is_bayes_rule(world: GaussianMixture, seed: int) -> None:
    points = some_points(world, seed)
    logs = [
        stats.multivariate_normal(mean.numpy(), world.deviation**2 * np.eye(world.dimensions)).logpdf(points.numpy())
        for mean in world.means
    ]
    wanted = 1 / (1 + np.exp(np.clip(logs[0] - logs[1], -700, 700)))
    assert theory.posterior(world, points).numpy() == pytest.approx(wanted, abs=1e-9)
    assert theory.posterior(world, points.float()).dtype == torch.float32


@given(mixtures(), st.integers(0, 100), DEVIATIONS)
def test_the_boundary_is_where_the_posterior_is_half_whatever_the_deviation(
    world: GaussianMixture, seed: int, other: float
) -> None:
    plane = theory.decision_boundary(world)
    assert float(plane.normal.norm()) == pytest.approx(1)
    points = some_points(world, seed)
    on = points - (points @ plane.normal - plane.offset)[:, None] * plane.normal
    assert theory.posterior(world, on).tolist() == pytest.approx([0.5] * 6, abs=1e-6)
    assert (theory.posterior(world, on + 0.1 * plane.normal) > 0.5).all(), "class 1 is on the normal's side"
    moved = theory.decision_boundary(GaussianMixture(means=world.means, deviation=other))
    assert torch.equal(moved.normal, plane.normal) and moved.offset == plane.offset


def test_appendix_g() -> None:
    for deviation in (0.05, 0.5, 2):
        plane = theory.decision_boundary(theory.bimodal_mixture(distance=1, dimensions=1, deviation=deviation))
        assert float(plane.normal) * 1.5 == pytest.approx(plane.offset)


@pytest.mark.parametrize(("believed", "data"), [(0.5, 0.5), (0.2, 0.5), (1.0, 0.5), (0.5, 0.2)])
def test_risk_is_that_of_a_grid(believed: float, data: float) -> None:
    one, other = theory.bimodal_mixture(deviation=believed), theory.bimodal_mixture(deviation=data)
    squared, wrong = summed_risk(one, other)
    found = theory.predictive_risk(one, other)
    assert found.mean_squared_error == pytest.approx(squared, abs=1e-6)
    assert found.error_fraction == pytest.approx(wrong, rel=0.02)  # a cell of the grid is on both sides of the boundary
    assert found.error_fraction == pytest.approx(least_error(other), rel=1e-9), "one boundary"


def test_risk_where_the_means_differ_too() -> None:
    one = GaussianMixture(means=torch.tensor([[0.0, 0.3], [1.0, 1.5]]), deviation=0.6)
    other = GaussianMixture(means=torch.tensor([[0.4, 0.0], [0.9, 2.0]]), deviation=0.5)
    squared, wrong = summed_risk(one, other)
    found = theory.predictive_risk(one, other)
    assert found.mean_squared_error == pytest.approx(squared, abs=1e-6)
    assert found.error_fraction == pytest.approx(wrong, rel=0.02)


def test_known_numbers() -> None:
    paper = theory.bimodal_mixture()
    assert theory.predictive_risk(paper, paper).mean_squared_error == pytest.approx(0.0578, abs=1e-4)
    # The posterior of Sigma = 1 decides as well, and is wrong by far about how sure it may be.
    unsure = theory.predictive_risk(theory.bimodal_mixture(deviation=1), paper)
    assert unsure.mean_squared_error == pytest.approx(0.1013, abs=1e-4)


@pytest.mark.parametrize(("deviation", "precision"), [(0.001, 1e-5), (0.01, 1e-5), (0.2, 1e-9), (1, 1e-9)])
def test_smooth_and_steep_posteriors_are_integrated_as_well(deviation: float, precision: float) -> None:
    paper = theory.bimodal_mixture()
    found = theory.predictive_risk(theory.bimodal_mixture(deviation=deviation), paper)
    width = deviation**2 / (math.sqrt(2) * 0.5)  # of the sigmoid, along a standard normal t
    t = np.linspace(-12, 12, 4_000_001)
    squared = special.expit((t - math.sqrt(2)) / width) ** 2
    assert found.mean_squared_error == pytest.approx((stats.norm.pdf(t) * squared).sum() * (t[1] - t[0]), rel=precision)


@pytest.mark.parametrize("steepness", [1e3, 1e4, 1e5])
@pytest.mark.parametrize("turn", [0.7, math.sqrt(2), 3])
def test_a_step_is_found_wherever_it_is(steepness: float, turn: float) -> None:
    """E[sigmoid(s (t - turn))^2] for t ~ N(0, 1) is Phi(-turn) - phi(turn) / s, and then terms of 1 / s^2."""
    data = theory.bimodal_mixture(distance=turn, deviation=0.5, dimensions=1)
    believed = theory.bimodal_mixture(distance=turn, deviation=math.sqrt(0.5 * turn / steepness), dimensions=1)
    limit = stats.norm.sf(turn) - stats.norm.pdf(turn) / steepness
    assert theory.predictive_risk(believed, data).mean_squared_error == pytest.approx(limit, abs=2 / steepness**2)


def test_equal_means_are_told_apart_by_nothing() -> None:
    same = theory.bimodal_mixture(distance=0)
    assert theory.predictive_risk(same, same) == (0.25, 0.5)
    with refuses("mixture", "different means"):
        theory.decision_boundary(same)


@given(mixtures(), st.integers(0, 100), st.floats(-5, 5), DEVIATIONS)
def test_translation_rotation_and_names_change_nothing(
    world: GaussianMixture, seed: int, shift: float, other: float
) -> None:
    points, turn = some_points(world, seed), rotation(world.dimensions, seed)
    believed = GaussianMixture(means=world.means, deviation=other)

    def moved(of: GaussianMixture) -> GaussianMixture:
        return GaussianMixture(means=of.means @ turn.T + shift, deviation=of.deviation)

    def renamed(of: GaussianMixture) -> GaussianMixture:
        return GaussianMixture(means=of.means.flip(0), deviation=of.deviation)

    answer = theory.posterior(world, points)
    assert torch.allclose(theory.posterior(moved(world), points @ turn.T + shift), answer, atol=1e-9)
    assert torch.allclose(theory.posterior(renamed(world), points), 1 - answer, atol=1e-9)
    risk = theory.predictive_risk(believed, world)
    for change in (moved, renamed):
        assert theory.predictive_risk(change(believed), change(world)) == pytest.approx(risk, abs=1e-7)
    best = theory.predictive_risk(world, world)
    assert (
        best.mean_squared_error <= risk.mean_squared_error + 1e-9 and best.error_fraction <= risk.error_fraction + 1e-9
    )
