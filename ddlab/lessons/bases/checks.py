"""Lesson 40: the checks of its exercises."""

from typing import Any

import torch
from torch import Tensor

from ...core import randomness
from ...distilled.storage_budget import Factorised, plain_floats
from ...methods.shared import kernel_ridge
from ..answers import NotYet, call_answer


def check_targets(answer: Any) -> str:
    """Check exercise 1: a function that gives the targets [m, o] of least outer loss.

    Its arguments are real [n, d], outputs [n, o] and distilled [m, d].
    """
    draw = randomness.generator(40, 1, "exercise")
    shapes = ((40, 12), (12, 3), (6, 12))
    real, says, distilled = (
        torch.randn(shape, generator=draw, dtype=torch.float64) for shape in shapes
    )
    outputs = real @ says
    targets = call_answer(
        answer, real.clone(), outputs.clone(), distilled.clone(), of="(real, outputs, distilled)"
    )
    if (
        not isinstance(targets, Tensor)
        or targets.shape != (6, 3)
        or not bool(targets.isfinite().all())
    ):
        raise NotYet("Return finite targets, a tensor [m, o]: here 6 rows of 3 numbers.")

    def loss(targets: Tensor) -> float:
        return float(kernel_ridge.outer_loss(real, outputs, distilled, targets))

    solved = torch.linalg.lstsq(
        kernel_ridge.predictions(real, distilled, torch.eye(6).double()), outputs
    ).solution
    least = loss(solved)
    yours = loss(targets.double())
    nothing = float(outputs.square().mean())
    if yours <= least * (1 + 1e-6):
        return (
            f"They leave {yours:.4f}; no targets leave less. For fixed images nothing needs to "
            "be trained."
        )
    result = (
        f"Your targets leave {yours:.4f}, zero targets leave {nothing:.4f}, and the best targets "
        f"leave {least:.4f}."
    )
    # First where to look; whoever is nearly there also reads what to solve.
    if yours >= nothing:
        raise NotYet(
            f"{result} The predictions are A Y for a matrix A. Which product of equation 3 is A?"
        )
    raise NotYet(
        f"{result} With A = (f_t f_s^T + 1)(K + ridge I)^-1, minimise |outputs - A Y|^2 in Y."
    )


def check_pairs(answer: Any) -> str:
    """Check exercise 2: m of CIFAR, N = 100, U = V = 200, s = 2, without views."""
    sizes = Factorised(views=0)
    floats = 100 * sizes.image_floats
    right = sizes.largest_count(floats)
    if not isinstance(answer, int) or isinstance(answer, bool):
        raise NotYet("Give one whole number: how many pairs fit into 307,200 floats.")
    replies = {
        right: f"{right} pairs take {sizes.bill(right).total:,} of {floats:,} floats.",
        floats // plain_floats(1, image_floats=sizes.image_floats, representation_floats=512): (
            "So many plain pairs fit. Here images and vectors are sums of bases."
        ),
        floats // 400: "The bases have to be paid, too.",
        (floats - 200 * sizes.image_floats - 200 * 512)
        // 400: "Image bases are half as high and half as wide.",
        right + 1: "Nearly: one pair too many is over the budget. Round down.",
    }
    bases = (
        "First the bases: 200 x 3 x 16 x 16 and 200 x 512 floats. What is left goes in 400s, a "
        "pair each."
    )
    reply = replies.get(answer, bases)
    if answer != right:
        raise NotYet(reply)
    return reply


CHECKS = {"targets": check_targets, "pairs": check_pairs}
