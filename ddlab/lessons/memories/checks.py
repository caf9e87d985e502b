"""Lesson 75: the checks of its exercises."""

import functools
import math
import statistics
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...data import load
from ...distilled import DistilledSet
from ...evaluation import class_incremental
from ...evaluation.incremental import Incremental
from ...methods import mnemonics
from ...methods.distillation import from_images
from ..answers import Exercise, NotYet

_LEAD = 0.03  # of accuracy, exercise 1
# The squared distance of two exemplars, in mean squared distances of an image from its class mean:
# about 2 for two random images. Below this they are nearly alike.
_NEAR = 0.5
# of the page's temporary network
_STEPS = 5
# Of the inner steps that an answer is held against.
_RATE = 0.1


def _matrices() -> list[tuple[list[list[float]]]]:
    draws = torch.Generator().manual_seed(2)
    cases = []
    for phases in (3, 5):
        rows = [torch.rand(2 * phase + 2, generator=draws).tolist() for phase in range(phases)]
        cases.append((rows,))
    return cases


def _task_paths(matrix: list[list[float]]) -> list[list[float]]:
    """Return the accuracy on each task, phase by phase from its own on."""
    paths = []
    for task in range(len(matrix)):
        paths.append([sum(row[2 * task : 2 * task + 2]) / 2 for row in matrix[task:]])
    return paths


def _forgetting(matrix: list[list[float]]) -> tuple[float, float]:
    classes = tuple((f"{task}a", f"{task}b") for task in range(len(matrix)))
    incremental = Incremental({0: tuple(map(tuple, matrix))}, classes)
    return incremental.forgetting_of_first, incremental.mean_forgetting


def _mean_loss(matrix: list[list[float]], before: Any, tasks: slice) -> tuple[float, float]:
    """Return a mean forgetting with another accuracy before, or over other tasks."""
    lost = [before(path) - path[-1] for path in _task_paths(matrix)[tasks]]
    return math.nan, statistics.fmean(lost)


FORGETTING = Exercise(
    ask="Write a function of matrix that returns the forgetting of the first task and the mean.",
    arguments=("matrix, whose row p has the accuracies of the classes met by phase p",),
    cases=_matrices,
    parts=("forgetting of the first task", "mean forgetting"),
    expected=_forgetting,
    mistakes={
        "Your two numbers stand in the wrong order: the first task comes first.": (
            lambda matrix: _forgetting(matrix)[::-1]
        ),
        "Your first number is that of one class. A task has two, with equally many test images.": (
            lambda matrix: (matrix[0][0] - matrix[-1][0], math.nan)
        ),
        "Your first number is negative where something was forgotten: before minus after.": (
            lambda matrix: (-_forgetting(matrix)[0], math.nan)
        ),
        "In your mean, take the best accuracy on a task before the end, not the first one.": (
            lambda matrix: _mean_loss(matrix, lambda path: path[0], slice(None, -1))
        ),
        "Leave the last task out of your mean: nothing could be forgotten of it.": (
            lambda matrix: _mean_loss(matrix, max, slice(None))
        ),
        "In your mean, the best accuracy is one before the end. The end counts as well.": (
            lambda matrix: _mean_loss(matrix, lambda path: max(path[:-1]), slice(None, -1))
        ),
    },
    look="Over which phases and tasks does it run, and which accuracy is subtracted?",
    success=(
        "Both numbers are correct, on matrices of 3 and 5 phases. Only the first can be negative, "
        "because a maximum is never below the end."
    ),
)


def _images_by_class() -> list[tuple[Tensor]]:
    digits = load("digits")
    return [(digits.normalised(digits.of_class(label)),) for label in range(digits.classes)]


def _judge_pairs(pairs: list[Tensor]) -> str:
    """Train with the exemplars, and compare them with two random images of each class."""
    digits = load("digits")
    images = torch.cat(pairs).float()
    labels = torch.arange(digits.classes).repeat_interleave(2)
    accuracy = _accuracy_at_end("given", from_images(images, labels, digits))
    random_accuracy = _accuracy_of_random()
    statement = (
        f"With your exemplars the network ends at {accuracy:.1%}, with two random images of each "
        f"class at {random_accuracy:.1%} (three seeds)."
    )
    if accuracy - random_accuracy >= _LEAD:
        return statement
    shares = []
    for pair, (class_images,) in zip(pairs, _images_by_class(), strict=True):
        between = float((pair[0] - pair[1]).square().sum())
        spread = float((class_images - class_images.mean(0)).square().flatten(1).sum(1).mean())
        shares.append(between / spread)
    if max(shares) == 0:
        hint = "Your two exemplars of a class are equal, so the second one adds nothing."
    elif statistics.fmean(shares) < _NEAR:
        hint = (
            "Your two exemplars of a class are nearly alike, because both lie in its middle. Which "
            "two images stand for more of the class?"
        )
    else:
        hint = (
            "Yours differ, but single images may be untypical. What does every image of a group "
            "have in common?"
        )
    raise NotYet(f"{statement} {hint}")


