"""Lesson 20: the experiments behind its claims, and the checks of its exercises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ...core import randomness
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import evaluate_all, measures
from ...methods import selection, sre2l
from ...methods.distillation import distill, from_images
from ...methods.recovery import batch_norm_mean_gap, batch_norm_variance_gap
from ...networks import Network
from ...runs import Run, cache
from ...runs.process import Inputs
from ...training import supervised

_QUIET: dict[str, Any] = {"device": "cpu", "progress": False}  # what is compared with the record is made where that was


@dataclass(frozen=True)
class ThreeSets:
    """One image per class three ways: drawn real ones, noise, recovered from the teacher."""

    real: DistilledSet
    noise: DistilledSet
    recovered: DistilledSet

    def as_dict(self) -> dict[str, DistilledSet]:
        """By the names that `LabelsAgainstImages` uses."""
        return {"real": self.real, "noise": self.noise, "recovered": self.recovered}


def three_sets(
    data: ImageData,
    teacher: Network,
    *,
    seed: int,
    recovered: DistilledSet | None = None,
    recovery: sre2l.Config | None = None,
) -> ThreeSets:
    """The three sets for one seed, one image per class each; `recovered` where there is one already.

    Args:
        recovery: settings of the recovery, default `Config.teaching()`; seed and images per class are replaced.
    """
    inputs = Inputs(data=data, teachers=(teacher,), device="cpu")
    config = (recovery or sre2l.Config.teaching()).replace(images_per_class=1, seed=seed)
    made = cache.run(sre2l, config, inputs) if recovered is None else recovered
    real = cache.run(selection, selection.Config.teaching(seed=seed), inputs)
    draw = randomness.generator(seed, 0, "lesson 20 noise")
    pixels = torch.randn((data.classes, data.channels, *data.image_size), generator=draw)
    noise = from_images(pixels, torch.arange(data.classes), data, teacher)
    return ThreeSets(real, noise, _whole(made))


def labels_and_images(
    data: ImageData,
    teacher: Network,
    *,
    pairs: int,
    recovery: sre2l.Config | None = None,
    student: supervised.Config | None = None,
) -> dict[str, list[float]]:
    """Claim X1: test accuracies of one student per pair in four conditions. Pair s has set seed s and student seed s.

    "typical" is the real image nearest to the mean of its class (k-means with one centre): better images, hard labels.
    """
    conditions = ("real, hard", "typical, hard", "real, online", "recovered, online")
    typical = distill("selection", data, teacher, selection.Config.teaching(kind="k_means"), **_QUIET)
    several: dict[tuple[str, int], dict[str, Any]] = {}
    for seed in range(pairs):
        sets = three_sets(data, teacher, seed=seed, recovery=recovery).as_dict() | {"typical": typical}
        for name in conditions:
            images, labels = name.split(", ")
            several[name, seed] = {"distilled": sets[images], "labels": labels, "seeds": (seed,)}
    config = supervised.Config.for_data(data) if student is None else student
    found = evaluate_all(several, data=data, teacher=teacher, config=config, device="cpu")
    return {name: [found[name, seed].mean for seed in range(pairs)] for name in conditions}


def lost_diversity(
    data: ImageData,
    teacher: Network,
    *,
    pairs: int,
    images_per_class: int = 3,
    recovery: sre2l.Config | None = None,
) -> list[float]:
    """Claim D1: for each seed the share of the feature distance that goes when lambda_var goes from .01 to 0."""
    settings = recovery or sre2l.Config.teaching(iterations=100)
    shares = []
    for seed in range(pairs):
        distances = []
        for lambda_var in (0.01, 0.0):
            config = settings.replace(images_per_class=images_per_class, lambda_var=lambda_var, seed=seed)
            made = _whole(distill("sre2l", data, teacher, config, **_QUIET))
            distances.append(float(measures.feature_distance(made, teacher).mean()))
        shares.append(1 - distances[1] / distances[0])
    return shares


def _whole(images: DistilledSet) -> DistilledSet:
    if not images.complete:
        raise KeyboardInterrupt("images were still being made")
    return images


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


def trained_on_digits() -> tuple[ImageData, Network]:
    """The lesson's data and teacher, for the recorded run of its claims."""
    from ...data import load

    data = load("digits")
    return data, cache.run(supervised, supervised.Config.teaching("teacher"), Inputs(data=data, device="cpu"))
