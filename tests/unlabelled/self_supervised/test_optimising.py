"""LARS against the loop of a script in float64, and the learning rate against its formula."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab.core import optimisers
from ddlab.unlabelled.self_supervised import lars_direction, warmed_cosine

SHAPES = {"weight": (4, 3), "kernel": (2, 3, 3, 3), "bias": (4,)}


def random_parameters(seed: int) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(shape, generator=draw, dtype=torch.float64)
        for name, shape in SHAPES.items()
    }


def test_descent_equals_a_script() -> None:
    """Five steps with two learning rates, as two groups of parameters would be given."""
    weight_rate = 0.4
    bias_rate = 0.03
    momentum = 0.9
    decay = 0.01
    trust = 0.05
    parameters = random_parameters(0)
    state = optimisers.sgd_init(random_parameters(0))
    values = {name: value.numpy().copy() for name, value in random_parameters(0).items()}
    velocities = {name: 0 * value for name, value in values.items()}
    for step in range(5):
        fade = 1 - step / 10
        direction = lars_direction(
            parameters,
            random_parameters(step + 1),
            weight_decay=decay,
            trust=trust,
            bias_factor=bias_rate / weight_rate,
        )
        parameters, state = optimisers.sgd_update(
            parameters, direction, state, learning_rate=fade * weight_rate, momentum=momentum
        )
        for name, value in values.items():
            slope = random_parameters(step + 1)[name].numpy()
            rate = fade * bias_rate
            if value.ndim > 1:
                slope = slope + decay * value
                rate = fade * weight_rate
                slope = slope * trust * math.sqrt((value**2).sum() / (slope**2).sum())
            velocities[name] = momentum * velocities[name] + slope
            values[name] = value - rate * velocities[name]
    for name, value in values.items():
        torch.testing.assert_close(parameters[name], torch.from_numpy(value), msg=name)


def test_a_layers_step_has_a_fixed_length() -> None:
    parameters = random_parameters(0)
    gradients = random_parameters(1)
    for factor in (1e-6, 1.0, 1e6):
        scaled = {name: factor * value for name, value in gradients.items()}
        direction = lars_direction(
            parameters, scaled, weight_decay=0.0, trust=0.02, bias_factor=0.5
        )
        for name in ("weight", "kernel"):
            assert float(direction[name].norm()) == pytest.approx(
                0.02 * float(parameters[name].norm())
            )
        torch.testing.assert_close(direction["bias"], 0.5 * scaled["bias"])


def test_layers_of_zeros_and_zero_gradients() -> None:
    zeros = {name: torch.zeros(shape) for name, shape in SHAPES.items()}
    all_ones = {name: torch.ones(shape) for name, shape in SHAPES.items()}
    for parameters, gradients, expected in (
        (zeros, all_ones, 1.0),
        (all_ones, zeros, 0.0),
        (zeros, zeros, 0.0),
    ):
        direction = lars_direction(parameters, gradients, weight_decay=0.0, trust=0.1)
        assert all(
            torch.equal(value, torch.full_like(value, expected)) for value in direction.values()
        )


def test_learning_rate() -> None:
    options: dict[str, Any] = {"total": 30, "warmup": 10, "base": 0.8, "final_fraction": 0.01}
    rates = [warmed_cosine(step, **options) for step in range(31)]
    for step, rate in enumerate(rates):
        share = (1 + math.cos(math.pi * (step - 10) / 20)) / 2
        expected = 0.8 * step / 10 if step < 10 else 0.8 * (share + 0.01 * (1 - share))
        assert rate == pytest.approx(expected)
    assert rates[0] == 0 and max(rates) == rates[10] == 0.8 and rates[30] == pytest.approx(0.008)
    assert warmed_cosine(0, total=1, warmup=0, base=0.5, final_fraction=0.0) == 0.5
