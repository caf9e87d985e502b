"""FADRM's bounds: random cases try to break what is right, and one case breaks each that is not."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from ddlab import theory
from tests.support import refuses

seeds = st.integers(0, 10_000)
sizes = st.floats(0.1, 5)
ratios = st.floats(0, 1)


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def targets(seed: int, rows: int, classes: int) -> Tensor:
    """Soft and nearly hard rows."""
    return (drawn(seed, rows, classes) * torch.tensor([0.5, 5.0, 50.0])[torch.arange(rows) % 3, None]).softmax(1)


def test_theorem_1_as_printed_is_no_bound() -> None:
    """Two datasets of equal odds, two networks, each sure of one class; the image shows which: log 2 against next to nothing."""
    logits = drawn(0, 8, 3)
    largest = max(stats.entropy(row.exp().numpy()) for row in logits)
    assert theory.printed_information_bound(logits, images=5) == pytest.approx(5 * largest)
    sure = torch.tensor([[50.0, -50.0], [-50.0, 50.0]], dtype=torch.float64)
    image_and_dataset = torch.eye(2)[sure.argmax(1)]
    told = theory.table_information(image_and_dataset).mutual
    assert told == pytest.approx(math.log(2))
    assert theory.printed_information_bound(sure, images=1) < 1e-40


def test_the_loss_is_scipys_divergence() -> None:
    p, z = targets(0, 6, 4), drawn(1, 6, 4)
    p[0] = torch.tensor([1.0, 0, 0, 0])
    for temperature in (0.5, 20.0):
        found = theory.temperature_scaled_kl(p, z, temperature=temperature)
        weights = (z / temperature).exp()
        plain = [stats.entropy(a, b) for a, b in zip(p.numpy(), weights.numpy(), strict=True)]
        assert found.tolist() == pytest.approx(plain, abs=1e-12)


def test_its_gradient_is_autograds() -> None:
    p, z = targets(2, 5, 3), drawn(3, 5, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda logits: theory.temperature_scaled_kl(p, logits, temperature=1.5), z)
    (by_autograd,) = torch.autograd.grad(theory.temperature_scaled_kl(p, z, temperature=1.5).sum(), z)
    torch.testing.assert_close(theory.temperature_scaled_kl_gradient(p, z.detach(), temperature=1.5), by_autograd)


@given(seed=seeds, classes=st.integers(2, 12), largest=st.floats(0, 30), temperature=st.floats(0.2, 30))
def test_theorem_3_bounds_hold(seed: int, classes: int, largest: float, temperature: float) -> None:
    box: dict[str, Any] = {"classes": classes, "largest_logit": largest, "temperature": temperature}
    tight, printed = theory.tight_kl_bound(**box), theory.printed_kl_bound(**box)
    assert tight <= printed + 1e-12
    logits = (4 * largest * drawn(seed, 30, classes)).clamp(-largest, largest)
    found = theory.temperature_scaled_kl(targets(seed + 1, 30, classes), logits, temperature=temperature)
    assert float(found.max()) <= tight + 1e-9 and float(found.min()) >= -1e-9
    worst, hard = torch.full((1, classes), largest, dtype=torch.float64), torch.eye(classes, dtype=torch.float64)[:1]
    worst[0, 0] = -largest
    attained = float(theory.temperature_scaled_kl(hard, worst, temperature=temperature))
    assert attained == pytest.approx(tight, rel=1e-9)


@given(seed=seeds, classes=st.integers(2, 8), temperature=st.floats(0.3, 20), reach=st.floats(0.01, 40))
def test_lipschitz_constants_are_not_broken(seed: int, classes: int, temperature: float, reach: float) -> None:
    constants = theory.lipschitz_constants(classes=classes, temperature=temperature)
    p, first = targets(seed, 30, classes), reach * drawn(seed + 1, 30, classes)
    change = reach * drawn(seed + 2, 30, classes)
    change[::2] = change[::2].sign() * reach
    kl = [theory.temperature_scaled_kl(p, z, temperature=temperature) for z in (first, first + change)]
    rise = (kl[1] - kl[0]).abs()
    for order, constant in ((math.inf, constants.maximum), (1, constants.total), (2, constants.euclidean)):
        assert bool((rise <= constant * change.norm(order, dim=1) + 1e-9).all()), order
    assert constants.euclidean <= constants.printed_euclidean + 1e-12


def test_lipschitz_constants_are_sharp_and_the_printed_one_is_broken() -> None:
    """A hard target and logits that point elsewhere: one down, one up."""
    constants = theory.lipschitz_constants(classes=3, temperature=2.0)
    p = torch.tensor([[1.0, 0, 0]], dtype=torch.float64)
    start = torch.tensor([[-40.0, 40, -40]], dtype=torch.float64)

    def rise(change: list[float]) -> float:
        return float(
            theory.temperature_scaled_kl(p, start + torch.tensor([change]), temperature=2.0)
            - theory.temperature_scaled_kl(p, start, temperature=2.0)
        )

    assert rise([-1.0, 1, 1]) == pytest.approx(constants.maximum * 1) == pytest.approx(2 * constants.printed_maximum)
    assert rise([0.0, 1, 0]) == pytest.approx(constants.total * 1)
    assert rise([-1.0, 1, 0]) == pytest.approx(constants.euclidean * math.sqrt(2))
    assert constants.printed_euclidean == pytest.approx(math.sqrt(3) / 2)


def lipschitz_function(seed: int, constant: float, width: int) -> Any:
    """A piecewise linear function: maxima and minima of planes of slope `constant`."""
    slopes = drawn(seed, 6, width)
    slopes = constant * slopes / slopes.norm(dim=1, keepdim=True)
    offsets = drawn(seed + 1, 6)

    def h(x: Tensor) -> Tensor:
        planes = x @ slopes.T + offsets
        return torch.minimum(planes[..., :3].amax(-1), planes[..., 3:].amax(-1))

    return h


@given(seed=seeds, alpha=ratios, constant=sizes, width=st.integers(1, 3))
def test_corollary_1_put_right_holds(seed: int, alpha: float, constant: float, width: int) -> None:
    h = lipschitz_function(seed, constant, width)
    x, y = drawn(seed + 5, 40, width), drawn(seed + 6, 40, width)
    off = (h(alpha * x + (1 - alpha) * y) - alpha * h(x) - (1 - alpha) * h(y)).abs()
    for gap, distance in zip(off.tolist(), (x - y).norm(dim=1).tolist(), strict=True):
        assert gap <= theory.combination_bound(merge_ratio=alpha, lipschitz=constant, distance=distance) + 1e-9


@given(alpha=st.floats(0.01, 0.99), distance=sizes, constant=sizes)
def test_corollary_1_as_printed_fails_and_twice_it_is_attained(alpha: float, distance: float, constant: float) -> None:
    """h = L |x| with z = alpha x + (1 - alpha) y = 0."""
    x, y = -(1 - alpha) * distance, alpha * distance
    gap = alpha * constant * abs(x) + (1 - alpha) * constant * abs(y)
    given_: dict[str, Any] = {"merge_ratio": alpha, "lipschitz": constant, "distance": distance}
    assert gap == pytest.approx(theory.combination_bound(**given_))
    assert gap > 1.9 * theory.printed_combination_bound(**given_)


@given(seed=seeds, alpha=ratios, constant=sizes)
def test_lemma_3_holds(seed: int, alpha: float, constant: float) -> None:
    """Loss |h - y|, L_l = 1, and 3 |h - y|."""
    h, labels = lipschitz_function(seed, constant, 2), drawn(seed + 3, 20)
    distilled, real = drawn(seed + 1, 20, 2), drawn(seed + 2, 20, 2)
    mixed = alpha * distilled + (1 - alpha) * real
    discrepancy = float((distilled - real).norm(dim=1).mean())
    for scale in (1, 3):
        gap = float(scale * ((h(distilled) - labels).abs().mean() - (h(mixed) - labels).abs().mean()).abs())
        assert gap <= 1e-9 + theory.risk_gap_bound(
            merge_ratio=alpha, loss_lipschitz=scale, network_lipschitz=constant, discrepancy=discrepancy
        )


def test_lemma_3_is_attained() -> None:
    """h = 2 x, loss 3 |h - y| with y below everything, x_res = x + 1."""
    found = theory.risk_gap_bound(merge_ratio=0.3, loss_lipschitz=3, network_lipschitz=2, discrepancy=1)
    assert found == pytest.approx(3 * 2 * 1 - 3 * 2 * 0.3)


@given(seed=seeds, functions=st.integers(1, 5), n=st.integers(1, 6))
def test_rademacher_complexity_is_the_mean_over_all_signs(seed: int, functions: int, n: int) -> None:
    outputs = drawn(seed, functions, n)
    best = [
        max(sum(s * v for s, v in zip(signs, row, strict=True)) for row in outputs.tolist()) / n
        for signs in itertools.product((-1, 1), repeat=n)
    ]
    assert theory.rademacher_complexity(outputs) == pytest.approx(sum(best) / len(best), abs=1e-12)
    assert theory.rademacher_complexity(outputs.flip(1) + 3) == pytest.approx(sum(best) / len(best), abs=1e-12)


def test_rademacher_complexity_of_many_signs() -> None:
    both = torch.ones(2, 16)
    both[1] = -1  # |sum of 16 signs| / 16
    exact = sum(math.comb(16, k) * abs(16 - 2 * k) for k in range(17)) / 2**16 / 16
    assert theory.rademacher_complexity(both) == pytest.approx(exact, rel=1e-12)


@given(seed=seeds, alpha=ratios, constant=sizes)
def test_equation_42_put_right_holds(seed: int, alpha: float, constant: float) -> None:
    """A class of six functions and their negatives on five points."""
    functions = [lipschitz_function(seed + 10 * number, constant, 2) for number in range(6)]
    distilled, real = drawn(seed + 1, 5, 2), drawn(seed + 2, 5, 2)

    def complexity(points: Tensor) -> float:
        outputs = torch.stack([h(points) for h in functions])
        return theory.rademacher_complexity(torch.cat([outputs, -outputs]))

    discrepancy = float((distilled - real).norm(dim=1).mean())
    given_: dict[str, Any] = {"merge_ratio": alpha, "network_lipschitz": constant, "discrepancy": discrepancy}
    ends = complexity(distilled), complexity(real)
    mixed = complexity(alpha * distilled + (1 - alpha) * real)
    assert mixed <= theory.complexity_bound(*ends, **given_) + 1e-9
    assert ends[1] >= ends[0] - constant * discrepancy - 1e-9  # what the region of alpha rests on


def test_equation_42_as_printed_fails() -> None:
    """{h, -h}, h(x) = 1 - |x|, x_res = -1, x = 1, alpha = 1/2: 1 against 1/2, and exactly 1 with the 2."""
    outputs = {x: theory.rademacher_complexity(torch.tensor([[1 - abs(x)], [abs(x) - 1]])) for x in (-1.0, 0.0, 1.0)}
    given_: dict[str, Any] = {"merge_ratio": 0.5, "network_lipschitz": 1, "discrepancy": 2}
    ends = outputs[-1.0], outputs[1.0]
    assert outputs[0.0] == 1 == theory.complexity_bound(*ends, **given_)
    assert theory.printed_complexity_bound(*ends, **given_) == 0.5
    assert theory.complexity_bound(2, 1, merge_ratio=0.25, network_lipschitz=0, discrepancy=1) == pytest.approx(1.25)


@given(alpha=st.floats(0, 0.99), loss=sizes, bound=sizes, network=sizes, discrepancy=sizes, real=sizes, distilled=sizes)
def test_the_condition_gives_the_smaller_bound(
    alpha: float, loss: float, bound: float, network: float, discrepancy: float, real: float, distilled: float
) -> None:
    """(1-alpha) L_l L_h Delta + 2 B (R(x~) - R(x_res)) < 0 with the bound of eq 42 for R(x~), just where the condition holds."""
    given_: dict[str, Any] = {"merge_ratio": alpha, "network_lipschitz": network, "discrepancy": discrepancy}
    for threshold, mixed in (
        (theory.condition_threshold, theory.complexity_bound),
        (theory.printed_condition_threshold, theory.printed_complexity_bound),
    ):
        margin = real - distilled - threshold(loss_lipschitz=loss, loss_bound=bound, **given_)
        rise = theory.risk_gap_bound(loss_lipschitz=loss, **given_) + 2 * bound * (
            mixed(distilled, real, **given_) - distilled
        )
        assert rise == pytest.approx(2 * bound * (1 - alpha) * margin, abs=1e-8)


@given(loss=sizes, bound=sizes)
def test_the_region_of_the_merge_ratio(loss: float, bound: float) -> None:
    """At its edge the threshold is the least difference there can be, -L_h Delta."""
    for largest, threshold in (
        (theory.largest_merge_ratio, theory.condition_threshold),
        (theory.printed_largest_merge_ratio, theory.printed_condition_threshold),
    ):
        edge = largest(loss_lipschitz=loss, loss_bound=bound)
        if edge >= 0:
            at = threshold(
                merge_ratio=edge, loss_lipschitz=loss, loss_bound=bound, network_lipschitz=1.5, discrepancy=2
            )
            assert at == pytest.approx(-3)
    assert theory.largest_merge_ratio(loss_lipschitz=loss, loss_bound=bound) < 0.5


def test_what_is_refused() -> None:
    good = targets(0, 3, 4)
    with refuses("targets", "sum to 1"):
        theory.temperature_scaled_kl(good * 2, good, temperature=1)
    with refuses("targets", "at least 0"):
        theory.temperature_scaled_kl(good - 0.5, good, temperature=1)
    with refuses("outputs", "16 points"):
        theory.rademacher_complexity(torch.zeros(2, 17))
