r"""The gradients of self-supervised objectives in closed form: ReLA's appendix I, and how large the terms are that it lets go.

Sun et al. 2024 (ReLA), arXiv 2405.14669, after Tao et al. 2022 (arXiv 2112.05141). With u1, v of the network that learns, u2 the other
view of the same image, N rows, s and t softmax weights at temperature tau:

    eq 45, 47   (1 / (tau N)) (-u2 + sum_v s_v v)                                          -> contrastive_gradient
    eq 46       the same, + (1 / (tau N)) (-u2 + sum_v t_v v), which "reduces to 0"        -> simclr_gradient_terms
    eq 49       W = F^(1/2) + epsilon lambda_max I                                         -> direct_predictor
    eq 50       (1 / (|W u1| N)) (-W' u2 + lambda F u1)                                    -> direct_gradient, printed_direct_gradient
    eq 52       (2 / N) (-(I - (1 - lambda) W_diag) u2 + lambda sum_v (u2 . v2 / N) v1)    -> barlow_twins_gradient
    eq 54       (2 / N) (-u2 + lambda sum_v (u1~ . v1~ / N) v1~) + a term that "reduces to 0"    -> vicreg_gradient_terms
    eq 55       (2 / N) (-u2 + lambda sum_v (u . v / N) v1)                                -> decorrelation_gradient

| equation | what it holds for |
|---|---|
| 45, 46 | vectors of length 1; `through_length` goes on to what is normalised |
| 45 | a sum over the bank alone; in MoCo's loss the key is in it, too: `target_among` |
| 46 | exact. The two terms are alike in form, and in size: s and t differ in the row over which they sum to 1 alone |
| 50 | epsilon = 0 alone: it takes $W^T W$ as F, and F + epsilon^2 I in lambda, and both lack $2 \epsilon \lambda_{max} F^{1/2}$ |
| 52 | exact, for coordinates of mean 0 and variance 1; `through_standardisation` goes on to what is standardised |
| 54 | exact, for eq 53, whose variance and covariance are of one view |

For DINO and SwAV none is printed.
"""

from __future__ import annotations

from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors
from ..core.boundary import checked, filled, floats
from ._check import Points, Positive, Size, bounded

Others = Annotated[Tensor, floats("m d"), filled, bounded]
Square = Annotated[Tensor, floats("d d"), filled, bounded]


@checked
def contrastive_gradient(
    online: Points, target: Points, samples: Others, *, temperature: Positive, target_among: bool = True
) -> Tensor:
    """Eq 45 and 47, with respect to `online` at length 1: [n, d].

    Args:
        online, target: [n, d], u1 and u2, of which the lengths do not matter. samples: [m, d], the bank.
        target_among: whether each target is one of the samples that its own row is compared with, as in MoCo's loss; False is as printed.
    """
    u, positive, others = (F.normalize(each) for each in (online, target, samples))
    logits = u @ others.T / temperature
    if not target_among:
        return (logits.softmax(1) @ others - positive) / (temperature * len(u))
    own = (u * positive).sum(1, keepdim=True) / temperature
    weights = torch.cat([own, logits], 1).softmax(1)
    return (weights[:, :1] * positive + weights[:, 1:] @ others - positive) / (temperature * len(u))


@checked
def simclr_gradient_terms(first: Points, second: Points, *, temperature: Positive) -> tuple[Tensor, Tensor]:
    """Eq 46 for the 2n rows of both views, with respect to these at length 1: the own loss's term, all others', [2n, d] each.

    Args:
        first, second: [n, d], of the same images, of which the lengths do not matter.
    """
    views = F.normalize(torch.cat([first, second]))
    other = views.roll(len(first), 0)
    itself = torch.eye(len(views), dtype=torch.bool, device=views.device)
    own = (views @ views.T / temperature).masked_fill(itself, -torch.inf).softmax(1)  # row i: the weights s of u_i
    scale = 1 / (temperature * len(views))
    return scale * (own @ views - other), scale * (own.T @ views - other)


@checked
def through_length(projections: Points, gradient: Points) -> Tensor:
    """The gradient [n, d] with respect to `projections`, from that with respect to their directions.

    Raises:
        DDLabError: a projection of length 0.
    """
    lengths = torch.linalg.vector_norm(projections, dim=1, keepdim=True)
    _check_positive("projections", "of rows longer than 0", lengths)
    directions = projections / lengths
    return (gradient - directions * (directions * gradient).sum(1, keepdim=True)) / lengths


@checked
def direct_predictor(correlation: Square, *, epsilon: Size) -> Tensor:
    """The linear predictor W [d, d] of eq 49 for F, symmetric and without negative eigenvalues; below 0 they count as 0."""
    values, vectors = torch.linalg.eigh((correlation + correlation.T) / 2)
    values = values.clamp(min=0)
    return vectors * (values.sqrt() + epsilon * values.max()) @ vectors.T


@checked
def direct_gradient(online: Points, target: Points, predictor: Square) -> Tensor:
    """Of -cos(W u1, u2), mean over the rows, with respect to `online`: [n, d]; eq 50 with W'W in the place of F.

    Args:
        online, target: [n, d], u1 and u2; the target's lengths do not matter. predictor: W, [d, d].

    Raises:
        DDLabError: a row of `online` that the predictor takes to 0.
    """
    return _asymmetric(online, target, predictor, predictor.T @ predictor, predictor.T @ predictor)


