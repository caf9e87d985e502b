r"""The noise of the gradient when one parameter learns two Gaussian classes from relabelled targets: ReLA's appendix B exactly.

Sun et al. 2024 (ReLA), arXiv 2405.14669; symbols as in `convergence.py`. The gradient at theta is theta - theta* + u with

    u = x - y' + theta*,      y' = rho sign(x + theta*) + (1 - rho) y,      E[u] = 0 for every rho

    where   what                                                                   function
    A.3     E[u^2] = S^2 + (1 - gap/2)^2 at rho = 0; here for every rho            gradient_noise
    B.2     E|u|, of which the paper shows that rho = 1 has less than rho = 0      mean_absolute_noise

B.2 concludes that a larger rho always means less noise. What falls with rho is its upper bound, (1 - rho) E|u(0)| + rho E|u(1)|;
E[u^2] itself has its minimum at `least_noise_relabelling`: with means 1 apart at .82 for S = 1, at 1 only from S = 1.46 on.
"""

from __future__ import annotations

import math

from ..core.boundary import checked
from ._check import Deviation, Ratio, Size
from ._normal import density, distribution


@checked
def gradient_noise(*, spread: Deviation, gap: Size = 1.0, relabelled: Ratio = 0.0) -> float:
    r"""E[u^2] = S^2 + (a - 1)^2 + 4 rho [(a - 1) p - S phi(a/S)] + 4 rho^2 p, a = gap / 2, p = Phi(-a/S): the variance of the noise.

    A.3 has rho = 0. For the rest let w = y (x + theta*) ~ N(a, S^2); then y u = w - 1 + 2 rho 1[w < 0]. E[u] = 0 for every rho.

    >>> [round(gradient_noise(spread=1, relabelled=rho), 2) for rho in (0, .25, .5, .75, 1)]
    [1.25, 0.82, 0.55, 0.43, 0.46]
    """
    half, rho = gap / 2, relabelled
    wrong = distribution(-half / spread)
    cross = (half - 1) * wrong - spread * density(half / spread)
    return max(spread**2 + (half - 1) ** 2 + 4 * rho * cross + 4 * rho**2 * wrong, 0.0)


@checked
def least_noise_relabelling(*, spread: Deviation, gap: Size = 1.0) -> float:
    r"""The rho in [0, 1] of least E[u^2]: min(1, (1 - a + S phi(a/S) / Phi(-a/S)) / 2), a = gap / 2; B.2 takes it as 1.

    It goes to 1/2 as S -> 0: nothing is left to relabel then, and E[u^2] hardly depends on rho.
    """
    from scipy.special import erfcx

    half = gap / 2
    # phi / Phi(-z) by erfcx: both vanish long before their ratio, about z, is large.
    hazard = math.sqrt(2 / math.pi) / float(erfcx(half / spread / math.sqrt(2)))
    return min(max((1 - half + spread * hazard) / 2, 0.0), 1.0)


@checked
def mean_absolute_noise(*, spread: Deviation, gap: Size = 1.0, relabelled: Ratio = 0.0) -> float:
    """E|u|, exact: the folded parts of the normal w ~ N(gap/2, S^2) on both sides of 0 (see `gradient_noise`)."""
    below = _mean_distance(-math.inf, 0.0, 1 - 2 * relabelled, gap / 2, spread)
    return below + _mean_distance(0.0, math.inf, 1.0, gap / 2, spread)


def _mean_distance(low: float, high: float, centre: float, mean: float, spread: float) -> float:
    """E[|w - centre|; low < w < high] of w ~ N(mean, spread^2)."""
    cut = min(max(centre, low), high)
    return _first_moment(cut, high, centre, mean, spread) - _first_moment(low, cut, centre, mean, spread)


def _first_moment(low: float, high: float, centre: float, mean: float, spread: float) -> float:
    """E[w - centre; low < w < high] of w ~ N(mean, spread^2)."""
    first, last = (low - mean) / spread, (high - mean) / spread
    share = distribution(last) - distribution(first) if first < 0 else distribution(-first) - distribution(-last)
    return (mean - centre) * share - spread * (density(last) - density(first))
