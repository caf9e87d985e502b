"""The projector: layers between the features and the loss, thrown away after training (Zbontar et al. 2021, section 2.2).

Linear layers without bias; batch norm and ReLU after each but the last. It is only ever run in training, on statistics of the batch, so it
keeps no running ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import errors, randomness
from ...core.boundary import check, checked, within
from .barlow_twins import Projections, standardised

Width = Annotated[int, within(1, 10**5)]


@checked
def projector_weights(
    features: Width, *, widths: Sequence[int], seed: int, stream: str = "projector weights"
) -> dict[str, Tensor]:
    """The first weights for inputs [n, features]: a layer of each width in turn, drawn as torch draws those of a linear layer.

    Args:
        stream: of the draws; a predictor of the same form has its own.

    Returns:
        "linear.0" [widths[0], features], "linear.1" [widths[1], widths[0]], ...; "scale.0" and "shift.0" [widths[0]], ... for each layer
        but the last.
    """
    if not isinstance(widths, (tuple, list)) or not 1 <= len(widths) <= 100:
        errors.fail("widths", "1 to 100 whole numbers", widths)
    weights: dict[str, Tensor] = {}
    inputs = features
    for layer, given in enumerate(widths):
        width = check("widths", given, Width)
        draw = randomness.generator(seed, layer, stream)
        weights[f"linear.{layer}"] = (2 * torch.rand((width, inputs), generator=draw) - 1) / math.sqrt(inputs)
        if layer < len(widths) - 1:
            weights |= {f"scale.{layer}": torch.ones(width), f"shift.{layer}": torch.zeros(width)}
        inputs = width
    return weights


@checked
def projected(weights: Mapping[str, Tensor], features: Projections) -> Tensor:
    """The projections [n, last width] of features [n, d], n at least 2: batch norm takes the statistics of these n.

    Raises:
        DDLabError: weights that are not those of a projector for features of this width, or fewer than two rows.
    """
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
    inputs = features.shape[1]
    wanted: dict[str, list[int]] = {}
    for layer in range(depth):
        matrix = weights.get(f"linear.{layer}")
        width = matrix.shape[0] if isinstance(matrix, Tensor) and matrix.ndim == 2 else 0
        wanted[f"linear.{layer}"], inputs = [width, inputs], width
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