@checked
def printed_direct_gradient(
    online: Points, target: Points, predictor: Square, correlation: Square, *, epsilon: Size
) -> Tensor:
    """Eq 50 as it is printed, with F [d, d] the correlation from which `direct_predictor` made W; raises as `direct_gradient`."""
    identity = torch.eye(len(correlation), dtype=correlation.dtype, device=correlation.device)
    return _asymmetric(online, target, predictor, correlation, correlation + epsilon**2 * identity)


@checked
def barlow_twins_gradient(first: Points, second: Points, *, off_diagonal_weight: Size) -> Tensor:
    """Eq 52, with respect to `first`: [n, d].

    Args:
        first, second: [n, d], coordinates of mean 0 and variance 1 (with 1/n). off_diagonal_weight: lambda.
    """
    count = len(first)
    diagonal = (first * second).mean(0)
    pulled = (1 - (1 - off_diagonal_weight) * diagonal) * second
    return 2 / count * (off_diagonal_weight * (second @ second.T / count) @ first - pulled)


@checked
def through_standardisation(projections: Points, gradient: Points, *, epsilon: Size = 0.0) -> Tensor:
    """The gradient [n, d] with respect to `projections`, from that with respect to their coordinates at mean 0 and variance 1 (with 1/n).

    Args:
        epsilon: what was added to the variances.

    Raises:
        DDLabError: a coordinate that is the same in all rows, without an epsilon.
    """
    centred = projections - projections.mean(0)
    deviations = (centred.square().mean(0) + epsilon).sqrt()
    _check_positive("projections", "of coordinates that vary, or epsilon above 0", deviations)
    standard = centred / deviations
    return (gradient - gradient.mean(0) - standard * (standard * gradient).mean(0)) / deviations


@checked
def vicreg_gradient_terms(
    first: Points,
    second: Points,
    *,
    covariance_weight: Positive,
    variance_weight: Size,
    target_deviation: Size = 1.0,
    epsilon: Size = 0.0,
) -> tuple[Tensor, Tensor]:
    """Eq 54, with respect to `first`: positive and negative gradient, and the term that "reduces to 0", [n, d] each.

    Args:
        first, second: [n, d], n at least 2, u1 and u2.
        covariance_weight, variance_weight: lambda_1 and lambda_2 of eq 53; target_deviation: gamma.
        epsilon: what is added to the variances under the root.

    Raises:
        DDLabError: fewer than two rows, or a coordinate that is the same in all, without an epsilon.
    """
    count, width = first.shape
    if count < 2:
        errors.fail("first", "of at least two rows", first)
    centred = first - first.mean(0)
    variances = centred.square().sum(0) / (count - 1)
    deviations = (variances + epsilon).sqrt()
    _check_positive("first", "of coordinates that vary, or epsilon above 0", deviations)
    weight = 2 * covariance_weight * count**2 / (width * (count - 1) ** 2)
    main = 2 / count * (weight * (centred @ centred.T / count) @ centred - second)
    short = (target_deviation > deviations) / deviations
    scale = count / (width * weight * (count - 1))
    balance = scale * (2 * covariance_weight * variances + variance_weight / 2 * short)
    return main, 2 * weight / count * (first / weight - balance * centred)


@checked
def decorrelation_gradient(online: Points, target: Points, compared: Points, *, weight: Size) -> Tensor:
    """Eq 55: [n, d].

    Args:
        online, target: [n, d], u1 and u2. compared: [n, d], of which the inner products are taken: the target for Barlow Twins, the
            centred online rows for VICReg. weight: lambda.
    """
    count = len(online)
    return 2 / count * (weight * (compared @ compared.T / count) @ online - target)


@checked
def relative_size(term: Points, whole: Points) -> float:
    """The length of a term of a gradient [n, d] as a part of that of the `whole` [n, d].

    Raises:
        DDLabError: a gradient of 0.
    """
    term, whole = term.detach(), whole.detach()
    length = torch.linalg.vector_norm(whole)
    _check_positive("whole", "a gradient that is not 0", length)
    return float(torch.linalg.vector_norm(term) / length)


def _asymmetric(online: Tensor, target: Tensor, predictor: Tensor, negative: Tensor, balance: Tensor) -> Tensor:
    """Eq 50, with a matrix for the negative gradient and one for lambda."""
    predictions, pulled = online @ predictor.T, F.normalize(target) @ predictor
    lengths = torch.linalg.vector_norm(predictions, dim=1, keepdim=True)
    divisors = ((online @ balance) * online).sum(1, keepdim=True)
    _check_positive("online", "of rows that predictor and correlation do not take to 0", lengths.minimum(divisors))
    factor = (online * pulled).sum(1, keepdim=True) / divisors
    return (factor * (online @ negative.T) - pulled) / (lengths * len(online))


def _check_positive(argument: str, allowed: str, values: Tensor) -> None:
    if not bool((values > 0).all()):
        errors.fail(argument, allowed, float(values.min()))
