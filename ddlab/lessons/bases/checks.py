"""Lesson 40: the checks of its exercises. What it runs stands in the notebook and in `shared.unlabelled`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...core import randomness
from ...distilled import bases, factorisation
from ...methods import kernel_ridge
from ..answers import called
from ..shared import unlabelled

LEFT = 0.03  # of the squares of held-out images
_MOST = 192  # numbers of a half-size image


def check_targets(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function (real, wanted, distilled) of features [n, d], [n, o], [m, d] -> the targets [m, o] of least outer loss."""
    draw = randomness.generator(40, 1, "exercise")
    shapes = ((40, 12), (12, 3), (6, 12))
    real, says, distilled = (torch.randn(shape, generator=draw, dtype=torch.float64) for shape in shapes)
    wanted = real @ says
    found, problem = called(answer, real.clone(), wanted.clone(), distilled.clone(), of="(real, wanted, distilled)")
    if problem:
        return False, problem
    if not isinstance(found, Tensor) or found.shape != (6, 3) or not bool(found.isfinite().all()):
        return False, "Return finite targets, a tensor [m, o]: here 6 rows of 3 numbers."

    def loss(targets: Tensor) -> float:
        return float(kernel_ridge.outer_loss(real, wanted, distilled, targets))

    solved = torch.linalg.lstsq(kernel_ridge.predictions(real, distilled, torch.eye(6).double()), wanted).solution
    least, yours, nothing = loss(solved), loss(found.double()), float(wanted.square().mean())
    if yours <= least * (1 + 1e-6):
        return True, f"They leave {yours:.4f}; no targets leave less. For fixed images nothing needs to be trained."
    hint = "The predictions are A Y with A = (f_t f_s^T + 1)(K + ridge I)^{-1}: least squares in Y."
    return (
        False,
        f"Your targets leave {yours:.4f}, saying 0 everywhere leaves {nothing:.4f}, the best leave {least:.4f}. {hint}",
    )


@functools.cache
def held_out_errors() -> list[float]:
    """What the first 0, 1, 2 ... half-size bases of a thousand training images leave of the held-out half-size images."""
    data = unlabelled.images()
    seen, held_out = (
        factorisation.downsampled(data.normalised(torch.arange(1000), split), scale=2) for split in ("train", "test")
    )
    first = bases.principal_bases(seen, count=_MOST - 1).bases
    coefficients = factorisation.project(held_out, first).double()
    # The bases are orthonormal: each takes its own squares away.
    left = held_out.double().square().sum() - coefficients.square().sum(0).cumsum(0)
    return [1.0, *(left / held_out.double().square().sum()).tolist()]


def check_bases(answer: Any) -> tuple[bool, str]:
    """Exercise 2: the least number of half-size bases that leave at most `LEFT` of the squares of held-out images."""
    if not isinstance(answer, int) or isinstance(answer, bool) or not 1 <= answer < _MOST:
        return False, f"Give a whole number of bases, from 1 to {_MOST - 1}."
    here, fewer = held_out_errors()[answer], held_out_errors()[answer - 1]
    if here > LEFT:
        return False, f"{answer} bases leave {here:.4f} of the held-out squares: more than {LEFT}."
    if fewer <= LEFT:
        return False, f"{answer} bases leave {here:.4f}, but {answer - 1} leave {fewer:.4f}: fewer are enough."
    return True, f"{answer} bases leave {here:.4f} of the held-out squares, {answer - 1} leave {fewer:.4f}."


def fresh_share(trained: Sequence[int], most: int, drawn: Sequence[int], reset: bool) -> float:
    """The share of outer steps that meet a network which has learned nothing.

    Args:
        trained: the steps that each network has done before; at `most` it is drawn anew. drawn: which network each outer step takes.
        reset: whether its counter then begins at 0, or stays at `most`.
    """
    counters, learned, fresh = list(trained), list(trained), 0
    for index in drawn:
        fresh += learned[index] == 0
        if counters[index] < most:
            counters[index], learned[index] = counters[index] + 1, learned[index] + 1
        else:
            counters[index], learned[index] = (0 if reset else most), 0
    return fresh / len(drawn)


def check_fresh(answer: Any) -> tuple[bool, str]:
    """Exercise 3: `fresh_share` as a function (trained, most, drawn, reset)."""
    draw = randomness.generator(40, 3, "exercise")
    for reset in (True, False):
        trained = torch.randint(1, 20, (4,), generator=draw).tolist()
        drawn = torch.randint(4, (400,), generator=draw).tolist()
        found, problem = called(answer, list(trained), 20, list(drawn), reset, of="(trained, most, drawn, reset)")
        if problem:
            return False, problem
        if isinstance(found, bool) or not isinstance(found, int | float):
            return False, "Return one number, a share between 0 and 1."
        right = fresh_share(trained, 20, drawn, reset)
        if abs(found - right) > 1e-9:
            words = "set to 0" if reset else "left as it is"
            return False, f"With the counter {words} the share is {right:.3f} in a test run; yours is {found:.3f}."
    return True, "Forget to set the counter back, and soon nearly every outer step meets a network that knows nothing."


CHECKS: dict[str, Callable[[Any], tuple[bool, str]]] = {
    "targets": check_targets, "bases": check_bases, "counter": check_fresh,
}  # fmt: skip
