r"""Generators: small networks that turn latent vectors and class labels into the images of a set.

No training here.

Such et al. 2020 (Generative Teaching Networks, arXiv 1912.07768). Each layer is

    y = W x + b,   W = g V / ||V||    `layer_weight`

with a norm and a g for each output unit (weight normalisation, Salimans & Kingma 2016), or W = V
where there is no g; leaky ReLU of slope .1 between layers, 2 tanh at the end, in
normalised pixels.

perceptron       [z; one-hot] -> width -> pixels
convolutional    [z; one-hot] -> width -> width / 8 maps of a quarter of the size
                 -> (twice as large, 3x3) x 2, over width / 16 maps, as in the reference code:
                 reflected edges, and batch norm beside weight norm in all layers but the last

Batch norm takes the mean and variance of the images that are made together, so a batch is part of
what a set stores. The class of row i is i mod classes.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors

LAYOUTS = ("convolutional", "perceptron")
# GTN's slope below 0.
LEAK = 0.1
# Images lie in -REACH to REACH, normalised: tanh alone would end at 1.
REACH = 2.0
# PyTorch's default for batch norm.
EPSILON = 1e-5
_PARTS = ("length", "bias", "scale", "shift")  # beside the direction, where a layer has them


def layer_weight(direction: Tensor, length: Tensor | None) -> Tensor:
    """Return W = g V / ||V||, for each output unit by itself, or V where there is no g [units]."""
    if length is None:
        return direction
    norms = direction.flatten(1).norm(dim=1)
    return direction * (length / norms).view(-1, *[1] * (direction.ndim - 1))


def first_weights(
    layout: str,
    shape: tuple[int, int, int],
    *,
    inputs: int,
    width: int,
    weight_norm: bool,
    draws: torch.Generator,
) -> dict[str, Tensor]:
    """Draw the first weights by name, "LAYER.PART".

    He's normal draw (He et al. 2015), g = ||V||, no shifts.

    Args:
        layout: one of `LAYOUTS`.
        shape: (channels, h, w) of an image; divisible by 4 where the layout is convolutional.
        inputs: latent numbers and classes together.
        width: units of the first hidden layer.
    """
    channels, height, wide = shape
    if layout == "perceptron":
        sizes: list[tuple[int, ...]] = [(width, inputs), (math.prod(shape), width)]
    else:
        if height % 4 or wide % 4 or min(height, wide) < 8 or width < 16:
            errors.fail(
                "generator",
                "for sides divisible by 4, at least 8, and a width of at least 16",
                [*shape, width],
            )
        maps = width // 8
        few = width // 16
        pixels = height // 4 * (wide // 4)
        sizes = [(width, inputs), (maps * pixels, width), (few, maps, 3, 3), (channels, few, 3, 3)]
    weights: dict[str, Tensor] = {}
    for layer, size in enumerate(sizes):
        direction = torch.randn(size, generator=draws) * (2 / math.prod(size[1:])) ** 0.5
        weights[f"{layer}.direction"] = direction
        if weight_norm:
            weights[f"{layer}.length"] = direction.flatten(1).norm(dim=1)
        # Batch norm has a shift of its own, so the layers before one need no bias.
        if layout == "perceptron" or layer == len(sizes) - 1:
            weights[f"{layer}.bias"] = torch.zeros(size[0])
        else:
            weights |= {
                f"{layer}.scale": torch.ones(size[0]),
                f"{layer}.shift": torch.zeros(size[0]),
            }
    return weights


def generate(
    weights: Mapping[str, Tensor], latents: Tensor, labels: Tensor, shape: tuple[int, int, int]
) -> Tensor:
    """Return one batch of images.

    Args:
        weights: as `first_weights` names them.
        latents: [b, d].
        labels: class labels int64 [b].

    Returns:
        [b, channels, h, w], normalised pixels from -2 to 2.
    """
    count = sum(name.endswith(".direction") for name in weights)
    # The number of classes is what the first layer takes beside the latent numbers.
    one_hot = F.one_hot(labels, weights["0.direction"].shape[1] - latents.shape[1])
    activations = torch.cat([latents, one_hot.to(latents)], 1)
    for layer in range(count):
        direction = weights[f"{layer}.direction"]
        length, bias, scale, shift = (weights.get(f"{layer}.{part}") for part in _PARTS)
        if direction.ndim == 2:
            activations = F.linear(activations, layer_weight(direction, length), bias)
        else:
            # The first map comes out of a linear layer as a row of numbers.
            activations = (
                activations.view(len(activations), direction.shape[1], shape[1] // 4, shape[2] // 4)
                if activations.ndim == 2
                else activations
            )
            large = F.pad(F.interpolate(activations, scale_factor=2), (1, 1, 1, 1), mode="reflect")
            activations = F.conv2d(large, layer_weight(direction, length), bias)
        if scale is not None:
            activations = F.batch_norm(
                activations, None, None, scale, shift, training=True, eps=EPSILON
            )
        if layer < count - 1:
            activations = F.leaky_relu(activations, LEAK)
    return REACH * torch.tanh(activations).view(len(activations), *shape)


def generated(
    weights: Mapping[str, Tensor],
    latents: Tensor,
    labels: Tensor,
    shape: tuple[int, int, int],
    batch: int,
) -> Tensor:
    """Return all images [n, channels, h, w], made a batch at a time; see `generate`."""
    batches = zip(latents.split(batch), labels.split(batch), strict=True)
    return torch.cat([generate(weights, few, their, shape) for few, their in batches])


def decoded(tensors: dict[str, Tensor], settings: dict[str, Any]) -> Tensor:
    """Return the images of a set of kind "generator".

    Raises:
        DDLabError: tensors or settings that make no images.
    """
    if set(settings) != {"shape", "batch"}:
        errors.fail(
            "settings",
            "{'shape': [channels, h, w], 'batch': a number} for a set of kind 'generator'",
            settings,
        )
    shape = errors.check_instance("settings['shape']", settings["shape"], list, "[channels, h, w]")
    sides = [errors.check_integer("settings['shape']", side, 1, 4096) for side in shape]
    batch = errors.check_integer("settings['batch']", settings["batch"], 1)
    if len(sides) != 3 or not {"latents", "0.direction"} <= set(tensors):
        errors.fail(
            "tensors",
            "'latents' and the layers of a generator, for a shape of three sides",
            sorted(tensors),
        )
    weights = {name: value for name, value in tensors.items() if name != "latents"}
    latents = errors.check_tensor(
        "latents", tensors["latents"], shape=[None, None], dtype=torch.float32
    )
    try:
        classes = weights["0.direction"].shape[1] - latents.shape[1]
        labels = torch.arange(len(latents)) % classes
        return generated(weights, latents, labels, (sides[0], sides[1], sides[2]), batch)
    except (RuntimeError, ValueError, ArithmeticError, LookupError) as problem:
        requirement = f"layers that fit together and make images of {sides}"
        raise errors.DDLabError(
            f"tensors must be {requirement}; given {sorted(weights)}."
        ) from problem
