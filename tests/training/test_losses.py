"""Shared losses against independent float64 references."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab.training import losses

CASES = {
    "rows": st.integers(1, 5),
    "classes": st.integers(1, 6),
    "temperature": st.floats(0.2, 50),
    "seed": st.integers(0, 999),
}


def logits(rows: int, classes: int, seed: int) -> Tensor:
    return 3 * torch.randn(
        (rows, classes), generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def plain_softmax(row: list[float], temperature: float) -> list[float]:
    powers = [math.exp((value - max(row)) / temperature) for value in row]
    return [power / sum(powers) for power in powers]


@given(**CASES)
def test_soft_targets(rows: int, classes: int, temperature: float, seed: int) -> None:
    given_logits = logits(rows, classes, seed)
    targets = losses.soft_targets(given_logits, temperature)
    expected = [plain_softmax(row, temperature) for row in given_logits.tolist()]
    torch.testing.assert_close(targets, torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(losses.soft_targets(given_logits + 7, temperature), targets)


@given(**CASES)
def test_distillation_loss(rows: int, classes: int, temperature: float, seed: int) -> None:
    """KL(p || q), summed over classes, mean over rows, without the factor T^2."""
    student = logits(rows, classes, seed)
    targets = losses.soft_targets(logits(rows, classes, seed + 1), temperature)
    loss = losses.distillation_loss(student, targets, temperature=temperature)
    total = 0.0
    for row, target_row in zip(student.tolist(), targets.tolist(), strict=True):
        given_share = plain_softmax(row, temperature)
        total += sum(
            p * math.log(p / q) for p, q in zip(target_row, given_share, strict=True) if p > 0
        )
    assert float(loss) == pytest.approx(total / rows, rel=1e-9, abs=1e-9)
    assert float(loss) >= -1e-12
    own_targets = losses.soft_targets(student, temperature)
    assert float(
        losses.distillation_loss(student, own_targets, temperature=temperature)
    ) == pytest.approx(0, abs=1e-12)


def test_hard_targets_give_cross_entropy() -> None:
    student = logits(6, 4, 0)
    classes = torch.arange(6) % 4
    one_hot = torch.nn.functional.one_hot(classes, 4).double()
    expected = torch.nn.functional.cross_entropy(student, classes)
    torch.testing.assert_close(
        losses.distillation_loss(student, one_hot, temperature=1.0), expected
    )


def test_gradient() -> None:
    student = logits(3, 4, 0).requires_grad_()
    targets = losses.soft_targets(logits(3, 4, 1), 2.0)
    assert torch.autograd.gradcheck(
        lambda s: losses.distillation_loss(s, targets, temperature=2.0), (student,)
    )
    assert torch.autograd.gradcheck(lambda s: losses.soft_targets(s, 2.0), (student,))
