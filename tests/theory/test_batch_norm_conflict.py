"""DWA's appendix A.1 against autograd and sums written out: gradients, the wrong factor, what is opposed, and that both gaps close."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab import theory
from tests.support import refuses

BATCHES = {"rows": st.integers(1, 9), "width": st.integers(1, 4), "seed": st.integers(0, 999)}
SQUARED = pytest.mark.parametrize("squared", [True, False])


def batch(rows: int, width: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Latents, a target mean and a target variance, float64."""
    draw = torch.Generator().manual_seed(seed)
    points = torch.randn((rows, width), generator=draw, dtype=torch.float64)
    mean, variance = torch.rand((2, width), generator=draw, dtype=torch.float64)
    return points, mean, variance


def statistics(column: list[float]) -> tuple[float, float]:
    mean = sum(column) / len(column)
    return mean, sum((value - mean) ** 2 for value in column) / len(column)


def written_out(points: Tensor, mean: Tensor, variance: Tensor) -> tuple[float, float]:
    """L_mean and L_var of A.1, with plain loops."""
    found = [statistics(column) for column in points.T.tolist()]
    one = sum((at - to) ** 2 for (at, _), to in zip(found, mean.tolist(), strict=True))
    other = sum((at - to) ** 2 for (_, at), to in zip(found, variance.tolist(), strict=True))
    return one, other


def by_autograd(loss: Any, points: Tensor, target: Tensor, squared: bool) -> Tensor:
    """The gradient of what plain torch says the loss is."""
    free = points.clone().requires_grad_()
    value = free.mean(0) if loss is theory.mean_gap else (free - free.mean(0)).pow(2).sum(0) / len(free)
    gap = (value - target).pow(2).sum()
    return torch.autograd.grad(gap if squared else gap.sqrt(), free)[0]


@given(**BATCHES)
def test_the_gaps_are_the_sums_of_the_appendix(rows: int, width: int, seed: int) -> None:
    points, mean, variance = batch(rows, width, seed)
    one, other = written_out(points, mean, variance)
    assert float(theory.mean_gap(points, mean)) == pytest.approx(one, rel=1e-10)
    assert float(theory.variance_gap(points, variance)) == pytest.approx(other, rel=1e-10)
    assert float(theory.mean_gap(points, mean, squared=False)) == pytest.approx(math.sqrt(one), rel=1e-10)
    assert float(theory.variance_gap(points, variance, squared=False)) == pytest.approx(math.sqrt(other), rel=1e-10)


@SQUARED
@given(**BATCHES)
def test_closed_form_gradients_are_those_of_autograd(squared: bool, rows: int, width: int, seed: int) -> None:
    points, mean, variance = batch(rows, width, seed)
    for loss, gradient, target in (
        (theory.mean_gap, theory.mean_gap_gradient, mean),
        (theory.variance_gap, theory.variance_gap_gradient, variance),
    ):
        expected = by_autograd(loss, points, target, squared)
        torch.testing.assert_close(gradient(points, target, squared=squared), expected, rtol=1e-9, atol=1e-12)
        free = points.clone().requires_grad_()
        own = torch.autograd.grad(loss(free, target, squared=squared), free)[0]
        torch.testing.assert_close(own, expected, rtol=1e-9, atol=1e-12)


@given(rows=st.integers(2, 40), width=st.integers(1, 3), seed=st.integers(0, 999))
def test_the_printed_gradient_is_short_by_one_minus_one_over_n(rows: int, width: int, seed: int) -> None:
    points, _, variance = batch(rows, width, seed)
    right = by_autograd(theory.variance_gap, points, variance, squared=True)
    printed = theory.printed_variance_gap_gradient(points, variance)
    torch.testing.assert_close(printed, right * (rows - 1) / rows, rtol=1e-9, atol=1e-13)
    assert not torch.allclose(printed, right, rtol=1e-3, atol=0)


