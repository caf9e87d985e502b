r"""How fast one parameter learns two Gaussian classes by SGD: ReLA's appendices A and B in closed form.

Sun et al. 2024 (ReLA), arXiv 2405.14669. One dimension, y = -1 or +1 with equal odds, x ~ N(mu1, S^2) or N(mu2, S^2), prediction
sign(x + theta). Online SGD on half the squared error of y (x + theta), with targets y' = rho sign(x + theta*) + (1 - rho) y:

    theta_(t+1) - theta* = (1 - eta)(theta_t - theta*) - eta u_t,      u = x - y' + theta*,      theta* = -(mu1 + mu2) / 2

    symbol                          name              unit
    S (Sigma)                       spread            that of x; a standard deviation
    mu2 - mu1                       gap               that of x; 1 in the paper's lab
    rho                             relabelled        in [0, 1]; B.1
    eta                             learning_rate     in (0, 1]
    theta_0 - theta*                start             that of x
    heavy-ball momentum, torch's    momentum          in [0, 1); not in the paper's proof, .98 in its experiments

    where          what                                                                             function
    A.1            L(f_theta) - L(f_theta*)                                                         excess_error
    A.3            E[u^2] = S^2 + (1 - gap/2)^2 at rho = 0; here for every rho                      relabelling_noise.py
    A.3            E[(theta_t - theta*)^2]                                                          expected_squared_error
    A.3, printed   (1 - eta)^(2t) (C2 + C3 S^2) / C1                                                printed_squared_error
    B.2            E|theta_t - theta*| <= (1-eta)^t |start| + (1 - (1-eta)^t) (C3 - C4 rho) / C1'   relabelling_bound

What is wrong in print. The end of A.3 takes the factor (1 - eta)^(2t) out of a sum that does not have it, so that the whole error
would vanish with t, at the same rate for every S. It does not: S sets the floor on which the error ends (`noise_floor`), not the rate.
Momentum is why that floor is reached at all within the paper's 1000 steps of eta = .002: from a distance of 1 the error ends at .013
for S = .1 and at .063 for S = 1 with its momentum of .98, and at .0185 and .0195 without, still on the way.
B.2's bound holds and falls with rho. The noise E[u^2] itself need not: it has its minimum at `least_noise_relabelling`, .82 for S = 1
(means 1 apart) and 1/2 as S -> 0; only above S = 1.46 is more always less noise.
Theorem 2 prints O(rho), a bound that grows, where B.2 has C3 - C4 rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from ..core import errors, randomness
from ..core.boundary import checked, within
from ._check import Deviation, Place, Ratio, Size
from ._normal import distribution
from .relabelling_noise import gradient_noise, mean_absolute_noise

MOST_DRAWS = 100_000_000

Steps = Annotated[int, within(0, 1_000_000)]
Rate = Annotated[float, within(0, 1, open_low=True)]
Momentum = Annotated[float, within(0, 0.9999)]


@checked
def noise_floor(
    *, spread: Deviation, gap: Size = 1.0, relabelled: Ratio = 0.0, learning_rate: Rate, momentum: Momentum = 0.0
) -> float:
    r"""What E[(theta_t - theta*)^2] ends on: eta (1 + m) / ((1 - m) (2 (1 + m) - eta)) E[u^2]; without momentum eta / (2 - eta) E[u^2].

    Momentum m raises it about 1 / (1 - m) times at the same eta, and leaves it nearly the same at the same eta / (1 - m).

    >>> ratio = noise_floor(spread=.5, learning_rate=.002, momentum=.98) / noise_floor(spread=.5, learning_rate=.002)
    >>> round(ratio, 1)
    50.0
    """
    noise = gradient_noise(spread=spread, gap=gap, relabelled=relabelled)
    return noise * learning_rate * (1 + momentum) / ((1 - momentum) * (2 * (1 + momentum) - learning_rate))


@checked
def expected_squared_error(
    steps: Steps,
    *,
    spread: Deviation,
    gap: Size = 1.0,
    relabelled: Ratio = 0.0,
    learning_rate: Rate,
    momentum: Momentum = 0.0,
    start: Place = 1.0,
) -> Tensor:
    r"""E[(theta_t - theta*)^2] for t = 0 ... steps, float64 [steps + 1]: A.3 with its last line put right.

    Without momentum (1 - eta)^(2t) start^2 + [1 - (1 - eta)^(2t)] eta / (2 - eta) E[u^2]. With momentum v <- m v + gradient,
    theta <- theta - eta v, v_0 = 0: the exact recursion of the second moments of (theta - theta*, v), which has no form as short.

    >>> round(float(expected_squared_error(200, spread=1, learning_rate=.1)[-1]), 4)
    0.0658
    """
    noise = gradient_noise(spread=spread, gap=gap, relabelled=relabelled)
    if momentum == 0:
        decay = _decay(steps, learning_rate) ** 2
        return decay * start**2 + (1 - decay) * learning_rate / (2 - learning_rate) * noise
    return torch.tensor(_second_moments(steps, noise, learning_rate, momentum, start), dtype=torch.float64)


@checked
def printed_squared_error(
    steps: Steps, *, spread: Deviation, gap: Size = 1.0, learning_rate: Rate, start: Place = 1.0
) -> Tensor:
    r"""A.3 as printed, (C2 + C3 S^2)(1 - eta)^(2t) / C1: (1-eta)^(2t) [start^2 + eta/(2-eta) ((1 - gap/2)^2 + S^2)], [steps + 1].

    Wrong: at t = 0 it adds the noise of steps that were not made, and for large t it has none.
    """
    noise = gradient_noise(spread=spread, gap=gap)
    return _decay(steps, learning_rate) ** 2 * (start**2 + learning_rate / (2 - learning_rate) * noise)


@checked
def relabelling_bound(
    steps: Steps, *, spread: Deviation, gap: Size = 1.0, relabelled: Ratio, learning_rate: Rate, start: Place = 1.0
) -> Tensor:
    r"""B.2 without C1': (1-eta)^t |start| + [1 - (1-eta)^t] [rho E|u(1)| + (1 - rho) E|u(0)|] >= E|theta_t - theta*|, [steps + 1].

    It holds and falls with rho, since E|u(1)| < E|u(0)|; it is far above what it bounds, since noise of both signs averages out.
    """
    ends = [mean_absolute_noise(spread=spread, gap=gap, relabelled=end) for end in (0.0, 1.0)]
    decay = _decay(steps, learning_rate)
    return decay * abs(start) + (1 - decay) * (relabelled * ends[1] + (1 - relabelled) * ends[0])


@checked
def excess_error(distance: Place, *, spread: Deviation, gap: Size = 1.0) -> float:
    r"""L(f_theta) - L(f_theta*) in [0, 1/2] at theta = theta* + distance: Phi(a/S) - [Phi((a+d)/S) + Phi((a-d)/S)] / 2 (A.1).

    `spread` is that of the data on which it is measured, S_0 in the paper. A.3 bounds it by C1 distance^2.
    """
    # In upper tails, so that two numbers close to 1 are not subtracted.
    tails = [distribution(-(gap / 2 + side) / spread) for side in (0.0, distance, -distance)]
    return max((tails[1] + tails[2]) / 2 - tails[0], 0.0)


@dataclass(frozen=True, kw_only=True)
class SimulatedErrors:
    """What many runs of SGD gave after t = 0 ... steps, each float64 [steps + 1].

    Attributes:
        squared: mean of (theta_t - theta*)^2. squared_standard_error: of that mean. absolute: mean of |theta_t - theta*|.
    """

    squared: Tensor
    squared_standard_error: Tensor
    absolute: Tensor


@checked
def simulated_errors(
    steps: Steps,
    *,
    spread: Deviation,
    gap: Size = 1.0,
    relabelled: Ratio = 0.0,
    learning_rate: Rate,
    momentum: Momentum = 0.0,
    start: Place = 1.0,
    runs: Annotated[int, within(2, MOST_DRAWS)] = 10_000,
    seed: int = 0,
) -> SimulatedErrors:
    """The same by simulation, from the definition: draw y and x, relabel, step; `runs` runs side by side.

    Raises:
        DDLabError: more than 10^8 draws, or numbers outside the table of the module.
    """
    if steps * runs > MOST_DRAWS:
        errors.fail("runs", f"at most {MOST_DRAWS // steps} for {steps} steps", runs)
    draw = randomness.generator(seed, 0, "sgd on two classes")
    distance = torch.full((runs,), start, dtype=torch.float64)
    velocity = torch.zeros_like(distance)
    measured = [_measured(distance)]
    for _ in range(steps):
        label = torch.randint(0, 2, (runs,), generator=draw).double() * 2 - 1
        centred = label * (gap / 2) + spread * torch.randn(runs, generator=draw, dtype=torch.float64)  # x + theta*
        target = relabelled * centred.sign() + (1 - relabelled) * label
        velocity = momentum * velocity + distance + centred - target
        distance = distance - learning_rate * velocity
        measured.append(_measured(distance))
    squared, deviation, absolute = torch.stack(measured).unbind(1)
    return SimulatedErrors(squared=squared, squared_standard_error=deviation / math.sqrt(runs), absolute=absolute)


def _measured(distance: Tensor) -> Tensor:
    """[3]: mean and deviation of the squares, mean of the sizes."""
    return torch.stack([distance.square().mean(), distance.square().std(), distance.abs().mean()])


def _decay(steps: int, rate: float) -> Tensor:
    """(1 - eta)^t for t = 0 ... steps."""
    return torch.tensor(1 - rate, dtype=torch.float64) ** torch.arange(steps + 1, dtype=torch.float64)


def _second_moments(steps: int, noise: float, rate: float, momentum: float, start: float) -> list[float]:
    """E[e^2] by step, from v' = m v + e + u, e' = e - eta v' with u independent of the past."""
    position, mixed, velocity = start**2, 0.0, 0.0  # E[e^2], E[e v], E[v^2]
    found = [position]
    for _ in range(steps):
        new_velocity = momentum**2 * velocity + 2 * momentum * mixed + position + noise
        new_mixed = momentum * mixed + position  # E[e v']
        position, mixed = position - 2 * rate * new_mixed + rate**2 * new_velocity, new_mixed - rate * new_velocity
        velocity = new_velocity
        found.append(max(position, 0.0))
    return found
