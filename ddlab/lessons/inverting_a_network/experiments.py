"""Lesson 20: the experiments behind its claims, and the checks of its exercises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ...core import randomness
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation import evaluate, measures
from ...methods import selection, sre2l
from ...methods.distillation import distill, from_images
from ...networks import Network
from ...runs import cache
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
    found: dict[str, list[float]] = {"real, hard": [], "typical, hard": [], "real, online": [], "recovered, online": []}
    typical = distill("selection", data, teacher, selection.Config.teaching(kind="k_means"), **_QUIET)
    for seed in range(pairs):
        sets = three_sets(data, teacher, seed=seed, recovery=recovery).as_dict() | {"typical": typical}
        for name, values in found.items():
            images, labels = name.split(", ")
            values.append(_student(sets[images], data, labels, teacher, seed, student))
    return found


def selections(
    data: ImageData,
    teacher: Network,
    *,
    pairs: int,
    images_per_class: int = 2,
    recovery: sre2l.Config | None = None,
    student: supervised.Config | None = None,
) -> dict[str, list[float]]:
    """Classical selections and recovered images at equal budget, all with online labels: test accuracy per pair.

    k-means chooses nearly the same images for every seed; random and recovered images change with it.
    """
    found: dict[str, list[float]] = {"random": [], "k_means": [], "recovered": []}
    made = recovery or sre2l.Config.teaching()
    for seed in range(pairs):
        for name, values in found.items():
            if name == "recovered":
                images = distill(
                    "sre2l", data, teacher, made.replace(images_per_class=images_per_class, seed=seed), **_QUIET
                )
            else:
                rule = selection.Config(kind=name, images_per_class=images_per_class, seed=seed)
                images = distill("selection", data, teacher, rule, **_QUIET)
            _whole(images)
            values.append(_student(images, data, "online", teacher, seed, student))
    return found


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


def _student(
    images: DistilledSet, data: ImageData, labels: str, teacher: Network, seed: int, config: supervised.Config | None
) -> float:
    config = supervised.Config.for_data(data) if config is None else config
    return evaluate(images, data, labels=labels, teacher=teacher, seeds=(seed,), config=config, device="cpu").mean


def _whole(images: DistilledSet) -> DistilledSet:
    if not images.complete:
        raise KeyboardInterrupt("images were still being made")
    return images


def check_gap(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function (inputs, running_mean) -> gap."""
    if not callable(answer):
        return False, "Write a function of (inputs, running_mean); inputs has shape [n, channels, height, width]."
    from ...methods.recovery import batch_norm_mean_gap

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
    """Exercise 3: a config with a larger weight on the variance gap and nothing else changed."""
    if not isinstance(answer, sre2l.Config):
        return False, "Give a Config: sre2l.Config.teaching(lambda_var=...)."
    if answer.lambda_var <= 0.01:
        return False, "Which of the two weights pulls at the variance gap? It is not larger than before yet."
    if answer.replace(lambda_var=0.01) != sre2l.Config.teaching(seed=answer.seed):
        return False, "Change lambda_var alone: otherwise you cannot tell what did it."
    return True, "Now see below whether the variance gap really ends lower, and what the cross-entropy pays for it."


CHECKS = {"gap": check_gap, "storage": check_storage, "setting": check_setting}


def trained_on_digits() -> tuple[ImageData, Network]:
    """The lesson's data and teacher, for the recorded run of its claims."""
    from ...data import load

    data = load("digits")
    return data, cache.run(supervised, supervised.Config.teaching("teacher"), Inputs(data=data, device="cpu"))
