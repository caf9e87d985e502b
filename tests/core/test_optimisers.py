"""The optimisers against torch.optim in float64, and their derivatives."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab.core import optimisers
from tests.support import assert_unchanged, snapshot


def start(seed: int = 0) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    shapes = {"matrix": (3, 2), "vector": (4,), "scalar": (), "empty": (0, 2)}
    return {
        name: torch.randn(shape, generator=draw, dtype=torch.float64)
        for name, shape in shapes.items()
    }


def slopes(parameters: dict[str, Tensor], step: int) -> dict[str, Tensor]:
    """Some gradient that depends on where one is; the vector's third entry never sees one."""
    gradients = {name: (value - step).sin() + value for name, value in parameters.items()}
    mask = torch.ones(4, dtype=torch.float64)
    mask[2] = 0
    return gradients | {"vector": gradients["vector"] * mask}


def ours(kind: str, options: dict[str, Any], rates: list[float]) -> dict[str, Tensor]:
    parameters = start()
    state: Any = (
        optimisers.sgd_init(parameters) if kind == "sgd" else optimisers.adam_init(parameters)
    )
    update: Any = getattr(optimisers, f"{kind}_update")
    for step, rate in enumerate(rates):
        gradients = slopes(parameters, step)
        before = snapshot((parameters, gradients, state))
        moved, next_state = update(parameters, gradients, state, learning_rate=rate, **options)
        assert_unchanged(before, (parameters, gradients, state))
        parameters = moved
        state = next_state
        assert state.step == step + 1
    return parameters


def torchs(optimiser: Any, options: dict[str, Any], rates: list[float]) -> dict[str, Tensor]:
    parameters = {name: value.requires_grad_() for name, value in start().items()}
    solver = optimiser(list(parameters.values()), lr=rates[0], **options)
    for step, rate in enumerate(rates):
        solver.param_groups[0]["lr"] = rate
        for name, gradient in slopes({n: p.detach() for n, p in parameters.items()}, step).items():
            parameters[name].grad = gradient
        solver.step()
    return {name: value.detach() for name, value in parameters.items()}


