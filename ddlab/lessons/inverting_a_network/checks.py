"""Lesson 20: the checks of its exercises."""

from collections.abc import Callable
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ...core import randomness
from ...evaluation import evaluate
from ...methods import sre2l
from ...methods.distillation import distill, from_images
from ...methods.shared import descent
from ...methods.shared.recovery import batch_norm_mean_gap, batch_norm_variance_gap
from ...training import supervised
from ..answers import Exercise, NotYet

# Of images and students in exercise 3.
_PAIRS = 3
# Of the accuracy: what an answer must gain in the mean.
_AHEAD = 0.01
# Of normalised pixels, in the mean; the usual settings move them by .34.
_MOVED = 0.1


def _layer_inputs() -> list[tuple[Tensor, Tensor, Tensor]]:
    inputs = 3 * torch.randn((6, 4, 5, 5), generator=randomness.generator(3, 0, "exercise 1")) + 1
    return [(inputs, torch.linspace(-1, 1, 4), torch.linspace(0.2, 4, 4))]


def _close_gaps(
    inputs: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    *,
    correction: int = 0,
    stretch_of: Callable[[Tensor], Tensor] = torch.sqrt,
    shift: bool = True,
) -> Tensor:
    """Return inputs with the remembered statistics, or with the mistake that an option is."""
    mean = inputs.mean((0, 2, 3), keepdim=True)
    variance = inputs.var((0, 2, 3), correction=correction, keepdim=True)
    stretched = stretch_of(running_var.view(1, -1, 1, 1) / variance) * (inputs - mean)
    return stretched + (running_mean.view(1, -1, 1, 1) if shift else mean)


def _what_is_open(shifted: Tensor, inputs: Tensor, mean: Tensor, variance: Tensor) -> str:
    gaps = batch_norm_mean_gap(shifted, mean), batch_norm_variance_gap(shifted, variance)
    if max(gaps) < 1e-3:
        return (
            "Both gaps are closed, but the pattern has changed. In each channel, only multiply by "
            "a positive number and add a number."
        )
    return (
        f"After your function the mean gap is {gaps[0]:.3f} and the variance gap {gaps[1]:.3f}. "
        "Which of the two statistics is still that of the inputs?"
    )


CLOSE = Exercise(
    arguments=("inputs [n, channels, h, w]", "running_mean [channels]", "running_var [channels]"),
    cases=_layer_inputs,
    shape=lambda inputs, mean, variance: inputs.shape,
    expected=_close_gaps,
    mistakes={
        "Nearly: batch norm divides by n in its variance, and `var` by n - 1 (correction=0).": (
            lambda *inputs: _close_gaps(*inputs, correction=1)
        ),
        "A factor multiplies the variance by its square: take the root of the ratio.": (
            lambda *inputs: _close_gaps(*inputs, stretch_of=lambda ratio: ratio)
        ),
        "Both gaps are closed, but light and dark have changed places: stretch by a positive number.": (
            lambda *inputs: _close_gaps(*inputs, stretch_of=lambda ratio: -ratio.sqrt())
        ),
        "The variance is closed; the mean is still that of the inputs.": (
            lambda *inputs: _close_gaps(*inputs, shift=False)
        ),
        "The mean is closed; the variance is still that of the inputs.": (
            lambda *inputs: _close_gaps(*inputs, stretch_of=torch.ones_like)
        ),
        "Your function changes nothing.": lambda inputs, mean, variance: inputs,
    },
    look=_what_is_open,
    tolerance=1e-3,
    success=(
        "The gaps of one layer see two numbers per channel and nothing of the pattern. What a "
        "recovered image shows comes from many layers together."
    ),
)

_TIMES = 300 * 1000 * 2 / (3 * 224 * 224)  # the bytes of the labels over those of the image
BYTES = Exercise(
    ask="Give one number: the bytes of an image's labels, divided by the bytes of the image.",
    expected=_TIMES,
    mistakes={
        "That is one epoch. Every epoch has new views, and so new outputs.": _TIMES / 300,
        "Nearly: each number of an output takes two bytes.": _TIMES / 2,
        "Nearly: a pixel takes one byte for each colour.": _TIMES * 2,
        "That is the image over its labels. The question is the other way round.": 1 / _TIMES,
        "A pixel has three colours, of one byte each.": _TIMES * 3,
        "That is the ratio in percent.": 100 * _TIMES,
    },
    look="How many numbers does one image store in 300 epochs, and how many bytes has the image?",
    tolerance=0.0125,
    success=(
        "The labels take four times the bytes of the images. Stored as JPEG, the images take a "
        "tenth, and the labels forty times as much."
    ),
)


def check_ahead(answer: Any) -> str:
    """Check exercise 3: a config whose images beat random real ones of the same seeds.

    The answer is (data, teacher, config), with one image of each class.
    """
    if not isinstance(answer, tuple) or len(answer) != 3 or not isinstance(answer[2], sre2l.Config):
        raise NotYet("Give a Config: sre2l.Config.teaching(images_per_class=1, ...).")
    data, teacher, mine = answer
    if mine.images_per_class != 1:
        raise NotYet(
            f"Compare at equal budget, images_per_class=1; yours is {mine.images_per_class}."
        )
    options: dict[str, Any] = {"device": "cpu", "progress": False}
    recipe = supervised.Config.quick(data)
    gains = []
    moved = 0.0
    for seed in range(_PAIRS):
        rows = descent.real_image_indices(data, 1, seed=seed)[0]
        real = from_images(data.normalised(rows), data.train_labels[rows], data, teacher)
        distilled = distill("sre2l", data, teacher, mine.replace(seed=seed), **options)
        moved += float((distilled.images - real.images).abs().mean())
        evaluations = [
            evaluate(
                image_set,
                data,
                teacher=teacher,
                labels="online",
                config=recipe,
                seeds=(seed,),
                **options,
            )
            for image_set in (distilled, real)
        ]
        gains.append(evaluations[0].mean - evaluations[1].mean)
    statement = (
        "With online labels, your images minus the real images of the same seeds: "
        f"{', '.join(f'{gain:+.1%}' for gain in gains)}"
    )
    if fmean(gains) < _AHEAD:
        hint = (
            "Where should the images start?"
            if mine.initialisation == "noise"
            else "Let them keep more of the images that they started from."
        )
        raise NotYet(f"{statement}. {hint}")
    if moved / _PAIRS < _MOVED:
        raise NotYet(
            f"{statement}. These are still the real images: their pixels moved by "
            f"{moved / _PAIRS:.2f} deviations in the mean, of {_MOVED} at least. Let recovery change "
            "them."
        )
    return f"{statement}. The start decides: in section 5, only real starts are ahead."


CHECKS = {"close": CLOSE, "bytes": BYTES, "ahead": check_ahead}
