"""Eq 3 of KRR-ST and Boost against scikit-learn, numpy and torch's own least squares."""

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge

from ddlab.methods.shared import kernel_ridge
from tests.support import refuses


def rows(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(
        shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    ).to(dtype)


@pytest.mark.parametrize("strength", [1e-6, 1e-2, 1.0])
def test_predictions_are_scikit_learns(strength: float) -> None:
    real = rows(9, 5, seed=1)
    distilled = rows(6, 5, seed=2)
    targets = rows(6, 3, seed=3)
    with_bias = [
        np.concatenate([part.numpy(), np.ones((len(part), 1))], 1) for part in (real, distilled)
    ]
    # The trace of K is the sum of squares of the rows.
    ridge = strength * float((with_bias[1] ** 2).sum())
    model = KernelRidge(alpha=ridge, kernel="linear").fit(with_bias[1], targets.numpy())
    predicted = kernel_ridge.predictions(real, distilled, targets, strength=strength)
    np.testing.assert_allclose(predicted.numpy(), model.predict(with_bias[0]), rtol=1e-9, atol=1e-9)


def test_it_is_a_linear_layer_trained_to_its_end() -> None:
    """Of more rows than features the kernel's answer is the ridge regression's own (the
    push-through identity).
    """
    real = rows(7, 4, seed=1)
    distilled = rows(30, 4, seed=2)
    targets = rows(30, 2, seed=3)
    layer = torch.cat([distilled, torch.ones(30, 1, dtype=torch.float64)], 1)
    ridge = 1e-3 * layer.square().sum()
    weights = torch.linalg.solve(
        layer.T @ layer + ridge * torch.eye(5, dtype=torch.float64), layer.T @ targets
    )
    expected = torch.cat([real, torch.ones(7, 1, dtype=torch.float64)], 1) @ weights
    torch.testing.assert_close(
        kernel_ridge.predictions(real, distilled, targets, strength=1e-3), expected
    )


def test_the_loss_is_the_mean_over_all_numbers() -> None:
    real = rows(7, 4, seed=1)
    distilled = rows(5, 4, seed=2)
    targets = rows(5, 2, seed=3)
    real_targets = rows(7, 2, seed=4)
    predicted = kernel_ridge.predictions(real, distilled, targets, strength=1e-2)
    loss = kernel_ridge.outer_loss(real, real_targets, distilled, targets, strength=1e-2)
    assert float(loss) == pytest.approx(float(((real_targets - predicted) ** 2).sum()) / 14)


def test_gradients_of_the_loss() -> None:
    """All but the ridge, which is a constant: with the trace held, finite differences agree."""
    real = rows(6, 4, seed=1)
    distilled = rows(5, 4, seed=2)
    targets = rows(5, 3, seed=3)
    real_targets = rows(6, 3, seed=4)
    fixed_ridge = kernel_ridge.trace_scaled(kernel_ridge.gram(distilled, distilled), strength=1e-2)

    def by_hand(features: torch.Tensor, wished: torch.Tensor) -> torch.Tensor:
        kernel = kernel_ridge.gram(features, features)
        predicted = kernel_ridge.gram(real, features) @ kernel_ridge.solve(
            kernel, wished, ridge=fixed_ridge
        )
        return (real_targets - predicted).square().mean()

    leaves = (distilled.clone().requires_grad_(), targets.clone().requires_grad_())
    assert torch.autograd.gradcheck(by_hand, leaves)
    ours = torch.autograd.grad(
        kernel_ridge.outer_loss(real, real_targets, *leaves, strength=1e-2), leaves
    )
    for ours_of_leaf, theirs_of_leaf in zip(
        ours, torch.autograd.grad(by_hand(*leaves), leaves), strict=True
    ):
        torch.testing.assert_close(ours_of_leaf, theirs_of_leaf)


def test_the_ridge_passes_no_gradient() -> None:
    kernel = rows(4, 4).requires_grad_()
    assert not kernel_ridge.trace_scaled(kernel, strength=0.5).requires_grad
    assert float(kernel_ridge.trace_scaled(kernel, strength=0.5)) == pytest.approx(
        0.5 * float(kernel.detach().trace())
    )


def test_float32_features_lose_little() -> None:
    """A condition of 1e6, as the ridge allows: float32 features keep two digits and more."""
    distilled = rows(40, 60, seed=2) * torch.logspace(0, -3, 60, dtype=torch.float64)
    real = rows(50, 60, seed=1) * torch.logspace(0, -3, 60, dtype=torch.float64)
    targets = rows(40, 3, seed=3)
    exact = kernel_ridge.predictions(real, distilled, targets)
    single = kernel_ridge.predictions(real.float(), distilled.float(), targets.float())
    assert single.dtype == torch.float32
    error = float((single - exact).norm() / exact.norm())
    assert error < 5e-3


def test_a_singular_kernel_is_named() -> None:
    twice = rows(1, 4).expand(3, 4)
    with refuses("ridge", "invertible"):
        kernel_ridge.predictions(rows(2, 4), twice.contiguous(), rows(3, 2), strength=0.0)
    kernel_ridge.predictions(rows(2, 4), twice.contiguous(), rows(3, 2), strength=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rounding_does_not_hide_a_singular_kernel(dtype: torch.dtype) -> None:
    """One row twice among others, of any sizes: Cholesky alone goes through in a third of the
    cases, and gives noise.
    """
    for seed in range(60):
        features = rows(2 + seed % 40, 4 + 17 * seed, seed=seed).relu().to(dtype)
        twice = torch.cat([features, features[:1]])
        real = rows(3, features.shape[1]).to(dtype)
        targets = rows(len(twice), 2).to(dtype)
        with refuses("ridge", "invertible", "0"):
            kernel_ridge.predictions(real, twice, targets, strength=0.0)
        # The published ridge is always enough, with rows of very different lengths too.
        uneven = twice * torch.logspace(0, 3, len(twice), dtype=torch.float64)[:, None].to(dtype)
        for some in (twice, uneven):
            assert bool(torch.isfinite(kernel_ridge.predictions(real, some, targets)).all())


def test_a_kernel_that_is_not_finite_gives_nan_for_the_driver_to_name() -> None:
    kernel = torch.full((2, 2), torch.nan, dtype=torch.float64)
    assert bool(kernel_ridge.solve(kernel, rows(2, 1), ridge=0.1).isnan().all())


def test_nan_stays_nan() -> None:
    """A run names the step at which it stopped being finite; here there is none to name."""
    broken = kernel_ridge.gram(*(rows(3, 2) * torch.nan,) * 2)
    assert bool(kernel_ridge.solve(broken, rows(3, 1), ridge=1.0).isnan().all())
