"""Barlow Twins' loss against numpy's correlations, torch's batch norm, and what is known of random
features.
"""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from ddlab.unlabelled.self_supervised import barlow_twins_loss, cross_correlation, standardise
from tests.support import normal_doubles

TINY = 1e-14  # an epsilon that leaves float64 correlations of ordinary features as they are


def correlated(count: int = 12, width: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Two views that agree in part, with scales and shifts of their own."""
    shared = normal_doubles(count, width, seed=seed + 0)
    first_part = normal_doubles(count, width, seed=seed + 1)
    second_part = normal_doubles(count, width, seed=seed + 2)
    return 3 * (shared + 0.5 * first_part) + 2, 0.2 * (shared + 0.7 * second_part).flip(1) - 5


@given(seed=st.integers(0, 10**6), count=st.integers(3, 20), width=st.integers(1, 6))
def test_correlations_are_numpys(seed: int, count: int, width: int) -> None:
    first, second = correlated(count, width, seed)
    expected = np.corrcoef(first.numpy().T, second.numpy().T)[:width, width:]
    np.testing.assert_allclose(
        cross_correlation(first, second, epsilon=TINY).numpy(), expected, atol=1e-9
    )


def test_standardises_as_batch_norm_does() -> None:
    first, _ = correlated()
    layer = torch.nn.BatchNorm1d(4, affine=False, dtype=torch.float64)
    torch.testing.assert_close(standardise(first), layer(first))
    torch.testing.assert_close(
        standardise(first, epsilon=TINY).square().mean(0), torch.ones(4, dtype=torch.float64)
    )


@given(
    seed=st.integers(0, 10**6),
    count=st.integers(3, 12),
    width=st.integers(1, 5),
    weight=st.floats(0, 2),
)
def test_loss_is_equation_1_entry_by_entry(
    seed: int, count: int, width: int, weight: float
) -> None:
    first, second = (value.numpy() for value in correlated(count, width, seed))
    expected = 0.0
    for i in range(width):
        for j in range(width):
            a, b = first[:, i] - first[:, i].mean(), second[:, j] - second[:, j].mean()
            size = np.sqrt((a @ a / count + 1e-5) * (b @ b / count + 1e-5)) * count
            entry = sum(a[k] * b[k] for k in range(count)) / size
            expected += (1 - entry) ** 2 if i == j else weight * entry**2
    loss = barlow_twins_loss(
        torch.from_numpy(first), torch.from_numpy(second), off_diagonal_weight=weight
    )
    assert float(loss) == pytest.approx(expected, rel=1e-9)


def test_gradient() -> None:
    first, second = (value.requires_grad_() for value in correlated(5, 3))
    assert gradcheck(lambda a, b: barlow_twins_loss(a, b, off_diagonal_weight=0.3), (first, second))


def test_limits() -> None:
    """Views that agree in coordinates that share nothing cost nothing; repeating one coordinate
    costs the weight alone.
    """
    signs = torch.tensor([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=torch.float64)
    assert float(
        barlow_twins_loss(signs, signs, off_diagonal_weight=0.5, epsilon=TINY)
    ) == pytest.approx(0, abs=1e-12)
    twice = signs[:, [0, 0]]
    assert float(
        barlow_twins_loss(twice, twice, off_diagonal_weight=0.5, epsilon=TINY)
    ) == pytest.approx(2 * 0.5)
    assert float(
        barlow_twins_loss(twice, -twice, off_diagonal_weight=0, epsilon=TINY)
    ) == pytest.approx(2 * 4)


def test_a_constant_coordinate_correlates_with_nothing() -> None:
    first, second = correlated()
    first[:, 1] = 7.3
    first = first.float().requires_grad_()
    correlation = cross_correlation(first, second.float())
    assert correlation[1].abs().max() < 1e-2 and correlation.isfinite().all()
    loss = barlow_twins_loss(first, second.float(), off_diagonal_weight=0.1)
    (slope,) = torch.autograd.grad(loss, first)
    assert loss.isfinite() and slope.isfinite().all()
    dead = torch.zeros(4, 2, requires_grad=True)
    loss = barlow_twins_loss(dead, dead, off_diagonal_weight=0.1)
    (slope,) = torch.autograd.grad(loss, dead)
    assert float(loss.detach()) == 2 and slope.isfinite().all()


def test_neither_scale_nor_shift_nor_order_matters() -> None:
    first, second = correlated()
    weight: dict[str, Any] = {"off_diagonal_weight": 0.2, "epsilon": TINY}
    expected = barlow_twins_loss(first, second, **weight)
    order = torch.randperm(12)
    torch.testing.assert_close(barlow_twins_loss(5 * first - 3, second + 100, **weight), expected)
    torch.testing.assert_close(barlow_twins_loss(first[order], second[order], **weight), expected)
    torch.testing.assert_close(barlow_twins_loss(second, first, **weight), expected)
    assert not torch.isclose(barlow_twins_loss(first[order], second, **weight), expected)


def test_independent_features() -> None:
    """Of independent normal numbers a squared correlation is 1 / (n - 1) in the mean: here within 4
    standard errors of 400 draws.
    """
    mean_squares = []
    for seed in range(400):
        first = normal_doubles(20, 3, seed=2 * seed)
        second = normal_doubles(20, 3, seed=2 * seed + 1)
        mean_squares.append(float(cross_correlation(first, second, epsilon=TINY).square().mean()))
    error = np.std(mean_squares, ddof=1) / np.sqrt(len(mean_squares))
    assert abs(np.mean(mean_squares) - 1 / 19) < 4 * error < 0.1 / 19
