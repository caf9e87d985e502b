"""Lesson 05: the checks of its exercises."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import randomness
from ..answers import NotYet, call_answer

# Two rounds of three networks and one more: the order shows.
_UPDATES = 7
# Of the made-up images that an answer is tried on.
_CLASSES = 10


def check_best_image(answer: Any) -> str:
    """Check exercise 1: a function that returns the one image at distance 0 from real ones.

    Real images are [n, c, h, w]; features are pixels.
    """
    real = torch.randn((7, 2, 4, 3), generator=randomness.generator(5, 0, "exercise 1"))
    image = call_answer(answer, real.clone(), of="real, [n, c, h, w]", read=torch.as_tensor)
    if image.shape != (1, *real.shape[1:]):
        raise NotYet(
            f"Return one image of shape {[1, *real.shape[1:]]}; yours has {list(image.shape)}."
        )
    distance = float((real.mean(0) - image.mean(0)).square().sum())
    if not distance < 1e-8:
        raise NotYet(
            f"The squared distance is {distance:.3g}. With features that are pixels, the mean feature "
            "of the real images is an image, too. Which one?"
        )
    return "it is the mean image. Where the network adds nothing, matching gives the class mean."


class _Probe:
    """A body that takes down when it is asked; its features are weighted pixels."""

    def __init__(self, name: int, calls: list[int]) -> None:
        self.weights = 0.3 + torch.arange(16.0).roll(name) / 32
        self.name = name
        self.asked = calls

    def __call__(self, images: Tensor) -> Tensor:
        self.asked.append(self.name)
        return images.flatten(1) * self.weights

    def gap(self, first: Tensor, second: Tensor) -> float:
        """Return the squared distance of two mean features."""
        return float(
            ((first.mean(0).flatten() - second.mean(0).flatten()) * self.weights).square().sum()
        )


def check_networks_in_turn(answer: Any) -> str:
    """Check exercise 2: a `match` whose networks come from a list, one for each update, in turn."""
    draws = randomness.generator(6, 0, "exercise 2")
    calls = list[int]()
    bodies = [_Probe(name, calls) for name in range(3)]
    answers = torch.arange(40) % _CLASSES
    real = 0.1 * torch.randn((40, 1, 4, 4), generator=draws) + answers.view(-1, 1, 1, 1) / _CLASSES
    start = torch.randn((_CLASSES, 1, 4, 4), generator=draws)
    arguments = (bodies, real, answers, start.clone())
    words = "bodies, real, real_labels, images and updates"
    learned = call_answer(answer, *arguments, updates=_UPDATES, of=words, read=torch.as_tensor)
    turns = []
    for place, name in enumerate(calls):
        if place == 0 or calls[place - 1] != name:
            turns.append(name)
    expected_turns = []
    for update in range(_UPDATES):
        expected_turns.append(update % len(bodies))
    if turns != expected_turns:
        raise NotYet(
            f"With three networks, your {_UPDATES} updates used {turns or 'none'}; in turn means "
            f"{expected_turns}."
        )
    if learned.shape != start.shape or not bool(torch.isfinite(learned).all()):
        raise NotYet(
            "The learned images must have the shape of the first ones, "
            f"{list(start.shape)}, and finite pixels."
        )
    before = sum(
        body.gap(real[answers == label], start[label::_CLASSES])
        for body in bodies
        for label in range(_CLASSES)
    )
    after = sum(
        body.gap(real[answers == label], learned.detach()[label::_CLASSES])
        for body in bodies
        for label in range(_CLASSES)
    )
    if not after < before:
        raise NotYet(f"The distance went from {before:.3g} to {after:.3g}. It has to fall.")
    return (
        f"your updates use each network in turn, and the distance falls from {before:.3g} to "
        f"{after:.3g}."
    )


def check_shifted(answer: Any) -> str:
    """Check exercise 3: images moved by pixels and fractions of them, differentiable, edges
    repeated.
    """
    draws = randomness.generator(7, 0, "exercise 3")
    images = torch.rand((2, 3, 6, 8), generator=draws)
    for right, down in ((0, 0), (2, 0), (0, -1), (3, 2), (0.5, 0), (-1.25, 0.75)):
        leaf = images.clone().requires_grad_()
        shifted = call_answer(answer, leaf, right, down, of="images [n, c, h, w], right and down")
        if not isinstance(shifted, Tensor) or shifted.shape != images.shape:
            raise NotYet(f"Return images of the same shape, {list(images.shape)}.")
        largest_error = float((shifted.detach() - _shifted(images, right, down)).abs().max())
        if not largest_error < 1e-4:
            raise NotYet(
                f"With {right} to the right and {down} down, "
                f"{_mistake(shifted.detach(), images, right, down, largest_error)}"
            )
        passes_gradient = shifted.requires_grad and bool(
            torch.autograd.grad(shifted.sum(), leaf)[0].any()
        )
        if not passes_gradient:
            raise NotYet(
                "No gradient reaches the images: an operation between the distance and the "
                "pixels must pass it on."
            )
    return "whole pixels and fractions move correctly, and the gradient passes through."


def _mistake(
    shifted: Tensor, images: Tensor, right: float, down: float, largest_error: float
) -> str:
    """Name what is wrong with moved images, where it can be told."""
    if torch.allclose(shifted, images, atol=1e-4):
        return "your images stay where they were."
    if torch.allclose(shifted, _shifted(images, -right, -down), atol=1e-4):
        return "your images move the other way."
    framed = _shifted(F.pad(images, [8] * 4), right, down)[:, :, 8:-8, 8:-8]
    if torch.allclose(shifted, framed, atol=1e-4):
        return "zeros come in at the edge. Repeat the pixels of the edge instead."
    return f"pixels differ from the right ones by up to {largest_error:.2g}."


def _shifted(images: Tensor, right: float, down: float) -> Tensor:
    for dim, move in ((3, right), (2, down)):
        places = torch.arange(images.shape[dim]) - move
        low = places.floor()
        share = (places - low).view(-1, *[1] * (3 - dim))
        last = images.shape[dim] - 1
        lower = images.index_select(dim, (low + 0).long().clamp(0, last))
        upper = images.index_select(dim, (low + 1).long().clamp(0, last))
        images = (1 - share) * lower + share * upper
    return images


CHECKS = {
    "best image": check_best_image,
    "networks in turn": check_networks_in_turn,
    "shifted": check_shifted,
}
