"""Lesson 75: the checks of its exercises."""

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...data import load
from ...distilled import DistilledSet
from ...evaluation import class_incremental
from ...evaluation.incremental import Incremental
from ...methods import mnemonics
from ...methods.shared.distillation import from_images
from ..answers import NotYet, call_answer, two

_LEAD = 0.03  # of accuracy, exercise 1
# of the page's temporary network
_STEPS = 5
# Of the inner steps that an answer is held against.
_RATE = 0.1


def check_forgetting(answer: Any) -> str:
    """Check exercise 2: how much of the first task is forgotten, and the mean."""
    draws = torch.Generator().manual_seed(2)
    for phases in (3, 5):
        matrix = []
        for phase in range(phases):
            matrix.append(torch.rand(2 * phase + 2, generator=draws).tolist())
        incremental = Incremental(
            {0: tuple(map(tuple, matrix))},
            tuple((f"{task}a", f"{task}b") for task in range(phases)),
        )
        words = "matrix, whose row p has the accuracies of the classes met by phase p"
        first, mean = call_answer(answer, [list(row) for row in matrix], of=words, read=two(float))
        if abs(first - incremental.forgetting_of_first) > 1e-6:
            raise NotYet(
                f"Your forgetting of the first task is {first:.3f}; it should be "
                f"{incremental.forgetting_of_first:.3f} (of both classes of the task)."
            )
        if abs(mean - incremental.mean_forgetting) > 1e-6:
            hint = (
                "Subtract from the best accuracy on a task, not from its first one, and leave out the "
                "last task."
            )
            raise NotYet(
                f"Your mean forgetting is {mean:.3f}; it should be "
                f"{incremental.mean_forgetting:.3f}. {hint}"
            )
    return (
        "both numbers are correct, on matrices of 3 and 5 phases. Only the first can be negative, "
        "because a maximum is never below the end."
    )


def check_pair(answer: Any) -> str:
    """Check exercise 1: two exemplars of each class, made without a network, against two random
    ones.
    """
    data = load("digits")
    shape = (2, 1, 16, 16)
    pairs = list[Tensor]()
    for label in range(data.classes):
        pair = call_answer(
            answer,
            data.normalised(data.of_class(label)),
            of="the images of one class, [n, 1, 16, 16]",
        )
        if not isinstance(pair, Tensor) or pair.shape != shape or not pair.isfinite().all():
            raise NotYet(f"Return a tensor of shape {list(shape)}, all numbers finite.")
        pairs.append(pair.detach().float())
    distilled = from_images(torch.cat(pairs), torch.arange(data.classes).repeat_interleave(2), data)
    accuracy = _accuracy_at_end("given", distilled)
    random_accuracy = _accuracy_of_random()
    statement = (
        f"with your exemplars the network ends at {accuracy:.1%}, with two random images of each "
        f"class at {random_accuracy:.1%} (three seeds)"
    )
    if accuracy - random_accuracy >= _LEAD:
        return f"{statement}."
    raise NotYet(
        f"{statement.capitalize()}. Two random images may be untypical, or nearly the same. Average "
        "two groups that differ: images that resemble each other, or those on either side of the "
        "class mean along the direction in which the class varies most."
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


def check_halves(answer: Any) -> str:
    """Check exercise 3: each half of the exemplars is judged by the other, which stays."""
    draws = torch.Generator().manual_seed(6)
    network = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 6)).double()
    with torch.no_grad():
        for value in network.parameters():
            value.copy_(torch.randn(value.shape, generator=draws, dtype=torch.float64))
    memory = torch.randn(8, 4, generator=draws, dtype=torch.float64)
    labels = torch.arange(8) // 2
    leaf = memory.clone().requires_grad_()
    words = "network, memory [2 n, ...], labels [2 n] and classes_met that returns a loss"
    (gradient,) = call_answer(
        answer,
        network,
        leaf,
        labels.clone(),
        4,
        of=words,
        read=lambda loss: torch.autograd.grad(loss, leaf),
    )
    expected = _slope(network, memory, labels, 4, "held")
    moving = _slope(network, memory, labels, 4, "moving")
    alone = _slope(network, memory, labels, 4, "itself")
    if torch.allclose(gradient, expected, rtol=1e-6, atol=1e-9):
        return "the gradient is that of both halves, each judged by the other."
    if torch.allclose(gradient, moving, rtol=1e-6, atol=1e-9):
        raise NotYet("The half that judges is moved by its own judgement. Detach it.")
    if torch.allclose(gradient, alone, rtol=1e-6, atol=1e-9):
        raise NotYet("Each half is judged by itself. Exchange the judges.")
    worst = float((gradient - expected).abs().max())
    raise NotYet(
        f"Your gradient differs from that of both halves by up to {worst:.2g}. Rows 0, 2, 4, ... "
        "are one half."
    )


def _slope(
    network: nn.Sequential, memory: Tensor, labels: Tensor, classes_met: int, judging: str
) -> Tensor:
    leaf = memory.clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for side in (0, 1):
        half = leaf[side::2]
        judge = leaf[side::2] if judging == "itself" else leaf[1 - side :: 2]
        weights = []
        for value in network.parameters():
            weights.append(value.detach().clone().requires_grad_())
        for _ in range(_STEPS):
            loss = F.cross_entropy(_logits(weights, half)[:, :classes_met], labels[side::2])
            slopes = torch.autograd.grad(loss, weights, create_graph=True)
            weights = [value - _RATE * slope for value, slope in zip(weights, slopes, strict=True)]
        judge = judge if judging == "moving" else judge.detach()
        total = total + F.cross_entropy(_logits(weights, judge)[:, :classes_met], labels[side::2])
    return torch.autograd.grad(total, leaf)[0]


def _logits(weights: list[Tensor], rows: Tensor) -> Tensor:
    return F.linear(F.linear(rows, *weights[:2]).tanh(), *weights[2:])


CHECKS = {"forgetting": check_forgetting, "pair": check_pair, "halves": check_halves}
