"""Lesson 60: the checks of its exercises."""

import statistics
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from ... import data
from ...core.errors import DDLabError
from ...methods import dd
from ..answers import NotYet, call_answer
from .lab import World

_WORK = 1000  # steps of training: updates x starts x N
# Longer trainings take longer than a reader waits for a check.
_MOST_STEPS = 5
_AHEAD = 0.1  # of accuracy


def _learned(
    real: Tensor, answers: Tensor, model: nn.Module, images: Tensor, steps: int, cut: bool
) -> Tensor:
    """Return the images after two updates, with the gradient through all steps or through the last one."""
    images = images.clone().requires_grad_()
    raw = torch.full((steps,), 0.1).expm1().log().requires_grad_()
    adam = torch.optim.Adam([images, raw], lr=0.05, betas=(0.5, 0.999))
    for _ in range(2):
        theta: dict[str, Tensor] = dict(model.named_parameters())
        for step, rate in enumerate(F.softplus(raw)):
            if cut and step == steps - 1:
                theta = {name: value.detach().requires_grad_() for name, value in theta.items()}
            loss = F.cross_entropy(functional_call(model, theta, (images,)), torch.arange(10))
            slopes = torch.autograd.grad(loss, tuple(theta.values()), create_graph=True)
            theta = {
                name: theta[name] - rate * slope for name, slope in zip(theta, slopes, strict=True)
            }
        rows = torch.randperm(len(real))[:256]
        adam.zero_grad()
        F.cross_entropy(functional_call(model, theta, (real[rows],)), answers[rows]).backward()
        adam.step()
    return images.detach()


def check_shortcut(answer: Any) -> str:
    """Check exercise 1: `distil` with its gradient cut before every step.

    The images are those of a cut before the last step alone, whose gradient is all that survives.
    """
    draws = torch.Generator().manual_seed(5)
    real = torch.randn((40, 1, 8, 8), generator=draws)
    answers = torch.arange(40) % 10
    images = torch.randn((10, 1, 8, 8), generator=draws)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    with torch.no_grad():
        for value in model.parameters():
            value.copy_(torch.randn(value.shape, generator=draws) / 8)
    expected = []
    for cut in (True, False):
        torch.manual_seed(0)
        expected.append(_learned(real, answers, model, images, 3, cut))
    torch.manual_seed(0)
    arguments = (real, answers, model, images.clone(), 3)
    words = "real, real_labels, model, images, steps and updates"
    learned = call_answer(
        answer,
        *arguments,
        updates=2,
        of=words,
        read=lambda learned: torch.as_tensor(learned[0]).detach(),
    )
    if learned.shape != images.shape:
        raise NotYet(
            f"Return images of shape {[*images.shape]} first; yours have {[*learned.shape]}."
        )
    if torch.allclose(learned, expected[0], atol=1e-5):
        return (
            "only the gradient through the last step survives, so the images no longer learn what they "
            "do to the steps before it. With a detach before every step, the graph of one step is kept "
            "instead of N."
        )
    if torch.allclose(learned, expected[1], atol=1e-5):
        raise NotYet("Your images are those of distil itself, so nothing is cut.")
    if torch.equal(learned, images):
        raise NotYet("Your images do not move. The last step itself must stay in the graph.")
    raise NotYet(
        "Your images differ from those that the last step alone would move. With which weights does "
        "the last step begin, and do they require a gradient?"
    )


def check_carry(answer: Any) -> str:
    """Check exercise 2: a Config whose ten images beat class means from other starts.

    The work is limited.
    """
    if not isinstance(answer, dd.Config):
        raise NotYet("Give a Config: dd.Config.teaching(...).")
    usual = dd.Config.teaching()
    for name in ("network", "images_per_class", "steps", "initial_weights"):
        if getattr(answer, name) != getattr(usual, name):
            raise NotYet(f"Leave {name} as in dd.Config.teaching().")
    if answer.starts == "pretrained" or answer.epochs > _MOST_STEPS:
        raise NotYet(f"Use fixed or random starts, and at most N = {_MOST_STEPS} (epochs).")
    work = answer.iterations * (answer.networks if answer.starts == "random" else 1) * answer.epochs
    if work > _WORK:
        raise NotYet(
            f"Your setting trains for {work:,} steps (iterations x networks x epochs). You may spend "
            f"{_WORK:,}."
        )
    world = World(data.load("digits"))
    try:
        distilled = world.of(answer).advance().result()
    except DDLabError as problem:
        raise NotYet(f"No images are left: {problem}") from None
    silent: Any = lambda words, share: None  # noqa: E731
    accuracy = statistics.fmean(world.students(distilled, answer.seed, silent)[1:])
    rival = world.rival(answer.network, answer.epochs, answer.seed, watch=silent)
    statement = (
        f"from five other starts your images reach {accuracy:.1%}, and class means {rival:.1%} in as "
        "many steps."
    )
    if accuracy < rival + _AHEAD:
        hint = "Which networks must the images have met to serve a start they do not know?"
        raise NotYet(
            f"{statement[0].upper()}{statement[1:]} Be {100 * _AHEAD:.0f} points ahead. {hint}"
        )
    return statement


CHECKS = {"shortcut": check_shortcut, "carry": check_carry}
