"""Lesson 65: the checks of its exercises."""

import functools
import statistics
from typing import Any

import torch
from torch import Tensor

from ... import data as datasets
from ...core import DDLabError
from ...data.aligning import aligned
from ...evaluation.students import evaluate
from ...methods import ld
from ...methods.distillation import from_images
from ...methods.shared import label_steps
from ...runs import Inputs, Run
from ..answers import Exercise, NotYet, require_shape, to_float64

# Ten for each class.
_PICTURES = 100
_ALIKE = 0.9  # the cosine with a digit above which a picture shows it
_SAME_COSINE = 0.999  # the cosine with a picture of the page
_AHEAD = 0.05  # of accuracy
_TOGETHER = 0.3  # the correlation of neighbouring pixels, of which noise has none
_DRAWS = 8  # of pictures


def _ridge_cases() -> list[tuple[Tensor, Tensor, float]]:
    draws = torch.Generator().manual_seed(4)
    return [
        (torch.randn((6, 9), generator=draws), torch.randn((9, 4), generator=draws), ridge)
        for ridge in (0.5, 1.0, 3.0)
    ]


def _inverse(phi: Tensor, ridge: float) -> Tensor:
    return torch.linalg.inv(phi @ phi.T + ridge * torch.eye(len(phi)))


def _gradient(phi: Tensor, slopes: Tensor, ridge: float) -> Tensor:
    """Return the gradient by autograd of the last layer that the page solves for."""
    labels = torch.zeros((len(phi), slopes.shape[1]), requires_grad=True)
    weights = label_steps.ridge_weights(phi, labels, ridge)
    return torch.autograd.grad((weights * slopes).sum(), labels)[0]


LABEL_GRADIENT = Exercise(
    arguments=("phi [n, d]", "G [d, classes]", "ridge"),
    cases=_ridge_cases,
    expected=_gradient,
    mistakes={
        "The sign is wrong: this is the gradient, and not yet a step against it.": (
            lambda phi, slopes, ridge: -_gradient(phi, slopes, ridge)
        ),
        "Your ridge is always 1. It is an argument.": (
            lambda phi, slopes, ridge: _inverse(phi, 1.0) @ phi @ slopes
        ),
        "That is phi G. The matrix of equation 3 is still missing.": (
            lambda phi, slopes, ridge: phi @ slopes
        ),
        "There is no ridge in your matrix.": (
            lambda phi, slopes, ridge: _inverse(phi, 0.0) @ phi @ slopes
        ),
        "You multiply by the matrix, where its inverse is needed.": (
            lambda phi, slopes, ridge: (phi @ phi.T + ridge * torch.eye(len(phi))) @ phi @ slopes
        ),
        "That is a gradient in W, not in the labels: G has one row for each feature.": (
            lambda phi, slopes, ridge: slopes
        ),
    },
    look="W = A Y is linear in Y. Which matrix takes a gradient in W back to the labels?",
    tolerance=1e-3,
    success=(
        "Your gradient equals autograd's for three ridge values. The matrix is symmetric, so it "
        "appears as it is, not transposed."
    ),
)


def check_pictures(answer: Any) -> str:
    """Check exercise 2: pictures without a digit whose learned labels teach better than those of
    noise.
    """
    shape = [_PICTURES, 1, 16, 16]
    if answer is None:
        raise NotYet(f"Give a tensor of numbers of shape {shape}.")
    pictures = to_float64(answer).detach()
    require_shape(pictures, shape, "The pictures")
    digits = datasets.load("digits")
    alike = (_directions(pictures) @ _directions(digits.normalised().double()).T).abs().amax(1)
    if float(alike.max()) > _ALIKE:
        statement = (
            f"Picture {int(alike.argmax())} has a cosine of {float(alike.max()):.2f} with a real "
            "digit"
        )
        raise NotYet(f"{statement}; up to {_ALIKE} is no digit.")
    shapes = aligned(datasets.load("shapes", size=16, train=1000, test=10), digits).normalised()
    if float((_directions(pictures) @ _directions(shapes.double()).T).amax()) > _SAME_COSINE:
        raise NotYet("These are pictures of the page's shapes: make your own.")
    together = neighbours_together(pictures)
    if together < _TOGETHER:
        raise NotYet(
            "Neighbouring pixels of your pictures have a correlation of "
            f"{together:.2f}, those of digits "
            f"{neighbours_together(digits.normalised()):.2f}. Noise has none: which pictures "
            f"have more than {_TOGETHER}?"
        )
    # The contrast is no part of the question, and faint pictures excite a network less.
    pictures = (pictures - pictures.mean()) / pictures.std()
    try:
        accuracy = _teach(_in_all_positions(pictures.float()))
        beside = _teach_by_noise()
    except DDLabError as problem:
        raise NotYet(f"No labels could be learned: {problem}") from None
    statement = (
        f"Networks classify {accuracy:.0%} of the test digits correctly with your pictures in "
        f"{_DRAWS} positions, and {beside:.0%} with {_DRAWS} draws of noise."
    )
    if accuracy < beside + _AHEAD:
        raise NotYet(
            f"{statement} Be {100 * _AHEAD:.0f} points ahead: strokes of digits are two to four "
            "pixels wide and run in all directions. How wide are the spots of your pictures, and "
            "do they run in all directions?"
        )
    return f"{statement} Neighbouring pixels go together in digits, and in your pictures."


def _in_all_positions(pictures: Tensor) -> list[Tensor]:
    """Return pictures turned by quarters and mirrored: eight draws of one kind of picture.

    Students of one draw alone differ by up to twenty points.
    """
    turned = []
    for mirrored in (pictures, pictures.flip(3)):
        turned += [torch.rot90(mirrored, quarters, (2, 3)) for quarters in range(4)]
    return turned


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
def _teach_by_noise() -> float:
    """Return the mean accuracy that pictures of noise teach, over several draws."""
    shape = (_PICTURES, 1, 16, 16)
    return _teach(
        [
            torch.randn(shape, generator=torch.Generator().manual_seed(seed))
            for seed in range(_DRAWS)
        ]
    )


def _teach(draws: list[Tensor]) -> float:
    """Return the mean accuracy on digits of students that learned from pictures by learned labels.

    Args:
        draws: of pictures; the labels of each are learned with a seed of its own.
    """
    digits = datasets.load("digits")
    accuracies = []
    for seed, pictures in enumerate(draws):
        base = from_images(pictures.contiguous(), torch.arange(_PICTURES) % 10, digits)
        config = ld.Config.teaching(iterations=600, seed=seed)
        distilled = Run(ld, config, Inputs(data=digits, distilled=base)).advance().result()
        evaluation = evaluate(
            distilled,
            digits,
            labels="stored",
            config=ld.student(distilled, network=config.network),
            seeds=[0],
            progress=False,
        )
        accuracies.append(evaluation.mean)
    return statistics.fmean(accuracies)


CHECKS = {"label gradient": LABEL_GRADIENT, "pictures": check_pictures}
