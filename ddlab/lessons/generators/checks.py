"""Lesson 70: the checks of its exercises."""

from typing import Any

import torch
from torch import Tensor

from ...distilled import generators
from ..answers import NotYet, call_answer, float64

# Of the images, at least, that another step must see; a shuffle within classes moves eleven in
# twelve.
_MOVED = 0.75


def check_weight_gradient(answer: Any) -> str:
    """Check exercise 2: g / ||V|| (D - (D . v) v), row by row."""
    draws = torch.Generator().manual_seed(7)
    furthest = 0.0
    words = "V [units, inputs], g [units] and D [units, inputs]"
    for units, inputs in ((1, 4), (5, 3)):
        V = torch.randn(units, inputs, generator=draws, dtype=torch.float64)
        D = torch.randn(units, inputs, generator=draws, dtype=torch.float64)
        g = torch.rand(units, generator=draws, dtype=torch.float64) + 0.5
        leaf = V.clone().requires_grad_()
        (expected,) = torch.autograd.grad((generators.layer_weight(leaf, g) * D).sum(), leaf)
        gradient = call_answer(answer, V.clone(), g.clone(), D.clone(), of=words, read=float64)
        if gradient.shape != expected.shape:
            raise NotYet(
                f"A gradient has the shape of V, {[*expected.shape]}; yours has {[*gradient.shape]}."
            )
        furthest = max(furthest, float((gradient - expected).abs().max()))
    if furthest < 1e-6:
        return (
            "your gradient equals autograd's. It is at a right angle to V, so each step makes V "
            "longer, and later steps turn its direction less."
        )
    raise NotYet(
        f"Your gradient differs from autograd's by up to {furthest:.2g}. A longer V gives the same "
        "W. Which part of D therefore has no effect on V?"
    )


def check_fair_shuffle(answer: Any) -> str:
    """Check exercise 1: rows in another order.

    Every step must have as many of each class as before.
    """
    words = "labels [n] and steps that returns the rows in a new order, integers [n]"
    for steps, batch, classes in ((12, 20, 10), (12, 8, 4)):
        labels = torch.arange(steps * batch) % classes
        rows = call_answer(answer, labels.clone(), steps, of=words, read=torch.as_tensor)
        if (
            rows.is_floating_point()
            or rows.shape != labels.shape
            or not torch.equal(rows.sort().values, torch.arange(len(labels)))
        ):
            raise NotYet(f"The new order must contain each of the {len(labels)} rows once.")
        before = _counts(labels, steps, classes)
        after = _counts(labels[rows], steps, classes)
        if not torch.equal(before, after):
            worst = int((before - after).abs().amax(1).argmax())
            raise NotYet(
                f"Step {worst + 1} had {before[worst].tolist()} images of the classes, and after "
                f"your shuffle it has {after[worst].tolist()}."
            )
        moved = float((rows // batch != torch.arange(len(rows)) // batch).float().mean())
        if moved < _MOVED:
            raise NotYet(
                f"Only {moved:.0%} of the images have changed their step. Move more of them, at least "
                f"{_MOVED:.0%}."
            )
        together = (rows.view(steps, batch) // batch).unique(dim=1).shape[1] if steps > 1 else 0
        if together == 1:
            raise NotYet(
                "Your shuffle moves whole batches. Images of one batch must go to different steps."
            )
    return (
        "each step keeps its classes, and most of its images were learned for other steps. What "
        "students lose now is the effect of order alone."
    )


def _counts(labels: Tensor, steps: int, classes: int) -> Tensor:
    return torch.stack([part.bincount(minlength=classes) for part in labels.chunk(steps)])


CHECKS = {"weight gradient": check_weight_gradient, "fair shuffle": check_fair_shuffle}
