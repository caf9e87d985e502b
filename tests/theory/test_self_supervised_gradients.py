"""ReLA's appendix I against autograd of the objectives as they are trained: what is exact, what is not, and what does not reduce to 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab import theory
from ddlab.training.self_supervised import barlow_twins_loss, moco, simclr, simsiam, standardised, vicreg
from tests.support import refuses

SIZES = {"seed": st.integers(0, 10**6), "count": st.integers(3, 9), "width": st.integers(2, 5)}
TEMPERATURE = st.floats(0.1, 2)
close: Any = lambda found, wanted: torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)  # noqa: E731


def views(seed: int, count: int, width: int, agreement: float = 0.7) -> tuple[Tensor, Tensor]:
    """Two views that agree in part, float64."""
    draw = torch.Generator().manual_seed(seed)
    shared, one, other = torch.randn((3, count, width), generator=draw, dtype=torch.float64)
    return agreement * shared + one * (1 - agreement), agreement * shared + other * (1 - agreement)


def slope(loss: Callable[[Tensor], Tensor], place: Tensor) -> Tensor:
    free = place.clone().requires_grad_()
    return torch.autograd.grad(loss(free), free)[0]


def far(one: Tensor, other: Tensor) -> float:
    return theory.relative_size(one - other, other)


@given(**SIZES, temperature=TEMPERATURE)
def test_moco(seed: int, count: int, width: int, temperature: float) -> None:
    (u, v), (queue, _) = views(seed, count, width), views(seed + 1, 4, width)
    given: Any = {"temperature": temperature}
    wanted = slope(lambda free: moco.info_nce_loss(free, v, queue, **given), u)
    close(theory.through_length(u, theory.contrastive_gradient(u, v, queue, **given)), wanted)
    printed = theory.through_length(u, theory.contrastive_gradient(u, v, queue, **given, target_among=False))
    assert far(printed, wanted) > 1e-3  # the key is missing in the sum

    def equation_44(free: Tensor) -> Tensor:
        one = F.normalize(free)
        right = (one * F.normalize(v)).sum(1) / temperature
        return ((one @ F.normalize(queue).T / temperature).logsumexp(1) - right).mean()

    close(printed, slope(equation_44, u))


@given(**SIZES, temperature=TEMPERATURE)
def test_simclr(seed: int, count: int, width: int, temperature: float) -> None:
    """Both terms are needed; the first alone is the gradient where none reaches the target branch."""
    both = torch.cat(views(seed, count, width))
    own, others = theory.simclr_gradient_terms(*both.chunk(2), temperature=temperature)
    wanted = slope(lambda free: simclr.nt_xent_loss(*free.chunk(2), temperature=temperature), both)
    close(theory.through_length(both, own + others), wanted)

    def stopped(free: Tensor) -> Tensor:
        logits = F.normalize(free) @ F.normalize(both).T / temperature
        logits = logits.masked_fill(torch.eye(2 * count, dtype=torch.bool), -torch.inf)
        return F.cross_entropy(logits, torch.arange(2 * count).roll(count))

    close(theory.through_length(both, own), slope(stopped, both))


@given(**SIZES, epsilon=st.floats(0.05, 1))
def test_direct_prediction(seed: int, count: int, width: int, epsilon: float) -> None:
    u, v = views(seed, count, width)
    correlation = u.T @ u / count
    for boost in (0.0, epsilon):
        predictor = theory.direct_predictor(correlation, epsilon=boost)
        wanted = slope(lambda free, by=predictor: simsiam.negative_cosine(free @ by.T, v), u)
        close(theory.direct_gradient(u, v, predictor), wanted)
        printed = theory.printed_direct_gradient(u, v, predictor, correlation, epsilon=boost)
        if not boost:
            torch.testing.assert_close(printed, wanted, rtol=1e-5, atol=1e-7)  # the root of F is squared again
        else:
            assert far(printed, wanted) > 1e-4


def test_the_predictor_is_the_root_of_the_correlation() -> None:
    correlation, wanted = (torch.tensor(each, dtype=torch.float64).diag() for each in ([4.0, 0.25], [2.4, 0.9]))
    close(theory.direct_predictor(correlation, epsilon=0.1), wanted)


@given(**SIZES, weight=st.floats(0, 2))
def test_barlow_twins(seed: int, count: int, width: int, weight: float) -> None:
    first, second = views(seed, count, width)
    epsilon = 1e-5
    wanted = slope(lambda free: barlow_twins_loss(free, second, off_diagonal_weight=weight, epsilon=epsilon), first)
    u, v = (standardised(view, epsilon=epsilon) for view in (first, second))
    found = theory.barlow_twins_gradient(u, v, off_diagonal_weight=weight)
    close(theory.through_standardisation(first, found, epsilon=epsilon), wanted)
    whole = 2 / count * (1 - weight) * (u * v).mean(0) * v  # what eq 55 lets go
    close(theory.decorrelation_gradient(u, v, v, weight=weight), found - whole)


@given(**SIZES, one=st.floats(0.01, 5), other=st.floats(0, 5), deviation=st.floats(0.1, 2))
def test_vicreg(seed: int, count: int, width: int, one: float, other: float, deviation: float) -> None:
    first, second = views(seed, count, width)
    given: Any = {"target_deviation": deviation, "epsilon": 1e-4}

    def equation_53(free: Tensor) -> Tensor:
        agreed = width * vicreg.invariance_loss(free, second)
        return agreed + one * vicreg.covariance_loss(free) + other * vicreg.variance_loss(free, **given)

    main, rest = theory.vicreg_gradient_terms(first, second, covariance_weight=one, variance_weight=other, **given)
    close(main + rest, slope(equation_53, first))
    centred = first - first.mean(0)
    weight = 2 * one * count**2 / (width * (count - 1) ** 2)
    close(main, theory.decorrelation_gradient(centred, second, centred, weight=weight))


@pytest.mark.parametrize("agreement", [0.5, 0.9])
def test_what_reduces_to_0_does_not(agreement: float) -> None:
    """SimCLR's second term has, by symmetry, the size of its first; VICReg's is larger than a tenth of the whole."""
    for seed in range(20):
        first, second = views(seed, 64, 16, agreement)
        own, others = theory.simclr_gradient_terms(first, second, temperature=0.5)
        assert 0.8 < theory.relative_size(others, own) < 1.25
        main, rest = theory.vicreg_gradient_terms(first, second, covariance_weight=1 / 25, variance_weight=1)
        assert theory.relative_size(rest, main + rest) > 0.1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rows: theory.through_length(0 * rows, rows), ["projections", "longer than 0"]),
        (lambda rows: theory.through_standardisation(0 * rows, rows), ["projections", "vary"]),
        (lambda rows: theory.vicreg_gradient_terms(rows[:1], rows[:1], covariance_weight=1.0, variance_weight=1), ["first", "two rows"]),
        (lambda rows: theory.vicreg_gradient_terms(0 * rows, rows, covariance_weight=1.0, variance_weight=1), ["first", "vary"]),
        (lambda rows: theory.direct_gradient(rows, rows, torch.zeros(3, 3)), ["online", "to 0"]),
        (lambda rows: theory.relative_size(rows, 0 * rows), ["whole", "not 0"]),
    ],
)  # fmt: skip
def test_bad_input(call: Any, words: list[str]) -> None:
    with refuses(*words):
        call(torch.arange(12.0).view(4, 3) + 1)
