"""Lesson 21: its runs at a small scale, its figures and tables, its exercises."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import torch

import ddlab
from ddlab.lessons.diversity import checks as diversity
from ddlab.methods import dwa


def pushed(network: Any, draw: Any, radius: float, only: str = "") -> Any:
    made = copy.deepcopy(network).requires_grad_(False)
    chosen = [(weight, draw(weight.shape)) for name, weight in made.named_parameters() if name.startswith(only)]
    length = torch.stack([direction.norm() for _, direction in chosen]).norm()
    for weight, direction in chosen:
        weight += radius * direction / length
    return made


def moved_itself(network: Any) -> Any:
    with torch.no_grad():
        next(network.parameters()).add_(0.1)
    return copy.deepcopy(network)


def test_the_last_exercise_makes_the_images_and_measures_them(small: Any, capsys: Any, monkeypatch: Any) -> None:
    data, teacher = small
    lesson, usual = ddlab.start("21_diversity"), dwa.Config.teaching(images_per_class=2, iterations=2)
    distances = {usual.lambda_var: 1.0, 1.0: 1.06, 0.0: 0.9, 0.12: 1.04, 5.0: 1.3}
    shares = {usual.lambda_var: 0.5, 1.0: 0.38, 0.0: 0.5, 0.12: 0.5, 5.0: 0.37}
    runs: list[float] = []

    def run(_process: Any, config: Any, _inputs: Any) -> Any:
        runs.append(config.lambda_var)
        return SimpleNamespace(images=config.lambda_var)

    monkeypatch.setattr(diversity.cache, "run", run)
    monkeypatch.setattr(diversity.measures, "feature_distance", lambda made, _: torch.tensor([distances[made.images]]))
    monkeypatch.setattr(diversity, "coverage", lambda _data, _teacher, images: shares[images])
    assert lesson.check("wide", (data, teacher, usual, usual.replace(lambda_var=1.0))) and runs == [
        usual.lambda_var,
        1.0,
    ]
    for weight, why in ((0.0, "less than 5%"), (0.12, "less than 5%"), (5.0, "away from the real ones")):
        assert not lesson.check("wide", (data, teacher, usual, usual.replace(lambda_var=weight)))
        assert why in capsys.readouterr().out
    for wrong in (None, usual, (data, teacher, usual, usual), (data, teacher, usual, usual.replace(lambda_mean=1.0))):
        assert not lesson.check("wide", wrong)


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("21_diversity")
    answers: dict[str, tuple[list[Any], list[Any]]] = {
        "spread": (
            [lambda f: (f[:, None] - f[None]).square().sum(), lambda f: 2 * len(f) * (f - f.mean(0)).square().sum()],
            [None, lambda f: f, lambda f: f.sum(), lambda f: torch.pdist(f).square().sum(), lambda f: torch.cdist(f, f).sum(),
             lambda f: f.missing],
        ),
        "random push": (
            [lambda n, x, y, k, rho: pushed(n, torch.randn, rho)],
            [None, lambda n, x, y, k, rho: n, lambda n, x, y, k, rho: pushed(n, torch.ones, rho), lambda n: n,
             lambda n, x, y, k, rho: pushed(n, torch.randn, 2 * rho), lambda n, x, y, k, rho: moved_itself(n),
             lambda n, x, y, k, rho: pushed(n, torch.randn, rho, only="classifier")],
        ),
    }  # fmt: skip
    assert {*answers, "wide"} == set(diversity.CHECKS)
    for exercise, (right, wrong) in answers.items():
        assert all(lesson.check(exercise, answer) for answer in right)
        capsys.readouterr()
        said = []
        for answer in wrong:
            assert not lesson.check(exercise, answer)
            said.append(capsys.readouterr().out)
        assert all(hint.startswith("Not yet: ") for hint in said) and len(set(said)) == len(wrong), said
