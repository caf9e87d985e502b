"""`fold_batch_norms`: fold batch norms into the convolutions before them.

In evaluation mode a batch norm is a fixed scale and shift.
"""

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from .specification import NetworkSpec

EPSILON = 1e-5  # of torch's batch norm


def fold_batch_norms(
    spec: NetworkSpec, weights: Mapping[str, Tensor]
) -> tuple[NetworkSpec, dict[str, Tensor]]:
    """Return a network with the same outputs in evaluation mode, without batch norms where they can
    be folded.

    A ConvNet with norm "batch" becomes one with norm "none", which takes three quarters of the
    time; other networks stay as they are. The outputs differ by rounding alone. Gradients pass to
    the images as before.

    Args:
        spec: complete.
        weights: its parameters and buffers.
    """
    if spec.family != "convnet" or spec.options.norm != "batch":  # type: ignore[attr-defined]
        return spec, dict(weights)
    folded_weights = {
        name: value for name, value in weights.items() if ".normalisation." not in name
    }
    for name in [name for name in folded_weights if name.endswith(".convolution.weight")]:
        block = name.removesuffix("convolution.weight")
        norm = {
            part: weights[f"{block}normalisation.{part}"]
            for part in ("weight", "bias", "running_mean", "running_var")
        }
        # w (conv(x) - m) / sqrt(v + e) + b is linear in the convolution's own weights and bias.
        scale = norm["weight"] * torch.rsqrt(norm["running_var"] + EPSILON)
        folded_weights[name] = weights[name] * scale[:, None, None, None]
        bias = f"{block}convolution.bias"
        folded_weights[bias] = (weights[bias] - norm["running_mean"]) * scale + norm["bias"]
    return replace(spec, options=spec.options.replace(norm="none")), folded_weights
