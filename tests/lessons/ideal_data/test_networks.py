"""The block of small networks against single ones in plain torch: outputs, gradients, and both
kinds of descent, in float64.
"""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from ddlab.lessons.ideal_data import networks
from tests.support import assert_unchanged, normal_doubles, refuses, snapshot

F64 = torch.float64


def some(*block: int, units: int = 5, seed: int = 0) -> Tensor:
    draws = torch.Generator().manual_seed(seed)
    return torch.rand((*block, 4 * units + 1), generator=draws, dtype=F64) * 2 - 1


def of_each(value: Any, block: tuple[int, ...]) -> Tensor:
    return torch.as_tensor(value, dtype=F64).expand(block)


def stochastic(
    start: Tensor,
    points: Tensor,
    targets: Tensor,
    rate: Any = 0.002,
    momentum: Any = 0.98,
    every: int = 100,
) -> Tensor:
    rates = {
        "learning_rate": of_each(rate, start.shape[:-1]),
        "momentum": of_each(momentum, start.shape[:-1]),
    }
    return networks.stochastic_descent(start, points, targets, **rates, record_every=every)


def expected(
    start: Tensor,
    points: Tensor,
    targets: Tensor,
    steps: int,
    rate: Any = 0.002,
    momentum: Any = 0.98,
    every: int = 100,
) -> Tensor:
    rates = {
        "learning_rate": of_each(rate, start.shape[:-1]),
        "momentum": of_each(momentum, start.shape[:-1]),
    }
    return networks.expected_descent(
        start, points, targets, steps=steps, **rates, record_every=every
    )


