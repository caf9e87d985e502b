r"""Closed forms for two Gaussian classes, as printed and put right (Sun et al. 2024, ReLA, arXiv
2405.14669; lesson 90).

Two classes of standard deviation S, equally frequent, whose means are 1 apart in each dimension.

SGD (A.3)        a threshold theta learned from one sample a step at rate eta: e' = (1 - eta) e - eta u, E[u^2] = S^2 + 1/4
information      I(X; Y) / H(Y) of a sample X and its class Y (eq 15), and eq 24, which is printed for it
overlap          the integral of the smaller density, after noise of variance k a on both classes (Theorem 6), and eq 67
"""

import functools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ...core import randomness


def noise_floor(*, spread: float, learning_rate: float) -> float:
    """Return the limit of E[(theta_t - theta*)^2]: eta / (2 - eta) (S^2 + 1/4)."""
    return learning_rate / (2 - learning_rate) * (spread**2 + 0.25)


def expected_squared_error(steps: int, *, spread: float, learning_rate: float) -> Tensor:
    """Return E[(theta_t - theta*)^2] for t = 0 ... steps from a distance of 1, float64 [steps + 1].

    It is A.3 with its last line put right.

    >>> round(float(expected_squared_error(200, spread=1, learning_rate=.1)[-1]), 4)
    0.0658
    """
    decay = _decay(steps, learning_rate)
    return decay + (1 - decay) * noise_floor(spread=spread, learning_rate=learning_rate)


def printed_squared_error(steps: int, *, spread: float, learning_rate: float) -> Tensor:
    """Return A.3 as printed, (C2 + C3 S^2)(1 - eta)^(2t) / C1.

    At t = 0 it adds the noise of steps that were not made, later it has none.
    """
    return _decay(steps, learning_rate) * (
        1 + noise_floor(spread=spread, learning_rate=learning_rate)
    )


@dataclass(frozen=True)
class SimulatedErrors:
    """Mean of (theta_t - theta*)^2 over many runs, and the standard error of that mean, float64
    [steps + 1].
    """

    squared: Tensor
    standard_error: Tensor


def simulated_errors(
    steps: int, *, spread: float, learning_rate: float, runs: int, seed: int = 0
) -> SimulatedErrors:
    """Return the same by simulation, from the definition: draw y and x, step.

    `runs` runs go side by side.
    """
    draw = randomness.generator(seed, 0, "sgd on two classes")
    distance = torch.ones(runs, dtype=torch.float64)
    squares = [distance.square()]
    for _ in range(steps):
        label = torch.randint(0, 2, (runs,), generator=draw).double() * 2 - 1
        centred = label / 2 + spread * torch.randn(runs, generator=draw, dtype=torch.float64)
        distance = distance - learning_rate * (distance + centred - label)
        squares.append(distance.square())
    squared_distances = torch.stack(squares)
    return SimulatedErrors(squared_distances.mean(1), squared_distances.std(1) / math.sqrt(runs))


@functools.lru_cache(maxsize=1024)
def information_share(*, spread: float, dimensions: int) -> float:
    """Return I(X; Y) / H(Y) in [0, 1], the part of its class that a sample tells.

    X has one dimension or two.

    1 - E[log(1 + e^{-L})] / log 2 with L ~ N(d^2 / 2, d^2), d = sqrt(dimensions) / S. The integrand
    is smooth and vanishes with all its derivatives at both ends, where the trapezoidal rule
    converges exponentially.

    >>> [round(information_share(spread=s, dimensions=1), 3) for s in (.2, .5, 1)]
    [0.975, 0.486, 0.161]
    """
    apart = math.sqrt(dimensions) / spread
    z = torch.linspace(-12, 12, 4001, dtype=torch.float64)
    density = torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)
    uncertainty = float(
        (density * torch.nn.functional.softplus(-apart * (apart / 2 + z))).sum() * (z[1] - z[0])
    )
    return 1 - min(max(uncertainty / math.log(2), 0.0), 1.0)


def normalised_information(*, spread: float) -> float:
    """Return 2 I(X; Y) / (H(X) + H(Y)) in one dimension, with H(X) = I + H(X|Y).

    H(X) is a differential entropy and may be negative.

    >>> [round(normalised_information(spread=s), 3) for s in (.5, 1)]
    [0.384, 0.1]
    """
    shared = math.log(2) * information_share(spread=spread, dimensions=1)
    return 2 * shared / (shared + math.log(2 * math.pi * math.e * spread**2) / 2 + math.log(2))


def printed_information_share(*, spread: float) -> float:
    """Return Eq 24 as printed, 2 log 2 / (log(2 pi e S^2) / 2 + 2 log 2).

    It is no number between 0 and 1 for S < .242.

    >>> [round(printed_information_share(spread=s), 2) for s in (1, .242, .1, .05)]
    [0.49, 1.0, 2.76, -7.28]
    """
    below = math.log(2 * math.pi * math.e * spread**2) / 2 + 2 * math.log(2)
    return 2 * math.log(2) / below if below else math.inf


def overlap(
    *, gap: float, spread: float, other_spread: float, strength: float, noise_rate: float
) -> float:
    """Return the integral of min(p1, p2) of N(0, s1^2 + k a) and N(gap, s2^2 + k a), exact, in [0, 1].

    For equal spreads 2 Phi(-gap / (2 sigma)); for others the densities cross twice (eq 65), and the
    narrow one is above between.

    >>> [round(overlap(gap=1, spread=.5, other_spread=.5, noise_rate=.25, strength=a), 3) for a in (0, 1, 8)]
    [0.317, 0.48, 0.739]
    """
    narrow, wide = sorted(
        math.sqrt(class_spread**2 + noise_rate * strength)
        for class_spread in (spread, other_spread)
    )
    # in units of the narrow one
    gap = gap / narrow
    ratio = wide / narrow
    if ratio == 1:
        return 2 * _below(-gap / 2)
    # Where log p1 = log p2: a x^2 + 2 b x = c; written so that nothing cancels as the spreads
    # become equal.
    a, b = (1 - 1 / ratio) * (1 + 1 / ratio), gap / ratio**2
    c = (gap / ratio) ** 2 + 2 * math.log(ratio)
    root = math.sqrt(b**2 + a * c)
    left_crossing, right_crossing = -(b + root) / a, c / (b + root)
    return min(
        _below(left_crossing)
        + _below(-right_crossing)
        + _below((right_crossing - gap) / ratio)
        - _below((left_crossing - gap) / ratio),
        1.0,
    )


def printed_overlap(*, gap: float, spread: float, strength: float, noise_rate: float) -> float:
    """Return Eq 67 as printed, 2 Phi(gap / sqrt(2 (s^2 + k a))) - 1.

    It falls as the classes spread.
    """
    return math.erf(gap / (2 * math.sqrt(spread**2 + noise_rate * strength)))


def _decay(steps: int, rate: float) -> Tensor:
    """Return (1 - eta)^(2t) for t = 0 ... steps."""
    return torch.tensor(1 - rate, dtype=torch.float64) ** (
        2 * torch.arange(steps + 1, dtype=torch.float64)
    )


def _below(z: float) -> float:
    """Return Phi(z), the share of the standard normal below z. It is precise in the lower tail."""
    return math.erfc(-z / math.sqrt(2)) / 2
