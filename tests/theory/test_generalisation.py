"""The generalisation bound on the toy: total variation, complexities and every term, against independent references."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

from ddlab.core.errors import DDLabError
from ddlab.theory import (
    GaussianMixture,
    bimodal_mixture,
    confidence_term,
    generalisation_bound,
    half_plane_outputs,
    mixture_sample,
    rademacher_complexity,
    threshold_complexity,
    total_variation,
)


def _pair(means: list[list[float]], deviation: float) -> GaussianMixture:
    return GaussianMixture(means=torch.tensor(means), deviation=deviation)


def _density(mixture: GaussianMixture, points: np.ndarray) -> np.ndarray:
    """By scipy, from the definition."""
    covariance = mixture.deviation**2 * np.eye(mixture.dimensions)
    return np.mean([stats.multivariate_normal(mean.numpy(), covariance).pdf(points) for mean in mixture.means], 0)


@pytest.mark.parametrize("spread", [0.05, 0.3, 0.49, 2.0])
def test_two_gaussians_about_one_point(spread: float) -> None:
    """The densities cross on a circle, and the squared radius is exponential."""
    one, other = (_pair([[0.0, 0.0]] * 2, s) for s in (spread, 0.5))
    radius = 2 * math.log(0.25 / spread**2) / (spread**-2 - 0.5**-2)
    exact = abs(math.exp(-radius / (2 * 0.25)) - math.exp(-radius / (2 * spread**2)))
    assert total_variation(one, other) == pytest.approx(exact, abs=3e-5) == total_variation(other, one)


@pytest.mark.parametrize("where", [[[1.0]], [[0.6, 0.8]]])
def test_two_gaussians_of_one_spread(where: list[list[float]]) -> None:
    origin = _pair([[0.0] * len(where[0])] * 2, 0.7)
    assert total_variation(origin, _pair(where * 2, 0.7)) == pytest.approx(math.erf(0.5 / 0.7 / math.sqrt(2)), abs=1e-6)


def test_one_dimension_by_adaptive_quadrature() -> None:
    one, other = _pair([[0.0], [1.0]], 0.2), _pair([[-0.5], [1.2]], 0.6)
    line = np.linspace(-5, 6, 2_000_001)
    exact = integrate.trapezoid(np.abs(_density(one, line) - _density(other, line)), line) / 2
    assert total_variation(one, other) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("spread", [0.1, 0.7])
def test_the_lab_and_skew_means_by_monte_carlo(spread: float) -> None:
    """E_P[1(p > q)] - E_Q[1(p > q)], within 4 standard errors of 400,000 draws."""
    for one, other in (
        (bimodal_mixture(deviation=spread), bimodal_mixture(deviation=0.5)),
        (_pair([[0.0, 0.0], [2.0, 1.0]], spread), _pair([[1.0, 0.0], [0.0, 1.5]], 0.5)),
    ):
        inside = []
        for number, mixture in enumerate((one, other)):
            points = mixture_sample(mixture, 400_000, seed=number)[0].numpy()
            inside.append(np.mean(_density(one, points) > _density(other, points)))
        assert abs(total_variation(one, other) - (inside[0] - inside[1])) < 4 * math.sqrt(2 * 0.25 / 400_000)


def test_a_narrow_mixture_inside_a_wide_one_is_seen() -> None:
    radius = 2 * math.log(1e4) / (1e4 - 1)
    exact = math.exp(-radius / 2) - math.exp(-radius / 2 * 1e4)
    assert total_variation(_pair([[0.0, 0.0]] * 2, 0.01), _pair([[0.0, 0.0]] * 2, 1.0)) == pytest.approx(
        exact, abs=2e-4
    )
    assert total_variation(bimodal_mixture(), bimodal_mixture()) == 0


def test_wrong_mixtures_are_refused() -> None:
    with pytest.raises(DDLabError, match="first must be of one or two dimensions; given 3"):
        total_variation(bimodal_mixture(dimensions=3), bimodal_mixture(dimensions=3))
    with pytest.raises(DDLabError, match="second must be of the other mixture's 2 dimensions; given 1"):
        total_variation(bimodal_mixture(), bimodal_mixture(dimensions=1))


@pytest.mark.parametrize("count", [1, 2, 3, 6, 9, 14])
def test_the_complexity_of_thresholds_is_that_of_all_signs_tried(count: int) -> None:
    ways = (torch.arange(count) >= torch.arange(count + 1)[:, None]).double()
    assert threshold_complexity(count) == pytest.approx(rademacher_complexity(ways), abs=1e-12)
    # The losses 1[h != psi] of any psi have the complexity of H: psi turns signs.
    losses = (ways != ways[count // 2]).double()
    assert rademacher_complexity(losses) == pytest.approx(threshold_complexity(count), abs=1e-12)


def test_the_complexity_of_many_points_by_random_walks() -> None:
    draw = np.random.default_rng(0)
    highest = np.maximum.accumulate(draw.choice([-1, 1], (4000, 500)).cumsum(1), 1)[:, -1].clip(0) / 500
    assert abs(threshold_complexity(500) - highest.mean()) < 4 * highest.std() / math.sqrt(4000)
    assert threshold_complexity(10**8) == pytest.approx(math.sqrt(2 / math.pi / 10**8), rel=1e-3)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 12])
def test_half_planes_divide_points_in_every_way_that_they_can(count: int) -> None:
    points = torch.randn(count, 2, generator=torch.Generator().manual_seed(count), dtype=torch.float64)
    ways = half_plane_outputs(points)
    assert len(ways) == count**2 - count + 2, "Cover 1965: 2 (1 + (m - 1) + (m - 1 choose 2)) ways"
    # Every way of random half-planes is among them.
    draw = np.random.default_rng(count)
    normals, offsets = draw.normal(size=(2000, 2)), draw.normal(size=2000)
    seen = {tuple(row) for row in (points.numpy() @ normals.T > offsets).T.astype(float)}
    assert seen <= {tuple(row) for row in ways.tolist()}
    assert rademacher_complexity(ways) >= threshold_complexity(count) - 1e-12


def test_no_way_is_lost_between_two_turns() -> None:
    """Mostly a way is also there a turn later; of few points some are not."""
    for count, seed in itertools.product(range(2, 7), range(30)):
        points = torch.randn(count, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        assert len(half_plane_outputs(points)) == count**2 - count + 2


def test_points_on_a_line_and_too_many_points() -> None:
    for slope in torch.linspace(
        -3, 3, 50
    ).double():  # their directions differ by rounding, for some slopes and on some machines
        line = torch.arange(4.0)[:, None] * torch.stack([torch.ones(()), slope])
        assert len(half_plane_outputs(line)) == 8, "first or last parts: 2 m ways"
    with pytest.raises(DDLabError, match="points must be at most 16 points"):
        half_plane_outputs(torch.randn(17, 2))


def test_the_confidence_term() -> None:
    assert confidence_term(1000, failure=0.05) == pytest.approx(3 * np.sqrt(np.log(40) / 2000))


def test_the_worst_model_is_the_worst_of_all_thresholds() -> None:
    """Against thresholds on a fine grid, their errors counted and integrated by scipy."""
    distilled, data = bimodal_mixture(deviation=0.3), bimodal_mixture(deviation=0.5)
    normal = np.ones(2) / math.sqrt(2)
    for seed, count in itertools.product((0, 1, 2), (1, 2, 25)):
        worst = generalisation_bound(distilled, data, count, seed=seed, model="worst")
        places = mixture_sample(distilled, count, seed=seed)[0].numpy() @ normal
        line, centre = np.linspace(-4, 8, 200_001), 1.5 * math.sqrt(2)
        spread = (math.sqrt(2), 2 * math.sqrt(2))
        target = np.abs(sum(special.ndtr((line - m) / 0.5) - special.ndtr((centre - m) / 0.5) for m in spread)) / 2
        labels = places > centre
        missed = np.mean((places > line[:, None]) != labels, 1)
        assert worst.target_error - worst.empirical_error == pytest.approx(np.max(target - missed), abs=1e-4)


def test_the_fitted_model_makes_no_mistake_on_its_samples_and_all_terms_are_there() -> None:
    distilled, data = bimodal_mixture(deviation=0.3), bimodal_mixture(deviation=0.5)
    found = generalisation_bound(distilled, data, 50, seed=3, failure=0.1)
    places = mixture_sample(distilled, 50, seed=3)[0].numpy() @ (np.ones(2) / math.sqrt(2))
    assert np.array_equal(places > found.threshold, places > 1.5 * math.sqrt(2)) and found.empirical_error == 0
    many = mixture_sample(data, 400_000, seed=9)[0].numpy() @ (np.ones(2) / math.sqrt(2))
    share = np.mean((many > found.threshold) != (many > 1.5 * math.sqrt(2)))
    assert abs(found.target_error - share) < 4 * math.sqrt(share / 400_000) + 1e-6
    assert found.total_variation == total_variation(distilled, data) and found.complexity == threshold_complexity(50)
    assert found.printed == pytest.approx(found.total_variation + found.complexity + 0.02)
    assert found.proved == pytest.approx(
        found.total_variation + 2 * found.complexity + 3 * math.sqrt(math.log(20) / 100)
    )
    alone = generalisation_bound(distilled, data, 1, seed=0)
    assert 0 <= alone.target_error <= 0.5 and alone.empirical_error == 0


def test_the_samples_of_the_lab_are_too_far_from_its_data_for_the_bound_to_say_anything() -> None:
    near, far = (
        generalisation_bound(bimodal_mixture(deviation=s), bimodal_mixture(), 10_000, seed=0) for s in (0.5, 0.1)
    )
    assert near.proved < 0.1 and far.proved > 0.5 > far.target_error
