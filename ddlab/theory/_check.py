"""What several modules of the theory take: numbers and tensors as annotations, and the rules that stand in them."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from ..core.boundary import filled, floats, within
from ..core.errors import fail

SMALLEST, LARGEST = 1e-6, 1e6  # products of two gradients are fourth powers: far below what float32 can hold


def precise(argument: str, value: Tensor) -> Tensor:
    """Of a tensor that is float32 or float64."""
    if value.dtype not in (torch.float32, torch.float64):
        fail(argument, "of dtype float32 or float64", value)
    return value


def bounded(argument: str, value: Tensor) -> Tensor:
    """Of a precise tensor without an entry above `LARGEST` in size."""
    return _up_to(argument, value, LARGEST)


def fractions(argument: str, value: Tensor) -> Tensor:
    """Of a tensor whose entries lie in [0, 1]."""
    low, high = (float(end) for end in value.detach().aminmax()) if value.numel() else (0.0, 0.0)
    if low < 0 or high > 1:
        fail(argument, "in [0, 1]", low if low < 0 else high)
    return value


def variances(argument: str, value: Tensor) -> Tensor:
    """Of a tensor whose entries are squares of bounded numbers."""
    lowest = float(_up_to(argument, value, LARGEST**2).detach().min())
    if lowest < 0:
        fail(argument, "at least 0 in every dimension", lowest)
    return value


def _up_to(argument: str, value: Tensor, largest: float) -> Tensor:
    size = float(precise(argument, value).detach().abs().max()) if value.numel() else 0.0
    if size > largest:
        fail(argument, f"at most {largest:g} in size", size)
    return value


Points = Annotated[Tensor, floats("n d"), filled, bounded]
"""[n, d], n and d at least 1."""

Places = Annotated[Tensor, floats("... d"), bounded]
"""[..., d], of any length."""

Deviation = Annotated[float, within(SMALLEST, LARGEST)]
Size = Annotated[float, within(0, LARGEST)]
Place = Annotated[float, within(-LARGEST, LARGEST)]
Ratio = Annotated[float, within(0, 1)]
Weight = Annotated[float, within(0)]
