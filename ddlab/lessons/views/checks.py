"""Lesson 41: the checks of its exercises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...core import randomness
from ...data import predefined_views
from ...distilled.storage_budget import Factorised, plain_floats
from ..answers import called


def check_pairs(answer: Any) -> tuple[bool, str]:
    """Exercise 1: m of CIFAR, N = 100, U = V = 200, s = 2, three views, h = 4."""
    sizes = Factorised()
    floats = 100 * sizes.image_floats
    right = sizes.largest_count(floats)
    if not isinstance(answer, int) or isinstance(answer, bool):
        return False, "Give one whole number: how many pairs fit into 307,200 floats."
    known = {
        right: f"114 pairs take {sizes.bill(right).total:,} of {floats:,} floats.",
        sizes.replace(shift="same").largest_count(floats): "The three networks Q_a take 5,412 floats. Count them.",
        sizes.replace(representation_mean=True).largest_count(floats): "That is right where the mean is stored too; the paper does not.",
        floats // (plain_floats(1, image_floats=sizes.image_floats, representation_floats=512)): (
            "So many plain pairs fit. Here images and representations are sums of bases."
        ),
        right + 1: "Nearly: one pair too many is over the budget. Round down.",
    }  # fmt: skip
    bases = "First the bases: 200 x 3 x 16 x 16 and 200 x 512 floats. What is left goes to the networks, and to 400 floats for each pair."
    return answer == right, known.get(answer, bases)


def check_restore(answer: Any) -> tuple[bool, str]:
    """Exercise 2: a function (view [c, h, w], places [h w]) -> the image of which pixel t of the view was pixel places[t]."""
    image = torch.arange(3 * 4 * 4, dtype=torch.float32).reshape(3, 4, 4)
    for kind in ("jigsaw", "rotation"):
        places = predefined_views.permutations(kind, 4, 4)
        views = predefined_views.augmented(image[None], kind)[:, 0]
        for name, view, taken in zip(predefined_views.NAMES[kind], views, places, strict=True):
            found, problem = called(answer, view.clone(), taken.clone(), of="(view, places)")
            if problem:
                return False, problem
            if not isinstance(found, Tensor) or found.shape != image.shape:
                return False, "The result has the shape of the view, [c, h, w]."
            if not torch.equal(found, image):
                again = view.flatten(1)[:, taken].reshape(image.shape)
                if torch.equal(found, again):
                    return (
                        False,
                        f"Moving the pixels once more undoes a swap, but not the view {name}: use the inverse.",
                    )
                return False, f"The view {name} does not come back: pixel t of the view belongs to place places[t]."
    return (
        True,
        "Nothing is lost: a turned or swapped view holds the same numbers, and its inverse is another order of them.",
    )


def check_shift(answer: Any) -> tuple[bool, str]:
    """Exercise 3: a function (C [m, V], C_a [m, V]) -> the shifts C_a - C as the best affine map of C predicts them, [m, V]."""
    draw = randomness.generator(41, 3, "exercise")
    own, noise = (torch.randn(30, 5, generator=draw, dtype=torch.float64) for _ in range(2))
    view = own + own @ torch.randn(5, 5, generator=draw, dtype=torch.float64) + 2 + 0.3 * noise
    found, problem = called(answer, own.clone(), view.clone(), of="(C, C_a)")
    if problem:
        return False, problem
    if not isinstance(found, Tensor) or found.shape != own.shape:
        return False, "Return the predicted shifts, a tensor [m, V]."
    shifts, columns = view - own, torch.cat([own, torch.ones(len(own), 1, dtype=own.dtype)], 1)
    best = columns @ torch.linalg.lstsq(columns, shifts).solution
    left, least, bias = (float((shifts - each).square().mean()) for each in (found, best, shifts.mean(0)))
    linear = columns[:, :-1] @ torch.linalg.lstsq(own, shifts).solution
    if left < 0.9 * least:
        return False, f"These leave {left:.4f}, less than any affine map ({least:.4f}): they look at C_a itself."
    if torch.allclose(found, best, atol=1e-6):
        return (
            True,
            f"It leaves {left:.4f} where one vector for all images leaves {bias:.4f}, and takes V^2 + V floats.",
        )
    if torch.allclose(found, linear, atol=1e-6):
        return False, f"Nearly: it leaves {left:.4f}. An affine map also adds a vector: append a column of ones to C."
    return False, f"Yours leave {left:.4f}, the best affine map leaves {least:.4f}: least squares on [C, 1]."


CHECKS: dict[str, Callable[[Any], tuple[bool, str]]] = {
    "pairs": check_pairs, "restore": check_restore, "shift": check_shift,
}  # fmt: skip