RATES = [0.1, 0.1, 0.05, 0.2, 0.01, 0.1]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_sgd(momentum: float, weight_decay: float) -> None:
    options = {"momentum": momentum, "weight_decay": weight_decay}
    torch.testing.assert_close(
        ours("sgd", options, RATES), torchs(torch.optim.SGD, options, RATES), rtol=1e-13, atol=1e-13
    )


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.5, 0.9), (0.0, 0.5)])
@pytest.mark.parametrize("epsilon", [1e-8, 1e-2])
def test_adam(betas: tuple[float, float], epsilon: float) -> None:
    computed = ours("adam", {"betas": betas, "epsilon": epsilon}, RATES)
    expected = torchs(torch.optim.Adam, {"betas": betas, "eps": epsilon}, RATES)
    torch.testing.assert_close(computed, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weight_decay", [0.0, 0.01, 0.5])
def test_adamw(weight_decay: float) -> None:
    computed = ours("adamw", {"weight_decay": weight_decay}, RATES)
    expected = torchs(torch.optim.AdamW, {"weight_decay": weight_decay}, RATES)
    torch.testing.assert_close(computed, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw"])
def test_a_tensor_learning_rate_is_a_number(kind: str) -> None:
    update: Any = getattr(optimisers, f"{kind}_update")
    state: Any = optimisers.sgd_init(start()) if kind == "sgd" else optimisers.adam_init(start())
    by_number = update(start(), slopes(start(), 0), state, learning_rate=0.1)
    by_tensor = update(
        start(), slopes(start(), 0), state, learning_rate=torch.tensor(0.1, dtype=torch.float64)
    )
    torch.testing.assert_close(by_number[0], by_tensor[0], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw"])
def test_unrolled_steps_pass_gradcheck(kind: str) -> None:
    """With respect to the parameters, what shapes the gradients, and the learning rate."""
    update: Any = getattr(optimisers, f"{kind}_update")
    options = {
        "sgd": {"momentum": 0.9, "weight_decay": 0.1},
        "adam": {"betas": (0.5, 0.9)},
        "adamw": {"weight_decay": 0.1},
    }[kind]

    def unrolled(weights: Tensor, direction: Tensor, rate: Tensor) -> Tensor:
        parameters: Any = {"w": weights}
        state: Any = (
            optimisers.sgd_init(parameters) if kind == "sgd" else optimisers.adam_init(parameters)
        )
        for _ in range(3):
            gradients = {"w": direction * parameters["w"].cos()}
            parameters, state = update(parameters, gradients, state, learning_rate=rate, **options)
        return parameters["w"]

    draw = torch.Generator().manual_seed(1)
    weights = torch.randn(3, generator=draw, dtype=torch.float64).requires_grad_()
    direction = torch.randn(3, generator=draw, dtype=torch.float64).requires_grad_()
    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(unrolled, (weights, direction, rate))


@pytest.mark.parametrize("kind", ["sgd", "adam", "adamw"])
def test_a_parameter_without_gradient_gives_no_nan(kind: str) -> None:
    update: Any = getattr(optimisers, f"{kind}_update")
    scale = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    parameters: Any = {"w": torch.ones(2, dtype=torch.float64, requires_grad=True)}
    weights = parameters["w"]
    state: Any = (
        optimisers.sgd_init(parameters) if kind == "sgd" else optimisers.adam_init(parameters)
    )
    for _ in range(2):
        (gradient,) = torch.autograd.grad(
            (scale * parameters["w"] ** 2).sum(), parameters["w"], create_graph=True
        )
        parameters, state = update(parameters, {"w": gradient}, state, learning_rate=0.1)
    for derivative in torch.autograd.grad(parameters["w"].square().sum(), (scale, weights)):
        assert derivative.isfinite().all()


def test_a_parameter_without_gradient_gives_no_nan_under_torch_func() -> None:
    def loss(scale: Tensor) -> Tensor:
        parameters: Any = {"w": torch.ones(2, dtype=torch.float64)}
        parameters, _ = optimisers.adam_update(
            parameters, {"w": scale}, optimisers.adam_init(parameters), learning_rate=0.1
        )
        return parameters["w"].sum()

    assert torch.func.grad(loss)(torch.tensor([1.0, 0.0], dtype=torch.float64)).isfinite().all()


@pytest.mark.parametrize("final_fraction", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("total", [1, 7, 50])
def test_cosine_equals_torchs_scheduler(final_fraction: float, total: int) -> None:
    solver = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
        solver, total, eta_min=0.3 * final_fraction
    )
    for step in range(total):
        assert optimisers.cosine(step, total, 0.3, final_fraction=final_fraction) == pytest.approx(
            solver.param_groups[0]["lr"], abs=1e-12
        )
        solver.step()
        scheduler.step()
    assert optimisers.cosine(total, total, 0.3, final_fraction=final_fraction) == pytest.approx(
        0.3 * final_fraction
    )


@pytest.mark.parametrize("final_fraction", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("total", [1, 5, 40])
def test_linear_equals_torchs_scheduler(final_fraction: float, total: int) -> None:
    solver = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)
    scheduler = torch.optim.lr_scheduler.LinearLR(solver, 1.0, final_fraction, total_iters=total)
    for step in range(total + 3):  # and stays where it ended
        rate = optimisers.linear(step, total, 0.3, final_fraction=final_fraction)
        assert rate == pytest.approx(solver.param_groups[0]["lr"], abs=1e-12)
        solver.step()
        scheduler.step()
    assert optimisers.linear(0, total, 0.3) == 0.3 and optimisers.linear(total, total, 0.3) == 0


@given(
    total=st.integers(1, 10**6),
    base=st.floats(1e-6, 10),
    final=st.floats(0, 1),
    place=st.floats(0, 1),
)
def test_cosine_falls_from_its_start_to_its_end(
    total: int, base: float, final: float, place: float
) -> None:
    step = int(place * total)
    rate = optimisers.cosine(step, total, base, final_fraction=final)
    next_rate = optimisers.cosine(step + 1, total, base, final_fraction=final)
    assert optimisers.cosine(0, total, base, final_fraction=final) == pytest.approx(base)
    assert base * final - 1e-9 <= next_rate <= rate + 1e-9 <= base + 1e-8
    assert optimisers.cosine(total + 5, total, base, final_fraction=final) == pytest.approx(
        base * final
    )
    assert not math.isnan(rate)
