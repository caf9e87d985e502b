"""The projector: layers between the features and the loss, thrown away after training (Zbontar et al. 2021, section 2.2).

Linear layers without bias; batch norm and ReLU after each but the last. It is only ever run in training, on statistics of the batch, so it
keeps no running ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import errors, randomness
from .barlow_twins import standardised

_LARGEST = 10**5


def projector_weights(features: int, *, width: int, depth: int, seed: int) -> dict[str, Tensor]:
    """The first weights for inputs [n, features]: `depth` layers of `width`, drawn as torch draws those of a linear layer.

    Returns:
        "linear.0" [width, features], then [width, width]; "scale.0" and "shift.0" [width] for each layer but the last.
    """
    features = errors.check_integer("features", features, 1, _LARGEST)
    width = errors.check_integer("width", width, 1, _LARGEST)
    depth = errors.check_integer("depth", depth, 1, 100)
    weights: dict[str, Tensor] = {}
    for layer in range(depth):
        inputs = width if layer else features
        draw = randomness.generator(seed, layer, "projector weights")
        weights[f"linear.{layer}"] = (2 * torch.rand((width, inputs), generator=draw) - 1) / math.sqrt(inputs)
        if layer < depth - 1:
            weights |= {f"scale.{layer}": torch.ones(width), f"shift.{layer}": torch.zeros(width)}
    return weights


def projected(weights: Mapping[str, Tensor], features: Tensor) -> Tensor:
    """The projections [n, width] of features [n, d], n at least 2: batch norm takes the statistics of these n.

    Raises:
        DDLabError: weights that are not those of a projector for features of this width, or fewer than two rows.
    """
    errors.check_tensor("features", features, shape=[None, None], floating=True, finite=False)
    depth = _checked_depth(weights, features)
    for layer in range(depth):
        features = F.linear(features, weights[f"linear.{layer}"])
        if layer < depth - 1:
            features = F.relu(standardised(features) * weights[f"scale.{layer}"] + weights[f"shift.{layer}"])
    return features


def _checked_depth(weights: Mapping[str, Tensor], features: Tensor) -> int:
    """How many layers there are. Names, shapes, dtypes and devices only, never values: called in every step."""
    allowed = f"those of projector_weights({features.shape[1]}, ...), like the features in dtype and device"
    depth = (len(errors.check_instance("weights", weights, Mapping, allowed)) + 2) // 3
    first = weights.get("linear.0")
    width = first.shape[0] if isinstance(first, Tensor) and first.ndim == 2 else 0
    wanted: dict[str, list[int]] = {}
    for layer in range(depth):
        wanted[f"linear.{layer}"] = [width, width if layer else features.shape[1]]
        if layer < depth - 1:
            wanted |= {f"scale.{layer}": [width], f"shift.{layer}": [width]}
    if not depth or weights.keys() != wanted.keys():
        errors.fail("weights", allowed, [str(name) for name in weights])
    for name, shape in wanted.items():
        value = errors.check_tensor(
            f"weights[{name!r}]", weights[name], shape=shape, dtype=features.dtype, finite=False
        )
        if value.device != features.device:
            errors.fail(f"weights[{name!r}]", allowed, str(value.device))
    return depth
