"""ReLA's appendices A and B: closed forms against integrals of the definition, torch's own SGD, and simulation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from ddlab import theory
from ddlab.core import randomness
from tests.support import refuses

spreads = st.floats(0.05, 3)
gaps = st.floats(0, 4)
shares = st.floats(0, 1)


def over_both_classes(function: Any, spread: float, gap: float) -> float:
    """E[function(x + theta*, y)] with x | y ~ N(y gap / 2, S^2) about theta*, integrated piece by piece."""
    total = 0.0
    for label in (-1.0, 1.0):
        mean = label * gap / 2
        edges = sorted(
            {mean - 10 * spread, mean + 10 * spread, *(k for k in (-2, -1, 0, 1, 2) if abs(k - mean) < 10 * spread)}
        )
        for low, high in itertools.pairwise(edges):
            part = integrate.quad(
                lambda w, label=label, mean=mean: function(w, label) * stats.norm.pdf(w, mean, spread),
                low,
                high,
                epsabs=1e-11,
            )
            total += part[0] / 2
    return total


def noise(w: float, label: float, rho: float) -> float:
    return w - (rho * math.copysign(1, w) + (1 - rho) * label)


@pytest.mark.parametrize(("spread", "gap"), [(1.0, 1.0), (0.1, 1.0), (0.5, 2.5), (2.0, 0.0)])
@pytest.mark.parametrize("rho", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_the_noise_is_the_integral_of_its_definition(spread: float, gap: float, rho: float) -> None:
    given_: dict[str, Any] = {"spread": spread, "gap": gap, "relabelled": rho}
    assert over_both_classes(lambda w, y: noise(w, y, rho), spread, gap) == pytest.approx(0, abs=1e-9)
    squared = over_both_classes(lambda w, y: noise(w, y, rho) ** 2, spread, gap)
    assert theory.gradient_noise(**given_) == pytest.approx(squared, rel=1e-8)
    absolute = over_both_classes(lambda w, y: abs(noise(w, y, rho)), spread, gap)
    assert theory.mean_absolute_noise(**given_) == pytest.approx(absolute, rel=2e-6)


def test_the_noise_without_relabelling_is_the_papers() -> None:
    assert theory.gradient_noise(spread=0.3, gap=1.4) == pytest.approx(0.3**2 + (1 - 0.7) ** 2, rel=1e-14)


@given(spread=st.floats(0.01, 5), gap=gaps, share=shares)
def test_the_least_noise_is_the_least(spread: float, gap: float, share: float) -> None:
    best = theory.least_noise_relabelling(spread=spread, gap=gap)
    least = theory.gradient_noise(spread=spread, gap=gap, relabelled=best)
    assert 0 <= best <= 1
    assert least <= theory.gradient_noise(spread=spread, gap=gap, relabelled=share) + 1e-12


def test_where_the_least_noise_is() -> None:
    assert theory.least_noise_relabelling(spread=1) == pytest.approx(0.8205, abs=1e-4)
    assert theory.least_noise_relabelling(spread=1e-4) == pytest.approx(0.5, abs=1e-6)  # Phi(-a/S) is 0 in float64
    assert theory.least_noise_relabelling(spread=1.45) < 1 == theory.least_noise_relabelling(spread=1.47)
    assert theory.least_noise_relabelling(spread=0.1, gap=5) == pytest.approx((1 - 2.5 + 2.5) / 2, abs=0.01)


@given(spread=spreads, gap=gaps, rho=shares)
def test_the_convexity_bound_of_b2_holds_and_falls(spread: float, gap: float, rho: float) -> None:
    ends = [theory.mean_absolute_noise(spread=spread, gap=gap, relabelled=end) for end in (0.0, 1.0)]
    assert ends[1] <= ends[0] + 1e-12
    found = theory.mean_absolute_noise(spread=spread, gap=gap, relabelled=rho)
    assert found <= rho * ends[1] + (1 - rho) * ends[0] + 1e-9
    bound = theory.relabelling_bound(40, spread=spread, gap=gap, relabelled=rho, learning_rate=0.2, start=-2)
    by_hand = 2 * 0.8**40 + (1 - 0.8**40) * (rho * ends[1] + (1 - rho) * ends[0])
    assert float(bound[0]) == 2 and float(bound[-1]) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(
    ("rate", "momentum", "rho", "spread", "start"),
    [
        (0.1, 0.0, 0.0, 1.0, 1.0),
        (0.3, 0.0, 0.6, 0.5, -2.0),
        (0.02, 0.9, 0.0, 0.3, 1.5),
        (0.01, 0.98, 1.0, 1.0, 1.0),
        (1, 0.5, 0, 1, 1),
    ],
)
def test_the_expected_error_is_the_simulated_one(
    rate: float, momentum: float, rho: float, spread: float, start: float
) -> None:
    problem: dict[str, Any] = {"spread": spread, "relabelled": rho, "learning_rate": rate, "start": start}
    exact = theory.expected_squared_error(60, **problem, momentum=momentum)
    found = theory.simulated_errors(60, **problem, momentum=momentum, runs=8000)
    assert exact.shape == found.squared.shape == (61,)
    assert float(exact[0]) == pytest.approx(start**2) == pytest.approx(float(found.squared[0]))
    distance = (found.squared - exact)[1:].abs() / found.squared_standard_error[1:]
    assert float(distance.max()) < 4.5 and float(distance.mean()) < 2
    if not momentum:
        bound = theory.relabelling_bound(60, **problem)
        assert bool((found.absolute <= bound + 0.01).all())


def test_one_step_of_each_run_by_hand() -> None:
    """Gradient of (theta + x - y)^2 / 2 at one sample: x from N(+-gap / 2, spread^2), y the label or, relabelled, the sign of x."""
    draw = randomness.generator(3, 0, "sgd on two classes")
    labels, noise = (
        torch.randint(0, 2, (6,), generator=draw).tolist(),
        torch.randn(6, generator=draw, dtype=torch.float64),
    )
    ends = []
    for label, number in zip((2 * label - 1 for label in labels), noise.tolist(), strict=True):
        x = label * 0.9 / 2 + 0.8 * number
        wanted = 0.3 * math.copysign(1, x) + 0.7 * label
        ends.append(abs(0.5 - 0.2 * (0.5 + x - wanted)))
    found = theory.simulated_errors(
        1, spread=0.8, gap=0.9, relabelled=0.3, learning_rate=0.2, start=0.5, runs=6, seed=3
    )
    assert float(found.absolute[1]) == pytest.approx(sum(ends) / 6)


def test_the_specified_number() -> None:
    """eta .1, S 1, t 200: .0658; and what is printed gives next to nothing there."""
    settings: dict[str, Any] = {"spread": 1, "learning_rate": 0.1}
    exact = theory.expected_squared_error(200, **settings)
    assert round(float(exact[-1]), 4) == 0.0658
    found = theory.simulated_errors(200, **settings, runs=40_000, seed=1)
    assert float((found.squared - exact)[-1].abs()) < 3 * float(found.squared_standard_error[-1])
    assert float(theory.printed_squared_error(200, **settings)[-1]) < 1e-9


def test_momentum_is_why_the_spread_shows() -> None:
    """1000 steps at the paper's learning rate, with and without its momentum."""
    ends = {
        (spread, momentum): round(
            float(theory.expected_squared_error(1000, spread=spread, learning_rate=0.002, momentum=momentum)[-1]), 4
        )
        for spread in (0.1, 1.0)
        for momentum in (0.98, 0.0)
    }
    assert ends == {(0.1, 0.98): 0.0130, (1.0, 0.98): 0.0625, (0.1, 0.0): 0.0185, (1.0, 0.0): 0.0195}


