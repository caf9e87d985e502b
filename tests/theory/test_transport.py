"""ReLA's Proposition 2: ridge regression by layers against scikit-learn, what must not change it, trained against untrained."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from torch import Tensor

from ddlab import networks, theory
from ddlab.core import randomness
from ddlab.data import ImageData
from ddlab.networks import Network
from tests.support import refuses

seeds = st.integers(0, 999)


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def turned(points: Tensor, seed: int) -> Tensor:
    """By a random orthogonal matrix."""
    return points @ torch.linalg.qr(drawn(seed, points.shape[1], points.shape[1]))[0]


@pytest.mark.parametrize(("n", "wide", "ridge", "folds"), [(40, 5, 0.1, 5), (23, 30, 0.01, 3), (30, 6, 0.0, 4)])
def test_the_transport_is_scikit_learns_ridge(n: int, wide: int, ridge: float, folds: int) -> None:
    source = drawn(0, n, wide) * torch.arange(1, wide + 1) + 3
    target = source @ drawn(1, wide, 4) + 5 * drawn(2, n, 4) - 1
    found = theory.linear_transport(source, target, ridge=ridge, folds=folds, seed=7)
    order = torch.randperm(n, generator=randomness.generator(7, 0, "folds of a transport"))
    missed = spread = 0.0
    for part in order.tensor_split(folds):
        kept = torch.tensor([i for i in range(n) if i not in part.tolist()])
        penalty = ridge * float((source[kept] - source[kept].mean(0)).square().sum()) / wide
        model = Ridge(alpha=penalty, solver="svd").fit(source[kept].numpy(), target[kept].numpy())
        missed += float((target[part] - torch.from_numpy(model.predict(source[part].numpy()))).square().sum())
        spread += float((target[part] - target[kept].mean(0)).square().sum())
    assert found.r_squared == pytest.approx(1 - missed / spread, rel=1e-8)
    penalty = ridge * float((source - source.mean(0)).square().sum()) / wide
    fitted = Ridge(alpha=penalty, solver="svd").fit(source.numpy(), target.numpy()).predict(source.numpy())
    inside = 1 - float((target - torch.from_numpy(fitted)).square().sum() / (target - target.mean(0)).square().sum())
    assert found.in_sample == pytest.approx(inside, rel=1e-8)


@given(seed=seeds, scale=st.floats(0.01, 100), ridge=st.sampled_from([0.0, 1e-3, 1.0]))
def test_what_does_not_change_the_transport(seed: int, scale: float, ridge: float) -> None:
    source, target = drawn(seed, 24, 4), drawn(seed + 1, 24, 3) + drawn(seed, 24, 4)[:, :3]
    found = theory.linear_transport(source, target, ridge=ridge)
    assert found.r_squared <= found.in_sample <= 1
    moved = theory.linear_transport(
        scale * turned(source, seed + 2) + 9, turned(target, seed + 3).flip(1) / scale - 5, ridge=ridge
    )
    assert moved.r_squared == pytest.approx(found.r_squared, abs=1e-8)
    assert moved.in_sample == pytest.approx(found.in_sample, abs=1e-8)


@given(seed=seeds)
def test_a_linear_map_is_found_and_its_inverse_too(seed: int) -> None:
    source = drawn(seed, 30, 4)
    target = source @ (drawn(seed + 1, 4, 4) + 3 * torch.eye(4)) + 2
    for pair in ((source, target), (target, source)):
        assert theory.linear_transport(*pair, ridge=0).r_squared == pytest.approx(1, abs=1e-6)


@given(seed=seeds)
def test_dimensions_that_say_the_same_twice_change_nothing(seed: int) -> None:
    """Without a penalty their difference would be divided by its own rounding."""
    source, target = drawn(seed, 30, 4), drawn(seed + 1, 30, 2)
    twice = torch.cat([source, source @ drawn(seed + 2, 4, 5)], 1)
    found = [theory.linear_transport(one, target, ridge=0).r_squared for one in (source, twice)]
    assert found[1] == pytest.approx(found[0], abs=1e-8)


def test_noise_explains_nothing_and_the_rest_is_its_share() -> None:
    source, noise = drawn(0, 4000, 3), drawn(1, 4000, 3)
    assert abs(theory.linear_transport(source, noise).r_squared) < 0.01
    found = theory.linear_transport(source, source + math.sqrt(0.5) * noise)
    assert found.r_squared == pytest.approx(1 / 1.5, abs=0.02)
    wide = theory.linear_transport(drawn(2, 30, 60), drawn(3, 30, 2), ridge=0)
    assert wide.in_sample == pytest.approx(1) and wide.r_squared < 0.3  # the proposition as an equation, and beyond it


def test_numbers_of_any_size() -> None:
    source, target = drawn(0, 12, 2), drawn(1, 12, 2) + drawn(0, 12, 2)
    found = theory.linear_transport(source, target)
    tiny = theory.linear_transport(source * 1e-200, target * 1e-250)
    assert tiny.r_squared == pytest.approx(found.r_squared)
    flat = theory.linear_transport(torch.ones(12, 2, dtype=torch.float64), target)
    assert flat.r_squared <= 0 and flat.in_sample == pytest.approx(0, abs=1e-12)


def test_layers_are_those_of_the_network(grey: ImageData, teacher: Network) -> None:
    images = grey.normalised(slice(0, 7))
    found = theory.layer_representations(teacher, images, batch_size=3)
    norms = networks.batch_norm_layers(teacher.spec)
    assert list(found) == [*norms, "last_conv", "features", "logits"]
    outputs, _ = networks.call(teacher.spec, teacher.weights, images, batch_norm_inputs=True)
    torch.testing.assert_close(found[norms[1]], outputs.batch_norm_inputs[norms[1]].flatten(2).mean(2))
    torch.testing.assert_close(found["last_conv"], outputs.last_conv.flatten(2).mean(2))
    torch.testing.assert_close(found["features"], outputs.features)
    torch.testing.assert_close(found["logits"], outputs.logits)


def test_learning_shows_against_an_untrained_source(grey: ImageData, teacher: Network, other_teacher: Network) -> None:
    images = grey.normalised()
    raw = networks.initialise(teacher.spec, seed=5)
    trained, untrained = (theory.transport_by_layer(one, other_teacher, images) for one in (teacher, raw))
    assert trained["logits"].r_squared > untrained["logits"].r_squared + 0.05
    itself = theory.transport_by_layer(teacher, teacher, images, ridge=1e-9)
    assert all(one.r_squared > 0.99 for one in itself.values())
    assert trained["features"] == theory.linear_transport(
        theory.layer_representations(teacher, images)["features"],
        theory.layer_representations(other_teacher, images)["features"],
    )


def test_networks_of_two_families_share_the_last_layers(grey: ImageData, teacher: Network) -> None:
    other = networks.initialise(networks.spec("mlp", width=8).for_data(grey), seed=0)
    found = theory.transport_by_layer(teacher, other, grey.normalised())
    assert list(found) == ["last_conv", "features", "logits"]


def test_what_is_refused(grey: ImageData, teacher: Network) -> None:
    points = drawn(0, 6, 2)
    with refuses("target", "differs between samples"):
        theory.linear_transport(points, torch.ones(6, 1, dtype=torch.float64))
    with refuses("folds", "[2, 6]"):
        theory.linear_transport(points, points, folds=7)
    with refuses("images", "at least one"):
        theory.layer_representations(teacher, grey.normalised()[:0])
    weights = {
        name: value * math.nan if value.is_floating_point() else value for name, value in teacher.weights.items()
    }
    with refuses("network", "finite"):
        theory.layer_representations(Network(spec=teacher.spec, weights=weights), grey.normalised())
