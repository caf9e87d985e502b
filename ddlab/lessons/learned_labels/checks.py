"""Lesson 65: the checks of its exercises."""

import functools
import statistics
from typing import Any

import torch
from torch import Tensor

from ... import data as datasets
from ...core.errors import DDLabError
from ...data.aligning import aligned
from ...evaluation.students import evaluate
from ...methods import ld
from ...methods.shared import label_steps
from ...methods.shared.distillation import from_images
from ...runs import Run
from ...runs.inputs import Inputs
from ..answers import NotYet, call_answer, float64

# Ten for each class.
_PICTURES = 100
_ALIKE = 0.9  # the cosine with a digit above which a picture shows it
_SAME_COSINE = 0.999  # the cosine with a picture of the page
_AHEAD = 0.1  # of accuracy
_TOGETHER = 0.3  # the correlation of neighbouring pixels, of which noise has none
_DRAWS = 5  # of noise


def check_label_gradient(answer: Any) -> str:
    """Check exercise 1: (Phi Phi^T + ridge I)^-1 Phi G."""
    draws = torch.Generator().manual_seed(4)
    furthest = 0.0
    for ridge in (0.5, 1.0, 3.0):
        phi = torch.randn((6, 9), generator=draws, dtype=torch.float64)
        slopes = torch.randn((9, 4), generator=draws, dtype=torch.float64)
        labels = torch.randn((6, 4), generator=draws, dtype=torch.float64)
        labels.requires_grad_()
        (label_steps.ridge_weights(phi, labels, ridge) * slopes).sum().backward()
        words = "phi [n, d], G [d, classes] and the ridge"
        gradient = call_answer(answer, phi.clone(), slopes.clone(), ridge, of=words, read=float64)
        expected = labels.grad
        assert expected is not None
        if gradient.shape != expected.shape:
            raise NotYet(
                f"A gradient has the shape of its labels, {[*expected.shape]}; yours has "
                f"{[*gradient.shape]}."
            )
        furthest = max(furthest, float((gradient - expected).abs().max()))
    if furthest < 1e-6:
        return (
            "Measured: that of autograd at three ridges. The matrix is symmetric, so it appears "
            "as it is, not transposed."
        )
    raise NotYet(
        f"Measured: up to {furthest:.2g} from autograd's. W = A Y is linear in Y: which "
        "matrix takes G back to labels?"
    )


def check_pictures(answer: Any) -> str:
    """Check exercise 2: pictures without a digit whose learned labels teach better than those of
    noise.
    """
    shape = [_PICTURES, 1, 16, 16]
    if not isinstance(answer, Tensor) or [*answer.shape] != shape or not answer.is_floating_point():
        raise NotYet(f"Give a tensor of numbers of shape {shape}.")
    if not bool(torch.isfinite(answer).all()):
        raise NotYet("Some of the numbers are not finite.")
    digits = datasets.load("digits")
    alike = (_directions(answer.float()) @ _directions(digits.normalised()).T).abs().amax(1)
    if float(alike.max()) > _ALIKE:
        statement = (
            f"Picture {int(alike.argmax())} has a cosine of {float(alike.max()):.2f} with a real "
            "digit"
        )
        raise NotYet(f"{statement}; up to {_ALIKE} is no digit.")
    shapes = aligned(datasets.load("shapes", size=16, train=1000, test=10), digits).normalised()
    if float((_directions(answer.float()) @ _directions(shapes).T).amax()) > _SAME_COSINE:
        raise NotYet("These are pictures of the page's shapes: make your own.")
    together = neighbours_together(answer.float())
    if together < _TOGETHER:
        raise NotYet(
            "Measured: neighbouring pixels of your pictures have a correlation of "
            f"{together:.2f}, those of digits "
            f"{neighbours_together(digits.normalised()):.2f}. Noise has none: which pictures "
            f"have more than {_TOGETHER}?"
        )
    try:
        accuracy = _taught(answer.float().contiguous(), students=2)
        beside = _taught_by_noise()
    except DDLabError as problem:
        raise NotYet(f"No labels could be learned: {problem}") from None
    statement = (
        f"Measured: networks get {accuracy:.0%} of the test digits right, with pictures of noise "
        f"{beside:.0%}, the mean of {_DRAWS} draws."
    )
    if accuracy < beside + _AHEAD:
        hint = "a network that sees a new digit must find something of it in your pictures."
        raise NotYet(f"{statement} Be {100 * _AHEAD:.0f} points ahead: {hint}")
    return f"{statement} Neighbouring pixels go together in digits, and in your pictures."


def neighbours_together(images: Tensor) -> float:
    """Return the correlation of neighbouring pixels within images [n, c, h, w].

    It is the mean over horizontal and vertical neighbours.
    """
    centred = images - images.mean((2, 3), keepdim=True)
    variance = centred.square().mean().clamp_min(1e-12)
    across = (centred[..., :, 1:] * centred[..., :, :-1]).mean()
    down = (centred[..., 1:, :] * centred[..., :-1, :]).mean()
    return float((across + down) / 2 / variance)


def _directions(images: Tensor) -> Tensor:
    flat = images.flatten(1) - images.flatten(1).mean(1, keepdim=True)
    return flat / flat.norm(dim=1, keepdim=True).clamp_min(1e-12)


@functools.cache
def _taught_by_noise() -> float:
    """Return the mean accuracy that pictures of noise teach, over several draws.

    One draw alone lies up to thirteen points off.
    """
    shape = (_PICTURES, 1, 16, 16)
    draws = []
    for seed in range(_DRAWS):
        draws.append(torch.randn(shape, generator=torch.Generator().manual_seed(seed)))
    return statistics.fmean(_taught(noise, students=1) for noise in draws)


def _taught(images: Tensor, students: int) -> float:
    """Return the mean accuracy on digits of students that learned from pictures by learned labels."""
    digits = datasets.load("digits")
    accuracies = []
    base = from_images(images, torch.arange(_PICTURES) % 10, digits)
    for seed in range(students):
        config = ld.Config.teaching(iterations=600, seed=seed)
        distilled = Run(ld, config, Inputs(data=digits, distilled=base)).advance().result()
        student = ld.student(distilled, network=config.network)
        accuracies.append(
            evaluate(
                distilled, digits, labels="stored", config=student, seeds=[0], progress=False
            ).mean
        )
    return statistics.fmean(accuracies)


CHECKS = {"label gradient": check_label_gradient, "pictures": check_pictures}