def test_the_printed_error_is_what_is_printed() -> None:
    found = theory.printed_squared_error(3, spread=0.5, gap=1.0, learning_rate=0.2, start=2)
    inside = 4 + 0.2 / 1.8 * (0.5**2 + 0.5**2)
    assert found.tolist() == pytest.approx([inside * 0.8 ** (2 * t) for t in range(4)])


@given(spread=spreads, rho=shares, rate=st.floats(0.05, 1), momentum=st.floats(0, 0.8))
def test_the_error_ends_on_the_floor(spread: float, rho: float, rate: float, momentum: float) -> None:
    problem: dict[str, Any] = {"spread": spread, "relabelled": rho, "learning_rate": rate, "momentum": momentum}
    end = float(theory.expected_squared_error(1500, **problem)[-1])
    assert end == pytest.approx(theory.noise_floor(**problem), rel=1e-6)


def test_the_closed_form_is_the_recursion_without_momentum() -> None:
    problem: dict[str, Any] = {"spread": 0.7, "relabelled": 0.3, "learning_rate": 0.2, "start": 3}
    nearly = theory.expected_squared_error(50, **problem, momentum=1e-12)
    torch.testing.assert_close(theory.expected_squared_error(50, **problem), nearly, rtol=1e-9, atol=0)


def test_spread_moves_the_floor_and_not_the_rate() -> None:
    """The error less its floor falls by (1 - eta)^2 a step for every S."""
    for spread in (0.1, 1.0):
        problem: dict[str, Any] = {"spread": spread, "learning_rate": 0.1}
        rest = theory.expected_squared_error(30, **problem, start=5) - theory.noise_floor(**problem)
        torch.testing.assert_close(rest[1:] / rest[:-1], torch.full((30,), 0.81, dtype=torch.float64))


def test_momentum_is_torchs() -> None:
    """Almost no noise (means 2 apart, tiny spread): SGD of torch on half the squared error walks the same way."""
    parameter = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.SGD([parameter], lr=0.05, momentum=0.9)
    walked = [4.0]
    for step in range(40):
        label = 1.0 if step % 3 else -1.0
        optimiser.zero_grad()
        ((1 - label * (label + parameter)).square() / 2).sum().backward()
        optimiser.step()
        walked.append(float(parameter.detach()) ** 2)
    exact = theory.expected_squared_error(40, spread=1e-6, gap=2, learning_rate=0.05, momentum=0.9, start=2)
    assert exact.tolist() == pytest.approx(walked, abs=1e-9)


@given(spread=spreads, gap=gaps, distance=st.floats(-5, 5))
def test_the_excess_error_is_the_integral(spread: float, gap: float, distance: float) -> None:
    """sign(x + theta) is wrong for y = +1 below -theta, for y = -1 above."""
    wrong = [(stats.norm.cdf(-d, gap / 2, spread) + stats.norm.sf(-d, -gap / 2, spread)) / 2 for d in (0.0, distance)]
    found = theory.excess_error(distance, spread=spread, gap=gap)
    assert found == pytest.approx(wrong[1] - wrong[0], abs=1e-12) and found >= 0
    assert found == theory.excess_error(-distance, spread=spread, gap=gap)


def test_what_is_refused() -> None:
    with refuses("runs", "for 1000000 steps"):
        theory.simulated_errors(10**6, spread=1, learning_rate=0.1, runs=1000)
