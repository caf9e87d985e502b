"""The projector: layers between the features and the loss, thrown away after training.

Zbontar et al. 2021, section 2.2.

Linear layers without bias; batch norm and ReLU after each but the last. It is only ever run in
training, on statistics of the batch, so it keeps no running ones.
"""

import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import randomness
from .barlow_twins import standardise


def projector_weights(
    features: int, *, widths: Sequence[int], seed: int, stream: str = "projector weights"
) -> dict[str, Tensor]:
    """Draw the first weights for inputs [n, features], a layer of each width in turn, as torch
    draws a linear layer.

    Args:
        stream: of the draws; a predictor of the same form has its own.

    Returns:
        "linear.0" [widths[0], features], "linear.1" [widths[1], widths[0]], ...; "scale.0" and
        "shift.0" [widths[0]], ... for each layer but the last.
    """
    weights: dict[str, Tensor] = {}
    inputs = features
    for layer, width in enumerate(widths):
        draw = randomness.generator(seed, layer, stream)
        weights[f"linear.{layer}"] = (
            2 * torch.rand((width, inputs), generator=draw) - 1
        ) / math.sqrt(inputs)
        if layer < len(widths) - 1:
            weights |= {f"scale.{layer}": torch.ones(width), f"shift.{layer}": torch.zeros(width)}
        inputs = width
    return weights


def project(weights: Mapping[str, Tensor], features: Tensor) -> Tensor:
    """Return the projections [n, last width] of features [n, d], n at least 2.

    Batch norm takes the statistics of these n.
    """
    # Three tensors for each layer but the last, which has one.
    depth = (len(weights) + 2) // 3
    for layer in range(depth):
        features = F.linear(features, weights[f"linear.{layer}"])
        if layer < depth - 1:
            features = F.relu(
                standardise(features) * weights[f"scale.{layer}"] + weights[f"shift.{layer}"]
            )
    return features
