"""Arguments that several modules of the theory take."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..core.errors import check_tensor, fail

LARGEST = 1e6  # products of two gradients are fourth powers: far below what float32 can hold


def check_points(argument: str, value: Any, *, like: Tensor | None = None) -> Tensor:
    """Return `value` if it is [n, d], n and d at least 1, float32 or float64, no entry above `LARGEST` in size.

    With `like` [m, d] of the same d and dtype.
    """
    points = check_tensor(argument, value, shape=[None, None if like is None else like.shape[1]], floating=True)
    wanted = (torch.float32, torch.float64) if like is None else (like.dtype,)
    if points.dtype not in wanted:
        fail(argument, "of dtype " + " or ".join(str(kind).removeprefix("torch.") for kind in wanted), points)
    if 0 in points.shape:
        fail(argument, "a tensor of at least one point of at least one dimension", points)
    _check_size(argument, points, LARGEST)
    return points


def check_target(argument: str, value: Any, points: Tensor, *, variance: bool = False) -> Tensor:
    """Return `value` if it is [d], one number per dimension of `points` and of their dtype; a `variance` is not negative."""
    target = check_tensor(argument, value, shape=[points.shape[1]], dtype=points.dtype)
    _check_size(argument, target, LARGEST**2 if variance else LARGEST)
    lowest = float(target.detach().min())
    if variance and lowest < 0:
        fail(argument, "at least 0 in every dimension", lowest)
    return target


def _check_size(argument: str, value: Tensor, largest: float) -> None:
    size = float(value.detach().abs().max())
    if size > largest:
        fail(argument, f"at most {largest:g} in size", size)
