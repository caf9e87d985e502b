"""Lesson 20: the checks of its exercises."""

from statistics import fmean
from typing import Any

import torch

from ...core import randomness
from ...evaluation import evaluate
from ...methods import sre2l
from ...methods.shared import recovery
from ...methods.shared.distillation import distill, from_images
from ...methods.shared.recovery import batch_norm_mean_gap, batch_norm_variance_gap
from ...training import supervised
from ..answers import NotYet, call_answer

# Of images and students in exercise 3.
_PAIRS = 3
# Of the accuracy: what an answer must gain in the mean.
_AHEAD = 0.01


def check_close(answer: Any) -> str:
    """Check exercise 1: a function that returns its inputs without gaps to the remembered
    statistics. Its arguments are (inputs, running_mean, running_var); the pattern in every channel
    stays.
    """
    draw = randomness.generator(3, 0, "exercise 1")
    inputs = 3 * torch.randn((6, 4, 5, 5), generator=draw) + 1
    mean = torch.linspace(-1, 1, 4)
    variance = torch.linspace(0.2, 4, 4)
    words = "(inputs, running_mean, running_var); inputs has shape [n, channels, h, w]"
    shifted = call_answer(
        answer, inputs.clone(), mean.clone(), variance.clone(), of=words, read=torch.as_tensor
    )
    if shifted.shape != inputs.shape:
        raise NotYet(
            f"The inputs have shape {list(inputs.shape)}, and your result must have it too; it has "
            f"{list(shifted.shape)}."
        )
    gaps = [
        float(batch_norm_mean_gap(shifted, mean)),
        float(batch_norm_variance_gap(shifted, variance)),
    ]
    if not max(gaps) < 1e-3:
        raise NotYet(
            f"After your function the mean gap is {gaps[0]:.3f} and the variance gap {gaps[1]:.3f}. "
            "Both have to be 0."
        )
    rows = torch.stack([inputs, shifted]).transpose(1, 2).flatten(2)  # [2, channels, values]
    if not all(float(torch.corrcoef(rows[:, channel])[0, 1]) > 0.999 for channel in range(4)):
        raise NotYet(
            "Both gaps are closed, but the pattern has changed. In each channel, multiply by one "
            "positive number and add another."
        )
    return (
        "the gaps of one layer see two numbers per channel and nothing of the pattern. What a "
        "recovered image shows comes from many layers together."
    )


def check_bytes(answer: Any) -> str:
    """Check exercise 2: the bytes of 300 epochs of kept answers, over those of the images.

    There are 1,000 classes at 224 px.
    """
    if not isinstance(answer, (int, float)) or isinstance(answer, bool):
        raise NotYet(
            "Give one number: the bytes of the labels of one image, divided by those of the image."
        )
    times = 300 * 1000 * 2 / (3 * 224 * 224)
    if abs(answer - times) < 0.05:
        return (
            "the labels take four times the bytes of the images. Stored as JPEG, the images take a "
            "tenth, and the labels forty times as much."
        )
    if abs(answer - times / 300) < 0.001:
        raise NotYet("That is one epoch. Every epoch has new views, and so new outputs.")
    if abs(answer - times / 2) < 0.05 or abs(answer - 2 * times) < 0.05:
        raise NotYet("Nearly: an output takes two bytes per number, a pixel one byte per colour.")
    raise NotYet(
        "One image takes 3 x 224 x 224 bytes. Its labels are 300 epochs of 1,000 numbers of two "
        "bytes."
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
        rows = recovery.real_image_indices(data, 1, seed=seed)[0]
        real = from_images(data.normalised(rows), data.train_labels[rows], data, teacher)
        distilled = distill("sre2l", data, teacher, mine.replace(seed=seed), **options)
        moved += float((distilled.images - real.images).abs().mean())
        evaluations = []
        for image_set in (distilled, real):
            evaluations.append(
                evaluate(
                    image_set,
                    data,
                    teacher=teacher,
                    labels="online",
                    config=recipe,
                    seeds=(seed,),
                    **options,
                )
            )
        gains.append(evaluations[0].mean - evaluations[1].mean)
    statement = (
        "with online labels, your images minus the real images of the same seeds: "
        f"{', '.join(f'{gain:+.1%}' for gain in gains)}"
    )
    if fmean(gains) < _AHEAD:
        hint = (
            "Where should the images start?"
            if mine.initialisation == "noise"
            else "Let them keep more of the images that they started from."
        )
        raise NotYet(f"{statement.capitalize()}. {hint}")
    if moved / _PAIRS < 0.02:
        raise NotYet(
            f"{statement.capitalize()}. These are still the real images: let recovery change them."
        )
    return f"{statement}. The start decides: in section 5, only real starts are ahead."


CHECKS = {"close": check_close, "bytes": check_bytes, "ahead": check_ahead}
