"""The block of small networks against single ones in plain torch: outputs, gradients, and both kinds of descent, in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from ddlab.lessons.ideal_data import theory
from ddlab.lessons.ideal_data.theory import ToyNetworks, toy_descent
from tests.support import assert_unchanged, refuses, snapshot

F64 = torch.float64


def some(*block: int, inputs: int = 2, units: int = 5, seed: int = 0) -> ToyNetworks:
    count = int(torch.tensor(block).prod())
    start = theory.initial_toys(count, inputs=inputs, units=units, first_seed=seed)
    return start.from_rows(start.rows.double().view(*block, -1))


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def labels_of(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def module(one: ToyNetworks) -> nn.Sequential:
    """One network in torch's own layers."""
    net = nn.Sequential(nn.Linear(one.inputs, one.units), nn.ReLU(), nn.Linear(one.units, 1), nn.Sigmoid()).double()
    with torch.no_grad():
        net[0].weight.copy_(one.hidden_weight)  # type: ignore[operator]
        net[0].bias.copy_(one.hidden_bias)  # type: ignore[operator]
        net[2].weight.copy_(one.output_weight[None])  # type: ignore[operator]
        net[2].bias.copy_(one.output_bias[None])  # type: ignore[operator]
    return net


def row(net: nn.Sequential) -> Tensor:
    return torch.cat([value.detach().flatten() for value in net.parameters()])


def trained(one: ToyNetworks, batches: list[tuple[Tensor, Tensor]], rate: float, momentum: float) -> list[Tensor]:
    """Rows after each step of torch.optim.SGD."""
    net = module(one)
    optimiser = torch.optim.SGD(net.parameters(), lr=rate, momentum=momentum)
    rows = [row(net)]
    for points, targets in batches:
        optimiser.zero_grad()
        (net(points)[:, 0] - targets).square().mean().backward()
        optimiser.step()
        rows.append(row(net))
    return rows


def test_rows_and_places() -> None:
    block = some(2, 3, inputs=4)
    assert block.block == (2, 3) and block.units == 5 and block.inputs == 4
    assert block.rows.shape == (2, 3, 5 * 6 + 1)
    again = block.from_rows(block.rows)
    for name, value in vars(block).items():
        assert torch.equal(getattr(again, name), value)
    assert torch.equal(row(module(block[1, 2])), block[1, 2].rows)
    assert torch.equal(block[1:].rows, block.rows[1:]) and block[:, 0].block == (2,)


def test_it_starts_as_torch_does() -> None:
    many = theory.initial_toys(400)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        reference = [row(nn.Sequential(nn.Linear(2, 50), nn.ReLU(), nn.Linear(50, 1))) for _ in range(400)]
    sizes = many.from_rows(torch.stack(reference))
    for name, value in vars(many).items():
        theirs = getattr(sizes, name)
        assert value.dtype == torch.float32 and value.shape == theirs.shape
        assert float(value.std()) == pytest.approx(float(theirs.std()), rel=0.1), name
        assert float(value.abs().max()) == pytest.approx(float(theirs.abs().max()), rel=0.03), name
        assert abs(float(value.mean())) < 0.03
    assert torch.equal(theory.initial_toys(1, first_seed=7).rows[0], many.rows[7])
    assert not torch.equal(theory.initial_toys(1, stream="other").rows[0], many.rows[0])