PAIR = Exercise(
    ask="Write a function of the images of one class, [n, 1, 16, 16], that returns two exemplars.",
    arguments=("images [n, 1, 16, 16]",),
    cases=_images_by_class,
    shape=lambda images: (2, *images.shape[1:]),
    success=_judge_pairs,
)


def _accuracy_at_end(start: str, exemplars: DistilledSet | None) -> float:
    """Return the accuracy after the last phase, with two exemplars of each class, three seeds."""
    config = mnemonics.Config.teaching(images_per_class=2, start=start, exemplar_step="none")
    incremental = class_incremental(
        exemplars, load("digits"), config=config, seeds=range(3), progress=False, device="cpu"
    )
    return incremental.accuracies[-1]


@functools.cache
def _accuracy_of_random() -> float:
    """Return what random exemplars reach: the same for every answer, so a second try is faster."""
    return _accuracy_at_end("random", None)


def _memory_cases() -> list[tuple[Any, ...]]:
    draws = torch.Generator().manual_seed(6)
    network = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 6))
    with torch.no_grad():
        for value in network.parameters():
            value.copy_(torch.randn(value.shape, generator=draws))
    memory = torch.randn(8, 4, generator=draws).requires_grad_()
    return [(network, memory, torch.arange(8) // 2, 4)]


def _gradient_direction(loss: Tensor, network: nn.Module, memory: Tensor, *_others: Any) -> Tensor:
    """Return the gradient in the exemplars without its length: a mean of losses is as good as a sum."""
    gradient = None
    if loss.requires_grad:
        (gradient,) = torch.autograd.grad(loss, memory, allow_unused=True)
    if gradient is None:
        raise NotYet("No gradient of your loss reaches `memory`: none of it would move.")
    return gradient.double() / gradient.double().norm().clamp_min(1e-12)


def _halves_loss(
    network: nn.Sequential,
    memory: Tensor,
    labels: Tensor,
    classes_met: int,
    *,
    halves: tuple[slice, slice] = (slice(0, None, 2), slice(1, None, 2)),
    both: bool = True,
    holds: str = "judge",
) -> Tensor:
    """Return the loss of both halves, each judged by the other, or with one of the mistakes.

    Args:
        halves: the rows that learn, and those that judge them.
        both: whether the halves then change places.
        holds: what is held: the "judge", or "nothing".
    """
    total = torch.zeros(())
    for learning, judging in (halves, halves[::-1])[: 1 + both]:
        weights = [value.detach().clone().requires_grad_() for value in network.parameters()]
        for _ in range(_STEPS):
            logits = _logits(weights, memory[learning])[:, :classes_met]
            loss = F.cross_entropy(logits, labels[learning])
            slopes = torch.autograd.grad(loss, weights, create_graph=True)
            weights = [value - _RATE * slope for value, slope in zip(weights, slopes, strict=True)]
        judge = memory[judging].detach() if holds == "judge" else memory[judging]
        logits = _logits(weights, judge)[:, :classes_met]
        total = total + F.cross_entropy(logits, labels[judging])
    return total


def _logits(weights: list[Tensor], rows: Tensor) -> Tensor:
    return F.linear(F.linear(rows, *weights[:2]).tanh(), *weights[2:])


_EVEN, _ODD = slice(0, None, 2), slice(1, None, 2)
_TOP, _BOTTOM = slice(0, 4), slice(4, 8)
HALVES = Exercise(
    ask="Write a function of network, memory, labels and classes_met that returns one loss.",
    arguments=("network", "memory [2 n, ...]", "labels [2 n]", "classes_met"),
    cases=_memory_cases,
    shape=lambda *arguments: (),
    measure=_gradient_direction,
    expected=_halves_loss,
    mistakes={
        "The half that judges is moved by its own judgement. Detach it.": (
            partial(_halves_loss, holds="nothing")
        ),
        "Each half is judged by itself. Exchange the judges.": (
            lambda *arguments: (
                _halves_loss(*arguments, halves=(_EVEN, _EVEN), both=False)
                + _halves_loss(*arguments, halves=(_ODD, _ODD), both=False)
            )
        ),
        "Only one half learns. The other half is judged by the first in the same way.": (
            partial(_halves_loss, both=False)
        ),
        "Your halves are the upper and the lower rows, so the classes of one are not those of the "
        "other. Rows 0, 2, 4, ... are one half.": partial(_halves_loss, halves=(_TOP, _BOTTOM)),
    },
    look=(
        "These are gradients in `memory`, of length 1. Which rows learn, which rows judge them, and "
        "with which labels?"
    ),
    tolerance=1e-3,
    success="The gradient is that of both halves, each judged by the other.",
)

CHECKS = {"forgetting": FORGETTING, "pair": PAIR, "halves": HALVES}
