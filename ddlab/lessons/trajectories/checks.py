"""Lesson 62: its exercises, the right answers and the usual mistakes."""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from ..answers import Exercise

# Of the student in each update.
_STEPS = 3
# Of the images.
_UPDATES = 4
_FIRST_RATE = 0.05


def _vectors() -> list[tuple[Tensor, ...]]:
    draws = torch.Generator().manual_seed(3)
    return [tuple(torch.randn((3, 40), generator=draws)) for _ in range(5)]


def _distances_left(rates: list[Tensor]) -> str:
    shares = []
    for rate, (gradient, start, goal) in zip(rates, _vectors(), strict=True):
        way = (start - goal).double()
        shares.append(float((way - rate * gradient).square().sum() / way.square().sum()))
    return (
        f"On five random draws your rate leaves {', '.join(f'{share:.3f}' for share in shares)} of "
        "the squared distance. This is 1 - cos² of the angle between gradient and way: with one "
        "step at the best rate, only the direction of the gradient counts."
    )


BEST_RATE = Exercise(
    arguments=("gradient [n]", "start [n]", "goal [n]"),
    cases=_vectors,
    expected=lambda gradient, start, goal: gradient @ (start - goal) / (gradient @ gradient),
    mistakes={
        "The sign is wrong: the step goes from start along -gradient, and d = start - goal.": (
            lambda gradient, start, goal: gradient @ (goal - start) / (gradient @ gradient)
        ),
        "That is the ratio of the lengths. It would be right if the gradient pointed at the goal.": (
            lambda gradient, start, goal: (start - goal).norm() / gradient.norm()
        ),
        "That is the cosine of the angle. The rate also depends on both lengths.": (
            lambda gradient, start, goal: F.cosine_similarity(gradient, start - goal, 0)
        ),
        "You divide by the squared length of the way. Set the slope of the distance in alpha to 0: "
        "whose squared length appears?": (
            lambda gradient, start, goal: gradient @ (start - goal) / (start - goal).square().sum()
        ),
        "The product g . d is not yet divided by anything.": (
            lambda gradient, start, goal: gradient @ (start - goal)
        ),
        "You divide by the length of the gradient. Its square is needed.": (
            lambda gradient, start, goal: gradient @ (start - goal) / gradient.norm()
        ),
    },
    look="At which rate is the slope of the squared distance 0?",
    success=_distances_left,
)


def _match(
    paths: list[list[Tensor]],
    model: nn.Module,
    images: Tensor,
    steps: int,
    *,
    epochs: int,
    starts: int,
    updates: int,
    moves_images: bool = False,
    moves_rate: bool = True,
    clears: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return images and rate after the updates of the page's `match`, with one change."""
    images = images.clone().requires_grad_(moves_images)
    rate = torch.tensor(_FIRST_RATE).requires_grad_()
    groups = [{"params": [rate], "lr": 1e-3 * moves_rate}]
    if moves_images:
        groups.append({"params": [images], "lr": 100.0})
    sgd = torch.optim.SGD(groups, momentum=0.5)
    for _ in range(updates):
        path = paths[int(torch.randint(len(paths), ()))]
        epoch = int(torch.randint(starts, ()))
        theta = start = path[epoch].clone().requires_grad_()
        for _ in range(steps):
            parts = theta.split([value.numel() for value in model.parameters()])
            weights = {
                name: part.view_as(value)
                for (name, value), part in zip(model.named_parameters(), parts, strict=True)
            }
            loss = F.cross_entropy(functional_call(model, weights, (images,)), torch.arange(10))
            theta = theta - rate * torch.autograd.grad(loss, theta, create_graph=True)[0]
        goal = path[epoch + epochs]
        if clears:
            sgd.zero_grad()
        ((theta - goal).square().sum() / (start - goal).square().sum()).backward()
        sgd.step()
    return images.detach(), rate.detach()


def _matching_cases() -> list[tuple[Any, ...]]:
    draws = torch.Generator().manual_seed(5)
    images = torch.randn((10, 1, 4, 4), generator=draws)
    paths = [list(torch.randn((3, 170), generator=draws) / 4) for _ in range(2)]
    return [(paths, nn.Sequential(nn.Flatten(), nn.Linear(16, 10)), images, _STEPS)]


def _pixels_and_rate(returned: Any) -> Tensor:
    """Return the learned images and the rate as one vector, as `measure` takes them apart."""
    images, rate = returned
    return torch.cat([torch.as_tensor(images).flatten(), torch.as_tensor(rate).reshape(1)])


def _way_and_rate(vector: Tensor, paths: Any, model: Any, images: Tensor, steps: int) -> Tensor:
    way = (vector[:-1] - images.flatten()).abs().max()
    # Numbers in half precision differ by their rounding.
    return torch.stack([way * (way > 0.01), vector[-1]])


RATE_ONLY = Exercise(
    ask="Write a function with the arguments of match that returns the images and the rate.",
    arguments=("paths", "model", "images", "steps"),
    cases=_matching_cases,
    named={"epochs": 1, "starts": 2, "updates": _UPDATES},
    read=_pixels_and_rate,
    shape=lambda paths, model, images, steps: (images.numel() + 1,),
    measure=_way_and_rate,
    parts=("largest move of a pixel", "rate"),
    expected=_match,
    mistakes={
        "That is match itself: your images move. Only the rate may be learned.": (
            partial(_match, moves_images=True)
        ),
        "Your rate has stayed .05. Is it among the parameters of SGD?": (
            partial(_match, moves_rate=False)
        ),
        "Your gradients add up over the updates: clear them before each (zero_grad).": (
            partial(_match, clears=False)
        ),
        "Your images move, and the rate does not. It should be the other way round.": (
            partial(_match, moves_images=True, moves_rate=False)
        ),
    },
    look="All else stays as in match: the draws, the steps, the loss and SGD's momentum.",
    success=(
        "This control learns no image, so what it gains from the same real images is due to the "
        "rate alone. What match gains beyond this is due to the images."
    ),
)

CHECKS = {"best rate": BEST_RATE, "rate only": RATE_ONLY}