@SQUARED
@given(**BATCHES)
def test_over_the_batch_the_gradients_are_orthogonal(squared: bool, rows: int, width: int, seed: int) -> None:
    points, mean, variance = batch(rows, width, seed)
    single = theory.single_products(points, mean, variance, squared=squared)
    one = by_autograd(theory.mean_gap, points, mean, squared)
    other = by_autograd(theory.variance_gap, points, variance, squared)
    torch.testing.assert_close(single, (one * other).sum(1), rtol=1e-8, atol=1e-12)
    size = float(single.abs().sum())
    assert abs(float(theory.batch_product(points, mean, variance, squared=squared))) <= 1e-13 * max(size, 1e-6)
    columns = [
        theory.single_products(points[:, k, None], mean[k, None], variance[k, None]) for k in range(points.shape[1])
    ]
    torch.testing.assert_close(sum(columns), theory.single_products(points, mean, variance))


@given(rows=st.integers(2, 9), seed=st.integers(0, 999))
def test_opposed_points_lie_on_the_side_the_appendix_names(rows: int, seed: int) -> None:
    points, mean, variance = batch(rows, 1, seed)
    centre, spread = statistics(points[:, 0].tolist())
    sign = (centre - float(mean)) * (spread - float(variance))  # R
    expected = [value < centre if sign > 0 else value > centre for value in points[:, 0].tolist()]
    assert theory.opposed(points, mean, variance).tolist() == expected
    assert 0 < sum(expected) < rows, "never none, never all"
    single = theory.single_products(points, mean, variance, squared=False)
    assert (single < 0).tolist() == expected, "the norms oppose the same points"


def test_rounding_is_no_opposition() -> None:
    points = torch.tensor([[0.1], [0.2], [0.3]], dtype=torch.float64)
    mean, variance = torch.tensor([1.0], dtype=torch.float64), torch.tensor([1.0], dtype=torch.float64)
    # The middle point lies at the mean, which rounds.
    assert float(theory.single_products(points, mean, variance)[1]) != 0
    for given_mean in (mean, -mean):
        assert int(theory.opposed(points, given_mean, variance).sum()) == 1
    assert not theory.opposed(points[:1], mean, variance).any(), "a single point has no spread"


@given(**BATCHES, shift=st.floats(-20, 20), scale=st.floats(0.1, 5))
def test_translation_permutation_and_scale(rows: int, width: int, seed: int, shift: float, scale: float) -> None:
    points, mean, variance = batch(rows, width, seed)
    products = theory.single_products(points, mean, variance)
    close: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-9}
    moved = theory.single_products(points + shift, mean + shift, variance)
    torch.testing.assert_close(moved, products, **close)
    torch.testing.assert_close(
        theory.variance_gap_gradient(points + shift, variance), theory.variance_gap_gradient(points, variance), **close
    )
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(theory.single_products(points[order], mean, variance), products[order])
    wider = theory.single_products(scale * points, scale * mean, scale**2 * variance)
    torch.testing.assert_close(wider, scale**4 * products, **close)
    assert torch.equal(
        theory.opposed(scale * points, scale * mean, scale**2 * variance), theory.opposed(points, mean, variance)
    )


def test_where_a_gap_is_closed_the_gradients_are_zero() -> None:
    points = torch.tensor([[-1.0, 2.0], [1.0, 4.0]], dtype=torch.float64)
    mean, variance = points.mean(0), points.var(0, correction=0)
    for squared in (True, False):
        assert theory.mean_gap_gradient(points, mean, squared=squared).eq(0).all()
        assert theory.variance_gap_gradient(points, variance, squared=squared).eq(0).all()
    assert not theory.opposed(points, mean, variance).any()


@given(rows=st.integers(2, 9), width=st.integers(1, 4), seed=st.integers(0, 999))
def test_a_shift_and_a_stretch_close_both_gaps(rows: int, width: int, seed: int) -> None:
    points, mean, variance = batch(rows, width, seed)
    stretch, shift = theory.closed_gaps(points, mean, variance)
    assert (stretch >= 0).all()
    one, other = written_out(stretch * points + shift, mean, variance)
    assert one < 1e-24 and other < 1e-22


