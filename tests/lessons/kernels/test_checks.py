"""Lesson 50: its exercises."""

from typing import Any

import pytest
import torch

import ddlab
from ddlab.lessons.kernels import checks
from ddlab.methods import dm, kip


def told(capsys: Any, name: str, answer: Any) -> tuple[bool, str]:
    lesson = ddlab.start("50_kernels")
    capsys.readouterr()
    return lesson.check(name, answer), capsys.readouterr().out


def regress(own: Any, cross: Any, labels: Any, ridge: Any) -> Any:
    return cross @ torch.linalg.solve(own + ridge * torch.eye(len(own)), labels)


ANSWERS: dict[str, tuple[list[Any], list[Any]]] = {
    "regression": (
        [
            regress,
            lambda own, cross, labels, ridge: (
                cross @ torch.linalg.inv(own + ridge * torch.eye(5)) @ labels
            ),
        ],
        [
            None,
            3,
            lambda own, cross, labels: labels,
            lambda own, cross, labels, ridge: labels,
            lambda own, cross, labels, ridge: regress(own, cross, labels, 0),
            lambda own, cross, labels, ridge: cross @ labels,
            lambda own, cross, labels, ridge: torch.full((7, 3), torch.nan),
        ],
    ),
    "labels": (
        [
            lambda own, cross, wanted: own @ torch.linalg.lstsq(cross, wanted).solution,
            lambda own, cross, wanted: own @ torch.linalg.pinv(cross) @ wanted,
        ],
        [
            None,
            "solve",
            lambda own, cross: own,
            lambda own, cross, wanted: wanted,
            lambda own, cross, wanted: torch.linalg.lstsq(cross, wanted).solution,
            lambda own, cross, wanted: torch.zeros(5, 3),
            lambda own, cross, wanted: torch.full((5, 3), torch.nan),
            lambda own, cross, wanted: "labels",
        ],
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_function_is_measured_and_wrong_ones_get_different_hints(capsys: Any, name: str) -> None:
    right, wrong = ANSWERS[name]
    assert all(told(capsys, name, answer)[0] for answer in right)
    found = [told(capsys, name, answer) for answer in wrong]
    assert not any(taken for taken, _ in found) and all(
        said.startswith("Not yet") for _, said in found
    )
    assert len({said for _, said in found}) >= 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "right"),
    [
        ({"corrupted_by": "zeros", "learn_labels": True}, True),
        ({}, False),
        ({"learning_rate": 1e-6}, False),
    ],
)
def test_what_is_left_of_frozen_digits_is_measured(
    capsys: Any, changes: dict[str, Any], right: bool
) -> None:
    taken, said = told(capsys, "frozen", kip.Config.teaching(corruption=0.7, **changes))
    assert taken == right and "the class means" in said, said


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (None, "Give a Config"),
        ({"corruption": 0.7}, "Give a Config"),
        (dm.Config.teaching(), "Give a Config"),
        (kip.Config.teaching(), "you froze 0%"),
        (kip.Config.teaching(corruption=0.69), "you froze 69%"),
        (kip.Config.teaching(corruption=0.7, images_per_class=2), "images_per_class"),
        (kip.Config.teaching(corruption=0.7, seed=1), "seed"),
        (kip.Config.teaching(corruption=0.7, iterations=601), "too long"),
        (kip.Config.teaching(corruption=0.7, kernel="conv1"), "too long"),
    ],
)
def test_answers_that_are_none_are_refused_before_anything_runs(
    capsys: Any, answer: Any, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks.cache, "run", pytest.fail)
    taken, said = told(capsys, "frozen", answer)
    assert not taken and hint in said
