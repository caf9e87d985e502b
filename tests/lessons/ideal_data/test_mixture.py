"""The mixture and its exact quantities: against scipy's densities and sums over fine grids."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ddlab.lessons.ideal_data.mixture import Mixture, posterior, risk, sample, spread_points

MIXTURES = st.builds(Mixture, gap=st.floats(0.1, 4), deviation=st.floats(0.05, 3))


def densities(mixture: Mixture, points: np.ndarray, *, log: bool = False) -> list[np.ndarray]:
    normals = [
        stats.multivariate_normal(mean.numpy(), mixture.deviation**2 * np.eye(2))
        for mean in mixture.means
    ]
    return [normal.logpdf(points) if log else normal.pdf(points) for normal in normals]


def summed_risk(believed: Mixture, data: Mixture) -> tuple[float, float]:
    """By a fine grid over the plane, densities from scipy."""
    axis = np.linspace(
        1.5 - data.gap - 8 * data.deviation, 1.5 + data.gap + 8 * data.deviation, 1401
    )
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    density = densities(data, grid)
    (first, second) = densities(believed, grid, log=True)
    answer = 1 / (1 + np.exp(np.clip(first - second, -700, 700)))
    cell = (axis[1] - axis[0]) ** 2
    squared = (
        sum(
            (class_density * (answer - label) ** 2).sum()
            for label, class_density in enumerate(density)
        )
        * cell
        / 2
    )
    wrong = ((density[0] * (answer > 0.5)).sum() + (density[1] * (answer < 0.5)).sum()) * cell / 2
    return squared, wrong


def test_definition_4() -> None:
    assert Mixture().means.tolist() == [[1, 1], [2, 2]] and Mixture().deviation == 0.5
    assert Mixture(gap=3).means.tolist() == [[0, 0], [3, 3]]


def test_samples_are_of_the_mixture() -> None:
    world = Mixture(2.0, 0.4)
    points, labels = sample(world, 40_000, seed=3)
    assert points.shape == (40_000, 2) and set(labels.tolist()) == {0.0, 1.0}
    assert float(labels.mean()) == pytest.approx(0.5, abs=0.01)
    for label in (0, 1):
        class_points = points[labels == label]
        assert class_points.mean(0).tolist() == pytest.approx(
            world.means[label].tolist(), abs=0.015
        )
        assert torch.allclose(
            class_points.T.cov(), 0.16 * torch.eye(2, dtype=torch.float64), atol=0.006
        )
    assert not torch.equal(sample(world, 30, seed=4)[0], points[:30])


@pytest.mark.parametrize("count", [96, 160, 512])
def test_a_plane_is_covered_so_evenly_that_risks_come_out_right(count: int) -> None:
    """Mean and covariance exactly, squared error to 1 and share of errors to 3 percent; as many
    random points are off by 20 and more.
    """
    for deviation in (0.5, 1.0):
        world = Mixture(deviation=deviation)
        points, labels = spread_points(world, count)
        for label, class_points in enumerate(points.split(count)):
            assert torch.allclose(class_points.mean(0), world.means[label])
            covariance = deviation**2 * torch.eye(2, dtype=torch.float64)
            assert torch.allclose(class_points.T.cov(correction=0), covariance)
        exact = risk(world, world)
        answers = posterior(world, points)
        averages = (
            float((answers - labels).square().mean()),
            float(((answers > 0.5) != (labels > 0.5)).double().mean()),
        )
        assert averages[0] == pytest.approx(exact.mean_squared_error, rel=0.01)
        assert averages[1] == pytest.approx(exact.error_fraction, rel=0.03)


@given(MIXTURES, st.integers(0, 100))
def test_the_posterior_is_bayes_rule(world: Mixture, seed: int) -> None:
    points = 2 * torch.randn(
        6, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    first, second = densities(world, points.numpy(), log=True)
    expected = 1 / (1 + np.exp(np.clip(first - second, -700, 700)))
    assert posterior(world, points).numpy() == pytest.approx(expected, abs=1e-9)
    assert posterior(world, points.float()).dtype == torch.float32
    on = torch.stack([points[:, 0], 3 - points[:, 0]], 1)
    assert posterior(world, on).tolist() == pytest.approx([0.5] * 6, abs=1e-9), (
        "one boundary, whatever Sigma"
    )


@pytest.mark.parametrize(
    ("believed", "data"), [(0.5, 0.5), (0.2, 0.5), (1.0, 0.5), (0.5, 0.2), (0.1, 0.5)]
)
@pytest.mark.parametrize("gap", [1.0, 0.3])
def test_risk_is_that_of_a_grid(believed: float, data: float, gap: float) -> None:
    believed_world = Mixture(gap, believed)
    data_world = Mixture(1.0, data)
    squared, wrong = summed_risk(believed_world, data_world)
    exact = risk(believed_world, data_world)
    assert exact.mean_squared_error == pytest.approx(squared, abs=1e-6)
    # A cell of the grid is on both sides of the boundary.
    assert exact.error_fraction == pytest.approx(wrong, rel=0.02)
    assert exact.error_fraction == pytest.approx(
        float(stats.norm.cdf(-1 / 2**0.5 / data)), rel=1e-9
    ), "one boundary"


def test_known_numbers() -> None:
    assert risk(Mixture(), Mixture()).mean_squared_error == pytest.approx(0.0578, abs=1e-4)
    # The posterior of Sigma = 1 decides as well, and is wrong by far about how sure it may be.
    assert risk(Mixture(deviation=1), Mixture()).mean_squared_error == pytest.approx(
        0.1013, abs=1e-4
    )
    assert risk(Mixture(gap=0), Mixture(gap=0)) == pytest.approx((0.25, 0.5)), "one mean"
    assert risk(Mixture(deviation=0.001), Mixture(deviation=0.001)) == pytest.approx((0, 0))
