"""Lesson 05: its exercises."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import ddlab
from ddlab.lessons.matching import checks


def judge(capsys: Any, name: str, answer: Any) -> tuple[bool, str]:
    lesson = ddlab.start("05_matching")
    capsys.readouterr()
    return lesson.check(name, answer), capsys.readouterr().out


def in_turn(pick: Any, sign: float = 1.0) -> Any:
    """A right `match_in` but for which body it picks, or where it goes."""

    def match_in(bodies: Any, real: Any, answers: Any, images: Any, updates: int = 50) -> Any:
        images = images.clone().requires_grad_()
        for update in range(updates):
            body = bodies[pick(update, len(bodies))]
            distance = torch.zeros(())
            for label in range(10):
                gap = body(real[answers == label]).mean(0) - body(images[label::10]).mean(0)
                distance = distance + gap.square().sum()
            (slope,) = torch.autograd.grad(distance, images)
            images = (images - sign * 0.05 * slope).detach().requires_grad_()
        return images.detach()

    return match_in


def shifted(images: Any, right: float, down: float, **options: Any) -> Any:
    count, _, height, width = images.shape
    move = torch.tensor([[1, 0, -2 * right / width], [0, 1, -2 * down / height]])
    grid = F.affine_grid(move.expand(count, 2, 3), images.shape, align_corners=False)
    return F.grid_sample(
        images, grid, **{"padding_mode": "border", "align_corners": False} | options
    )


RIGHT: dict[str, list[Any]] = {
    "best image": [
        lambda real: real.mean(0, keepdim=True),
        lambda real: real.sum(0)[None] / len(real),
    ],
    "networks in turn": [in_turn(lambda update, count: update % count)],
    "shifted": [shifted],
}
WRONG: dict[str, list[Any]] = {
    "best image": [
        None,
        lambda real: real[:1],
        lambda real: real.mean(0),
        lambda: 1,
        lambda real: "mean",
        lambda real: real.median(0, keepdim=True).values,
        lambda real: torch.full_like(real[:1], torch.nan),
    ],
    "networks in turn": [
        None,
        lambda *_, **__: 1 / 0,
        in_turn(lambda update, count: 0),
        in_turn(lambda update, count: -update % count),
        in_turn(lambda update, count: update % count, sign=-1.0),
        lambda bodies, real, answers, images, updates=50: images,
    ],
    "shifted": [
        None,
        lambda *_: 1 / 0,
        lambda images, right, down: images[:1],
        lambda images, right, down: images.roll((int(down), int(right)), (2, 3)),
        lambda images, right, down: shifted(images.detach(), right, down),
        lambda images, right, down: shifted(images, right, down, padding_mode="zeros"),
    ],
}


@pytest.mark.parametrize("name", RIGHT)
def test_an_exercise_takes_right_answers_and_says_what_is_wrong_with_others(
    capsys: Any, name: str
) -> None:
    for answer in RIGHT[name]:
        assert judge(capsys, name, answer)[0]
    hints = set()
    for answer in WRONG[name]:
        passed, message = judge(capsys, name, answer)
        assert not passed and message.startswith("Not yet")
        hints.add(message)
    assert len(hints) >= 4 and set(checks.CHECKS) == set(RIGHT)
