r"""What large batches need beside SGD with momentum: LARS, and a learning rate that rises before it falls.

| here | |
|---|---|
| `lars_direction` | You, Gitman & Ginsburg 2017, arXiv 1708.03888, as Barlow Twins' code has it; `optimisers.sgd_update` does the rest |
| `warmed_cosine` | a line from 0, then a cosine, as in that code |

With $g' = g + \mathrm{wd}\,\theta$ the direction is $\eta \, g' \lVert\theta\rVert / \lVert g' \rVert$: each layer's step is a fixed part
of the length of its weights, whatever the length of the gradient. Biases and batch norm's scales and shifts (all of one dimension) are left
out, of the weight decay too; they have a learning rate of their own, which is here a factor on their gradients.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ...core import errors, optimisers

_LARGEST = 1e30


def lars_direction(
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    *,
    weight_decay: float,
    trust: float,
    bias_factor: float = 1.0,
) -> dict[str, Tensor]:
    r"""What SGD is to be given in the place of the gradients: the same names and shapes.

    Args:
        parameters, gradients: the same names, shapes and dtypes.
        trust: $\eta$, the length of a layer's step for a learning rate of 1, as a part of the length of its weights.
        bias_factor: on the gradients of biases, scales and shifts: their learning rate, as a part of the weights'.

    A layer of zeros, or one without a gradient, is moved by plain gradient and decay.

    Raises:
        DDLabError: parameters and gradients that differ in names, shapes or dtypes, or a number below 0.
    """
    weight_decay = errors.check_number("weight_decay", weight_decay, 0, _LARGEST)
    trust = errors.check_number("trust", trust, 0, _LARGEST)
    bias_factor = errors.check_number("bias_factor", bias_factor, 0, _LARGEST)
    errors.check_instance("parameters", parameters, Mapping, "a mapping of name to float tensor")
    if not isinstance(gradients, Mapping) or gradients.keys() != parameters.keys():
        errors.fail("gradients", f"for the parameters {[str(name) for name in parameters]}", gradients)
    direction = {}
    for name, value in parameters.items():
        errors.check_tensor(f"parameters[{name!r}]", value, floating=True, finite=False)
        slope = errors.check_tensor(
            f"gradients[{name!r}]", gradients[name], shape=value.shape, dtype=value.dtype, finite=False
        )
        if value.ndim <= 1:
            direction[name] = slope * bias_factor
            continue
        decayed = slope + weight_decay * value
        size, length = torch.linalg.vector_norm(value), torch.linalg.vector_norm(decayed)
        # No branch on a value: it would wait for the device in every step.
        usable = (size > 0) & (length > 0)
        ratio = torch.where(usable, trust * size / torch.where(usable, length, torch.ones_like(length)), 1.0)
        direction[name] = decayed * ratio.to(value.dtype)
    return direction


def warmed_cosine(step: int, *, total: int, warmup: int, base: float, final_fraction: float) -> float:
    """The learning rate before update `step` (0-based) of `total`: from 0 to `base` in `warmup` updates, then `optimisers.cosine`.

    Raises:
        DDLabError: a warm-up as long as the run, or what `optimisers.cosine` refuses.
    """
    total = errors.check_integer("total", total, 1)
    warmup = errors.check_integer("warmup", warmup, 0, total - 1)
    base = errors.check_number("base", base, 0, _LARGEST)
    if errors.check_integer("step", step, 0) < warmup:
        errors.check_number("final_fraction", final_fraction, 0, 1)
        return base * step / warmup
    return optimisers.cosine(step - warmup, total - warmup, base, final_fraction=final_fraction)
