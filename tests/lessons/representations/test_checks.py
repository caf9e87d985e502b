"""Lesson 45: its exercises."""

import math
from typing import Any

import pytest
import torch

import ddlab
from ddlab.lessons.representations.checks import predicted


def judge(capsys: Any, name: str, answer: Any) -> tuple[bool, str]:
    lesson = ddlab.start("45_representations")
    capsys.readouterr()
    return lesson.check(name, answer), capsys.readouterr().out


def same_covariance(targets: torch.Tensor) -> torch.Tensor:
    turn = torch.linalg.qr(
        torch.randn(targets.shape[1], targets.shape[1], generator=torch.Generator().manual_seed(0))
    )[0]
    return targets @ turn


def difference_of_copies(targets: torch.Tensor) -> torch.Tensor:
    draw = torch.Generator().manual_seed(1)
    shuffled = targets[torch.randperm(len(targets), generator=draw)]
    reshuffled = targets[torch.randperm(len(targets), generator=draw)]
    return targets.mean(0) + (shuffled - reshuffled) / 2**0.5


def barlow_twins(first: torch.Tensor, second: torch.Tensor, weight: float = 0.005) -> torch.Tensor:
    columns = torch.cat([first, second], 1).T
    far = (
        columns.corrcoef()[: first.shape[1], first.shape[1] :] - torch.eye(first.shape[1])
    ).square()
    return far.trace() + weight * (far.sum() - far.trace())


def mixed_deviations(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Divide deviations by n - 1 and products by n, as a call of `std` without an argument does."""
    first, second = ((z - z.mean(0)) / z.std(0) for z in (first, second))
    far = (first.T @ second / len(first) - torch.eye(first.shape[1])).square()
    return far.trace() + 0.005 * (far.sum() - far.trace())


ANSWERS: dict[str, tuple[list[Any], list[Any]]] = {
    "barlow twins": (
        [barlow_twins],
        [
            None,
            lambda a, b: 1.0,
            lambda a, b: barlow_twins(a, b, 1.0),
            lambda a, b: barlow_twins(a, b, 0.0),
            mixed_deviations,
            lambda a, b: (a.T @ b / len(a) - torch.eye(a.shape[1])).square().sum(),
            lambda a, b: a.sum() * math.nan,
        ],
    ),
    "statistics": (
        [difference_of_copies],
        [
            None,
            lambda t: t,
            lambda t: t.roll(1, 0),
            lambda t: t[:5],
            lambda t: 0 * t,
            lambda t: -t,
            same_covariance,
            lambda t: t + math.nan,
            lambda t: 2 * t[torch.randperm(len(t))],
            lambda t: t.tolist(),
        ],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_measured_and_wrong_ones_are_told_why(capsys: Any, name: str) -> None:
    right, wrong = ANSWERS[name]
    assert all(judge(capsys, name, answer)[0] for answer in right)
    verdicts = [judge(capsys, name, answer) for answer in wrong]
    assert not any(passed for passed, _ in verdicts) and all(
        hint.startswith("Not yet") for _, hint in verdicts
    )
    assert len({hint for _, hint in verdicts}) >= 4


def test_what_pixels_foretell_is_between_nothing_and_all() -> None:
    draw = torch.Generator().manual_seed(0)
    images = torch.randn((2000, 1, 3, 3), generator=draw)
    linear = images.flatten(1) @ torch.randn((9, 4), generator=draw)
    assert predicted(linear, images) > 0.98
    assert predicted(torch.randn((2000, 4), generator=draw), images) < 0.02
    assert predicted(
        linear + linear.std() * torch.randn((2000, 4), generator=draw), images
    ) == pytest.approx(0.5, abs=0.06)
