"""Lesson 41: its figures and tables, its exercises."""

from __future__ import annotations

from typing import Any

import torch

import ddlab
from ddlab.lessons.views import checks


def affine(ones: bool) -> Any:
    def shift(C: Any, C_a: Any) -> Any:
        columns = torch.cat([C, torch.ones(len(C), 1, dtype=C.dtype)], 1) if ones else C
        return columns @ torch.linalg.lstsq(columns, C_a - C).solution

    return shift


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("41_views")
    answers: dict[str, tuple[Any, list[Any]]] = {
        "pairs": (114, [None, 127, 128, 113, 85, 115, 200, 114.0, True]),
        "restore": (
            lambda view, places: view.flatten(1)[:, places.argsort()].view_as(view),
            [
                None, lambda view, places: view, lambda view, places: view.flatten(1)[:, places].view_as(view),
                lambda view, places: view.flatten(1), lambda view: view,
            ],
        ),
        "shift": (
            affine(True),
            [None, affine(False), lambda C, C_a: C_a - C, lambda C, C_a: (C_a - C).mean(0) + 0 * C, lambda C, C_a: C[0], lambda C: C],
        ),
    }  # fmt: skip
    assert answers.keys() == checks.CHECKS.keys()
    for name, (right, wrong) in answers.items():
        assert lesson.check(name, right), name
        hints = set()
        for answer in wrong:
            capsys.readouterr()
            assert not lesson.check(name, answer), (name, answer)
            hints.add(capsys.readouterr().out)
        assert len(hints) >= 4, "wrong answers get different hints"
