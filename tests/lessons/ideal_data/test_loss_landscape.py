"""Planes of weights against numpy, scikit-learn and plain loops, in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from torch import Tensor

from ddlab.lessons.ideal_data import theory
from ddlab.lessons.ideal_data.theory import ToyNetworks
from ddlab.lessons.ideal_data.theory.loss_landscape import plane_rows

F64 = torch.float64


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def toys(*block: int, units: int = 4) -> ToyNetworks:
    start = theory.initial_toys(int(torch.tensor(block).prod()) if block else 1, units=units)
    return start.from_rows(start.rows.double().view(*block, -1))


@pytest.mark.parametrize("biases", [False, True])
def test_units_are_as_long_as_the_toys(biases: bool) -> None:
    block = toys(2, 3)
    found = theory.toy_directions(block, seed=1, biases=biases)
    assert found.shape == (2, 3, 2, 17)
    for a in range(2):
        for b in range(3):
            own = block[a, b]
            for direction in found[a, b]:
                part = own.from_rows(direction)
                for unit in range(4):
                    assert float(part.hidden_weight[unit].norm()) == pytest.approx(
                        float(own.hidden_weight[unit].norm())
                    )
                assert float(part.output_weight.norm()) == pytest.approx(float(own.output_weight.norm()))
                wanted = (float(own.hidden_bias.norm()), abs(float(own.output_bias))) if biases else (0, 0)
                assert (float(part.hidden_bias.norm()), abs(float(part.output_bias))) == pytest.approx(wanted)
    assert torch.equal(theory.toy_directions(block[0, 2], seed=1, biases=biases), found[0, 2]), "one draw for all"
    bigger = block.from_rows(block.rows * 3)
    assert torch.allclose(theory.toy_directions(bigger, seed=1, biases=biases), 3 * found)


def test_directions_of_a_trajectory_are_principal_components() -> None:
    trajectory = normal(9, 30) * torch.linspace(3, 0.1, 30, dtype=F64)
    centred = theory.trajectory_directions(trajectory, origin=trajectory.mean(0), count=3)
    wanted = torch.from_numpy(PCA(3).fit(trajectory.numpy()).components_)
    assert torch.allclose((centred * wanted).sum(1).abs(), torch.ones(3, dtype=F64), atol=1e-10)
    found = theory.trajectory_directions(trajectory)
    _, size, right = np.linalg.svd((trajectory - trajectory[-1]).numpy())
    assert torch.allclose((found * torch.from_numpy(right[:2])).sum(1).abs(), torch.ones(2, dtype=F64), atol=1e-10)
    assert torch.allclose(found @ found.T, torch.eye(2, dtype=F64), atol=1e-12)
    shadow = theory.project(trajectory, trajectory[-1], found)
    assert float(shadow.captured_fraction) == pytest.approx((size[:2] ** 2).sum() / (size**2).sum())
    for seed in range(8):
        another = normal(6, 10, seed=seed)
        shadow = theory.project(another, another[-1], theory.trajectory_directions(another))
        far = shadow.coordinates.abs().argmax(0)
        assert (shadow.coordinates.gather(0, far[None]) > 0).all(), "each points to where the trajectory is farthest"
    both = theory.trajectory_directions(torch.stack([trajectory, -trajectory]))
    assert torch.allclose(both[0], found) and torch.allclose(both[1], -found)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(4, 9))
def test_projection_is_least_squares(seed: int, count: int, length: int) -> None:
    trajectory, origin = normal(5, length, seed=seed), normal(length, seed=seed + 1)
    directions = normal(count, length, seed=seed + 2) * torch.tensor([[0.01], [1.0], [100.0]], dtype=F64)[:count]
    found = theory.project(trajectory, origin, directions)
    moves = (trajectory - origin).numpy()
    wanted = np.linalg.lstsq(directions.numpy().T, moves.T, rcond=None)[0].T
    assert found.coordinates.numpy() == pytest.approx(wanted, rel=1e-6, abs=1e-9)
    left = ((moves - wanted @ directions.numpy()) ** 2).sum() / (moves**2).sum()
    assert float(found.captured_fraction) == pytest.approx(1 - left, abs=1e-9)
    best = theory.project(trajectory, origin, theory.trajectory_directions(trajectory, origin=origin, count=count))
    assert float(best.captured_fraction) >= float(found.captured_fraction) - 1e-9, "no plane holds more"


def test_what_lies_in_the_plane_is_found_there() -> None:
    origin, directions, there = normal(2, 12), normal(2, 2, 12, seed=1), normal(2, 6, 2, seed=2)
    trajectory = origin[:, None] + there @ directions
    found = theory.project(trajectory, origin, directions)
    assert torch.allclose(found.coordinates, there) and torch.allclose(
        found.captured_fraction, torch.ones(2, dtype=F64)
    )
    shared = theory.project(trajectory, origin[0], directions[0])
    assert torch.allclose(shared.coordinates[0], there[0]) and float(shared.captured_fraction[1]) < 0.99
    still = theory.project(origin[:1].expand(3, 12), origin[0], directions[0])
    assert still.captured_fraction == 1 and not still.coordinates.any()


def test_random_directions_hold_next_to_nothing_of_a_real_run() -> None:
    runs = theory.train_toys([theory.ToyConfig(seeds=1, steps=200, record_every=20, deviation=0.2)])
    trajectory = runs.networks.rows[:, 0, 0]
    random = theory.project(trajectory, trajectory[-1], theory.toy_directions(runs.networks[-1, 0, 0]))
    own = theory.project(trajectory, trajectory[-1], theory.trajectory_directions(trajectory))
    assert float(random.captured_fraction) < 0.2 and float(own.captured_fraction) > 0.9


def test_plane_rows_are_equation_1() -> None:
    origin, directions = normal(2, 5), normal(2, 2, 5, seed=1)
    x, y = torch.tensor([-1.0, 0.0, 2.0], dtype=F64), torch.tensor([0.5, 0.0], dtype=F64)
    found = plane_rows(origin, directions, x, y)
    assert found.shape == (2, 2, 3, 5)
    for n in range(2):
        for row, b in enumerate(y):
            for column, a in enumerate(x):
                assert torch.allclose(found[n, row, column], origin[n] + a * directions[n, 0] + b * directions[n, 1])
    assert torch.allclose(plane_rows(origin, directions[0], x, y)[1, 1, 2], origin[1] + 2 * directions[0, 0])


X, Y = torch.tensor([-0.5, 0.0, 1.0], dtype=F64), torch.tensor([0.0, 0.7], dtype=F64)


def test_toy_surfaces_are_those_of_single_networks() -> None:
    start = theory.initial_toys(2, units=4)
    block = start.from_rows(start.rows.double())
    points, labels = theory.spread_points(theory.bimodal_mixture(), 9)
    directions = theory.toy_directions(block, biases=True)
    found = theory.toy_surface(block, directions, X, Y, points, labels)
    assert found.mean_squared_error.shape == found.accuracy_fraction.shape == (2, 2, 3)
    for n in range(2):
        for row, b in enumerate(Y):
            for column, a in enumerate(X):
                at = block.from_rows(block.rows[n] + a * directions[n, 0] + b * directions[n, 1])
                hidden = torch.relu(points @ at.hidden_weight.T + at.hidden_bias)
                output = torch.sigmoid(hidden @ at.output_weight + at.output_bias)
                wanted = float((output - labels).square().mean())
                assert float(found.mean_squared_error[n, row, column]) == pytest.approx(wanted, rel=1e-12)
                assert float(found.accuracy_fraction[n, row, column]) == float(
                    ((output > 0.5) == (labels > 0.5)).double().mean()
                )
    alone = theory.toy_surface(block[1], directions[1], X, Y, points, labels)
    assert torch.allclose(alone.mean_squared_error, found.mean_squared_error[1])


def test_toy_slopes_are_autograds() -> None:
    start = theory.initial_toys(1, units=4)
    one = start.from_rows(start.rows.double())[0]
    points, labels = theory.spread_points(theory.bimodal_mixture(), 16)
    directions, step = theory.toy_directions(one, biases=True), 1e-5
    row = one.rows.clone().requires_grad_()
    at = one.from_rows(row)
    output = torch.sigmoid(torch.relu(points @ at.hidden_weight.T + at.hidden_bias) @ at.output_weight + at.output_bias)
    gradient = torch.autograd.grad((output - labels).square().mean(), row)[0]
    ends, zero = torch.tensor([-step, step], dtype=F64), torch.zeros(1, dtype=F64)
    line = theory.toy_surface(one, directions, ends, zero, points, labels).mean_squared_error[0]
    assert float(line[1] - line[0]) / (2 * step) == pytest.approx(float(gradient @ directions[0]), rel=1e-4)
