"""Lesson 41: its figures and tables, its exercises."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest
import torch

import ddlab
from ddlab import records
from ddlab.lessons.shared import printed_tables as printed
from ddlab.lessons.shared import unlabelled
from ddlab.lessons.views import charts, experiments
from tests.lessons.shared.unlabelled_rows import rows


def test_figures_show_the_record() -> None:
    shown = unlabelled.comparison(["KRR-ST", "random and turned, paid"])
    mean = fmean(row["source"] for row in rows("real images", targets_count=True, augmentation="rotation").values())
    assert any(
        value == pytest.approx(mean) for trace in shown.data for value in (trace.y if trace.y is not None else ())
    )
    assert "digits" in str(unlabelled.comparison(["Boost"], column="other").layout.title.text)
    curves = {trace.name: trace for trace in charts.budget_curves().data if trace.mode == "lines+markers"}
    ours = [fmean(row["source"] for row in rows("KRR-ST", size).values()) for size in (10, 20, 40)]
    assert list(curves["KRR-ST"].y) == pytest.approx(ours)


def test_the_papers_tables_stand_beside_ours() -> None:
    _, _, *parts = charts.parts_table().splitlines()
    assert [line.split(" | ")[1] for line in parts] == ["47.00%", "-", "48.57%", "52.41%", "50.93%", "51.03%"]
    _, _, *models = charts.shifts_table().splitlines()
    assert len(models) == len(printed.BOOST_11_SHIFTS) and models[3].startswith("| networks of width 4 | 0.19 |")
    assert models[0].split(" | ")[2].startswith("**1.00**"), "no shift leaves all of it"
    head, _, *others = charts.architectures_table().splitlines()
    assert head.split(" | ")[3:] == ["untrained", "real images", "KRR-ST", "Boost |"]
    assert [line.split(" | ")[:3] for line in others[:2]] == [
        ["| VGG11", "27.78%", "35.35%"], ["| ResNet-18", "21.20%", "20.90%"]
    ]  # fmt: skip
    table: tuple[dict[str, Any], ...] = records.load("self_supervised_architectures").rows
    drawn = [row["source"] for row in table if (row["architecture"], row["method"]) == ("ViT", "untrained")]
    assert len(drawn) == 5 and others[4].split(" | ")[3].startswith(f"**{fmean(drawn):.2f}** (")


def test_what_is_far_from_the_record_is_seen() -> None:
    known = rows("KRR-ST")[3]
    found = {"source": known["source"], "other": known["other"]}
    assert unlabelled.repeated(found, "KRR-ST").count("recorded") == 2
    with pytest.raises(AssertionError, match="other of KRR-ST"):
        unlabelled.repeated(found | {"other": 0.1}, "KRR-ST")


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
    assert answers.keys() == experiments.CHECKS.keys()
    for name, (right, wrong) in answers.items():
        assert lesson.check(name, right), name
        hints = set()
        for answer in wrong:
            capsys.readouterr()
            assert not lesson.check(name, answer), (name, answer)
            hints.add(capsys.readouterr().out)
        assert len(hints) >= 4, "wrong answers get different hints"
