"""DWA's equations 13 to 15 measured: against plain torch in float64, and in a world where their premise is true."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from ddlab import networks, theory
from ddlab.data import ImageData
from ddlab.networks import Network
from tests.support import assert_unchanged, made_data, refuses, snapshot

LAST = ["classifier.weight", "classifier.bias"]


def in_float64(network: Network) -> Network:
    weights = {name: value.double() if value.is_floating_point() else value for name, value in network.weights.items()}
    return Network(spec=network.spec, weights=weights)


def plain_loss(weights: dict[str, Tensor], network: Network, data: ImageData, chosen: Any) -> Tensor:
    """The summed cross-entropy, of all chosen images at once, with log-softmax written out."""
    images = ((data.train_images[chosen].double() / 255).transpose(1, 3) - data.mean.double()) / data.std.double()
    logits = networks.call(network.spec, {**network.weights, **weights}, images.transpose(1, 3))[0].logits
    right = logits[torch.arange(len(logits)), data.train_labels[chosen]]
    return (logits.exp().sum(1).log() - right).sum()


def gradient(network: Network, data: ImageData, chosen: Any, names: list[str]) -> dict[str, Tensor]:
    free = {name: network.weights[name].clone().requires_grad_() for name in names}
    return dict(
        zip(names, torch.autograd.grad(plain_loss(free, network, data, chosen), list(free.values())), strict=True)
    )


def up(network: Network, data: ImageData, batch: Tensor, rho: float, names: list[str]) -> dict[str, Tensor]:
    """The weights after one step of length rho that raises the batch's loss."""
    slope = gradient(network, data, batch, names)
    length = torch.cat([part.flatten() for part in slope.values()]).norm()
    return {name: network.weights[name] + rho * part / length for name, part in slope.items()}


def overlapping() -> tuple[ImageData, Network]:
    """Images whose labels are partly wrong, so that no network fits them all, and a network of few weights."""
    data = made_data(train=40, size=2)
    labels = data.train_labels.clone()
    labels[::4] = (labels[::4] + 1) % 3
    data = ImageData(
        name="overlapping", train_images=data.train_images, train_labels=labels, test_images=data.test_images,
        test_labels=data.test_labels, class_names=data.class_names,
    )  # fmt: skip
    spec = networks.spec("mlp", width=3, depth=1, activation="tanh").for_data(data)
    return data, networks.initialise(spec, seed=0)


def test_equals_plain_torch_in_float64(grey: ImageData, teacher: Network) -> None:
    network = in_float64(teacher)
    names = networks.parameter_names(network.spec)
    draw = torch.Generator().manual_seed(0)
    delta = {
        name: 0.01 * torch.randn(network.weights[name].shape, generator=draw, dtype=torch.float64) for name in names
    }
    adjusted = {name: network.weights[name] + delta[name] for name in names}
    batch = torch.tensor([3, 0, 20, 35])
    rest = [index for index in range(36) if index not in batch.tolist()]
    before = snapshot(network.weights)
    found = theory.rest_loss_change(network, adjusted, grey, batch, batch_size=5)
    assert_unchanged(before, network.weights)
    assert (found.batch_images, found.rest_images) == (4, 32)
    slopes = {}
    for part, chosen in (("batch", batch), ("rest", rest)):
        at = float(plain_loss({}, network, grey, chosen)) / len(chosen)
        then = float(plain_loss(adjusted, network, grey, chosen)) / len(chosen)
        # Pixels are normalised in float32.
        assert getattr(found, f"{part}_before") == pytest.approx(at, rel=1e-5)
        assert getattr(found, f"{part}_after") == pytest.approx(then, rel=1e-5)
        slopes[part] = gradient(network, grey, chosen, names)
    product = {part: sum(float((slope[name] * delta[name]).sum()) for name in names) for part, slope in slopes.items()}
    assert found.predicted == pytest.approx(product["rest"] / 32, rel=1e-4)
    assert found.predicted_from_batch == pytest.approx(-product["batch"] / 32, rel=1e-4)
    length = {part: torch.cat([slope[name].flatten() for name in names]) for part, slope in slopes.items()}
    ratio = float((length["batch"] + length["rest"]).norm() / length["batch"].norm())
    assert found.gradient_ratio == pytest.approx(ratio, rel=1e-4)
    assert found.batch_change == found.batch_after - found.batch_before
    assert found.rest_change == found.rest_after - found.rest_before
    assert found.predicted_from_batch_loss == pytest.approx(-found.batch_change * 4 / 32)