@pytest.mark.parametrize("inputs", [1, 2, 5])
def test_outputs_are_those_of_single_networks(inputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    block, points = some(2, 3, inputs=inputs), normal(7, inputs)
    found = theory.toy_outputs(block, points)
    assert found.shape == (2, 3, 7)
    for place in ((0, 0), (0, 2), (1, 1)):
        wanted = module(block[place])(points)[:, 0].detach()
        assert torch.allclose(found[place], wanted, rtol=1e-12, atol=0)
    monkeypatch.setattr("ddlab.lessons.ideal_data.theory.toy_network._AT_ONCE", 80)
    assert torch.allclose(theory.toy_outputs(block, points), found, rtol=1e-14), "two networks at a time"
    assert torch.allclose(theory.toy_outputs(block[0, 0], points), found[0, 0], rtol=1e-14)
    assert theory.toy_outputs(block, points[:0]).shape == (2, 3, 0)


@pytest.mark.parametrize("inputs", [1, 2, 4])
@pytest.mark.parametrize(("rate", "momentum"), [(0.1, 0.0), (0.02, 0.9)])
def test_stochastic_descent_is_torchs(inputs: int, rate: float, momentum: float) -> None:
    start = some(2, 3, inputs=inputs)
    points, targets = normal(30, 2, 3, inputs, seed=1), labels_of(30, 2, 3)
    before = snapshot([vars(start), points, targets])
    found = toy_descent.stochastic_descent(
        start, points, targets, learning_rate=rate, momentum=momentum, record_every=1
    )
    assert_unchanged(before, [vars(start), points, targets])
    assert found.block == (31, 2, 3)
    for a in range(2):
        for b in range(3):
            batches = [(x[a, b][None], y[a, b][None]) for x, y in zip(points, targets, strict=True)]
            wanted = torch.stack(trained(start[a, b], batches, rate, momentum))
            assert torch.allclose(found.rows[:, a, b], wanted, rtol=1e-11, atol=1e-13)


def test_expected_descent_is_torchs_on_the_whole_batch() -> None:
    start, points, targets = some(2, 3), normal(2, 1, 9, 2).expand(2, 3, 9, 2), labels_of(2, 3, 9)
    before = snapshot(vars(start))
    found = toy_descent.expected_descent(
        start, points, targets, steps=20, learning_rate=0.3, momentum=0.8, record_every=1
    )
    assert_unchanged(before, vars(start))
    assert found.block == (21, 2, 3)
    for a in range(2):
        for b in range(3):
            wanted = torch.stack(trained(start[a, b], [(points[a, b], targets[a, b])] * 20, 0.3, 0.8))
            assert torch.allclose(found.rows[:, a, b], wanted, rtol=1e-11, atol=1e-13)


def test_the_gradient_of_one_step_is_autograds() -> None:
    start, points, targets = some(4), normal(1, 4, 2), labels_of(1, 4)
    moved = toy_descent.stochastic_descent(start, points, targets, learning_rate=1, momentum=0)
    whole = toy_descent.expected_descent(
        start, points[0][:, None], targets[0][:, None], steps=1, learning_rate=1, momentum=0
    )
    for number in range(4):
        net = module(start[number])
        (net(points[0, number])[0] - targets[0, number]).square().backward()
        gradient = torch.cat([value.grad.flatten() for value in net.parameters()])  # type: ignore[union-attr]
        for frames in (moved, whole):
            assert torch.allclose(frames.rows[0, number] - frames.rows[1, number], gradient, rtol=1e-9, atol=1e-12)


def test_rates_of_their_own() -> None:
    start, points, targets = some(3), normal(12, 3, 2), labels_of(12, 3)
    rates, momenta = torch.tensor([0.1, 0.2, 0.0], dtype=F64), torch.tensor([0.5, 0.0, 0.9], dtype=F64)
    single = {"steps": 4, "record_every": 2}
    fixed, aims = normal(3, 6, 2), labels_of(3, 6)
    together = toy_descent.stochastic_descent(start, points, targets, learning_rate=rates, momentum=momenta)
    expected = toy_descent.expected_descent(start, fixed, aims, learning_rate=rates, momentum=momenta, **single)
    for number in range(3):
        own: dict[str, Any] = {"learning_rate": float(rates[number]), "momentum": float(momenta[number])}
        one = slice(number, number + 1)
        alone = toy_descent.stochastic_descent(start[one], points[:, one], targets[:, one], **own)
        assert torch.allclose(alone.rows[:, 0], together.rows[:, number], rtol=1e-12)
        alone = toy_descent.expected_descent(start[one], fixed[one], aims[one], **own, **single)
        assert torch.allclose(alone.rows[:, 0], expected.rows[:, number], rtol=1e-12)
    assert torch.equal(together.rows[-1, 2], start.rows[2]), "a rate of 0"


def test_frames() -> None:
    assert toy_descent.recorded_steps(10, 4) == [0, 4, 8, 10] and toy_descent.recorded_steps(8, 4) == [0, 4, 8]
    assert toy_descent.recorded_steps(1, 100) == [0, 1]
    start, points, targets = some(2), normal(10, 2, 2), labels_of(10, 2)
    every = toy_descent.stochastic_descent(start, points, targets, record_every=1)
    some_of = toy_descent.stochastic_descent(start, points, targets, record_every=4)
    assert torch.equal(some_of.rows, every.rows[[0, 4, 8, 10]])
    fixed = points[0][:, None], targets[0][:, None]
    every = toy_descent.expected_descent(start, *fixed, steps=10, record_every=1)
    assert torch.equal(
        toy_descent.expected_descent(start, *fixed, steps=10, record_every=4).rows, every.rows[[0, 4, 8, 10]]
    )


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 4), st.sampled_from(["stochastic", "expected"]))
def test_symmetries(seed: int, inputs: int, kind: str) -> None:
    """Turned points with turned weights, opposite labels with opposite output weights, and units in another order.

    Moved points are none: the gradient of the hidden weights grows with x.
    """
    start, points, targets = (
        some(2, inputs=inputs, seed=seed),
        normal(8, 2, inputs, seed=seed),
        labels_of(8, 2, seed=seed),
    )

    def descend(at: ToyNetworks, x: Tensor, y: Tensor) -> ToyNetworks:
        rates: dict[str, Any] = {"learning_rate": 0.2, "momentum": 0.7, "record_every": 3}
        if kind == "stochastic":
            return toy_descent.stochastic_descent(at, x, y, **rates)
        return toy_descent.expected_descent(at, x.movedim(0, 1), y.movedim(0, 1), steps=7, **rates)

    def assert_equal(one: ToyNetworks, other: ToyNetworks) -> None:
        assert torch.allclose(one.rows, other.rows, rtol=1e-9, atol=1e-11)

    plain = descend(start, points, targets)
    turn = torch.linalg.qr(normal(inputs, inputs, seed=seed + 1))[0]

    def turned(of: ToyNetworks) -> ToyNetworks:
        return ToyNetworks(**{**vars(of), "hidden_weight": of.hidden_weight @ turn.T})

    def renamed(of: ToyNetworks) -> ToyNetworks:
        return ToyNetworks(**{**vars(of), "output_weight": -of.output_weight, "output_bias": -of.output_bias})

    order = torch.randperm(start.units, generator=torch.Generator().manual_seed(seed))

    def reordered(of: ToyNetworks) -> ToyNetworks:
        return ToyNetworks(
            hidden_weight=of.hidden_weight[..., order, :], hidden_bias=of.hidden_bias[..., order],
            output_weight=of.output_weight[..., order], output_bias=of.output_bias,
        )  # fmt: skip

    assert_equal(descend(turned(start), points @ turn.T, targets), turned(plain))
    assert_equal(descend(renamed(start), points, 1 - targets), renamed(plain))
    assert_equal(descend(reordered(start), points, targets), reordered(plain))
    assert torch.allclose(
        theory.toy_outputs(turned(start), points[:, 0] @ turn.T), theory.toy_outputs(start, points[:, 0])
    )
    assert torch.allclose(theory.toy_outputs(renamed(start), points[:, 0]), 1 - theory.toy_outputs(start, points[:, 0]))


