"""Lesson 62: the checks of its exercises."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from ..answers import NotYet, call_answer

# Of the student in each update.
_STEPS = 3
# Of the images.
_UPDATES = 4


def check_best_rate(answer: Any) -> str:
    """Check exercise 1: alpha = g . d / ||g||^2, where one step ends nearest to the goal."""
    draws = torch.Generator().manual_seed(3)
    distances_left = []
    cosines = []
    for _ in range(5):
        gradient = torch.randn(40, generator=draws, dtype=torch.float64)
        start = torch.randn(40, generator=draws, dtype=torch.float64)
        goal = torch.randn(40, generator=draws, dtype=torch.float64)
        path = start - goal
        words = "three vectors: gradient, start, goal"
        rate = call_answer(
            answer, gradient.clone(), start.clone(), goal.clone(), of=words, read=float
        )
        cosines.append(float(1 - (gradient @ path) ** 2 / (gradient @ gradient) / (path @ path)))
        distances_left.append(float((path - rate * gradient).square().sum() / path.square().sum()))
    statement = (
        "on five draws, your rate leaves "
        f"{', '.join(f'{distance:.3f}' for distance in distances_left)} of the squared way"
    )
    if all(abs(mine - best) < 1e-6 for mine, best in zip(distances_left, cosines, strict=True)):
        return (
            f"{statement}. This is 1 - cos² of the angle between gradient and way: with one step at "
            "the best rate, only the direction of the gradient counts."
        )
    raise NotYet(
        f"{statement[0].upper()}{statement[1:]}; {', '.join(f'{best:.3f}' for best in cosines)} is "
        "possible. At which rate is the slope of the distance 0?"
    )


def _learned(
    paths: list[list[Tensor]], model: nn.Module, images: Tensor, moved: bool
) -> tuple[Tensor, Tensor]:
    """Return images and rate after the updates of the page's `match`.

    The images are moved or left alone.
    """
    images, rate = (
        images.clone().requires_grad_(moved),
        torch.tensor(0.05).to(images).requires_grad_(),
    )
    groups = [
        {"params": [rate], "lr": 1e-3},
        *([{"params": [images], "lr": 100.0}] if moved else []),
    ]
    sgd = torch.optim.SGD(groups, momentum=0.5)
    for _ in range(_UPDATES):
        path = paths[int(torch.randint(len(paths), ()))]
        start_epoch = int(torch.randint(2, ()))
        theta = start = path[start_epoch].clone().requires_grad_()
        for _ in range(_STEPS):
            parts = theta.split([value.numel() for value in model.parameters()])
            named = zip(model.named_parameters(), parts, strict=True)
            weights = {}
            for (name, value), part in named:
                weights[name] = part.view_as(value)
            loss = F.cross_entropy(functional_call(model, weights, (images,)), torch.arange(10))
            theta = theta - rate * torch.autograd.grad(loss, theta, create_graph=True)[0]
        goal = path[start_epoch + 1]
        sgd.zero_grad()
        ((theta - goal).square().sum() / (start - goal).square().sum()).backward()
        sgd.step()
    return images.detach(), rate.detach()


def check_rate_only(answer: Any) -> str:
    """Check exercise 2: `match`, in which only the rate is learned."""
    draws = torch.Generator().manual_seed(5)
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 10))
    images = torch.randn((10, 1, 4, 4), generator=draws)
    paths = []
    for _ in range(2):
        paths.append([torch.randn(170, generator=draws) / 4 for _ in range(3)])
    expected = []
    for moved in (False, True):
        torch.manual_seed(0)
        expected.append(_learned(paths, model, images, moved))
    torch.manual_seed(0)
    options: dict[str, Any] = {"epochs": 1, "starts": 2, "updates": _UPDATES}
    arguments = (paths, model, images.clone(), _STEPS)
    words = "paths, model, images, steps, epochs, starts and updates"
    returned = call_answer(answer, *arguments, of=words, **options)
    if (
        isinstance(returned, Tensor)
        or not isinstance(returned, (tuple, list))
        or len(returned) != 2
    ):
        raise NotYet("Return two things, as match does: the images and the rate.")
    learned, rate = (torch.as_tensor(end).detach() for end in returned)
    if not torch.equal(learned, images):
        raise NotYet("Your images have moved. Only the rate may be learned.")
    if torch.allclose(rate, expected[0][1], atol=1e-6):
        return (
            "this control learns no image, so what it gains from the same real images is due to the "
            "rate alone. What match gains beyond this is due to the images."
        )
    if torch.allclose(rate, torch.tensor(0.05)):
        raise NotYet("Your rate has stayed .05. Is it among the parameters of SGD?")
    raise NotYet(
        f"Your rate is {float(rate):.5f}; it should be {float(expected[0][1]):.5f}. All else stays as "
        "in match."
    )


CHECKS = {"best rate": check_best_rate, "rate only": check_rate_only}
