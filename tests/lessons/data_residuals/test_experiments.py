"""Lesson 30: its figures and tables, its runs, its exercises."""

from __future__ import annotations

import re
from statistics import fmean
from typing import Any

import pytest
import torch

import ddlab
from ddlab import records, theory
from ddlab.lessons.data_residuals import charts as views
from ddlab.lessons.data_residuals import experiments as residuals
from tests.lessons.data_residuals.recorded_rows import rows


def test_figures_and_tables_show_the_records() -> None:
    shown = views.comparison("online")
    mean = fmean(row["online"] for row in rows("stopped early").values())
    assert any(
        value == pytest.approx(mean) for trace in shown.data for value in (trace.y if trace.y is not None else ())
    )
    assert len(views.ROWS) == 10 and {"online labels", "hard labels"} <= {t.name for t in views.merge_sweep().data}
    grid = views.ratio_map()
    cell = fmean(row["online"] for row in rows(merge_ratio=0.7, small_size=48).values())
    assert any(f"{cell:.3f}" in str(trace) for trace in [*grid.data, *(grid.layout.annotations or ())])
    head, _, *lines = views.size_table().splitlines()
    assert "cost" in head and [line.split(" | ")[0] for line in lines] == ["| 32 px", "| 40 px", "| 48 px", "| none"]
    assert [line.split(" | ")[1] for line in lines] == ["0.62", "0.70", "0.78", "1.00"]
    for line in lines + views.continual_table().splitlines()[2:]:
        for cell in re.findall(r"\*\*\S+ \([^)]*\)", line):
            middle, low, high = (float(number) for number in re.findall(r"\d\.\d\d", cell))
            assert low <= middle <= high


def test_the_papers_tables_stand_beside_ours() -> None:
    _, _, *lines = views.beside_the_paper().splitlines()
    assert len(lines) == 13 and "46.2" in lines[0] and "47.7" in lines[5] and "61.5" in lines[9]
    assert lines[5].startswith("| α = 0.5, ") and lines[9].startswith("| k = 3 ")
    ours = fmean(row["online"] for row in rows(merges=3).values())
    assert lines[9].endswith(f"| {100 * ours:.1f} |")


def test_a_point_of_the_record_that_is_far_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    known = rows()
    monkeypatch.setattr(records, "run_point", lambda _name, point: known[point["seed"]])
    assert views.repeated(seed=3).count("recorded") == 4
    monkeypatch.setattr(records, "run_point", lambda _name, _point: {**known[3], "contrast": 9.0})
    with pytest.raises(AssertionError, match="contrast of seed 3"):
        views.repeated(seed=3)


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("30_data_residuals")

    def exact(budget: int, merges: int, share: float) -> float:
        return theory.resolution_cost_ratio(
            budget=budget, merges=merges, small_side=1000, side=round(1000 / share**0.5)
        )

    def counted(budget: int, merges: int, share: float) -> float:
        each, last = budget // (merges + 1), budget - merges * (budget // (merges + 1))
        return 1 - ((merges + 1) // 2 * each + last * (merges % 2 == 0)) / budget * (1 - share)

    def printed(budget: int, merges: int, share: float) -> float:
        return 1 - budget // (merges + 1) / budget * -(-merges // 2) * (1 - share)

    assert exact(120, 3, 0.25) == pytest.approx(counted(120, 3, 0.25))
    full = torch.arange(3 * 64 * 64).remainder(256).to(torch.uint8).view(3, 64, 64)
    answers: dict[str, tuple[list[Any], list[Any]]] = {
        "survival": (
            [lambda a, k, i: a ** (k + 1 - i), lambda a, k, i: 1.0 if i == k + 1 else a ** (k + 1 - i)],
            [
                None,
                lambda a, k, i: a ** (k - i),
                lambda a, k, i: a,
                lambda a, k, i: a**k,
                lambda a, k, i: "a",
                lambda a, k: a,
            ],
        ),
        "cost": ([counted], [None, printed, lambda b, k, r: r, lambda b, k, r: "r", lambda b, k, r: 1 / 0]),
        "fooling": ([full], [None, full.float(), full[:, :32], torch.zeros_like(full), full // 64]),
    }
    assert answers.keys() == residuals.CHECKS.keys()
    hints = set()
    for name, (right, wrong) in answers.items():
        for answer in right:
            assert lesson.check(name, answer), name
        for answer in wrong:
            capsys.readouterr()
            assert not lesson.check(name, answer), name
            hints.add(capsys.readouterr().out)
    assert len(hints) >= 10, "wrong answers get different hints"
