"""Lesson 70: the checks of its exercises."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...distilled import generators

_MOVED = 0.5  # of the images, at least, that another step must see


def check_weight_gradient(answer: Any) -> tuple[bool, str]:
    """Exercise 1: g / ||V|| (G - (G . v) v), row by row."""
    if not callable(answer):
        return False, "Write a function of V [units, inputs], g [units] and G [units, inputs]."
    draws, furthest = torch.Generator().manual_seed(7), 0.0
    for units, inputs in ((1, 4), (5, 3)):
        V, G = (torch.randn(units, inputs, generator=draws, dtype=torch.float64) for _ in range(2))
        g = torch.rand(units, generator=draws, dtype=torch.float64) + 0.5
        leaf = V.clone().requires_grad_()
        (wanted,) = torch.autograd.grad((generators.layer_weight(leaf, g) * G).sum(), leaf)
        try:
            given: Any = answer(V.clone(), g.clone(), G.clone())
            found = torch.as_tensor(given).detach().double()
        except Exception as problem:
            return False, f"Your function raised {type(problem).__name__}: {problem}."
        if found.shape != wanted.shape:
            return False, f"A gradient has the shape of V, {[*wanted.shape]}; yours has {[*found.shape]}."
        furthest = max(furthest, float((found - wanted).abs().max()))
    if furthest < 1e-6:
        return (
            True,
            "Measured: that of autograd. It stands at a right angle to V: a step makes V longer, and so its next turn smaller.",
        )
    return False, f"Measured: up to {furthest:.2g} from autograd's. Longer V, same W: which part of G can V not feel?"


def check_fair_shuffle(answer: Any) -> tuple[bool, str]:
    """Exercise 2: rows in another order, of which every step has as many of each class as before."""
    if not callable(answer):
        return False, "Write a function of labels [n] and steps that returns the rows in a new order, integers [n]."
    for steps, batch, classes in ((12, 20, 10), (6, 8, 4)):
        labels = torch.arange(steps * batch) % classes
        try:
            rows = torch.as_tensor(answer(labels.clone(), steps))
        except Exception as problem:
            return False, f"Your function raised {type(problem).__name__}: {problem}."
        if (
            rows.is_floating_point()
            or rows.shape != labels.shape
            or not torch.equal(rows.sort().values, torch.arange(len(labels)))
        ):
            return False, f"Each of the {len(labels)} rows must stand in the new order once."
        before, after = (_counts(each, steps, classes) for each in (labels, labels[rows]))
        if not torch.equal(before, after):
            worst = int((before - after).abs().amax(1).argmax())
            return (
                False,
                f"Measured: step {worst + 1} has {after[worst].tolist()} images of the classes, and had {before[worst].tolist()}.",
            )
        moved = float((rows // batch != torch.arange(len(rows)) // batch).float().mean())
        if moved < _MOVED:
            return False, f"Measured: {moved:.0%} of the images are in another step than before. Move more of them."
        together = (rows.view(steps, batch) // batch).unique(dim=1).shape[1] if steps > 1 else 0
        if together == 1:
            return False, "Measured: whole batches have moved. Images that learned together must part."
    return True, "Measured: each step has its classes, and images that were learned for other steps."


def _counts(labels: Tensor, steps: int, classes: int) -> Tensor:
    return torch.stack([part.bincount(minlength=classes) for part in labels.chunk(steps)])


CHECKS = {"weight gradient": check_weight_gradient, "fair shuffle": check_fair_shuffle}
