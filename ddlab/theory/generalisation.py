r"""What ReLA's generalisation bound says of the toy of two Gaussian classes, term by term.

Sun et al. 2024 (ReLA), arXiv 2405.14669. S: m samples drawn from a distribution D_S; the model h and the labeler psi are functions of one
class H to {0, 1}; err: the share of points on which two of them differ. With probability at least 1 - delta, for every h in H:

    where                   bound on err_T(h, psi)                                                     property
    Theorem 4, printed      err_S(h, psi) + D_TV(D_S, D_T) + R_S(H) + O(1 / m)                         printed
    Proposition 1, Lemma 3  err_S(h, psi) + D_TV(D_S, D_T) + 2 R_S(loss) + 3 sqrt(log(2/delta) / 2m)   proved

    symbol    name              what
    R_S       complexity        empirical Rademacher complexity; of the losses 1[h != psi] it is that of H, since psi only turns signs
    D_TV      total_variation   between the two sample distributions (`total_variation`)
    delta     failure

The class here: the half-lines {x above a threshold} on the line through the two means. Its complexity is known exactly for every m
(`threshold_complexity`); that of all half-planes in two dimensions can be counted for few points (`half_plane_outputs`).

What is wrong in print. Theorem 4 drops the 2 and has 1/m for sqrt(1/m); with 1 for its constant it does not hold of all models in 95% of
the draws. D_TV is far from small: for the lab's samples of S = .1 and its data of S = .5 it is .84, so that the bound says
less than guessing does, for however many samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from ..core import errors
from ..core.boundary import among, checked, filled, floats, within
from ._check import bounded
from .gaussian_mixture import GaussianMixture, decision_boundary, mixture_sample
from .residual_bounds import MOST_POINTS
from .total_variation import total_variation

Samples = Annotated[int, within(1, 10**9)]
Failure = Annotated[float, within(1e-300, 1)]


@dataclass(frozen=True, kw_only=True)
class GeneralisationBound:
    """The terms of both bounds for one draw of distilled samples, and what they bound.

    Attributes:
        samples: m. failure: delta. threshold: of the model, along the line.
        target_error: err_T(h, psi), exact. empirical_error: err_S(h, psi).
        total_variation: D_TV. complexity: R_S.
    """

    samples: int
    failure: float
    threshold: float
    target_error: float
    empirical_error: float
    total_variation: float
    complexity: float

    @property
    def confidence(self) -> float:
        """3 sqrt(log(2 / delta) / (2 m))."""
        return confidence_term(self.samples, failure=self.failure)

    @property
    def printed(self) -> float:
        """Theorem 4 with 1 for the constant of its O(1 / m)."""
        return self.empirical_error + self.total_variation + self.complexity + 1 / self.samples

    @property
    def proved(self) -> float:
        """Proposition 1 with Lemma 3's constants."""
        return self.empirical_error + self.total_variation + 2 * self.complexity + self.confidence


@checked
def confidence_term(samples: Samples, *, failure: Failure = 0.05) -> float:
    """3 sqrt(log(2 / delta) / (2 m)), the last term of Lemma 3 (Mohri et al., Foundations of Machine Learning, Theorem 3.3)."""
    return 3 * math.sqrt(math.log(2 / failure) / (2 * samples))


@checked
def threshold_complexity(samples: Samples) -> float:
    r"""R_S of the thresholds {1[x > t]} on m different points of a line, exact: (E|W| - P(W > 0)) / m, W a sum of m signs.

    The labels of such a function are a last part of the sorted points, so that R_S = E[max_j W_j] / m for a random walk W_j, and by
    reflection P(max_j W_j >= r) = P(W >= r) + P(W > r).

    >>> [round(threshold_complexity(samples), 3) for samples in (1, 2, 1000)]
    [0.5, 0.375, 0.025]
    """
    half = (samples + 1) // 2  # E|W| of 2k - 1 signs is that of 2k
    central = math.exp(math.lgamma(2 * half + 1) - 2 * math.lgamma(half + 1) - 2 * half * math.log(2))
    tie = central if samples % 2 == 0 else 0.0  # P(W = 0)
    return (2 * half * central - (1 - tie) / 2) / samples


