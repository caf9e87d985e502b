r"""The bounds behind FADRM's residual connection: what is printed, what is right, and where its condition can hold.

Cui et al. 2025 (FADRM), arXiv 2506.24125, appendix A. x~ = alpha x_res + (1 - alpha) x; h is L_h-Lipschitz, the loss L_l-Lipschitz and
in [0, B], Delta the mean of ||x_res - x||, R(S) the Rademacher complexity of the functions on S:

    where          printed                                                    right                            function
    Theorem 1      I(C; O) <= |C| max_x H(softmax(f(x)))                      no bound                         printed_information_bound
    Theorem 3 (i)  KL(p || q) <= log k + 2 C / T                              tight: log(1 + (k-1) e^(2C/T))   *_kl_bound
    Theorem 3 (ii) 1/T for l_inf, sqrt(k)/T for l_2                           2/T, sqrt(2)/T; 1/T for l_1      lipschitz_constants
    Lemma 3        |risk gap| <= L_l L_h (1 - alpha) Delta                    the same                         risk_gap_bound
    Corollary 1    |h(z) - chord| <= L alpha (1 - alpha) ||x - y||            2 L alpha (1 - alpha) ||x - y||  *combination_bound
    eq 42          R(x~) <= alpha R(x_res) + (1 - alpha) R(x) + the same      with the 2                       *complexity_bound
    eq 11          R(x) - R(x_res) < -L_h Delta (L_l + 2 B alpha) / (2 B)     4 B alpha                        *condition_threshold
    from eq 11     alpha < 1 - L_l / (2 B)                                    half of that                     *largest_merge_ratio

Corollary 1 fails for h(x) = |x|, x = -1, y = 1, alpha = 1/2: h(0) lies 1 below the chord, and the printed bound is 1/2. The two
Lipschitz distances, (1 - alpha) ||x - y|| to x and alpha ||x - y|| to y, weighed with alpha and 1 - alpha, add up to twice the print,
and this h attains it. The error goes on to eq 42, which fails for {h, -h} with h(x) = 1 - |x| on the same two points, and to eq 11.

R(x) >= R(x_res) - L_h Delta for every class of L_h-Lipschitz functions. So eq 11 can only hold where its threshold is above -L_h Delta:
the region of the last line. With the right constant no alpha from 1/2 on lies in it, the paper's own default included.

Theorem 1's proof bounds I by the entropy of f as a random variable, of its weights over what the dataset might have been, and then
writes the entropy of its outputs for it (eq 3, 35). A network that is sure of every image has none of that, and an image made from
it may still tell which of two datasets it was trained on: log 2 against 0. Real initialisation breaks its chain O -> f -> image too.

Two steps of Theorem 2's proof are not checked by a number here: Lemma 3 is about one h with the same labels on both sets, and is
used for two networks with different ones; eq 45 has 2 B R(H) where Lemma 2 and contraction would give 2 L_l R(H).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from ..core import errors
from ..core.boundary import checked, filled, floats, within
from ._check import Points, Positive, Ratio, Size, bounded

MOST_POINTS = 16  # 2^16 sign patterns


def distributions(argument: str, value: Tensor) -> Tensor:
    """Of a tensor whose rows are at least 0 and sum to 1."""
    sums = value.detach().double().sum(1)
    if float(value.detach().min()) < 0 or float((sums - 1).abs().max()) > 1e-4:
        errors.fail(argument, "rows of at least 0 that sum to 1", value)
    return value


Logits = Annotated[Tensor, floats("n k"), filled, bounded]
Targets = Annotated[Tensor, floats("n k"), filled, bounded, distributions]
Classes = Annotated[int, within(2, 10**6)]


@checked
def printed_information_bound(logits: Logits, *, images: Annotated[int, within(0, 10**9)]) -> float:
    """Theorem 1 as printed (eq 3, 4), in nats: images x the largest entropy of the softmax of a row of logits [n, k]; no bound."""
    log_q = logits.detach().double().log_softmax(1)
    return images * float(-(log_q.exp() * log_q).sum(1).min())


@checked
def temperature_scaled_kl(targets: Targets, logits: Logits, *, temperature: Positive) -> Tensor:
    """KL(p || softmax(z / T)) in nats, per row (eq 14, 15); differentiable.

    Args:
        targets: p, [n, k], each row at least 0 and of sum 1. logits: z, [n, k], of the same dtype, float32 or float64.
    """
    log_q = (logits / temperature).log_softmax(1)
    return torch.xlogy(targets, targets).sum(1) - (targets * log_q).sum(1)


@checked
def temperature_scaled_kl_gradient(targets: Targets, logits: Logits, *, temperature: Positive) -> Tensor:
    """(q - p) / T by the logits, [n, k] (eq 21); arguments as in `temperature_scaled_kl`."""
    return ((logits / temperature).softmax(1) - targets) / temperature


@checked
def printed_kl_bound(*, classes: Classes, largest_logit: Size, temperature: Positive) -> float:
    """Eq 16, log k + 2 C / T in nats: holds for logits in [-C, C], and is not attained."""
    return math.log(classes) + 2 * largest_logit / temperature


@checked
def tight_kl_bound(*, classes: Classes, largest_logit: Size, temperature: Positive) -> float:
    """log(1 + (k - 1) e^(2 C / T)) in nats: attained by a hard target whose logit is -C while all others are C.

    >>> round(tight_kl_bound(classes=2, largest_logit=0, temperature=1) / math.log(2), 6)
    1.0
    """
    largest = 2 * largest_logit / temperature + math.log(classes - 1)
    return largest + math.log1p(math.exp(-largest))


@dataclass(frozen=True, kw_only=True)
class LipschitzConstants:
    """How fast the KL loss can change with the logits, per unit of their change measured in three norms.

    Attributes:
        maximum, total, euclidean: right and sharp, for the change's largest entry, sum of sizes, and length.
        printed_maximum: too small, so wrong. printed_euclidean: larger than need be for k > 2.
    """

    maximum: float
    total: float
    euclidean: float
    printed_maximum: float
    printed_euclidean: float


@checked
def lipschitz_constants(*, classes: Classes, temperature: Positive) -> LipschitzConstants:
    r"""Theorem 3 (ii). |l(z) - l(z')| <= sup ||grad||_* ||z - z'||, with the dual norm: the l_1 norm of (q - p) / T for l_inf changes.

    That is 2 (1 - min q) / T at most. The paper takes the gradient's own l_inf norm, which is the constant of the l_1 norm. For
    k = 2 the printed sqrt(k) / T is the sharp sqrt(2) / T.
    """
    return LipschitzConstants(
        maximum=2 / temperature, total=1 / temperature, euclidean=math.sqrt(2) / temperature,
        printed_maximum=1 / temperature, printed_euclidean=math.sqrt(classes) / temperature,
    )  # fmt: skip


@checked
def risk_gap_bound(*, merge_ratio: Ratio, loss_lipschitz: Size, network_lipschitz: Size, discrepancy: Size) -> float:
    """Lemma 3, L_l L_h (1 - alpha) Delta: how far one network's mean losses on x_res and on x~ can lie apart, with the same labels."""
    return loss_lipschitz * network_lipschitz * (1 - merge_ratio) * discrepancy


def combination_bound(*, merge_ratio: Ratio, lipschitz: Size, distance: Size) -> float:
    """|h(alpha x + (1-alpha) y) - alpha h(x) - (1-alpha) h(y)| <= 2 L alpha (1-alpha) ||x - y||: Corollary 1 put right, attained by |x|."""
    return 2 * printed_combination_bound(merge_ratio=merge_ratio, lipschitz=lipschitz, distance=distance)


@checked
def printed_combination_bound(*, merge_ratio: Ratio, lipschitz: Size, distance: Size) -> float:
    """Corollary 1 as printed, L alpha (1 - alpha) ||x - y|| (eq 31): half of what is needed."""
    return lipschitz * merge_ratio * (1 - merge_ratio) * distance


@checked
def rademacher_complexity(outputs: Points) -> float:
    """E_sigma[max_h (1/n) sum_i sigma_i h(x_i)] of finitely many functions, exact: all 2^n signs are tried (eq 38).

    Args:
        outputs: [functions, n], h(x_i); float32 or float64, n at most 16.
    """
    count = outputs.shape[1]
    if count > MOST_POINTS:
        errors.fail("outputs", f"of at most {MOST_POINTS} points", outputs)
    signs = 2 * (torch.arange(2**count)[:, None] >> torch.arange(count) & 1).double() - 1
    values = outputs.detach().double().cpu()
    best = torch.stack([(some @ values.T).amax(1).mean() for some in signs.chunk(max(1, 2**count // 4096))])
    return float(best.mean()) / count


@checked
def complexity_bound(
    of_distilled: Size, of_real: Size, *, merge_ratio: Ratio, network_lipschitz: Size, discrepancy: Size
) -> float:
    """Eq 42 put right: R(x~) <= alpha R(x_res) + (1 - alpha) R(x) + 2 L_h alpha (1 - alpha) Delta; R by `rademacher_complexity`."""
    error = combination_bound(merge_ratio=merge_ratio, lipschitz=network_lipschitz, distance=discrepancy)
    return merge_ratio * of_distilled + (1 - merge_ratio) * of_real + error


@checked
def printed_complexity_bound(
    of_distilled: Size, of_real: Size, *, merge_ratio: Ratio, network_lipschitz: Size, discrepancy: Size
) -> float:
    """Eq 42 as printed, with L_h alpha (1 - alpha) Delta: not a bound."""
    error = printed_combination_bound(merge_ratio=merge_ratio, lipschitz=network_lipschitz, distance=discrepancy)
    return merge_ratio * of_distilled + (1 - merge_ratio) * of_real + error


@checked
def condition_threshold(
    *, merge_ratio: Ratio, loss_lipschitz: Size, loss_bound: Positive, network_lipschitz: Size, discrepancy: Size
) -> float:
    """Eq 11 put right: R(x) - R(x_res) must lie below -L_h Delta (L_l + 4 B alpha) / (2 B) for the bound of x~ to be the smaller one."""
    return -network_lipschitz * discrepancy * (loss_lipschitz / (2 * loss_bound) + 2 * merge_ratio)


@checked
def printed_condition_threshold(
    *, merge_ratio: Ratio, loss_lipschitz: Size, loss_bound: Positive, network_lipschitz: Size, discrepancy: Size
) -> float:
    """Eq 11 as printed, -L_h Delta (L_l + 2 B alpha) / (2 B)."""
    return -network_lipschitz * discrepancy * (loss_lipschitz / (2 * loss_bound) + merge_ratio)


def largest_merge_ratio(*, loss_lipschitz: Size, loss_bound: Positive) -> float:
    """alpha must lie below (1 - L_l / (2 B)) / 2 for eq 11 put right to hold for any data; 0 or less: for no alpha."""
    return printed_largest_merge_ratio(loss_lipschitz=loss_lipschitz, loss_bound=loss_bound) / 2


@checked
def printed_largest_merge_ratio(*, loss_lipschitz: Size, loss_bound: Positive) -> float:
    """alpha must lie below 1 - L_l / (2 B) for eq 11 as printed to hold for any data; 0 or less: for no alpha.

    >>> printed_largest_merge_ratio(loss_lipschitz=1, loss_bound=2)
    0.75
    """
    return 1 - loss_lipschitz / (2 * loss_bound)
