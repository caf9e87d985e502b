r"""Optimisers as pairs of functions on dicts of tensors.

`*_init` makes the state, `*_update` returns new parameters and a new state.

Nothing is changed in place and every update is differentiable with respect to parameters,
gradients, state and learning rate, so an unrolled inner loop is a plain Python loop. Formulas as in
torch.optim:

SGD       v <- m v + g,  theta <- theta - lr v    (g includes weight decay: g + wd theta)
Adam      m <- b1 m + (1-b1) g,  s <- b2 s + (1-b2) g^2,
          theta <- theta - lr (m / (1-b1^t)) / (sqrt(s / (1-b2^t)) + eps)
AdamW     theta <- (1 - lr wd) theta first, then Adam with the plain gradient
cosine    lr_t = lr (f + (1-f) (1 + cos(pi t / (eta T))) / 2)
linear    lr_t = lr (1 - (1-f) t / T)

AdamW: Loshchilov & Hutter 2019, arXiv 1711.05101. Cosine: Loshchilov & Hutter 2017, arXiv
1608.03983; its eta is that of FADRM's equation 57.
"""

# pyright: reportPrivateImportUsage=false
# torch._foreach_* has a leading underscore and is what torch.optim itself runs on: one call for all
# tensors.

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from . import errors

Several = list[Tensor] | tuple[Tensor, ...]


@dataclass(frozen=True)
class SGDState:
    """`velocity`: one tensor per parameter; `step`: updates done."""

    step: int
    velocity: dict[str, Tensor]


@dataclass(frozen=True)
class AdamState:
    """`first`, `second`: running moments, one tensor per parameter; `step`: updates done."""

    step: int
    first: dict[str, Tensor]
    second: dict[str, Tensor]


def sgd_init(parameters: Mapping[str, Tensor]) -> SGDState:
    """Return the state before the first update: zero velocity."""
    return SGDState(0, _zeros(parameters))


def sgd_update(
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    state: SGDState,
    *,
    learning_rate: float | Tensor,
    momentum: float | Tensor = 0.0,
    weight_decay: float = 0.0,
) -> tuple[dict[str, Tensor], SGDState]:
    """Take one step of stochastic gradient descent with (heavy-ball) momentum.

    Args:
        parameters, gradients: the same names and shapes; the state is theirs.
        learning_rate, momentum: a number each, or a tensor of shape [] that may carry a gradient. A
            rate below 0, which MTT may learn, climbs.
    """
    values, slopes, before = _in_order(parameters, gradients, state.velocity)
    # Out of place, as everything below: the caller's gradients may be needed by the outer
    # derivative.
    if weight_decay:
        slopes = torch._foreach_add(slopes, values, alpha=weight_decay)
    velocity: Several = slopes
    # Without momentum the velocity is the gradient itself; a momentum of 0 that is a tensor may be
    # learned, so it takes part.
    if isinstance(momentum, Tensor) or momentum:
        velocity = torch._foreach_add(_times(before, momentum), slopes)
    moved = _descend(values, velocity, learning_rate)
    return dict(zip(parameters, moved, strict=True)), SGDState(
        state.step + 1, dict(zip(parameters, velocity, strict=True))
    )


def adam_init(parameters: Mapping[str, Tensor]) -> AdamState:
    """Return the state before the first update: zero moments."""
    return AdamState(0, _zeros(parameters), _zeros(parameters))


def adam_update(
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    state: AdamState,
    *,
    learning_rate: float | Tensor,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
) -> tuple[dict[str, Tensor], AdamState]:
    """Take one step of Adam (Kingma & Ba 2015, arXiv 1412.6980) with bias correction.

    Args as `sgd_update`; `betas` in [0, 1), `epsilon` is added to the root of the second
        moment.
    """
    # The moments start at 0 and are biased towards it; the corrections need the number of this
    # update, from 1.
    step = state.step + 1
    beta1, beta2 = betas
    of_direction = 1 / (1 - beta1**step)
    of_spread = 1 / math.sqrt(1 - beta2**step)
    values, slopes, first, second = _in_order(parameters, gradients, state.first, state.second)
    # b1 m + (1 - b1) g is an interpolation from m to g: one fused call instead of two products and
    # a sum.
    first = torch._foreach_lerp(first, slopes, 1 - beta1)
    second = torch._foreach_addcmul(
        torch._foreach_mul(second, beta2), slopes, slopes, value=1 - beta2
    )
    # epsilon is added after the correction, as in torch and in the paper's text; added before it,
    # the first steps would be smaller.
    spread = torch._foreach_add(torch._foreach_mul(_square_root(second), of_spread), epsilon)
    direction = torch._foreach_mul(torch._foreach_div(first, spread), of_direction)
    moved = _descend(values, direction, learning_rate)
    return (
        dict(zip(parameters, moved, strict=True)),
        AdamState(
            step,
            dict(zip(parameters, first, strict=True)),
            dict(zip(parameters, second, strict=True)),
        ),
    )


