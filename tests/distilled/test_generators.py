"""Generators against layers written out in float64, weight normalisation, a set of that kind, and
what is refused.
"""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddlab.distilled import DistilledSet, HardLabels, generators
from tests.support import refuses

SHAPE = (1, 8, 8)
LATENT = 3
CLASSES = 2


def weights_of(layout: str, weight_norm: bool = True) -> dict[str, Tensor]:
    draws = torch.Generator().manual_seed(5)
    weights = generators.first_weights(
        layout, SHAPE, inputs=LATENT + CLASSES, width=16, weight_norm=weight_norm, draws=draws
    )
    noise = {
        name: 0.3 * torch.randn(value.shape, generator=draws) for name, value in weights.items()
    }
    return {name: (value + noise[name]).double() for name, value in weights.items()}


def written_out(layout: str, weights: dict[str, Tensor], latents: Tensor, labels: Tensor) -> Tensor:
    """Torch's modules with torch's own weight norm."""

    def layer(number: int, module: Any) -> nn.Module:
        part = {
            name.split(".")[1]: value for name, value in weights.items() if name[0] == str(number)
        }
        module.weight.data = part["direction"]
        if module.bias is not None:
            module.bias.data = part["bias"]
        if "length" in part:
            module = nn.utils.parametrizations.weight_norm(module)
            module.parametrizations.weight.original0.data = part["length"].view_as(
                module.parametrizations.weight.original0
            )
        return module

    def norm(number: int, module: Any) -> nn.Module:
        module.weight.data = weights[f"{number}.scale"]
        module.bias.data = weights[f"{number}.shift"]
        return module

    leak: Any = nn.LeakyReLU(0.1)
    if layout == "perceptron":
        parts: list[Any] = [
            layer(0, nn.Linear(5, 16)),
            leak,
            layer(1, nn.Linear(16, 64)),
            nn.Unflatten(1, SHAPE),
        ]
    else:
        parts = [
            layer(0, nn.Linear(5, 16, bias=False)),
            norm(0, nn.BatchNorm1d(16)),
            leak,
            layer(1, nn.Linear(16, 8, bias=False)),
            norm(1, nn.BatchNorm1d(8)),
            leak,
            nn.Unflatten(1, (2, 2, 2)),
            nn.Upsample(scale_factor=2),
            nn.ReflectionPad2d(1),
            layer(2, nn.Conv2d(2, 1, 3, bias=False)),
            norm(2, nn.BatchNorm2d(1)),
            leak,
            nn.Upsample(scale_factor=2),
            nn.ReflectionPad2d(1),
            layer(3, nn.Conv2d(1, 1, 3)),
        ]
    inputs = torch.cat([latents, F.one_hot(labels, CLASSES).double()], 1)
    return 2 * torch.tanh(nn.Sequential(*parts).double().train()(inputs))


@pytest.mark.parametrize("weight_norm", [True, False])
@pytest.mark.parametrize("layout", generators.LAYOUTS)
def test_a_generator_is_its_layers_gradients_included(layout: str, weight_norm: bool) -> None:
    weights = {
        name: value.requires_grad_() for name, value in weights_of(layout, weight_norm).items()
    }
    latents = torch.randn(
        6, LATENT, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    latents.requires_grad_()
    labels = torch.arange(6) % CLASSES
    ours = generators.generate(weights, latents, labels, SHAPE)
    theirs = written_out(layout, weights, latents, labels)
    assert ours.shape == (6, *SHAPE) and torch.allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    direction = torch.randn(
        ours.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64
    )
    our_gradient = torch.autograd.grad((ours * direction).sum(), latents)[0]
    their_gradient = torch.autograd.grad((theirs * direction).sum(), latents)[0]
    assert our_gradient.any() and torch.allclose(
        our_gradient, their_gradient, rtol=1e-9, atol=1e-13
    )


def test_weight_normalisation_knows_no_length_of_the_direction() -> None:
    direction = torch.randn(4, 3, 2, 2, dtype=torch.float64)
    length = torch.rand(4, dtype=torch.float64) + 0.5
    weight = generators.layer_weight(direction, length)
    assert (
        torch.allclose(weight.flatten(1).norm(dim=1), length)
        and generators.layer_weight(direction, None) is direction
    )
    scaled = direction * torch.tensor([0.1, 2.0, 30.0, 4.0], dtype=torch.float64).view(4, 1, 1, 1)
    assert torch.allclose(generators.layer_weight(scaled, length), weight, rtol=1e-12)
    direction.requires_grad_()
    (slope,) = torch.autograd.grad(
        generators.layer_weight(direction, length).sin().sum(), direction
    )
    along = (slope * direction).flatten(1).sum(1)  # to make V longer changes nothing
    assert slope.any() and along.abs().max() < 1e-12


def set_of(weights: dict[str, Tensor], **settings: Any) -> DistilledSet:
    tensors = {name: value.detach().float() for name, value in weights.items()}
    return DistilledSet(
        tensors={"latents": torch.randn(4, LATENT, generator=torch.Generator().manual_seed(1))}
        | tensors,
        targets=(HardLabels(torch.arange(4) % CLASSES),),
        class_names=("a", "b"),
        mean=torch.zeros(1),
        std=torch.ones(1),
        kind="generator",
        settings={"shape": [*SHAPE], "batch": 2} | settings,
    )


def test_a_set_makes_its_images_batch_by_batch_and_pays_for_its_weights(tmp_path: Any) -> None:
    weights = weights_of("convolutional")
    distilled = set_of(weights)
    few = {name: value.float() for name, value in weights.items()}
    latents = distilled.tensors["latents"]
    labels = torch.arange(4) % CLASSES
    first = generators.generate(few, latents[:2], labels[:2], SHAPE)
    assert torch.equal(distilled.images[:2], first) and distilled.images.shape == (4, *SHAPE)
    # Batch norm sees a batch.
    assert not torch.equal(generators.generate(few, latents, labels, SHAPE)[:2], first)
    assert (
        distilled.storage_floats()
        == sum(value.numel() for value in weights.values()) + 4 * LATENT + 4
    )
    read = DistilledSet.load(distilled.save(tmp_path / "set.safetensors"))
    assert torch.equal(read.images, distilled.images) and read.fingerprint == distilled.fingerprint


def test_what_is_refused() -> None:
    weights = weights_of("perceptron")
    with refuses("batch"):
        set_of(weights, batch=0)
    with refuses("tensors"):
        set_of(weights, shape=[1, 8])
    with refuses("tensors"):
        set_of(weights, shape=[1, 9, 9])
    with refuses("settings"):
        set_of(weights, more=1)
    with refuses("tensors"):
        set_of({name: value for name, value in weights.items() if name[0] != "0"})
    with refuses("generator", "divisible by 4"):
        generators.first_weights(
            "convolutional",
            (1, 10, 10),
            inputs=5,
            width=16,
            weight_norm=True,
            draws=torch.Generator(),
        )