def test_float32_follows_float64() -> None:
    start, points, targets = some(3, units=50), normal(200, 3, 2), labels_of(200, 3).round()
    exact = toy_descent.stochastic_descent(start, points, targets, momentum=0.9, learning_rate=0.02)
    single = start.from_rows(start.rows.float())
    found = toy_descent.stochastic_descent(single, points.float(), targets.float(), momentum=0.9, learning_rate=0.02)
    assert found.hidden_weight.dtype == torch.float32
    assert torch.allclose(found.rows.double(), exact.rows, atol=1e-4)


def test_weights_that_grow_beyond_all_numbers_are_said() -> None:
    start = some(1, units=2)
    # Hidden values of 1e30, weighed by 1e30 and -1e30.
    weights = {
        **vars(start),
        "hidden_weight": torch.full((1, 2, 2), 1e30),
        "output_weight": torch.tensor([[1e30, -1e30]]),
    }
    big = ToyNetworks(**{name: value.float() for name, value in weights.items()})
    with refuses("learning_rate", "finite"):
        toy_descent.stochastic_descent(big, torch.ones(3, 1, 2), torch.zeros(3, 1))
    with refuses("learning_rate", "finite"):
        toy_descent.expected_descent(big, torch.ones(1, 3, 2), torch.zeros(1, 3))
