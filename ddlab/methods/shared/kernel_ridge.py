r"""Kernel ridge regression on a network's features.

It is a linear layer, trained to the end on few rows, applied to other images.

Zhou et al. 2022 (FRePo, arXiv 2206.00719); Lee et al. 2024 (KRR-ST, arXiv 2310.06511); Yu, Yao &
Chiu 2025 (Boost), eq 3:

    L_outer = 1/2 || g(X_t) - f(X_t) f(X_s)^T (K + lambda I)^{-1} Y_s ||_F^2,   K = f(X_s) f(X_s)^T

Symbol      In code      Shape     What
f(X_s)      distilled    [m, d]    features of the distilled images
f(X_t)      real         [n, d]    features of real images
Y_s         targets      [m, o]    what the distilled images are to be mapped to
g(X_t)      real_targets [n, o]    what the teacher says of the real images
K           kernel       [m, m]    `gram(distilled, distilled)`
lambda      ridge        []        `trace_scaled`

Where the authors' code and the paper differ, this is the code: the loss is the mean over all n o
numbers, not half of their sum; a column of ones is appended to the features (`gram` adds 1, which
is the same); and lambda is a strength times the trace of K, taken as a constant, so that it means
the same for features of any size.

The solve is a Cholesky factorisation, no inverse is formed. It is done in float64, which for a few
hundred rows costs nothing beside the network and cannot fail on a kernel that rounding has made
indefinite. What rounding is left is that of float32 features in K itself: at a condition of 4e5
(400 rows of 512 numbers) 1.6e-3 of the predictions; a float32 inverse loses twice as much.
"""

import torch
from torch import Tensor

from ...core import errors


def gram(first: Tensor, second: Tensor) -> Tensor:
    """Return the inner products of features with a column of ones appended: [n, d] and [m, d] ->
    [n, m].

    Differentiable.
    """
    return first @ second.T + 1


def trace_scaled(kernel: Tensor, *, strength: float) -> Tensor:
    """Return the ridge, strength times the trace of a kernel [m, m]; [].

    It is a constant: no gradient passes.
    """
    return strength * kernel.detach().diagonal().sum()


def solve(kernel: Tensor, targets: Tensor, *, ridge: float | Tensor) -> Tensor:
    """Solve (K + ridge I)^{-1} Y in float64: kernel [m, m], targets [m, o] -> [m, o].

    Differentiable.

    Raises:
        DDLabError: a kernel that is singular with this ridge, as that of two equal rows is without
            any.
    """
    regular = kernel.double() + ridge * torch.eye(
        len(kernel), dtype=torch.float64, device=kernel.device
    )
    factor, failed = torch.linalg.cholesky_ex(regular)
    # Of a singular kernel rounding may leave a last pivot just above 0; the solution would be made
    # of that alone.
    rounding = max(4 * _rounding(kernel), len(kernel) * _rounding(regular))
    if bool(failed) or bool((factor.diagonal().square() <= rounding * regular.diagonal()).any()):
        if bool(torch.isfinite(kernel).all()):
            requirement = f"large enough to make this kernel of {len(kernel)} rows invertible"
            errors.fail(
                "ridge", requirement, float(ridge.detach() if isinstance(ridge, Tensor) else ridge)
            )
        # NaN stays NaN, for whoever drives the run to name its step.
        factor = torch.full_like(regular, torch.nan)
    return torch.cholesky_solve(targets.double(), factor)


def predictions(
    real: Tensor, distilled: Tensor, targets: Tensor, *, strength: float = 1e-6
) -> Tensor:
    """Return f(X_t) f(X_s)^T (K + lambda I)^{-1} Y_s in the features' dtype.

    real [n, d], distilled [m, d], targets [m, o] -> [n, o].

    Args:
        strength: lambda as a part of the trace of K.
    """
    kernel = gram(distilled, distilled)
    weights = solve(kernel, targets, ridge=trace_scaled(kernel, strength=strength))
    return gram(real, distilled) @ weights.to(real.dtype)


def outer_loss(
    real: Tensor,
    real_targets: Tensor,
    distilled: Tensor,
    targets: Tensor,
    *,
    strength: float = 1e-6,
) -> Tensor:
    """Return equation 3: the mean square of the targets less `predictions`, over all n o numbers;
    [].

    Differentiable.

    Args:
        real: [n, d], features of real images;
        real_targets: [n, o].
        distilled: [m, d];
        targets: [m, o].

    Raises:
        DDLabError: shapes that do not belong together, no row, or a singular kernel.
    """
    if not len(real) or not len(distilled):
        errors.fail("real and distilled", "at least one row each", (len(real), len(distilled)))
    return (real_targets - predictions(real, distilled, targets, strength=strength)).square().mean()


def _rounding(kernel: Tensor) -> float:
    """Return the relative error of a number.

    Below float32 it is 0, so that a half-precision kernel is not refused.
    """
    return torch.finfo(kernel.dtype).eps if kernel.dtype in (torch.float32, torch.float64) else 0.0
