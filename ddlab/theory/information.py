r"""What samples tell about targets in a mixture of two Gaussian classes, exactly: ReLA's appendix C.

Sun et al. 2024 (ReLA), arXiv 2405.14669. y = 0 or 1 with equal odds, x ~ N(mu_y, S^2 I); all information in nats.

    where    what                                                                            function
    eq 15    I(X; Y) = H(Y) - H(Y | X), H(Y) = log 2                                         mixture_information
    eq 16    I_O = 2 I / (H(X) + H(Y)), H(X) the differential entropy                        mixture_information(...).mixed
    eq 24    I_O = 2 log 2 / (log(2 pi e S^2) / 2 + 2 log 2), printed                        printed_normalised_information
    C.6      targets rho f*(x) + (1 - rho) y with f* = 0 or 1                                relabelled_information
    C.6      the same with a soft f*, read off with finite precision                         soft_relabelled_information

In one dimension the means are 1 and 2, one apart; Definition 4's lab is in two, with means (1, 1) and (2, 2), sqrt(2) apart: every
result says its `dimensions`. Only the way along the line through the means matters, so that one integral serves both.

What is wrong in print. Eq 20 takes the modes as disjoint, so that I = log 2 for every S (eq 23), and eq 24 adds a differential entropy,
which falls without bound as S -> 0, to a discrete one: it is 1 at S = .242, above 1 below that, without value at S = .0605, and
negative under it. It does not tend to 1. I / H(Y) does, and lies in [0, 1].

C.6 lets rho go to 1 inside the information (eq 28, 29). That limit does not exist as taken: with a hard f* the targets take the
same four values for every rho strictly between 0 and 1 but 1/2, so that the information is constant there and jumps at 0, 1/2 and 1.
With a soft f* it is infinite for every rho above 0: the target is a continuous function of x. What grows or falls with rho
is what can be read off with finite precision.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from ..core.boundary import among, checked, within
from ._check import Deviation, Ratio, Size
from ._normal import distribution

Dimensions = Annotated[int, among(1, 2)]

_REACH, _POINTS = 12.0, 100_001


@dataclass(frozen=True, kw_only=True)
class MixtureInformation:
    """Information in nats between samples X and targets Y.

    Attributes:
        dimensions: of X, 1 or 2. distance: between the two means.
        mutual: I(X; Y). target_entropy: H(Y), of a discrete Y. sample_entropy: H(X), differential: it may be negative.
    """

    dimensions: int
    distance: float
    mutual: float
    target_entropy: float
    sample_entropy: float

    @property
    def share(self) -> float:
        """I(X; Y) / H(Y), in [0, 1]: what part of the target the sample tells."""
        return self.mutual / self.target_entropy

    @property
    def mixed(self) -> float:
        """Eq 16 with the exact numbers, 2 I / (H(X) + H(Y)); in no range, since H(X) is differential (inf or -inf at its pole)."""
        below = self.sample_entropy + self.target_entropy
        return 2 * self.mutual / below if below else math.inf


@checked
def mixture_information(*, spread: Deviation, gap: Size = 1.0, dimensions: Dimensions = 2) -> MixtureInformation:
    r"""I(X; Y), H(Y) and H(X) of the two classes: log 2 - E[log(1 + e^{-L})], L ~ N(d^2/2, d^2), d = distance / S (eq 15).

    Args:
        spread: S, a standard deviation. gap: mu2 - mu1 in each dimension. dimensions: 1, or 2 as in Definition 4.

    >>> [round(mixture_information(spread=s, dimensions=1).share, 3) for s in (.2, .5, 1)]
    [0.975, 0.486, 0.161]
    """
    distance = gap * math.sqrt(dimensions)
    mutual = math.log(2) - conditional_entropy(distance / spread)
    noise = dimensions / 2 * math.log(2 * math.pi * math.e * spread**2)
    return MixtureInformation(
        dimensions=dimensions,
        distance=distance,
        mutual=mutual,
        target_entropy=math.log(2),
        sample_entropy=mutual + noise,
    )


@checked
def printed_normalised_information(*, spread: Deviation) -> float:
    r"""Eq 24 as printed, for one dimension: 2 log 2 / (log(2 pi e S^2) / 2 + 2 log 2); no number between 0 and 1 for S < .242.

    >>> [round(printed_normalised_information(spread=s), 2) for s in (1, .242, .1, .05)]
    [0.49, 1.0, 2.76, -7.28]
    """
    below = math.log(2 * math.pi * math.e * spread**2) / 2 + 2 * math.log(2)
    return 2 * math.log(2) / below if below else math.inf


@dataclass(frozen=True, kw_only=True)
class RelabelledInformation:
    """Information in nats between samples X and relabelled targets.

    Attributes:
        mutual: I(X; target). target_entropy: of the target. share: their quotient, in [0, 1].
    """

    mutual: float
    target_entropy: float

    @property
    def share(self) -> float:
        """mutual / target_entropy; 0 where the target has no entropy."""
        return self.mutual / self.target_entropy if self.target_entropy else 0.0


@checked
def relabelled_information(
    *, spread: Deviation, relabelled: Ratio, gap: Size = 1.0, dimensions: Dimensions = 2
) -> RelabelledInformation:
    r"""I(X; y') of y' = rho f(x) + (1 - rho) y, f(x) = 1 for the likelier class, else 0 (C.6 with its "correct and distinct" f*).

    With p the Bayes error and h its entropy, I = H(y') - H(Y | X), but for rho = 1, where y' = f(x) and I = H(y') = log 2:

        rho     0        between          1/2                      1
        H(y')   log 2    log 2 + h(p)     h(p) + (1 - p) log 2     log 2
    """
    if relabelled == 1:
        return RelabelledInformation(mutual=math.log(2), target_entropy=math.log(2))
    distance = gap * math.sqrt(dimensions)
    wrong = distribution(-distance / spread / 2)
    entropy = math.log(2)
    if relabelled == 0.5:
        entropy = _binary_entropy(wrong) + (1 - wrong) * math.log(2)
    elif relabelled > 0:
        entropy = math.log(2) + _binary_entropy(wrong)
    return RelabelledInformation(mutual=entropy - conditional_entropy(distance / spread), target_entropy=entropy)


@checked
def soft_relabelled_information(
    *,
    spread: Deviation,
    relabelled: Ratio,
    teacher_spread: Deviation,
    levels: Annotated[int, within(2, 10_000)],
    gap: Size = 1.0,
    dimensions: Dimensions = 2,
    points: Annotated[int, within(101, 10**6)] = _POINTS,
) -> RelabelledInformation:
    r"""I(X; y') of y' = rho f(x) + (1 - rho) y with a soft f, when y' is known up to one of `levels` equal parts of [0, 1].

    f is the Bayes probability of class 1 for data of `teacher_spread`: .1 in Definition 4's experiments, where S = 1. Precise to
    about 1e-4, with 10,001 `points` of the sum to about .002 for up to a hundred levels. Without rounding the information would be
    infinite for every rho > 0; it grows with `levels`.
    """
    distance = gap * math.sqrt(dimensions)
    steepness = distance / teacher_spread**2
    z = torch.linspace(-_REACH, _REACH, points, dtype=torch.float64)
    place = torch.cat(
        [spread * z - distance / 2, spread * z + distance / 2]
    )  # about both means: x is drawn about either
    weight = torch.exp(-z.square() / 2).repeat(2)
    odds = distance * place / spread**2
    joint = (weight / weight.sum())[:, None] * torch.stack([torch.sigmoid(-odds), torch.sigmoid(odds)], 1)
    certain = torch.arange(2, dtype=torch.float64)
    targets = relabelled * torch.sigmoid(steepness * place)[:, None] + (1 - relabelled) * certain
    cells = (targets * levels).long().clamp_max(levels - 1)
    entropy = float(_entropy(torch.zeros(levels, dtype=torch.float64).index_add(0, cells.flatten(), joint.flatten())))
    two_cells = joint[cells[:, 0] != cells[:, 1]]  # elsewhere x determines the cell
    left = float((_entropy(two_cells) - _entropy(two_cells.sum(1))) if len(two_cells) else 0.0)
    return RelabelledInformation(mutual=max(entropy - left, 0.0), target_entropy=entropy)


@functools.lru_cache(maxsize=256)
def conditional_entropy(separation: float) -> float:
    """H(Y | X) in nats for two equal Gaussians `separation` standard deviations apart, by the trapezoidal rule.

    The integrand is smooth and vanishes with all its derivatives at both ends, where that rule converges exponentially.
    """
    if separation == 0:
        return math.log(2)
    z = torch.linspace(-_REACH, _REACH, 4001, dtype=torch.float64)
    weight = torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)
    odds = separation * (separation / 2 + z)
    found = float((weight * torch.nn.functional.softplus(-odds)).sum() * (z[1] - z[0]))
    return min(max(found, 0.0), math.log(2))


def _binary_entropy(share: float) -> float:
    return -sum(part * math.log(part) for part in (share, 1 - share) if part > 0)


def _entropy(parts: Tensor) -> Tensor:
    return -torch.xlogy(parts, parts).sum()