def test_a_dimension_without_spread_cannot_be_stretched() -> None:
    points = torch.tensor([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]], dtype=torch.float64)
    mean, ones = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    with refuses("points", "spread in dimension 0"):
        theory.closed_gaps(points, mean, ones)
    stretch, shift = theory.closed_gaps(points, mean, torch.tensor([0.0, 1.0], dtype=torch.float64))
    assert (stretch * points + shift)[:, 0].abs().max() < 1e-15
    # A spread whose square is lost in float64.
    tiny = 1e-170 * torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
    stretch, shift = theory.closed_gaps(tiny, mean[:1], ones[:1])
    torch.testing.assert_close(stretch * tiny + shift, torch.tensor([[-1.0], [1.0]], dtype=torch.float64))


@SQUARED
@given(rows=st.integers(1, 6), width=st.integers(1, 3), seed=st.integers(0, 99))
def test_moving_is_descent_along_the_gradients(squared: bool, rows: int, width: int, seed: int) -> None:
    points, mean, variance = batch(rows, width, seed)
    frames = theory.moving(
        points, mean, variance, lambda_mean=0.3, lambda_var=0.7, learning_rate=0.2, steps=7, squared=squared
    )
    assert frames.shape == (8, rows, width) and torch.equal(frames[0], points)
    at = points
    for frame in frames:
        torch.testing.assert_close(frame, at, rtol=1e-9, atol=1e-11)
        pull = 0.3 * by_autograd(theory.mean_gap, at, mean, squared)
        at = at - 0.2 * (pull + 0.7 * by_autograd(theory.variance_gap, at, variance, squared))


@pytest.mark.parametrize("lambda_mean, lambda_var", [(1.0, 1.0), (1.0, 0.02), (0.02, 1.0)])
@pytest.mark.parametrize("seed", range(3))
def test_both_gaps_close_whatever_the_weights(lambda_mean: float, lambda_var: float, seed: int) -> None:
    points, mean, variance = batch(6, 2, seed)
    options: dict[str, Any] = {"lambda_mean": lambda_mean, "lambda_var": lambda_var, "learning_rate": 0.5}
    end = theory.moving(points, mean, variance + 0.2, **options, steps=20_000)[-1]
    assert float(theory.mean_gap(end, mean)) < 1e-20
    assert float(theory.variance_gap(end, variance + 0.2)) < 1e-20
    # The norms end by stepping about the target, by up to eta lambda / n in the mean.
    end = theory.moving(points, mean, variance + 0.2, **options, steps=20_000, squared=False)[-1]
    assert float(theory.mean_gap(end, mean, squared=False)) <= 0.5 * lambda_mean / 6
    alone = theory.moving(points, mean, variance, lambda_mean=0, lambda_var=1, learning_rate=0.5, steps=50)
    torch.testing.assert_close(alone.mean(1), points.mean(0).expand(51, -1))


def test_float32_stays_float32() -> None:
    points, mean, variance = (value.float() for value in batch(5, 2, 0))
    frames = theory.moving(points, mean, variance, lambda_mean=1, lambda_var=1, learning_rate=0.1, steps=3)
    values = [
        frames,
        theory.mean_gap_gradient(points, mean),
        theory.printed_variance_gap_gradient(points, variance),
        theory.batch_product(points, mean, variance, squared=False),
        *theory.closed_gaps(points, mean, variance),
    ]
    assert {value.dtype for value in values} == {torch.float32}


def test_what_is_refused() -> None:
    points, mean, variance = batch(4, 2, 0)
    with refuses("points", "float32 or float64"):
        theory.mean_gap(points.half(), mean.half())
    with refuses("points", "at most 1e+06"):
        theory.variance_gap(points * 1e7, variance)
    with refuses("target_variance", "at least 0"):
        theory.variance_gap_gradient(points, variance - 1)
    with refuses("target_variance", "at most 1e+12"):
        theory.closed_gaps(points, mean, variance * 1e14)
    with refuses("learning_rate", "so small"):
        theory.moving(points, mean, variance, lambda_mean=0, lambda_var=1, learning_rate=1e3, steps=50)
