"""Lesson 10: the toy world of two Gaussian classes, trained for its figures, and the exercises'
checks.
"""

import math
from typing import Any

import numpy as np
import torch

from ...core import randomness
from ..answers import Exercise, NotYet, require_kind
from . import mixture, networks, toys, world

SIGMAS = world.SIGMAS.values
TEACHERS = ("trained", "posterior of the distilled")
# Share of right decisions in exercise 3; the best possible is .921, hard labels reach .86.
QUIET = 0.91
MOST_TEACHER = 0.9  # of a target of exercise 3
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
        "outputs": mixture.posterior(original, world.grid(axis, axis)),
        "points": points,
        "labels": labels,
        "targets": labels,
    }


def decisions(runs: toys.Trained, frame: int) -> np.ndarray:
    """Draw the output over the plane, the mean over the seeds: uint8 [settings, h, w, 3].

    Class 0 is orange, class 1 blue.
    """
    axis = torch.linspace(*world.EXTENT[0], _PIXELS)
    pixels = world.grid(axis, axis.flip(0)).view(-1, 2)
    outputs = (
        networks.outputs(runs.rows[frame], pixels).mean(1).view(-1, _PIXELS, _PIXELS, 1).numpy()
    )
    strength = np.abs(2 * outputs - 1)
    colour = np.where(outputs > 0.5, _BLUE, _ORANGE)
    return np.round(255 + strength * (colour - 255)).astype(np.uint8)


def _points() -> list[tuple[torch.Tensor, float]]:
    draw = randomness.generator(1, 0, "exercise 1")
    return [(1.5 + torch.randn(6, 2, generator=draw), sigma) for sigma in (0.5, 1.0, 2.0)]


def _logit(points: torch.Tensor, sigma: float) -> torch.Tensor:
    return (points.sum(1) - 3) / sigma**2


POSTERIOR = Exercise(
    arguments=("points [n, 2]", "sigma"),
    cases=_points,
    expected=lambda points, sigma: mixture.posterior(mixture.Mixture(deviation=sigma), points),
    mistakes={
        "That is the probability of class 0.": (
            lambda points, sigma: torch.sigmoid(-_logit(points, sigma))
        ),
        "Nearly: the squared distances are divided by the variance, sigma squared.": (
            lambda points, sigma: torch.sigmoid(_logit(points, sigma) * sigma)
        ),
        "Nearly: in the exponent of a Gaussian the squared distance is halved.": (
            lambda points, sigma: torch.sigmoid(2 * _logit(points, sigma))
        ),
        "That is the logit. A probability is the logistic function of it.": _logit,
        "That is a decision, 0 or 1. The posterior says how sure it is.": (
            lambda points, sigma: (_logit(points, sigma) > 0).float()
        ),
        "Return one probability for each point, that of class 1.": (
            lambda points, sigma: torch.stack(
                [torch.sigmoid(-_logit(points, sigma)), torch.sigmoid(_logit(points, sigma))], 1
            )
        ),
        "That is the density of class 1. Bayes divides it by the sum of both classes' densities.": (
            lambda points, sigma: (
                (-(points - 2).square().sum(1) / (2 * sigma**2)).exp() / (2 * math.pi * sigma**2)
            )
        ),
    },
    look="Where is a point whose posterior is one half, and how does sigma enter a density?",
    success=(
        "The boundary is where the coordinates sum to 3, for every sigma. How sure the posterior is "
        "away from it depends on sigma."
    ),
)

MOMENTUM = Exercise(
    arguments=("momentum", "n"),
    cases=lambda: [(0.98, 50), (0.98, 1), (0.9, 10), (0.5, 2)],
    expected=lambda momentum, last: 1 - momentum**last,
    mistakes={
        "That is the share of all samples before the last n.": lambda momentum, last: (
            momentum**last
        ),
        "Nearly: that is the share of one sample less. The newest gradient has the factor 1.": (
            lambda momentum, last: 1 - momentum ** (last - 1)
        ),
        "Nearly: that is the share of one sample more. The newest gradient has the factor 1.": (
            lambda momentum, last: 1 - momentum ** (last + 1)
        ),
        "That is the sum of the last n factors. Divide it by the sum of all of them.": (
            lambda momentum, last: (1 - momentum**last) / (1 - momentum)
        ),
        "That counts each of the last n as much as the newest one. Older ones count less.": (
            lambda momentum, last: last * (1 - momentum)
        ),
        "That is a share in percent. Give it as a fraction.": (
            lambda momentum, last: 100 * (1 - momentum**last)
        ),
    },
    look="Which factor does the gradient of k updates ago have, and what do all factors add up to?",
    success=(
        "With m = .98 the last fifty samples have nearly two thirds of each move, and each of them "
        "is one draw from G'."
    ),
)


def check_quiet(answer: Any) -> str:
    """Check exercise 3: a setting that learns from noisy samples and decides nearly as well as can
    be. The samples have Sigma = 1.
    """
    require_kind(
        answer, toys.Config, "Give a setting such as toys.Config(deviation=1.0, relabelling=...)."
    )
    usual = toys.Config(deviation=1.0).to_dict()
    free = {"learning_rate", "momentum", "relabelling", "teacher", "teacher_deviation"}
    changed = {name for name, value in answer.to_dict().items() if value != usual[name]}
    if not changed <= free:
        raise NotYet(
            "Keep samples, seeds and the 1000 updates as they are; you changed "
            f"{', '.join(sorted(changed - free))}."
        )
    if answer.relabelling > MOST_TEACHER:
        raise NotYet(
            f"With rho = {answer.relabelling:g} hardly anything is left of the label. Keep a tenth of it "
            f"or more: rho <= {MOST_TEACHER:g}."
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


CHECKS = {"posterior": POSTERIOR, "momentum": MOMENTUM, "quiet": check_quiet}
