r"""Where the variance of distilled images comes from, measured on features.

Du et al. 2024 (DWA), arXiv 2409.17612:

    eq 5    s_i = X_c(lambda L_mean, theta_T) + xi_i
    eq 7    Var(S) = Var(X_c) + Var(xi) = sigma_xi^2(lambda L_var)       -> variance_between_and_within
    eq 11   Var(S') = beta sigma_theta^2 + sigma_xi^2 >= sigma_xi^2      -> added_variance

X_c is the solution for class c without the variance term, xi_i what that term adds to image i. Both equations are about one class and
take it that the solutions X_c of a class agree, Var(X_c) = 0, and that X_c and xi_i are independent. That is assumed, not shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from ..core import errors
from ..core.boundary import checked, filled, floats, integers
from ._check import Points, bounded


@dataclass(frozen=True, kw_only=True)
class VarianceParts:
    """A variance, summed over the dimensions, in its two parts: total = between + within.

    Attributes:
        between: of the means of the groups, each weighed with its size. within: about the mean of the own group, on average.
    """

    between: float
    within: float
    total: float


@checked
def variance_between_and_within(features: Points, groups: Annotated[Tensor, integers("n")]) -> VarianceParts:
    r"""The law of total variance: Var(f) = Var(E[f | group]) + E[Var(f | group)], exact for biased variances; float64 inside.

    To read eq 7 off it take images recovered several per class, `groups` their classes, once with lambda_var = 0 and once with it on.
    `within` without the variance term is Var(X_c), which eq 7 takes as 0. `within` with it is Var(S) of a class, and the difference is
    what the term adds: Var(xi) if the two are independent. `between`, how far the classes lie apart, is not in eq 7.

    Args:
        features: [n, d], float32 or float64. groups: int64 [n], any numbers.
    """
    values = features.detach().double()
    names, member = groups.to(values.device).unique(return_inverse=True)
    sizes = torch.bincount(member, minlength=len(names)).double()
    means = torch.zeros(len(names), values.shape[1], dtype=values.dtype, device=values.device)
    means = means.index_add(0, member, values) / sizes[:, None]
    about_groups = (values - means[member]).square().sum() / len(values)
    of_means = (sizes[:, None] * (means - values.mean(0)).square()).sum() / len(values)
    return VarianceParts(between=float(of_means), within=float(about_groups), total=_total(values))


@checked
def added_variance(before: Points, after: Annotated[Tensor, floats("m d"), filled, bounded]) -> float:
    r"""(Var(S') - Var(S)) / Var(S): how much more the features of S' vary, as a share; eq 11 says at least 0.

    Args:
        before: [n, d], features of images recovered with the weights as they are. after: [m, d], with the weights perturbed; both by
            one network. The variance is biased and summed over the dimensions.

    Raises:
        DDLabError: a `before` without any variance, of which no share can be taken.
    """
    reference = _total(before)
    share = (_total(after) - reference) / reference if reference > 0 else float("inf")
    if share == float("inf"):
        errors.fail("before", "features that are not all equal", before)
    return share


def _total(features: Tensor) -> float:
    return float(features.detach().double().var(0, correction=0).sum())