def labels_of(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def module(row: Tensor) -> nn.Sequential:
    """One network in torch's own layers."""
    units = len(row) // 4
    net = nn.Sequential(nn.Linear(2, units), nn.ReLU(), nn.Linear(units, 1), nn.Sigmoid()).double()
    nn.utils.vector_to_parameters(row.clone(), net.parameters())
    return net


def row(net: nn.Sequential) -> Tensor:
    return torch.cat([value.detach().flatten() for value in net.parameters()])


def trained(
    start_row: Tensor, batches: list[tuple[Tensor, Tensor]], rate: float, momentum: float
) -> list[Tensor]:
    """Rows after each step of torch.optim.SGD."""
    net = module(start_row)
    optimiser = torch.optim.SGD(net.parameters(), lr=rate, momentum=momentum)
    rows = [row(net)]
    for points, targets in batches:
        optimiser.zero_grad()
        (net(points)[:, 0] - targets).square().mean().backward()
        optimiser.step()
        rows.append(row(net))
    return rows


def test_rows_are_taken_apart_and_put_together() -> None:
    rows = some(2, 3)
    hidden, output, last = networks.parts(rows)
    assert (hidden.shape, output.shape, last.shape) == ((2, 3, 5, 3), (2, 3, 5), (2, 3))
    assert torch.equal(networks.rows_of(hidden, output, last), rows)
    first, _, second, _ = module(rows[1, 2])
    assert torch.equal(hidden[1, 2, :, :2], first.weight) and torch.equal(
        hidden[1, 2, :, 2], first.bias
    )
    assert torch.equal(output[1, 2], second.weight[0]) and last[1, 2] == second.bias


def test_it_starts_as_torch_does() -> None:
    many = networks.first_weights(400)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        reference = [
            row(nn.Sequential(nn.Linear(2, 50), nn.ReLU(), nn.Linear(50, 1))) for _ in range(400)
        ]
    for value, theirs in zip(
        networks.parts(many), networks.parts(torch.stack(reference)), strict=True
    ):
        assert value.dtype == torch.float32 and value.shape == theirs.shape
        assert float(value.std()) == pytest.approx(float(theirs.std()), rel=0.1)
        assert float(value.abs().max()) == pytest.approx(float(theirs.abs().max()), rel=0.03)
        assert abs(float(value.mean())) < 0.03
    assert torch.equal(networks.first_weights(1, first_seed=7)[0], many[7])
    assert not torch.equal(networks.first_weights(1, stream="other")[0], many[0])


def test_outputs_are_those_of_single_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    block = some(2, 3)
    points = normal_doubles(7, 2)
    answers = networks.outputs(block, points)
    assert answers.shape == (2, 3, 7)
    for place in ((0, 0), (0, 2), (1, 1)):
        assert torch.allclose(
            answers[place], module(block[place])(points)[:, 0].detach(), rtol=1e-12, atol=0
        )
    monkeypatch.setattr(networks, "_AT_ONCE", 80)
    assert torch.allclose(networks.outputs(block, points), answers, rtol=1e-14), (
        "two networks at a time"
    )
    assert torch.allclose(networks.outputs(block[0, 0], points), answers[0, 0], rtol=1e-14)


@pytest.mark.parametrize(("rate", "momentum"), [(0.1, 0.0), (0.02, 0.9)])
def test_stochastic_descent_is_torchs(rate: float, momentum: float) -> None:
    start = some(2, 3)
    points = normal_doubles(30, 2, 3, 2, seed=1)
    targets = labels_of(30, 2, 3)
    before = snapshot([start, points, targets])
    path = stochastic(start, points, targets, rate, momentum, every=1)
    assert_unchanged(before, [start, points, targets])
    assert path.shape == (31, 2, 3, 21)
    for a in range(2):
        for b in range(3):
            batches = [(x[a, b][None], y[a, b][None]) for x, y in zip(points, targets, strict=True)]
            expected = torch.stack(trained(start[a, b], batches, rate, momentum))
            assert torch.allclose(path[:, a, b], expected, rtol=1e-11, atol=1e-13)


def test_expected_descent_is_torchs_on_the_whole_batch() -> None:
    start = some(2, 3)
    points = normal_doubles(2, 1, 9, 2).expand(2, 3, 9, 2)
    targets = labels_of(2, 3, 9)
    before = snapshot(start)
    path = expected(start, points, targets, 20, 0.3, 0.8, every=1)
    assert_unchanged(before, start)
    assert path.shape == (21, 2, 3, 21)
    for a in range(2):
        for b in range(3):
            expected_path = torch.stack(
                trained(start[a, b], [(points[a, b], targets[a, b])] * 20, 0.3, 0.8)
            )
            assert torch.allclose(path[:, a, b], expected_path, rtol=1e-11, atol=1e-13)


def test_the_gradient_of_one_step_is_autograds() -> None:
    start = some(4)
    points = normal_doubles(1, 4, 2)
    targets = labels_of(1, 4)
    moved = stochastic(start, points, targets, 1, 0)
    whole = expected(start, points[0][:, None], targets[0][:, None], 1, 1, 0)
    for number in range(4):
        net = module(start[number])
        (net(points[0, number])[0] - targets[0, number]).square().backward()
        gradient = torch.cat([value.grad.flatten() for value in net.parameters()])  # type: ignore[union-attr]
        for frames in (moved, whole):
            assert torch.allclose(
                frames[0, number] - frames[1, number], gradient, rtol=1e-9, atol=1e-12
            )


def test_rates_of_their_own() -> None:
    start = some(3)
    points = normal_doubles(12, 3, 2)
    targets = labels_of(12, 3)
    rates = torch.tensor([0.1, 0.2, 0.0])
    momenta = torch.tensor([0.5, 0.0, 0.9])
    fixed = normal_doubles(3, 6, 2)
    aims = labels_of(3, 6)
    together = stochastic(start, points, targets, rates, momenta)
    averaged = expected(start, fixed, aims, 4, rates, momenta)
    for number in range(3):
        only = slice(number, number + 1)
        own_rates = (float(rates[number]), float(momenta[number]))
        alone = stochastic(start[only], points[:, only], targets[:, only], *own_rates)
        assert torch.allclose(alone[:, 0], together[:, number], rtol=1e-12)
        alone = expected(start[only], fixed[only], aims[only], 4, *own_rates)
        assert torch.allclose(alone[:, 0], averaged[:, number], rtol=1e-12)
    assert torch.equal(together[-1, 2], start[2]), "a rate of 0"


def test_frames() -> None:
    assert networks.recorded_steps(10, 4) == [0, 4, 8, 10] and networks.recorded_steps(8, 4) == [
        0,
        4,
        8,
    ]
    assert networks.recorded_steps(1, 100) == [0, 1]
    start = some(2)
    points = normal_doubles(10, 2, 2)
    targets = labels_of(10, 2)
    every = stochastic(start, points, targets, every=1)
    assert torch.equal(stochastic(start, points, targets, every=4), every[[0, 4, 8, 10]])
    fixed = points[0][:, None], targets[0][:, None]
    every = expected(start, *fixed, 10, every=1)
    assert torch.equal(expected(start, *fixed, 10, every=4), every[[0, 4, 8, 10]])


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from(["stochastic", "expected"]))
def test_symmetries(seed: int, kind: str) -> None:
    """Turned points with turned weights, opposite labels with opposite output weights, and units in
    another order.

    Moved points are none: the gradient of the hidden weights grows with x.
    """
    start = some(2, seed=seed)
    points = normal_doubles(8, 2, 2, seed=seed)
    targets = labels_of(8, 2, seed=seed)
    turn = torch.linalg.qr(normal_doubles(2, 2, seed=seed + 1))[0]
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))

    def descend(at: Tensor, x: Tensor, y: Tensor) -> Tensor:
        if kind == "stochastic":
            return stochastic(at, x, y, 0.2, 0.7, 3)
        return expected(at, x.movedim(0, 1), y.movedim(0, 1), 7, 0.2, 0.7, 3)

    def turned(rows: Tensor) -> Tensor:
        hidden, output, last = networks.parts(rows)
        return networks.rows_of(
            torch.cat([hidden[..., :2] @ turn.T, hidden[..., 2:]], -1), output, last
        )

    def renamed(rows: Tensor) -> Tensor:
        hidden, output, last = networks.parts(rows)
        return networks.rows_of(hidden, -output, -last)

    def reordered(rows: Tensor) -> Tensor:
        hidden, output, last = networks.parts(rows)
        return networks.rows_of(hidden[..., order, :], output[..., order], last)

    plain = descend(start, points, targets)
    for change, x, y in (
        (turned, points @ turn.T, targets),
        (renamed, points, 1 - targets),
        (reordered, points, targets),
    ):
        assert torch.allclose(descend(change(start), x, y), change(plain), rtol=1e-9, atol=1e-11)


def test_float32_follows_float64() -> None:
    start = some(3, units=50) / 7
    points = normal_doubles(200, 3, 2)
    targets = labels_of(200, 3).round()
    exact = stochastic(start, points, targets, 0.02, 0.9)
    single = stochastic(start.float(), points.float(), targets.float(), 0.02, 0.9)
    assert single.dtype == torch.float32 and torch.allclose(single.double(), exact, atol=1e-4)


def test_weights_that_grow_beyond_all_numbers_are_said() -> None:
    # Hidden values of 1e30, weighed by 1e30 and -1e30.
    big = torch.tensor([[1e30] * 4 + [0.0, 0.0] + [1e30, -1e30] + [0.0]])
    with refuses("learning_rate", "finite"):
        stochastic(big, torch.ones(3, 1, 2), torch.zeros(3, 1))
    with refuses("learning_rate", "finite"):
        expected(big, torch.ones(1, 3, 2), torch.zeros(1, 3), 3)
