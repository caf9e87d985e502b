"""Lesson 70: the checks of its exercises."""

import torch
from torch import Tensor

from ...distilled import generators
from ..answers import Exercise, NotYet

# Of the images, at least, that another step must see; a shuffle within classes moves eleven in
# twelve.
_MOVED = 0.75
# Steps, images of each and classes of the plans of exercise 1.
_SIZES = ((12, 20, 10), (12, 8, 4))


def _layers() -> list[tuple[Tensor, Tensor, Tensor]]:
    draws = torch.Generator().manual_seed(7)
    cases = []
    for units, inputs in ((3, 4), (5, 3)):
        V, D = torch.randn((2, units, inputs), generator=draws)
        cases.append((V, torch.rand(units, generator=draws) + 0.5, D))
    return cases


def _gradient(V: Tensor, g: Tensor, D: Tensor) -> Tensor:
    """Return the gradient in V by autograd."""
    leaf = V.clone().requires_grad_()
    return torch.autograd.grad((generators.layer_weight(leaf, g) * D).sum(), leaf)[0]


def _without_row(V: Tensor, D: Tensor, sign: float = 1.0) -> Tensor:
    """Return D without its part along each row of V."""
    direction = V / V.norm(dim=1, keepdim=True)
    return D - sign * (D * direction).sum(1, keepdim=True) * direction


def _factor(V: Tensor, g: Tensor) -> Tensor:
    return (g / V.norm(dim=1))[:, None]


WEIGHT_GRADIENT = Exercise(
    arguments=("V [units, inputs]", "g [units]", "D [units, inputs]"),
    cases=_layers,
    expected=_gradient,
    mistakes={
        "A longer V gives the same W. Which part of D therefore has no effect on V?": (
            lambda V, g, D: _factor(V, g) * D
        ),
        "The direction is right. Its length depends on g and on the length of V, too.": (
            lambda V, g, D: _without_row(V, D)
        ),
        "Nearly: the gradient is smaller where V is longer. Divide by the length of its row.": (
            lambda V, g, D: g[:, None] * _without_row(V, D)
        ),
        "Nearly: the factor g of each row is missing.": (
            lambda V, g, D: _without_row(V, D) / V.norm(dim=1, keepdim=True)
        ),
        "The part of D along V has to go. You add it.": (
            lambda V, g, D: _factor(V, g) * _without_row(V, D, sign=-1.0)
        ),
        "You take V for a direction. Divide each row by its length before you project on it.": (
            lambda V, g, D: _factor(V, g) * (D - (D * V).sum(1, keepdim=True) * V)
        ),
        "The lengths are those of rows of V, not of V as a whole.": (
            lambda V, g, D: g[:, None] / V.norm() * (D - (D * V).sum() / V.norm() ** 2 * V)
        ),
        "The sign is wrong: this is the gradient, and not yet a step against it.": (
            lambda V, g, D: -_gradient(V, g, D)
        ),
    },
    look="Each row is a chain of two derivatives: of g v in v = V / |V|, and of v in V.",
    success=(
        "Your gradient equals autograd's. It is orthogonal to V: a move along V itself changes nothing. "
        "Plain gradient descent therefore makes V longer with each step (the page uses Adam)."
    ),
)


def _counts(labels: Tensor, steps: int, classes: int) -> Tensor:
    return torch.stack([part.bincount(minlength=classes) for part in labels.chunk(steps)])


def _check_order(rows: Tensor, labels: Tensor, steps: int) -> Tensor:
    """Refuse an order that is none, unfair, or nearly the old one."""
    places = torch.arange(len(labels))
    if not torch.equal(rows.sort().values, places.to(rows)):
        raise NotYet(f"The new order must contain each of the {len(labels)} rows once.")
    rows = rows.long()
    batch = len(labels) // steps
    classes = int(labels.max()) + 1
    before = _counts(labels, steps, classes)
    after = _counts(labels[rows], steps, classes)
    if not torch.equal(before, after):
        worst = int((before - after).abs().amax(1).argmax())
        raise NotYet(
            f"Step {worst + 1} had {before[worst].tolist()} images of the classes, and after "
            f"your shuffle it has {after[worst].tolist()}."
        )
    moved = float((rows // batch != places // batch).float().mean())
    if moved < _MOVED:
        raise NotYet(
            f"Only {moved:.0%} of the images have changed their step. Move more of them, at least "
            f"{_MOVED:.0%}."
        )
    if (rows.view(steps, batch) // batch).unique(dim=1).shape[1] == 1:
        raise NotYet(
            "Your shuffle moves whole batches. Images of one batch must go to different steps."
        )
    return rows


FAIR_SHUFFLE = Exercise(
    ask="Write a function of labels [n] and steps that returns the rows in a new order, [n].",
    arguments=("labels [n]", "steps"),
    cases=lambda: [
        (torch.arange(steps * batch) % classes, steps) for steps, batch, classes in _SIZES
    ],
    shape=lambda labels, steps: labels.shape,
    measure=_check_order,
    success=(
        "Each step keeps its classes, and most of its images were learned for other steps. What "
        "students lose now is the effect of order alone."
    ),
)

CHECKS = {"weight gradient": WEIGHT_GRADIENT, "fair shuffle": FAIR_SHUFFLE}
