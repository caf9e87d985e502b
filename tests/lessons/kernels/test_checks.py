"""Lesson 50: its exercises."""

from typing import Any

import pytest
import torch

import ddlab
from ddlab.lessons.kernels import checks
from ddlab.methods import dm, kip


def judge(capsys: Any, name: str, answer: Any) -> tuple[bool, str]:
    lesson = ddlab.start("50_kernels")
    capsys.readouterr()
    return lesson.check(name, answer), capsys.readouterr().out


def regress(within: Any, cross: Any, labels: Any, ridge: Any) -> Any:
    return cross @ torch.linalg.solve(within + ridge * torch.eye(len(within)), labels)


ANSWERS: dict[str, tuple[list[Any], list[Any]]] = {
    "regression": (
        [
            regress,
            lambda within, cross, labels, ridge: (
                cross @ torch.linalg.inv(within + ridge * torch.eye(5)) @ labels
            ),
        ],
        [
            None,
            3,
            lambda within, cross, labels: labels,
            lambda within, cross, labels, ridge: labels,
            lambda within, cross, labels, ridge: regress(within, cross, labels, 0),
            lambda within, cross, labels, ridge: cross @ labels,
            lambda within, cross, labels, ridge: torch.full((7, 3), torch.nan),
        ],
    ),
    "labels": (
        [
            lambda within, cross, targets: within @ torch.linalg.lstsq(cross, targets).solution,
            lambda within, cross, targets: within @ torch.linalg.pinv(cross) @ targets,
        ],
        [
            None,
            "solve",
            lambda within, cross: within,
            lambda within, cross, targets: targets,
            lambda within, cross, targets: torch.linalg.lstsq(cross, targets).solution,
            lambda within, cross, targets: torch.zeros(5, 3),
            lambda within, cross, targets: torch.full((5, 3), torch.nan),
            lambda within, cross, targets: "labels",
        ],
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_function_is_measured_and_wrong_ones_get_different_hints(capsys: Any, name: str) -> None:
    right, wrong = ANSWERS[name]
    assert all(judge(capsys, name, answer)[0] for answer in right)
    verdicts = [judge(capsys, name, answer) for answer in wrong]
    assert not any(passed for passed, _ in verdicts) and all(
        hint.startswith("Not yet") for _, hint in verdicts
    )
    assert len({hint for _, hint in verdicts}) >= 6


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
    passed, message = judge(capsys, "frozen", kip.Config.teaching(corruption=0.7, **changes))
    assert passed == right and "the class means" in message, message


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
    passed, message = judge(capsys, "frozen", answer)
    assert not passed and hint in message