@checked
def half_plane_outputs(points: Annotated[Tensor, floats("m 2"), filled, bounded]) -> Tensor:
    """Every way in which a half-plane divides points of a plane: float64 [m^2 - m + 2, m] of 0 and 1, for `rademacher_complexity`.

    A half-plane's points come last in the order of some direction, and that order changes only where two points change places.

    Args:
        points: [m, 2], float32 or float64, m at most 16, no three on a line and no two pairs on parallel lines (others may lose ways).
    """
    count = len(points)
    if count > MOST_POINTS:
        errors.fail("points", f"at most {MOST_POINTS} points", points)
    places = points.detach().double().cpu()
    first, second = torch.triu_indices(count, count, 1)
    apart = places[second] - places[first]
    turns = (torch.atan2(apart[:, 1], apart[:, 0]) + math.pi / 2).remainder(math.pi).sort().values
    # One direction between each two turns, and both ways along it; turns that differ by rounding alone are one.
    gaps = turns.roll(-1) - turns + math.pi * (torch.arange(len(turns)) == len(turns) - 1)
    angles = (turns + gaps / 2)[gaps > 1e-12] if count > 1 else torch.zeros(1, dtype=torch.float64)
    angles = torch.cat([angles, angles + math.pi])
    order = (torch.stack([angles.cos(), angles.sin()], 1) @ places.T).argsort(1).argsort(1)
    ways = (order[:, None] >= torch.arange(count + 1)[:, None]).flatten(0, 1)
    return ways.unique(dim=0).double()


@checked
def generalisation_bound(
    distilled: GaussianMixture,
    data: GaussianMixture,
    samples: Annotated[int, within(1, 10**6)],
    *,
    seed: int,
    model: Annotated[str, among("fitted", "worst")] = "fitted",
    failure: Failure = 0.05,
) -> GeneralisationBound:
    """Draw samples of `distilled`, label them with psi, the best boundary for `data`, and take a threshold as the model.

    Args:
        samples: m. seed: of the draw.
        model: "fitted", half way between the two samples next to psi's boundary, so that it makes no mistake on them; or "worst", the
            threshold of all whose error exceeds its empirical error most: the bounds are about every model.

    Raises:
        DDLabError: mixtures of unlike dimensions or of more than two, or data of equal means.
    """
    distance = total_variation(distilled, data)
    boundary = decision_boundary(data)
    places = (mixture_sample(distilled, samples, seed=seed)[0] @ boundary.normal).sort().values
    below = int((places <= boundary.offset).sum())
    threshold, target, missed = (_fitted if model == "fitted" else _worst)(places, below, boundary, data)
    return GeneralisationBound(
        samples=samples, failure=failure, threshold=threshold, target_error=target, empirical_error=missed / samples,
        total_variation=distance, complexity=threshold_complexity(samples),
    )  # fmt: skip


def _fitted(places: Tensor, below: int, boundary: Any, data: GaussianMixture) -> tuple[float, float, int]:
    """(threshold, target error, mistakes); with all samples on one side, at the nearest of them, or just before it."""
    beside = [float(place) for place in places[max(below - 1, 0) : below + 1]]
    threshold = sum(beside) / len(beside) if 0 < below < len(places) else beside[0]
    return threshold, float(_between(torch.tensor([threshold], dtype=torch.float64), boundary, data)), 0


def _worst(places: Tensor, below: int, boundary: Any, data: GaussianMixture) -> tuple[float, float, int]:
    """The same of the threshold of the largest excess: just before it would make one more mistake, or beyond all samples."""
    infinite = torch.tensor([math.inf], dtype=torch.float64)
    ends = torch.cat([-infinite, places, infinite])
    mistakes = torch.arange(-1, len(places) + 1)
    # Left of the boundary a threshold on a sample misses those between; right of it, one just before the next one.
    mistakes = torch.where(mistakes < below, below - 1 - mistakes, mistakes - below)
    target = _between(ends, boundary, data)
    best = int((target - mistakes / len(places)).argmax())
    return float(ends[best].clamp(-1e300, 1e300)), float(target[best]), int(mistakes[best])


def _between(thresholds: Tensor, boundary: Any, data: GaussianMixture) -> Tensor:
    """The share of the data between a threshold and the boundary: on it they disagree."""
    centres = data.means @ boundary.normal
    below = [
        torch.special.ndtr((place[..., None] - centres) / data.deviation).mean(-1)
        for place in (thresholds, torch.tensor(boundary.offset, dtype=torch.float64))
    ]
    return (below[0] - below[1]).abs()
