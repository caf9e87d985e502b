"""Lesson 50: the checks of its exercises."""

from typing import Any

import torch
from torch import Tensor

from ... import data
from ...core import randomness
from ...core.errors import DDLabError
from ...core.parameters import describe
from ...evaluation import kernel_accuracy
from ...methods import kip, selection
from ...methods.shared.kernels import KernelSpec, kernel_matrix
from ...runs import cache
from ...runs.inputs import Inputs
from ..answers import NotYet, call_answer, float64

_FROZEN = 0.7  # share of the pixels in exercise 3
# More take longer than a reader waits for a check.
_MOST_UPDATES = 600
_FIXED = ("seed", "images_per_class", "megabytes", "strategy")
_RIDGE = 1e-3  # in exercise 1: large enough to be seen


def _images(count: int, stream: str) -> Tensor:
    return torch.randn(
        (count, 1, 3, 3), generator=randomness.generator(50, 0, stream), dtype=torch.float64
    )


def _kernels(points: int, real: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return K_ss [points, points], K_ts [real, points] and y_t [real, 3] of small images."""
    support = _images(points, "support")
    targets = _images(real, "targets")
    spec = KernelSpec()
    labels = kip.centred_labels(torch.arange(real) % 3, 3)
    return kernel_matrix(spec, support, support), kernel_matrix(spec, targets, support), labels


def check_regression(answer: Any) -> str:
    """Check exercise 1: a function (K_ss, K_ts, y_s, lambda) that gives the regression [m, c].

    Shapes: K_ss [n, n], K_ts [m, n], y_s [n, c].
    """
    support, cross, _ = _kernels(5, 7)
    labels = kip.centred_labels(torch.arange(5) % 3, 3)
    ridge = float(kip.mean_ridge(support, strength=_RIDGE))
    arguments = (support.clone(), cross.clone(), labels.clone(), ridge)
    predictions = call_answer(answer, *arguments, of="K_ss, K_ts, y_s and the ridge", read=float64)
    if predictions.shape != (7, 3):
        raise NotYet(
            f"For 7 real images and 3 classes the shape is [7, 3]; yours is {list(predictions.shape)}."
        )
    gap = float(
        (predictions - kip.predictions(support, cross, labels, strength=_RIDGE)).abs().max()
    )
    if gap < 1e-8:
        return "One linear system, no loop: this is all the training there is."
    without = float((predictions - kip.predictions(support, cross, labels, strength=0)).abs().max())
    hint = " That is the answer without a ridge." if without < 1e-6 else ""
    raise NotYet(f"Measured: the largest difference is {gap:.3g}.{hint}")


def check_labels(answer: Any) -> str:
    """Check exercise 2: a function (K_ss, K_ts, y_t) that gives the labels y_s of least error.

    The regression has no ridge.
    """
    support, cross, outputs = _kernels(5, 40)
    learned = call_answer(
        answer,
        support.clone(),
        cross.clone(),
        outputs.clone(),
        of="K_ss, K_ts and y_t",
        read=float64,
    )
    if learned.shape != (5, 3):
        raise NotYet(f"5 points and 3 classes have labels [5, 3]; yours are {list(learned.shape)}.")
    least = float((cross @ torch.linalg.lstsq(cross, outputs).solution - outputs).square().mean())
    error = float((kip.predictions(support, cross, learned, strength=0) - outputs).square().mean())
    if error < least * (1 + 1e-6):
        return f"The squared error is {error:.4f}, and no labels have less. Nothing was iterated."
    weights = float((cross @ learned - outputs).square().mean())
    hint = (
        " These are the weights: the labels are what K_ss makes of them."
        if weights < least * (1 + 1e-6)
        else ""
    )
    raise NotYet(f"Measured: the squared error is {error:.4f}; {least:.4f} can be reached.{hint}")


def check_frozen(answer: Any) -> str:
    """Check exercise 3: a Config of KIP that freezes 70% of the pixels and still beats the class
    means. It has ten digits.
    """
    if not isinstance(answer, kip.Config):
        raise NotYet("Give a Config: kip.Config.teaching(...).")
    usual = kip.Config.teaching()
    changed = []
    for name in describe(kip.Config):
        if getattr(answer, name) != getattr(usual, name):
            changed.append(name)
    if fixed := [name for name in changed if name in _FIXED]:
        raise NotYet(f"Leave {', '.join(fixed)} as in kip.Config.teaching().")
    if answer.corruption < _FROZEN:
        raise NotYet(f"Freeze at least {_FROZEN:.0%}; you froze {answer.corruption:.0%}.")
    if answer.iterations > _MOST_UPDATES or answer.kernel not in ("rbf", "fc1", "fc2", "fc3"):
        raise NotYet(
            f"That takes too long to try here: at most {_MOST_UPDATES} updates, and no "
            "convolutions."
        )
    digits = data.load("digits")
    spec = KernelSpec(**{name: getattr(answer, name) for name in describe(KernelSpec)})
    options: dict[str, Any] = {"kernel": spec, "ridge": answer.ridge}
    means = cache.run(
        selection, selection.Config(kind="centres", images_per_class=1), Inputs(data=digits)
    )
    try:
        learned = cache.run(kip, answer, Inputs(data=digits))
        accuracy = kernel_accuracy(learned, digits, labels="regression", **options)
        rival = kernel_accuracy(means, digits, labels="hard", **options)
    except DDLabError as problem:
        raise NotYet(f"No regression is left: {problem}") from None
    statement = f"Measured: {accuracy:.1%}, the class means {rival:.1%}."
    if accuracy <= rival:
        raise NotYet(
            f"{statement} What are the frozen pixels, and what besides pixels can be learned?"
        )
    return statement


CHECKS = {"regression": check_regression, "labels": check_labels, "frozen": check_frozen}
