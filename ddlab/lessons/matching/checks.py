"""Lesson 05: the checks of its exercises."""

from __future__ import annotations

from typing import Any

import torch

from ... import data
from ...core import randomness
from ...core.errors import DDLabError
from ...core.parameters import describe
from ...evaluation import evaluate
from ...methods import dm
from ...methods.distillation import distill
from .world import student_config

_WORSE = 0.05  # of accuracy: three students differ by less
_LAYERS = {
    "convolution": "A convolution is a weighted sum (and a constant): of an average it gives the average of its outputs.",
    "pooling": "Average pooling is an average itself: the order of two averages does not matter.",
}


def check_best_image(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function of real images [n, c, h, w] that returns the one image at distance 0 from them, features being pixels."""
    if not callable(answer):
        return False, "Write a function of real, [n, c, h, w]."
    real = torch.randn((7, 2, 4, 3), generator=randomness.generator(5, 0, "exercise 1"))
    try:
        given = torch.as_tensor(answer(real.clone()))
    except Exception as problem:
        return False, f"Your function raised {type(problem).__name__}: {problem}."
    if given.shape != (1, *real.shape[1:]):
        return False, f"One image of shape {[1, *real.shape[1:]]} comes out; yours has {list(given.shape)}."
    distance = float((real.mean(0) - given.mean(0)).square().sum())
    if not distance < 1e-8:
        return False, f"Measured: the squared distance is {distance:.3g}."
    return True, "It is the mean image. So the class mean is what matching gives where the network adds nothing."


def check_layer(answer: Any) -> tuple[bool, str]:
    """Exercise 2: a layer for which the features of an average are not the average of the features."""
    if answer in ("activation", "normalisation"):
        other = "normalisation" if answer == "activation" else "activation"
        return True, f"It is not linear: {_MEASURED[answer]} The {other} would do as well."
    return False, _LAYERS.get(answer, "Give one of the four words.") if isinstance(answer, str) else "Give a word."


_MEASURED = {
    "activation": "ReLU(-1) + ReLU(1) is 1, ReLU of their sum is 0.",
    "normalisation": "each image is divided by its own spread before the average is taken.",
}


def check_break_it(answer: Any) -> tuple[bool, str]:
    """Exercise 3: a Config of DM with one field changed, whose digits teach less than those that they began as."""
    if not isinstance(answer, dm.Config):
        return False, "Give a Config: dm.Config.teaching(...)."
    usual = dm.Config.teaching()
    changed = [name for name in describe(dm.Config) if getattr(answer, name) != getattr(usual, name)]
    if len(changed) != 1 or changed[0] in ("images_per_class", "seed", "network"):
        return (
            False,
            f"Change one field, and neither images_per_class, seed nor network; you changed {changed or 'none'}.",
        )
    if answer.iterations > 200 or answer.batch_size > 256:
        return False, "That takes too long to try here: at most 200 updates and batches of 256."
    digits = data.load("digits")
    began = distill("selection", digits, progress=False)
    try:
        learned = distill(dm, digits, config=answer, progress=False)
    except DDLabError as problem:
        return False, f"So much that no image is left: {problem}"
    taught = [
        evaluate(images, digits, labels="hard", seeds=(0, 1, 2), config=student_config(digits)).mean
        for images in (began, learned)
    ]
    said = f"Measured: {taught[1]:.1%} with {changed[0]} = {getattr(answer, changed[0])!r}, {taught[0]:.1%} before any update."
    if taught[1] > taught[0] - _WORSE:
        hint = "What would throw the images far away, or never let them move towards the class?"
        return False, f"{said} It has to be {_WORSE:.0%} less, or it may be luck. {hint}"
    return True, said


CHECKS = {"best image": check_best_image, "layer": check_layer, "break it": check_break_it}
