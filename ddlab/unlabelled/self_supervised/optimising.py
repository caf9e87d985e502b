r"""The parts of training in large batches: LARS, and a learning rate that rises before it falls.

| here | |
|---|---|
| `lars_direction` | You, Gitman & Ginsburg 2017, arXiv 1708.03888, as Barlow Twins' code has it; `optimisers.sgd_update` does the rest |
| `warmed_cosine` | a line from 0, then a cosine, as in that code |

With $g' = g + \mathrm{wd}\,\theta$ the direction is $\eta \, g' \lVert\theta\rVert / \lVert g'
\rVert$: each layer's step is a fixed part of the length of its weights, whatever the length of the
gradient. Biases and batch norm's scales and shifts (all of one dimension) are left out, of the
weight decay too; they have a learning rate of their own, which is here a factor on their gradients.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from ...core import optimisers


def lars_direction(
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    *,
    weight_decay: float,
    trust: float,
    bias_factor: float = 1.0,
) -> dict[str, Tensor]:
    r"""Return what SGD gets instead of the gradients, with the same names and shapes.

    Args:
        parameters, gradients: the same names, shapes and dtypes.
        trust: $\eta$, the length of a layer's step for a learning rate of 1, as a part of the
            length of its weights.
        bias_factor: on the gradients of biases, scales and shifts: their learning rate, as a part
            of the weights'.

    A layer of zeros, or one without a gradient, is moved by plain gradient and decay.
    """
    direction = {}
    for name, value in parameters.items():
        slope = gradients[name]
        if value.ndim <= 1:
            direction[name] = slope * bias_factor
            continue
        decayed = slope + weight_decay * value
        size = torch.linalg.vector_norm(value)
        length = torch.linalg.vector_norm(decayed)
        # No branch on a value: it would wait for the device in every step.
        usable = (size > 0) & (length > 0)
        ratio = torch.where(
            usable, trust * size / torch.where(usable, length, torch.ones_like(length)), 1.0
        )
        direction[name] = decayed * ratio.to(value.dtype)
    return direction


def warmed_cosine(
    step: int, *, total: int, warmup: int, base: float, final_fraction: float
) -> float:
    """Return the learning rate before update `step` (0-based) of `total`.

    It rises from 0 to `base` in `warmup` updates, then follows `optimisers.cosine`.
    """
    if step < warmup:
        return base * step / warmup
    return optimisers.cosine(step - warmup, total - warmup, base, final_fraction=final_fraction)