def adamw_update(
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    state: AdamState,
    *,
    learning_rate: float | Tensor,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
    weight_decay: float = 0.01,
) -> tuple[dict[str, Tensor], AdamState]:
    """Take one step of Adam with decoupled weight decay.

    Args as `adam_update` and `sgd_update`.
    """
    # Decoupled: the shrinking does not pass through the moments. `_foreach_mul` refuses an empty
    # list.
    decayed = (
        torch._foreach_mul(list(parameters.values()), 1 - learning_rate * weight_decay)
        if parameters
        else []
    )
    shrunk = dict(zip(parameters, decayed, strict=True))
    return adam_update(
        shrunk, gradients, state, learning_rate=learning_rate, betas=betas, epsilon=epsilon
    )


def begin(kind: str, parameters: Mapping[str, Tensor]) -> SGDState | AdamState:
    """Return the state before the first update of "sgd" or "adamw", for `descend`."""
    errors.check_choice("kind", kind, ("sgd", "adamw"))
    return adam_init(parameters) if kind == "adamw" else sgd_init(parameters)


def descend(
    parameters: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    state: SGDState | AdamState,
    *,
    learning_rate: float | Tensor,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
) -> tuple[dict[str, Tensor], SGDState | AdamState]:
    """Take one step of the optimiser whose state it is.

    `adamw_update`, or `sgd_update`, which alone has a momentum.
    """
    # The state says which optimiser it belongs to, so a run that resumes cannot take the wrong one.
    shared: dict[str, Any] = {"learning_rate": learning_rate, "weight_decay": weight_decay}
    if isinstance(state, AdamState):
        return adamw_update(parameters, gradients, state, **shared)
    return sgd_update(parameters, gradients, state, momentum=momentum, **shared)


def cosine(step: int, total: int, base: float, *, final_fraction: float = 0.0) -> float:
    """Return the learning rate of a cosine schedule before update `step` (0-based).

    It falls from `base` at 0 to `base * final_fraction` at `total`.
    """
    # `min`: a caller that runs past the end stays at the final rate instead of climbing again.
    return base * (
        final_fraction
        + (1 - final_fraction) * 0.5 * (1 + math.cos(math.pi * min(step, total) / total))
    )


def linear(step: int, total: int, base: float, *, final_fraction: float = 0.0) -> float:
    """Return the learning rate of a linear schedule before update `step` (0-based).

    It falls from `base` at 0 to `base * final_fraction` at `total`.
    """
    return base * (1 - (1 - final_fraction) * min(step, total) / total)


def _zeros(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: torch.zeros_like(value).detach() for name, value in parameters.items()}


def _in_order(
    parameters: Mapping[str, Tensor], *others: Mapping[str, Tensor]
) -> list[list[Tensor]]:
    """Return the tensors of all mappings in the order of the parameters.

    `torch._foreach_*` pairs tensors by position, and two dicts may differ in their order.
    """
    return [[tensors[name] for name in parameters] for tensors in (parameters, *others)]


def _descend(values: Several, direction: Several, learning_rate: float | Tensor) -> Several:
    # `alpha=` takes a number only; a rate that is a tensor may carry a gradient (MTT learns it).
    if isinstance(learning_rate, Tensor):
        return torch._foreach_sub(values, _times(direction, learning_rate))
    return torch._foreach_add(values, direction, alpha=-learning_rate)


def _times(values: Several, factor: float | Tensor) -> Several:
    # Torch's own call for all has no derivative for the factor.
    if isinstance(factor, Tensor) and factor.requires_grad:
        return [value * factor for value in values]
    return torch._foreach_mul(values, factor)


def _square_root(second: Several) -> Several:
    # The derivative of sqrt at 0 is infinite, and 0 * inf is NaN: a parameter that never saw a
    # gradient would poison a differentiated update. Where the moment is 0 the root is 0 with
    # derivative 0.
    if not any(moment.requires_grad for moment in second):
        return torch._foreach_sqrt(second)
    # The inner `where` keeps sqrt away from 0 in the backward pass too; one `where` outside would
    # still multiply its infinite derivative by 0.
    return [
        torch.where(m > 0, torch.where(m > 0, m, torch.ones_like(m)).sqrt(), torch.zeros_like(m))
        for m in second
    ]
