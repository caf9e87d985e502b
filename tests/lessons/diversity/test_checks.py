"""Lesson 21: its runs at a small scale, its figures and tables, its exercises."""

import copy
from typing import Any

import torch

import ddlab
from ddlab.lessons.diversity import checks as diversity


def pushed(network: Any, draw: Any, radius: float, only: str = "") -> Any:
    copied = copy.deepcopy(network).requires_grad_(False)
    chosen = []
    for name, weight in copied.named_parameters():
        if name.startswith(only):
            chosen.append((weight, draw(weight.shape)))
    length = torch.stack([direction.norm() for _, direction in chosen]).norm()
    for weight, direction in chosen:
        weight += radius * direction / length
    return copied


def moved_itself(network: Any) -> Any:
    with torch.no_grad():
        next(network.parameters()).add_(0.1)
    return copy.deepcopy(network)


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("21_diversity")
    answers: dict[str, tuple[list[Any], list[Any]]] = {
        "spread": (
            [
                lambda f: (f[:, None] - f[None]).square().sum(),
                lambda f: 2 * len(f) * (f - f.mean(0)).square().sum(),
            ],
            [
                None,
                lambda f: f,
                lambda f: f.sum(),
                lambda f: torch.pdist(f).square().sum(),
                lambda f: torch.cdist(f, f).sum(),
                lambda f: f.missing,
            ],
        ),
        "random push": (
            [lambda n, x, y, k, rho: pushed(n, torch.randn, rho)],
            [
                None,
                lambda n, x, y, k, rho: n,
                lambda n, x, y, k, rho: pushed(n, torch.ones, rho),
                lambda n: n,
                lambda n, x, y, k, rho: pushed(n, torch.randn, 2 * rho),
                lambda n, x, y, k, rho: moved_itself(n),
                lambda n, x, y, k, rho: pushed(n, torch.randn, rho, only="classifier"),
            ],
        ),
    }
    assert set(answers) == set(diversity.CHECKS)
    for exercise, (right, wrong) in answers.items():
        assert all(lesson.check(exercise, answer) for answer in right)
        capsys.readouterr()
        hints = []
        for answer in wrong:
            assert not lesson.check(exercise, answer)
            hints.append(capsys.readouterr().out)
        assert all(hint.startswith("Not yet: ") for hint in hints) and len(set(hints)) == len(
            wrong
        ), hints
