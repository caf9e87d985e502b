"""Lesson 20: the experiments behind its claims, and the checks of its exercises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .. import cache, measures, randomness, training
from ..data import ImageData
from ..distillation import distill, from_images
from ..distilled import DistilledSet
from ..evaluation import evaluate
from ..methods import selection, squeeze_recover_relabel
from ..networks import Network
from ..process import Inputs

NAME = "20_inverting_a_network"
SETTING = "digits 16 px, ConvNet-3 of width 64, 1 image per class"


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
    data: ImageData, teacher: Network, *, seed: int, recovered: DistilledSet | None = None, preset: str = "teaching"
) -> ThreeSets:
    """The three sets for one seed, one image per class each; `recovered` where there is one already."""
    inputs = Inputs(data=data, teachers=(teacher,))
    config = getattr(squeeze_recover_relabel.Config, preset)(images_per_class=1, seed=seed)
    made = cache.run(squeeze_recover_relabel, config, inputs) if recovered is None else recovered
    real = cache.run(selection, selection.Config.teaching(seed=seed), inputs)
    draw = randomness.generator(seed, 0, "lesson 20 noise")
    pixels = torch.randn((data.classes, data.channels, *data.image_size), generator=draw)
    noise = from_images(pixels, torch.arange(data.classes), data, teacher)
    return ThreeSets(real, noise, made)


def labels_and_images(
    data: ImageData, teacher: Network, *, pairs: int, preset: str = "teaching"
) -> dict[str, list[float]]:
    """Claim X1: accuracies of one student per pair in three conditions. Pair s has set seed s and student seed s."""
    student = getattr(training.Config, preset)()
    found: dict[str, list[float]] = {"real, hard": [], "real, online": [], "recovered, online": []}
    for seed in range(pairs):
        sets = three_sets(data, teacher, seed=seed, preset=preset).as_dict()
        for name, values in found.items():
            images, labels = name.split(", ")
            result = evaluate(
                sets[images], data, labels=labels, teacher=teacher, seeds=(seed,), config=student, device="cpu"
            )
            if not result.complete:
                raise KeyboardInterrupt("a student was still being trained")
            values.append(result.mean)
    return found


def lost_diversity(data: ImageData, teacher: Network, *, pairs: int, images_per_class: int = 3) -> list[float]:
    """Claim D1: for each seed the share of the feature distance that goes when lambda_var goes from .01 to 0."""
    shares = []
    for seed in range(pairs):
        distances = []
        for lambda_var in (0.01, 0.0):
            config = squeeze_recover_relabel.Config.teaching(
                images_per_class=images_per_class, iterations=100, lambda_var=lambda_var, seed=seed
            )
            made = distill("sre2l", data, teacher, config, device="cpu", progress=False)
            if not made.complete:
                raise KeyboardInterrupt("images were still being recovered")
            distances.append(float(measures.feature_distance(made, teacher).mean()))
        shares.append(1 - distances[1] / distances[0])
    return shares


def check_gap(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function (inputs, running_mean) -> gap."""
    if not callable(answer):
        return False, "Write a function of (inputs, running_mean); inputs has shape [n, channels, height, width]."
    from ..methods._recovery import batch_norm_mean_gap

    inputs = torch.randn(6, 4, 5, 5, generator=randomness.generator(3, 0, "exercise 1"))
    remembered = torch.linspace(-1, 1, 4)
    try:
        given = torch.as_tensor(answer(inputs, remembered))
    except Exception as problem:
        return False, f"Your function raised {type(problem).__name__}: {problem}."
    wanted = batch_norm_mean_gap(inputs, remembered)
    if given.shape != ():
        return (
            False,
            f"The gap is one number per layer; yours has shape {list(given.shape)}. Take the norm over channels.",
        )
    if torch.isclose(given, wanted.square(), rtol=1e-4):
        return False, "Nearly: that is the squared norm. Equation 4 has the norm itself."
    if torch.isclose(given, wanted, rtol=1e-4):
        return True, "The mean runs over images and both axes of the picture, the norm over channels."
    return False, "Average over dimensions 0, 2 and 3 first, subtract, then take the Euclidean norm."


def check_storage(answer: Any) -> tuple[bool, str]:
    """Exercise 2: floats that ten images of one class each and their stored labels take."""
    if not isinstance(answer, (int, float)) or isinstance(answer, bool):
        return False, "Give one number: count the pixels, then the labels."
    images, hard, stored = 10 * 16 * 16, 10, 10 * 10
    if answer == images + hard + stored:
        return True, "Stored labels cost little here; with 1000 classes and many epochs they outgrow the images."
    if answer == images:
        return False, "These are the pixels alone. Hard labels count one each, stored labels one per class."
    return False, f"Pixels: 10 x 16 x 16 = {images}. Then 10 hard labels and 10 x 10 logits."


def check_setting(answer: Any) -> tuple[bool, str]:
    """Exercise 3: a config whose recovered images have a smaller variance gap at the end than lambda_var = .01 gives."""
    if not isinstance(answer, squeeze_recover_relabel.Config):
        return False, "Give a Config: sre2l.Config.teaching(lambda_var=...)."
    if answer.lambda_var <= 0.01:
        return False, "Which of the two weights pulls at the variance gap? It is not larger than before yet."
    if answer.replace(lambda_var=0.01) != squeeze_recover_relabel.Config.teaching():
        return False, "Change lambda_var alone: otherwise you cannot tell what did it."
    return True, "Now look at the curves: the variance gap ends lower. Does the cross-entropy pay for it?"


CHECKS = {"gap": check_gap, "storage": check_storage, "setting": check_setting}


def trained_on_digits() -> tuple[ImageData, Network]:
    """The lesson's data and teacher, for the recorded run of its claims."""
    from ..data import load

    data = load("digits")
    return data, cache.run(training, training.Config.teaching("teacher"), Inputs(data=data))
