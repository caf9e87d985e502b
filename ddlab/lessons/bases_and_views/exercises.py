"""Lesson 40: the exercises' checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...core import randomness
from ...data import predefined_views
from ...distilled.storage_budget import Factorised, plain_floats
from ...methods import kernel_ridge
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


def check_outer_loss(answer: Any) -> tuple[bool, str]:
    """Exercise 2: a function (real, wanted, distilled, targets) of features and targets -> eq 3 as the code has it."""
    draw = randomness.generator(40, 2, "exercise")
    shapes = {"real": (9, 7), "wanted": (9, 3), "distilled": (5, 7), "targets": (5, 3)}
    given = {name: torch.randn(shape, generator=draw, dtype=torch.float64) for name, shape in shapes.items()}
    found, problem = called(answer, *given.values(), of="(real, wanted, distilled, targets)")
    if problem:
        return False, problem
    if not isinstance(found, Tensor) or found.ndim:
        return False, "Return one number, a tensor without dimensions."
    right = kernel_ridge.outer_loss(**given, strength=1e-6)
    total = given["wanted"].numel() * right / 2
    plain = _without_ones(**given)
    for value, hint in (
        (right, "The mean over images and numbers, with a column of ones and a ridge of 1e-6 of the trace."),
        (total, "Nearly: half of the sum is what the paper prints; the code, and this lesson, take the mean."),
        (plain, "Nearly: append a column of ones to both features, which adds 1 to every inner product."),
    ):
        if torch.isclose(found.double(), value, rtol=1e-6):
            return value is right, hint
    return (
        False,
        "K = f_s f_s^T + 1, ridge = 1e-6 trace(K), W = (K + ridge I)^{-1} Y; then the mean square of wanted minus prediction.",
    )


def _without_ones(*, real: Tensor, wanted: Tensor, distilled: Tensor, targets: Tensor) -> Tensor:
    kernel = distilled @ distilled.T
    weights = kernel_ridge.solve(kernel, targets, ridge=kernel_ridge.trace_scaled(kernel, strength=1e-6))
    return (wanted - real @ distilled.T @ weights).square().mean()


def check_restore(answer: Any) -> tuple[bool, str]:
    """Exercise 3: a function (view [c, h, w], places [h w]) -> the image of which pixel t of the view was pixel places[t]."""
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


CHECKS: dict[str, Callable[[Any], tuple[bool, str]]] = {
    "pairs": check_pairs,
    "outer loss": check_outer_loss,
    "restore": check_restore,
}
