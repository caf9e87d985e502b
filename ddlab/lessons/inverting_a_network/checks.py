"""Lesson 20: the checks of its exercises."""

from __future__ import annotations

from typing import Any

import torch

from ...core import randomness
from ...methods import sre2l
from ...methods.recovery import batch_norm_mean_gap, batch_norm_variance_gap
from ...runs import Run


def check_close(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function (inputs, running_mean, running_var) -> inputs without gaps, of the same pattern in every channel."""
    if not callable(answer):
        return False, "Write a function of (inputs, running_mean, running_var); inputs has shape [n, channels, h, w]."
    draw = randomness.generator(3, 0, "exercise 1")
    inputs, mean = 3 * torch.randn((6, 4, 5, 5), generator=draw) + 1, torch.linspace(-1, 1, 4)
    variance = torch.linspace(0.2, 4, 4)
    try:
        given = torch.as_tensor(answer(inputs.clone(), mean.clone(), variance.clone()))
    except Exception as problem:
        return False, f"Your function raised {type(problem).__name__}: {problem}."
    if given.shape != inputs.shape:
        return False, f"Inputs of shape {list(inputs.shape)} come in and go out; yours has {list(given.shape)}."
    gaps = [float(batch_norm_mean_gap(given, mean)), float(batch_norm_variance_gap(given, variance))]
    if not max(gaps) < 1e-3:
        return False, f"The mean gap is {gaps[0]:.3f} and the variance gap {gaps[1]:.3f} after it; both have to be 0."
    rows = torch.stack([inputs, given]).transpose(1, 2).flatten(2)  # [2, channels, values]
    if not all(float(torch.corrcoef(rows[:, channel])[0, 1]) > 0.999 for channel in range(4)):
        return False, "Both gaps are closed, but the pattern is another one. Multiply and add one number per channel."
    return True, "The gaps see two numbers per channel and nothing of the pattern; deeper layers see the rest."


def check_bytes(answer: Any) -> tuple[bool, str]:
    """Exercise 2: bytes of the kept answers of 300 epochs over those of the images, 1,000 classes at 224 px."""
    if not isinstance(answer, (int, float)) or isinstance(answer, bool):
        return False, "Give one number: bytes of the labels of one image, over the bytes of the image."
    times = 300 * 1000 * 2 / (3 * 224 * 224)
    if abs(answer - times) < 0.05:
        return True, "Stored as JPEG the images take ten times less, and the labels forty times as much as they."
    if abs(answer - times / 300) < 0.001:
        return False, "That is one epoch. Every epoch has other views, and so other answers."
    if abs(answer - times / 2) < 0.05 or abs(answer - 2 * times) < 0.05:
        return False, "Nearly: an answer takes two bytes per number, a pixel one byte per colour."
    return False, "One image: 3 x 224 x 224 bytes. Its labels: 300 epochs, 1,000 numbers each, two bytes per number."


def check_setting(answer: Any) -> tuple[bool, str]:
    """Exercise 3: (the lesson's run, a config): another lambda_var alone, whose run is made here and measured."""
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[1], sre2l.Config):
        return False, "Give a Config: sre2l.Config.teaching(lambda_var=..., seed=lesson.seed)."
    usual, mine = answer
    if mine.replace(lambda_var=usual.config.lambda_var) != usual.config:
        return False, "Change lambda_var alone: otherwise you cannot tell what did it."
    before, after = (_last(run) for run in (usual, Run(sre2l, mine, usual.inputs).advance()))
    said = "over the last steps, " + ", ".join(f"{name} {before[name]:.3g} -> {after[name]:.3g}" for name in before)
    if not after["variance gap"] <= 0.95 * before["variance gap"]:
        return False, f"Measured: {said}. The variance gap has to fall by 5%; does more weight on it help?"
    if after["class probability"] < 0.9:
        return False, f"Measured: {said}. The teacher no longer sees the digits: too much weight on the gap."
    return True, f"Measured: {said}. The mean gap pays: both weights pull at the same layers."


def _last(run: Run) -> dict[str, float]:
    """The numbers of the last tenth of the steps on show: one step sees one random shift."""
    looks = [frame.content.numbers for frame in run.frames[-max(1, len(run.frames) // 10) :]]
    names = ("variance gap", "mean gap", "class probability")
    return {name: sum(float(numbers[name].value) for numbers in looks) / len(looks) for name in names}


CHECKS = {"close": check_close, "bytes": check_bytes, "setting": check_setting}
