r"""Do the mean gap and the variance gap of batch norm pull a batch of latents in opposite directions?

Du et al. 2024, "Diversity-Driven Synthesis" (DWA), arXiv 2409.17612, appendix A.1, which argues for weights of their own for the two
gaps: for some latents the two gradients point in opposite directions.

Here latents are free: nothing but the two gaps moves them. All functions are pure and take float32 or float64.

    symbol               name here         shape    meaning
    s_i in S             points            [n, d]   the latents of one batch
    mu(T), sigma^2(T)    target_mean,      [d]      of the real data; the variance is biased (divided by n)
                         target_variance

    eq 4    mean_gap, variance_gap with squared=False: ||mu(S) - mu(T)||_2 and ||sigma^2(S) - sigma^2(T)||_2, what the code minimises
    A.1     the same with squared=True: the sum of squares over the dimensions, what the appendix differentiates
    eq 17   single_products, opposed: one inner product per point
    eq 18   mean_gap_gradient
    eq 19   variance_gap_gradient (right), printed_variance_gap_gradient (as printed)
    eq 20   their inner product, single_products

What follows from the right gradients, and is not in the paper:

1. Equation 19 has a factor (1 - 1/n) too many: when s_i moves, mu(S) moves too, but the deviations from mu(S) sum to zero, so that
   this has no effect on the variance. The sign, and with it the argument, is as printed.
2. The first gradient is the same for every point, the second goes with s_i - mu(S). So some points are opposed, but over the batch
   the inner product is exactly zero (`batch_product`): one gradient moves the batch, the other stretches it about its mean.
3. A shift and a stretch close both gaps at once (`closed_gaps`), and descent reaches that whatever the two weights (`moving`).

So A.1 shows that single latents are pulled apart. That a common weight hurts does not follow from it.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from ..core import errors
from ..core.boundary import checked, floats, within
from ._check import Points, Weight, bounded, variances

Mean = Annotated[Tensor, floats("d"), bounded]
Variance = Annotated[Tensor, floats("d"), variances]


@checked
def mean_gap(points: Points, target_mean: Mean, *, squared: bool = True) -> Tensor:
    r"""L_mean = sum_k (mu_k(S) - mu_k(T))^2 (A.1), or its root, ||mu(S) - mu(T)||_2 (eq 4), with `squared=False`; a scalar.

    Args:
        points: [n, d], at least one. target_mean: [d].

    Raises:
        DDLabError: another shape or dtype, or values that are not finite or above 1e6 in size. So do all functions here.
    """
    return _length(points.mean(0) - target_mean, squared)


@checked
def variance_gap(points: Points, target_variance: Variance, *, squared: bool = True) -> Tensor:
    r"""L_var = sum_k (sigma^2_k(S) - sigma^2_k(T))^2 (A.1), or its root (eq 4) with `squared=False`; a scalar.

    Args:
        points: [n, d]. target_variance: [d], not negative; variances are biased, as batch norm's are.
    """
    return _length(points.var(0, correction=0) - target_variance, squared)


@checked
def mean_gap_gradient(points: Points, target_mean: Mean, *, squared: bool = True) -> Tensor:
    r"""dL_mean/ds_i = (2/n) (mu(S) - mu(T)), the same for every point (eq 18); [n, d].

    With `squared=False` (mu(S) - mu(T)) / (n ||mu(S) - mu(T)||_2), and 0 where the gap is closed.
    """
    return _slope(points.mean(0) - target_mean, squared).expand_as(points) / len(points)


@checked
def variance_gap_gradient(points: Points, target_variance: Variance, *, squared: bool = True) -> Tensor:
    r"""dL_var/ds_i = 2 (sigma^2(S) - sigma^2(T)) (2/n) (s_i - mu(S)), each dimension by itself (eq 19, corrected); [n, d].

    With `squared=False` divided by 2 ||sigma^2(S) - sigma^2(T)||_2, and 0 where the gap is closed.
    """
    slope = _slope(points.var(0, correction=0) - target_variance, squared)
    return slope * (2 / len(points)) * (points - points.mean(0))


def printed_variance_gap_gradient(points: Points, target_variance: Variance) -> Tensor:
    r"""dL_var/ds_i as the paper prints it in eq 19, with the factor (1 - 1/n) that should not be there; [n, d].

    Too short by that factor: by a half for two points, by a hundredth for a hundred.
    """
    return variance_gap_gradient(points, target_variance) * (1 - 1 / len(points))


def single_products(points: Points, target_mean: Mean, target_variance: Variance, *, squared: bool = True) -> Tensor:
    r"""dL_mean/ds_i . dL_var/ds_i, summed over the dimensions: one number per point (eq 17 and 20, without the wrong factor); [n].

    The paper writes eq 20 for one dimension; give single columns to see the dimensions apart. `squared=False` divides all products
    by the same positive number, so that the signs are those of `squared=True`.
    """
    one = mean_gap_gradient(points, target_mean, squared=squared)
    return (one * variance_gap_gradient(points, target_variance, squared=squared)).sum(1)


def batch_product(points: Points, target_mean: Mean, target_variance: Variance, *, squared: bool = True) -> Tensor:
    r"""The inner product of the two gradients over the whole batch, sum_i dL_mean/ds_i . dL_var/ds_i: zero; a scalar.

    Exactly, because sum_i (s_i - mu(S)) = 0; what is returned is the sum as it comes out, with its rounding.
    """
    return single_products(points, target_mean, target_variance, squared=squared).sum()


def opposed(points: Points, target_mean: Mean, target_variance: Variance) -> Tensor:
    r"""Which points the two gaps pull apart: those with a negative inner product (eq 17); bool [n].

    They lie on one side of a hyperplane through mu(S), the side that R of the appendix tells. A product that is no more than
    rounding (the point lies at the batch's mean, or on that hyperplane) does not count.
    """
    one = mean_gap_gradient(points, target_mean)
    other = variance_gap_gradient(points, target_variance)
    rounding = 16 * torch.finfo(points.dtype).eps * one.norm(dim=1) * other.norm(dim=1).max()
    return (one * other).sum(1) < -rounding


@checked
def closed_gaps(points: Points, target_mean: Mean, target_variance: Variance) -> tuple[Tensor, Tensor]:
    r"""The stretch and the shift that close both gaps at once: `stretch * points + shift` has mean mu(T) and variance sigma^2(T).

    Returns:
        stretch [d] = sigma(T) / sigma(S), not negative; shift [d] = mu(T) - stretch mu(S).

    Raises:
        DDLabError: a dimension in which all points are equal and the target's variance is above 0: no stretch widens it (there the
            gradient of the variance gap is 0 too).
    """
    wanted, mean = target_variance.sqrt(), points.mean(0)
    range_ = points.amax(0) - points.amin(0)
    # In units of the range, so that the square of a small spread is not lost.
    unit = torch.where(range_ > 0, range_, torch.ones_like(range_))
    spread = unit * ((points - mean) / unit).square().mean(0).sqrt()
    stuck = (range_ == 0) & (wanted > 0)
    if bool(stuck.any()):
        errors.fail(
            "points", f"of some spread in dimension {int(stuck.nonzero()[0])}, whose target variance is above 0", points
        )
    stretch = torch.where(range_ > 0, wanted / torch.where(range_ > 0, spread, unit), torch.ones_like(wanted))
    if not bool(torch.isfinite(stretch).all()):
        errors.fail("points", "of a spread that can be stretched to the target's", points)
    return stretch, target_mean - stretch * mean


@checked
def moving(
    points: Points,
    target_mean: Mean,
    target_variance: Variance,
    *,
    lambda_mean: Weight,
    lambda_var: Weight,
    learning_rate: Weight,
    steps: Annotated[int, within(0, 10**5)],
    squared: bool = True,
) -> Tensor:
    r"""Gradient descent on lambda_mean L_mean + lambda_var L_var of free latents: s_i <- s_i - eta (lambda_mean dL_mean/ds_i + ...).

    Both gaps close whatever the weights, if both are above 0: the weights decide how soon. With `squared=False` the gradients keep
    their length, so that descent ends by stepping to and fro about the target, by up to eta lambda / n.

    Args:
        learning_rate: eta, per unit of the gradients, which carry 1/n; steps: how many updates.

    Returns:
        Every frame, the first as given: [steps + 1, n, d].

    Raises:
        DDLabError: a learning rate so large that the points fly apart.
    """
    # The first gradient shifts all points, the second stretches them about their mean: two numbers per dimension say where all are.
    # In numpy, whose calls on so few numbers take a fifth of the time.
    deviations = points.detach() - points.detach().mean(0)
    shift, variance, wanted = (
        value.detach().cpu().numpy()
        for value in (points.mean(0) - target_mean, deviations.square().mean(0), target_variance)
    )
    stretch = np.ones_like(wanted)
    mean_rate, variance_rate = (learning_rate * weight / len(points) for weight in (lambda_mean, 2 * lambda_var))
    shifts, stretches = [shift], [stretch]
    with np.errstate(all="ignore"):  # looked at below
        for _ in range(steps):
            slope = _slope(stretch * stretch * variance - wanted, squared)
            shift = shift - mean_rate * _slope(shift, squared)
            stretch = stretch * (1 - variance_rate * slope)
            shifts.append(shift)
            stretches.append(stretch)
    means, scales = (torch.from_numpy(np.stack(values)).to(deviations) for values in (shifts, stretches))
    frames = (means + target_mean.detach())[:, None] + scales[:, None] * deviations
    if not bool(torch.isfinite(frames).all()):
        errors.fail("learning_rate", "so small that the points stay where numbers are finite", learning_rate)
    frames[0] = points.detach()
    return frames


def _length(difference: Tensor, squared: bool) -> Tensor:
    return difference.square().sum() if squared else torch.linalg.vector_norm(difference)


def _slope(difference: Any, squared: bool) -> Any:
    """The gradient of `_length`; of the norm it is taken as 0 at 0. Of tensors or arrays."""
    if squared:
        return 2 * difference
    length = (difference * difference).sum() ** 0.5
    return difference / length if length > 0 else 0 * difference
