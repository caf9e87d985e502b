"""Lesson 62: the checks of its exercises."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

_STEPS, _UPDATES = 3, 4


def check_best_rate(answer: Any) -> tuple[bool, str]:
    """Exercise 1: alpha = g . d / ||g||^2, where one step ends nearest to the goal."""
    if not callable(answer):
        return False, "Write a function of three vectors: gradient, start, goal."
    draws = torch.Generator().manual_seed(3)
    left, cosines = [], []
    for _ in range(5):
        gradient, start, goal = (torch.randn(40, generator=draws, dtype=torch.float64) for _ in range(3))
        way = start - goal
        try:
            given: Any = answer(gradient.clone(), start.clone(), goal.clone())
            rate = float(given)
        except Exception as problem:
            return False, f"Your function raised {type(problem).__name__}: {problem}."
        cosines.append(float(1 - (gradient @ way) ** 2 / (gradient @ gradient) / (way @ way)))
        left.append(float((way - rate * gradient).square().sum() / way.square().sum()))
    said = f"Measured on five draws: {', '.join(f'{each:.3f}' for each in left)} left"
    if all(abs(mine - best) < 1e-6 for mine, best in zip(left, cosines, strict=True)):
        return True, (
            f"{said}, which is 1 - cos² of the angle between gradient and way: with one step, and the best rate, "
            "MTT asks for what gradient matching asks for, the right direction."
        )
    return (
        False,
        f"{said}; {', '.join(f'{best:.3f}' for best in cosines)} can be reached. Where is the distance's slope in the rate 0?",
    )


def _learned(paths: list[list[Tensor]], model: nn.Module, images: Tensor, moved: bool) -> tuple[Tensor, Tensor]:
    """Images and rate after the updates of the page's `match`, with the images moved or left alone."""
    images, rate = images.clone().requires_grad_(moved), torch.tensor(0.05).to(images).requires_grad_()
    groups = [{"params": [rate], "lr": 1e-3}, *([{"params": [images], "lr": 100.0}] if moved else [])]
    sgd = torch.optim.SGD(groups, momentum=0.5)
    for _ in range(_UPDATES):
        path, begun = paths[int(torch.randint(len(paths), ()))], int(torch.randint(2, ()))
        theta = start = path[begun].clone().requires_grad_()
        for _ in range(_STEPS):
            parts = theta.split([value.numel() for value in model.parameters()])
            named = zip(model.named_parameters(), parts, strict=True)
            weights = {name: part.view_as(value) for (name, value), part in named}
            loss = F.cross_entropy(functional_call(model, weights, (images,)), torch.arange(10))
            theta = theta - rate * torch.autograd.grad(loss, theta, create_graph=True)[0]
        goal = path[begun + 1]
        sgd.zero_grad()
        ((theta - goal).square().sum() / (start - goal).square().sum()).backward()
        sgd.step()
    return images.detach(), rate.detach()


def check_rate_only(answer: Any) -> tuple[bool, str]:
    """Exercise 2: `match`, in which only the rate is learned."""
    if not callable(answer):
        return False, "Write a function with the arguments of match."
    draws = torch.Generator().manual_seed(5)
    model, images = nn.Sequential(nn.Flatten(), nn.Linear(16, 10)), torch.randn((10, 1, 4, 4), generator=draws)
    paths = [[torch.randn(170, generator=draws) / 4 for _ in range(3)] for _ in range(2)]
    found = []
    for moved in (False, True):
        torch.manual_seed(0)
        found.append(_learned(paths, model, images, moved))
    torch.manual_seed(0)
    try:
        theirs: Any = answer(paths, model, images.clone(), _STEPS, epochs=1, starts=2, updates=_UPDATES)
        given, rate = (torch.as_tensor(each).detach() for each in theirs)
    except Exception as problem:
        return False, f"Your function raised {type(problem).__name__}: {problem}."
    if not torch.equal(given, images):
        return False, "The images have moved: only the rate may be learned."
    if torch.allclose(rate, found[0][1], atol=1e-6):
        return True, (
            "The control that learns no image: from the same real images, what it leaves is due to the rate alone; "
            "what match leaves less than that is due to the images."
        )
    if torch.allclose(rate, torch.tensor(0.05)):
        return False, "The rate has stayed .05: does SGD hold it?"
    return (
        False,
        f"Measured: the rate is {float(rate):.5f}, where {float(found[0][1]):.5f} is right. All else stays as in match.",
    )


CHECKS = {"best rate": check_best_rate, "rate only": check_rate_only}
