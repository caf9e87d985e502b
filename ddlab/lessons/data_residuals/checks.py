"""Lesson 30: the checks of its exercises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ... import data as datasets
from ...methods import fadrm
from ..answers import called
from . import entropy


def check_survival(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function (alpha, k, stage) -> what is left of a stage's change in the end, found by merging numbers."""
    for alpha, merges in ((0.5, 3), (0.9, 3), (0.2, 1), (0.0, 2)):
        for changed in range(1, merges + 2):
            image = torch.zeros(1, 1, 1, 1)
            for stage in range(1, merges + 2):
                image = image + float(stage == changed)
                if stage <= merges:
                    image = fadrm.merged_with_residual(image, torch.zeros(1, 1, 1, 1), alpha)
            given, problem = called(answer, alpha, merges, changed, of="(alpha, k, stage)")
            if problem:
                return False, problem
            if isinstance(given, bool) or not isinstance(given, (int, float)):
                return False, "Return one number from 0 to 1."
            if abs(given - float(image)) > 1e-6:
                said = (
                    f"With alpha = {alpha:g} and k = {merges}, {float(image):.4g} of stage {changed}'s change is left"
                )
                return False, f"{said}; yours is {given:.4g}. Count the merges that come after a stage."
    return (
        True,
        "Every merge shortens all that came before it: with alpha = .5 the first of four stages keeps an eighth.",
    )


def check_fooling(answer: Any) -> tuple[bool, str]:
    """Exercise 2: a uint8 image [3, 64, 64] of more pixel entropy than any of 500 real ones (to draw all 5,000 takes six seconds)."""
    if not isinstance(answer, Tensor) or answer.dtype != torch.uint8 or tuple(answer.shape) != (3, 64, 64):
        return False, "Make a uint8 tensor of shape [3, 64, 64]."
    bits = float(entropy.pixel_entropy(answer[None]))
    real = float(entropy.pixel_entropy(datasets.load("shapes", size=64, train=500, test=10).images()).max())
    if bits <= real:
        return (
            False,
            f"Yours has {bits:.2f} bits, the one of 500 real images with the most {real:.2f}. Use more of the 256 values.",
        )
    return (
        True,
        f"{bits:.2f} bits, more than any of 500 real images ({real:.2f}): a high entropy is no proof of information.",
    )


CHECKS: dict[str, Callable[[Any], tuple[bool, str]]] = {"survival": check_survival, "fooling": check_fooling}
