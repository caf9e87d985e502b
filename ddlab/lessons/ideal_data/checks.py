"""Lesson 10: the toy world of two Gaussian classes, trained for its figures, and the exercises'
checks.
"""

from typing import Any

import numpy as np
import torch

from ...core import randomness
from ..answers import NotYet, call_answer
from . import mixture, networks, toys, world

SIGMAS = world.SIGMAS.values
TEACHERS = ("trained", "posterior of the distilled")
# Share of right decisions in exercise 3; the best possible is .921, hard labels reach .86.
QUIET = 0.91
PER_CLASS = 512  # points that stand for G: right to less than one percent
# Of the picture on each side.
_PIXELS = 96
# Okabe and Ito's vermilion and blue, as everywhere in this lesson.
_ORANGE = np.array([213, 94, 0])
_BLUE = np.array([0, 114, 178])


def on_original(runs: toys.Trained) -> toys.Judged:
    """Return the squared error and share of right decisions on G, [frames, settings, seeds]."""
    return toys.judge(runs, per_class=PER_CLASS)


def at_the_end(config: toys.Config) -> toys.Judged:
    """Return the squared error and share of right decisions of one setting at the end, over its
    seeds.
    """
    judged = on_original(toys.train([config]))
    return toys.Judged(*(values[-1].mean() for values in judged))


def best_decisions(*, seed: int, count: int = 150) -> dict[str, Any]:
    """Return the exact posterior, which no network can beat on G, for `figures.decision_map`.

    It comes with `count` samples.
    """
    original = toys.Config().original
    axis = torch.linspace(*world.EXTENT[0], 41, dtype=torch.float64)
    points, labels = mixture.sample(original, count, seed=seed)
    return {
        "x": axis,
        "y": axis,
        "outputs": mixture.posterior(original, world.plane(axis, axis)),
        "points": points,
        "labels": labels,
        "targets": labels,
    }


def decisions(runs: toys.Trained, frame: int) -> np.ndarray:
    """Draw the output over the plane, the mean over the seeds: uint8 [settings, h, w, 3].

    Class 0 is orange, class 1 blue.
    """
    axis = torch.linspace(*world.EXTENT[0], _PIXELS)
    pixels = world.plane(axis, axis.flip(0)).view(-1, 2)
    outputs = (
        networks.outputs(runs.rows[frame], pixels).mean(1).view(-1, _PIXELS, _PIXELS, 1).numpy()
    )
    strength = np.abs(2 * outputs - 1)
    colour = np.where(outputs > 0.5, _BLUE, _ORANGE)
    return np.round(255 + strength * (colour - 255)).astype(np.uint8)


def check_posterior(answer: Any) -> str:
    """Check exercise 1: a function (points [n, 2], sigma) that gives P(y = 1 | x).

    The means are (1, 1) and (2, 2).
    """
    points = 1.5 + torch.randn(6, 2, generator=randomness.generator(1, 0, "exercise 1"))
    for sigma in (0.5, 1.0):
        expected = mixture.posterior(mixture.Mixture(deviation=sigma), points)
        probabilities = call_answer(
            answer, points, sigma, of="(points, sigma)", read=torch.as_tensor
        )
        if probabilities.shape != expected.shape:
            raise NotYet(
                f"Return one probability for each point; yours has shape {list(probabilities.shape)}."
            )
        if torch.allclose(probabilities, expected, atol=1e-5):
            continue
        if torch.allclose(probabilities, 1 - expected, atol=1e-5):
            raise NotYet("That is the probability of class 0.")
        if torch.allclose(probabilities, torch.sigmoid((points - 1.5).sum(1) / sigma), atol=1e-5):
            raise NotYet("Nearly: the logit is divided by the variance, sigma squared.")
        raise NotYet(
            "Take the logarithm of the ratio of the two densities: a line in x, divided by "
            "sigma squared."
        )
    return (
        "the boundary is where the coordinates sum to 3, for every sigma. How sure the posterior is "
        "away from it depends on sigma."
    )


def check_momentum(answer: Any) -> str:
    """Check exercise 2: a function (momentum, n) that gives the share of the last n gradients.

    The right share is found by updating.
    """
    for momentum, last in ((0.98, 50), (0.98, 1), (0.9, 10), (0.5, 2)):
        newest = everything = 0.0
        for step in range(2000):
            newest = momentum * newest + (step >= 2000 - last)
            everything = momentum * everything + 1
        share = call_answer(answer, momentum, last, of="(momentum, n)")
        if isinstance(share, bool) or not isinstance(share, (int, float)):
            raise NotYet("Return one number from 0 to 1.")
        if abs(share - newest / everything) > 1e-6:
            statement = (
                f"With m = {momentum:g} the last {last} of many gradients have a share of "
                f"{newest / everything:.3f}"
            )
            raise NotYet(
                f"{statement}; yours is {share:.3f}. Add up 1 + m + m^2 + ..., once to the n-th "
                "term, once to the end."
            )
    return (
        "with m = .98 the last fifty samples have nearly two thirds of each move, and each of them is "
        "one draw from G'."
    )


def check_quiet(answer: Any) -> str:
    """Check exercise 3: a setting that learns from noisy samples and decides nearly as well as can
    be. The samples have Sigma = 1.
    """
    if not isinstance(answer, toys.Config):
        raise NotYet("Give a setting such as toys.Config(deviation=1.0, relabelling=...).")
    usual = toys.Config(deviation=1.0).to_dict()
    free = {"learning_rate", "momentum", "relabelling", "teacher", "teacher_deviation"}
    changed = set()
    for name, value in answer.to_dict().items():
        if value != usual[name]:
            changed.add(name)
    if not changed <= free:
        raise NotYet(
            "Keep samples, seeds and the 1000 updates as they are; you changed "
            f"{', '.join(sorted(changed - free))}."
        )
    judged = at_the_end(answer)
    statement = (
        f"{judged.accuracy_fraction:.1%} of the decisions are correct, and the squared error is "
        f"{judged.mean_squared_error:.3f}"
    )
    if judged.accuracy_fraction >= QUIET:
        return (
            f"{statement}. The samples are as wide as before, so their noisy labels did the harm."
        )
    if changed <= {"learning_rate", "momentum"}:
        raise NotYet(
            f"{statement}. Shorter steps shake less and arrive later. Change the targets instead."
        )
    raise NotYet(f"{statement}. Leave a smaller share of the label in the target.")


CHECKS = {"posterior": check_posterior, "momentum": check_momentum, "quiet": check_quiet}