def test_it_is_in_evaluation_mode_and_in_float32_too(grey: ImageData, teacher: Network) -> None:
    batch = torch.tensor([0, 12, 24])
    same = theory.rest_loss_change(teacher, {LAST[1]: teacher.weights[LAST[1]]}, grey, batch)
    assert same.batch_change == same.rest_change == same.predicted == 0
    alone = theory.rest_loss_change(teacher, {LAST[1]: teacher.weights[LAST[1]]}, grey, batch, batch_size=1)
    assert alone.rest_before == pytest.approx(same.rest_before, rel=1e-5), "batch statistics would differ"
    precise = in_float64(teacher)
    again = theory.rest_loss_change(precise, {LAST[1]: precise.weights[LAST[1]]}, grey, batch)
    assert same.rest_before == pytest.approx(again.rest_before, rel=1e-5)


@pytest.mark.parametrize("names", [None, LAST[1:]])
def test_where_the_premise_is_true_the_claim_is_true_to_first_order(names: list[str] | None) -> None:
    data, start = overlapping()
    network = theory.at_optimum(start, data, names, tolerance=1e-9)
    names = names or LAST
    assert all(value.dtype == torch.float64 for value in network.weights.values())
    assert network.provenance["process"] == "at_optimum" and network.provenance["largest_gradient"] <= 1e-9
    whole = gradient(network, data, slice(None), names)
    assert max(float(part.abs().max()) for part in whole.values()) < 1e-4  # pixels in float32 above, of the sum of 120
    kept = set(start.weights) - set(names)
    assert all(torch.equal(network.weights[name], start.weights[name].double()) for name in kept)

    batch = torch.tensor([0, 1, 41, 90])
    short = theory.rest_loss_change(network, up(network, data, batch, 1e-5, names), data, batch)
    assert short.gradient_ratio < 1e-6
    assert short.batch_change > 0 > short.rest_change
    assert short.predicted == pytest.approx(short.predicted_from_batch, rel=1e-5)
    assert short.rest_change == pytest.approx(short.predicted, rel=0.05)
    assert short.rest_change == pytest.approx(short.predicted_from_batch_loss, rel=0.05)
    far = theory.rest_loss_change(network, up(network, data, batch, 1.0, names), data, batch)
    assert far.batch_change > 0 and far.rest_change > 0 > far.predicted, "the second order wins"


def test_where_the_premise_is_false_the_claim_may_be_false() -> None:
    data, start = overlapping()
    network = in_float64(start)
    batch = torch.tensor([0, 1, 41, 90])
    found = theory.rest_loss_change(network, up(network, data, batch, 1e-4, LAST), data, batch)
    assert found.gradient_ratio > 1
    assert found.batch_change > 0 and found.rest_change > 0 > found.predicted_from_batch
    assert found.rest_change == pytest.approx(found.predicted, rel=0.01), "equation 14 needs no premise"


def test_what_is_refused(grey: ImageData, teacher: Network) -> None:
    bias = {LAST[1]: teacher.weights[LAST[1]]}
    batch = torch.tensor([0, 1])

    for wrong in (torch.arange(0), torch.arange(36), torch.tensor([36]), torch.tensor([-1])):
        with refuses("batch", "some of the 36 training images"):
            theory.rest_loss_change(teacher, bias, grey, wrong)
    with refuses("batch", "different"):
        theory.rest_loss_change(teacher, bias, grey, torch.tensor([1, 1]))
    with refuses("adjusted_weights", "not empty"):
        theory.rest_loss_change(teacher, {}, grey, batch)
    with refuses("a name in adjusted_weights"):
        theory.rest_loss_change(teacher, {"weight": bias[LAST[1]]}, grey, batch)
    with refuses("adjusted_weights['classifier.bias']", "float32"):
        theory.rest_loss_change(teacher, {LAST[1]: bias[LAST[1]].double()}, grey, batch)
    with refuses("the network's logits", "NaN or infinite"):
        theory.rest_loss_change(teacher, {LAST[0]: torch.full_like(teacher.weights[LAST[0]], 3e38)}, grey, batch)
    with refuses("network", "3 classes"):
        other = made_data(classes=2)
        theory.rest_loss_change(networks.initialise(networks.spec("mlp").for_data(other), seed=0), bias, grey, batch)
    with refuses("iterations", "enough"):
        theory.at_optimum(teacher, grey, iterations=1)
    with refuses("names", "different"):
        theory.at_optimum(teacher, grey, [LAST[1], LAST[1]])
