"""Planes of weights against numpy, scikit-learn and plain loops, in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from torch import Tensor

from ddlab.lessons.ideal_data import networks, toys
from ddlab.lessons.ideal_data.world import main_directions, project, random_directions

F64 = torch.float64


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def test_units_of_random_directions_are_as_long_as_the_networks() -> None:
    row = networks.first_weights(1)[0].double()
    directions = random_directions(row, seed=1)
    (own_hidden, own_output, _) = networks.parts(row)
    (hidden, output, last) = networks.parts(directions)
    assert directions.shape == (2, 201) and not torch.allclose(directions[0], directions[1])
    for number in range(2):
        torch.testing.assert_close(hidden[number, :, :2].norm(dim=1), own_hidden[:, :2].norm(dim=1))
        torch.testing.assert_close(output[number].norm(), own_output.norm())
    assert not hidden[..., 2].any() and not last.any(), "no biases"
    assert torch.allclose(random_directions(3 * row, seed=1), 3 * directions)


def test_main_directions_are_principal_components() -> None:
    moves = normal(9, 30) * torch.linspace(3, 0.1, 30, dtype=F64)
    centred = moves - moves.mean(0)
    components = torch.from_numpy(PCA(2).fit(moves.numpy()).components_)
    assert torch.allclose(
        (main_directions(centred) * components).sum(1).abs(), torch.ones(2, dtype=F64), atol=1e-10
    )
    directions = main_directions(moves)
    size = np.linalg.svd(moves.numpy())[1]
    assert torch.allclose(directions @ directions.T, torch.eye(2, dtype=F64), atol=1e-12)
    assert project(moves, directions)[1] == pytest.approx((size[:2] ** 2).sum() / (size**2).sum())
    for seed in range(8):
        more_moves = normal(6, 10, seed=seed)
        at, _ = project(more_moves, main_directions(more_moves))
        assert (at.gather(0, at.abs().argmax(0)[None]) > 0).all(), (
            "each points to where the moves reach farthest"
        )


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(4, 9))
def test_projection_is_least_squares(seed: int, length: int) -> None:
    moves = normal(5, length, seed=seed)
    directions = normal(2, length, seed=seed + 2) * torch.tensor([[0.01], [100.0]], dtype=F64)
    at, captured = project(moves, directions)
    expected = np.linalg.lstsq(directions.numpy().T, moves.numpy().T, rcond=None)[0].T
    assert at.numpy() == pytest.approx(expected, rel=1e-6, abs=1e-9)
    residual = ((moves.numpy() - expected @ directions.numpy()) ** 2).sum() / float(
        moves.square().sum()
    )
    assert captured == pytest.approx(1 - residual, abs=1e-9)
    assert project(moves, main_directions(moves))[1] >= captured - 1e-9, "no plane holds more"
    in_plane = normal(6, 2, seed=seed)
    again, whole = project(in_plane @ directions, directions)
    assert torch.allclose(again, in_plane) and whole == pytest.approx(1), (
        "what lies in the plane is found there"
    )


def test_random_directions_hold_next_to_nothing_of_a_real_run() -> None:
    runs = toys.train([toys.Config(seeds=1, steps=200, record_every=20, deviation=0.2)])
    rows = runs.rows[:, 0, 0].double()
    moves = rows - rows[-1]
    assert (
        project(moves, random_directions(rows[-1], seed=0))[1]
        < 0.2
        < 0.9
        < project(moves, main_directions(moves))[1]
    )
