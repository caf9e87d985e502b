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
    """Check exercise 1: g / ||V|| (G - (G . v) v), row by row."""
    draws = torch.Generator().manual_seed(7)
    furthest = 0.0
    words = "V [units, inputs], g [units] and G [units, inputs]"
    for units, inputs in ((1, 4), (5, 3)):
        V = torch.randn(units, inputs, generator=draws, dtype=torch.float64)
        G = torch.randn(units, inputs, generator=draws, dtype=torch.float64)
        g = torch.rand(units, generator=draws, dtype=torch.float64) + 0.5
        leaf = V.clone().requires_grad_()
        (expected,) = torch.autograd.grad((generators.layer_weight(leaf, g) * G).sum(), leaf)
        gradient = call_answer(answer, V.clone(), g.clone(), G.clone(), of=words, read=float64)
        if gradient.shape != expected.shape:
            raise NotYet(
                f"A gradient has the shape of V, {[*expected.shape]}; yours has {[*gradient.shape]}."
            )
        furthest = max(furthest, float((gradient - expected).abs().max()))
    if furthest < 1e-6:
        return (
            "Measured: that of autograd. It stands at a right angle to V: a step makes V longer, "
            "and so its next turn smaller."
        )
    raise NotYet(
        f"Measured: up to {furthest:.2g} from autograd's. Longer V, same W: which part of G "
        "can V not feel?"
    )


def check_fair_shuffle(answer: Any) -> str:
    """Check exercise 2: rows in another order.

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
            raise NotYet(f"Each of the {len(labels)} rows must stand in the new order once.")
        before = _counts(labels, steps, classes)
        after = _counts(labels[rows], steps, classes)
        if not torch.equal(before, after):
            worst = int((before - after).abs().amax(1).argmax())
            raise NotYet(
                f"Measured: step {worst + 1} has {after[worst].tolist()} images of the "
                f"classes, and had {before[worst].tolist()}."
            )
        moved = float((rows // batch != torch.arange(len(rows)) // batch).float().mean())
        if moved < _MOVED:
            raise NotYet(
                f"Measured: {moved:.0%} of the images are in another step than before. Move "
                "more of them."
            )
        together = (rows.view(steps, batch) // batch).unique(dim=1).shape[1] if steps > 1 else 0
        if together == 1:
            raise NotYet(
                "Measured: whole batches have moved. Images that learned together must part."
            )
    return "Measured: each step has its classes, and images that were learned for other steps."


def _counts(labels: Tensor, steps: int, classes: int) -> Tensor:
    return torch.stack([part.bincount(minlength=classes) for part in labels.chunk(steps)])


CHECKS = {"weight gradient": check_weight_gradient, "fair shuffle": check_fair_shuffle}
