"""Lesson 60: the checks of its exercises."""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from ... import data
from ...core import DDLabError
from ...methods import dd
from ..answers import Exercise, NotYet, require_kind
from .lab import World

_WORK = 1000  # steps of training: updates x starts x N
# Longer trainings take longer than a reader waits for a check.
_MOST_STEPS = 5
_AHEAD = 0.1  # of accuracy
_SEEDS = 3
_FEW_UPDATES = 60


def _distil(
    real: Tensor,
    labels: Tensor,
    model: nn.Module,
    images: Tensor,
    steps: int,
    updates: int,
    *,
    is_cut: Callable[[int], bool],
) -> tuple[Tensor, Tensor]:
    """Return what the page's `distil` returns, its graph cut before the steps that `is_cut` names.

    Args:
        is_cut: step, counted from the end -> whether the graph is cut before it.
    """
    images = images.clone().requires_grad_()
    raw = torch.full((steps,), 0.1).expm1().log().requires_grad_()
    adam = torch.optim.Adam([images, raw], lr=0.05, betas=(0.5, 0.999))
    for _ in range(updates):
        theta: dict[str, Tensor] = dict(model.named_parameters())
        for step, rate in enumerate(F.softplus(raw)):
            if is_cut(steps - step):
                theta = {name: value.detach().requires_grad_() for name, value in theta.items()}
            loss = F.cross_entropy(functional_call(model, theta, (images,)), torch.arange(10))
            slopes = torch.autograd.grad(loss, tuple(theta.values()), create_graph=True)
            theta = {
                name: theta[name] - rate * slope for name, slope in zip(theta, slopes, strict=True)
            }
        if is_cut(0):
            theta = {name: value.detach().requires_grad_() for name, value in theta.items()}
        rows = torch.randperm(len(real))[:256]
        adam.zero_grad()
        F.cross_entropy(functional_call(model, theta, (real[rows],)), labels[rows]).backward()
        adam.step()
    return images.detach(), F.softplus(raw).detach()


def _distilling_cases() -> list[tuple[Any, ...]]:
    draws = torch.Generator().manual_seed(5)
    real = torch.randn((40, 1, 8, 8), generator=draws)
    images = torch.randn((10, 1, 8, 8), generator=draws)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    with torch.no_grad():
        for value in model.parameters():
            value.copy_(torch.randn(value.shape, generator=draws) / 8)
    return [(real, torch.arange(40) % 10, model, images, 3)]


SHORTCUT = Exercise(
    arguments=("real", "real_labels", "model", "images", "steps"),
    cases=_distilling_cases,
    named={"updates": 2},
    read=lambda returned: returned[0],  # the images; the rates are not asked about
    # What a cut before every step leaves of the gradient is that of the last step alone.
    expected=partial(_distil, is_cut=lambda left: left == 1),
    mistakes={
        "Your images are those of distil itself. A cut before the first step alone cuts nothing.": (
            partial(_distil, is_cut=lambda left: False)
        ),
        "Your images do not move. The last step must stay in the graph: no cut after it, and its "
        "slopes need create_graph=True.": partial(_distil, is_cut=lambda left: left == 0),
        "You cut before every step but the last. The last one must begin anew as well.": (
            partial(_distil, is_cut=lambda left: left > 1)
        ),
    },
    look=(
        "These pixels differ from those that the last step alone would move. With which weights "
        "does the last step begin, and do they require a gradient?"
    ),
    success=(
        "Only the gradient through the last step survives, so the images no longer learn what they "
        "do to the steps before it. With a detach before every step, the graph of one step is kept "
        "instead of N."
    ),
)


def check_carry(answer: Any) -> str:
    """Check exercise 2: a Config whose ten images beat class means from other starts.

    The work is limited; three seeds are run, because one alone may be lucky.
    """
    require_kind(answer, dd.Config, "Give a Config: dd.Config.teaching(...).")
    usual = dd.Config.teaching()
    for name in ("network", "images_per_class", "steps", "initial_weights", "seed"):
        if getattr(answer, name) != getattr(usual, name):
            raise NotYet(f"Leave {name} as in dd.Config.teaching().")
    if answer.starts == "pretrained" or answer.epochs > _MOST_STEPS:
        raise NotYet(f"Use fixed or random starts, and at most N = {_MOST_STEPS} (epochs).")
    starts = answer.networks if answer.starts == "random" else 1
    work = answer.iterations * starts * answer.epochs
    if work > _WORK:
        raise NotYet(
            f"Your setting trains for {work:,} steps (iterations x networks x epochs). You may spend "
            f"{_WORK:,}."
        )
    world = World(data.load("digits"))
    silent: Any = lambda words, share: None  # noqa: E731
    accuracies = []
    rivals = []
    for seed in range(_SEEDS):
        try:
            distilled = world.of(answer.replace(seed=seed)).advance().result()
        except DDLabError as problem:
            raise NotYet(f"No images are left: {problem}") from None
        accuracies.append(statistics.fmean(world.students(distilled, seed, silent)[1:]))
        rivals.append(world.rival(answer.network, answer.epochs, seed, watch=silent))
    accuracy, rival = statistics.fmean(accuracies), statistics.fmean(rivals)
    statement = (
        f"From five other starts your images reach {accuracy:.1%}, and class means {rival:.1%} in "
        f"as many steps (the means of {_SEEDS} seeds)."
    )
    if accuracy >= rival + _AHEAD:
        return f"{statement} Images that met new starts work from starts that they never met."
    if answer.starts == "fixed":
        hint = "All updates have met one start. Which starts should the images have met?"
    elif answer.iterations < _FEW_UPDATES:
        hint = f"{answer.iterations} updates are few: where else could you save steps?"
    else:
        hint = "How many steps does a student take, and how many starts does an update meet?"
    raise NotYet(f"{statement} Be {100 * _AHEAD:.0f} points ahead. {hint}")


CHECKS = {"shortcut": SHORTCUT, "carry": check_carry}
