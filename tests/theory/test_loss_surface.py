"""Surfaces against single networks, and their slopes against autograd, in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from ddlab import networks, theory
from ddlab.data import ImageData
from ddlab.networks import Network
from ddlab.networks.specification import _build
from tests.support import assert_unchanged, refuses, snapshot

F64 = torch.float64
X, Y = torch.tensor([-0.5, 0.0, 1.0], dtype=F64), torch.tensor([0.0, 0.7], dtype=F64)


def precise(network: Network) -> Network:
    weights = {name: value.double() if value.is_floating_point() else value for name, value in network.weights.items()}
    return Network(spec=network.spec, weights=weights)


@pytest.fixture(scope="module")
def setting(teacher: Network, grey: ImageData) -> tuple[Network, Tensor, Tensor, Tensor]:
    """Network, directions, images and labels."""
    chosen = torch.tensor([0, 5, 13, 20, 25, 30, 35])
    network = precise(teacher)
    directions = theory.filter_directions(network, biases=True)
    return network, directions, grey.normalised(chosen).double(), grey.train_labels[chosen]


def module_at(network: Network, row: Tensor) -> torch.nn.Module:
    module = _build(network.spec).double()
    module.load_state_dict(network.weights)
    torch.nn.utils.vector_to_parameters(row, module.parameters())
    return module


@pytest.mark.parametrize("batch_norm", ["kept", "recomputed"])
def test_a_networks_surface_is_that_of_single_modules(
    setting: tuple[Network, Tensor, Tensor, Tensor], batch_norm: str
) -> None:
    network, directions, images, labels = setting
    before, seen = snapshot([network.weights, directions, images]), []
    found = theory.network_surface(
        network, directions, X, Y, images, labels, batch_norm=batch_norm, batch_size=3,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert_unchanged(before, [network.weights, directions, images])
    assert seen == [(number, 6) for number in range(1, 7)]
    origin = theory.parameter_row(network)
    for row, b in enumerate(Y):
        for column, a in enumerate(X):
            module = module_at(network, origin + a * directions[0] + b * directions[1])
            logits = module.train(batch_norm == "recomputed")(images).detach()
            wanted = float(F.cross_entropy(logits, labels))
            assert float(found.cross_entropy[row, column]) == pytest.approx(wanted, rel=1e-9)
            right = float((logits.argmax(1) == labels).double().mean())
            assert float(found.accuracy_fraction[row, column]) == pytest.approx(right)


def test_the_two_kinds_of_batch_norm_differ(setting: tuple[Network, Tensor, Tensor, Tensor]) -> None:
    kept, fresh = (
        theory.network_surface(*setting[:2], X, Y, *setting[2:], batch_norm=how) for how in ("kept", "recomputed")
    )
    assert not torch.allclose(kept.cross_entropy, fresh.cross_entropy, rtol=0.01)


def test_slopes_are_autograds(setting: tuple[Network, Tensor, Tensor, Tensor]) -> None:
    network, directions, images, labels = setting
    step = 1e-5
    ends = torch.tensor([-step, step], dtype=F64)
    zero = torch.zeros(1, dtype=F64)
    module = module_at(network, theory.parameter_row(network)).eval()
    F.cross_entropy(module(images), labels).backward()
    gradient = torch.cat([value.grad.flatten() for value in module.parameters()])  # type: ignore[union-attr]
    along_x = theory.network_surface(network, directions, ends, zero, images, labels).cross_entropy[0]
    along_y = theory.network_surface(network, directions, zero, ends, images, labels).cross_entropy[:, 0]
    for line, direction in ((along_x, directions[0]), (along_y, directions[1])):
        assert float(line[1] - line[0]) / (2 * step) == pytest.approx(float(gradient @ direction), rel=1e-4)


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


def test_what_progress_raises_ends_it(setting: tuple[Network, Tensor, Tensor, Tensor]) -> None:
    def stop(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        theory.network_surface(*setting[:2], X, Y, *setting[2:], progress=stop)


def test_what_is_refused(setting: tuple[Network, Tensor, Tensor, Tensor]) -> None:
    network, directions, images, labels = setting
    good: dict[str, Any] = {
        "network": network, "directions": directions, "x": X, "y": Y, "images": images, "labels": labels,
    }  # fmt: skip
    for name, value, words in (
        ("directions", directions[:, :3], "[2, "), ("x", X[:, None], "[columns]"), ("labels", labels + 3, "[0, 2]"),
    ):  # fmt: skip
        with refuses(words):
            theory.network_surface(**{**good, name: value})
    with refuses("x and y", "finite"):
        theory.network_surface(**{**good, "x": X * 1e300})
    with refuses("labels", "at least one"):
        theory.network_surface(**{**good, "images": images[:0], "labels": labels[:0]})
    toy = theory.initial_toys(1)[0]
    with refuses("directions", "[2, 201]"):
        theory.toy_surface(toy, torch.zeros(2, 3), torch.zeros(1), torch.zeros(1), torch.zeros(1, 2), torch.zeros(1))


def test_networks_without_batch_norm_have_one_surface(grey: ImageData) -> None:
    network = precise(networks.initialise(networks.spec("mlp", width=5).for_data(grey), seed=0))
    directions = theory.filter_directions(network)
    images, labels = grey.normalised(torch.arange(5)).double(), grey.train_labels[:5]
    setting = network, directions, X, Y, images, labels
    one, other = (theory.network_surface(*setting, batch_norm=how) for how in ("kept", "recomputed"))
    assert torch.allclose(one.cross_entropy, other.cross_entropy)
