"""Lesson 40: its figures and tables, its runs, its exercises."""

from __future__ import annotations

import re
from statistics import fmean
from typing import Any

import pytest
import torch

import ddlab
from ddlab import records
from ddlab.lessons.bases_and_views import charts as views
from ddlab.lessons.bases_and_views import experiments as bases
from ddlab.lessons.bases_and_views import sweep
from ddlab.lessons.shared import printed_tables as printed
from ddlab.runs import cache
from tests.lessons.bases_and_views.recorded_rows import rows


def test_what_is_watched_is_what_the_record_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr(cache, "run", lambda module, config, _inputs, **_options: ran.append((module, config)))
    for method in ("KRR-ST", "Boost"):
        sweep.distilled(sweep.point(method, seed=3), records.Place())
        assert ran.pop()[1] == bases.config(method, seed=3)


def test_a_watched_run_keeps_frames_and_losses(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    for method in ("KRR-ST", "Boost"):
        monkeypatch.setattr(bases, "_watched", {})
        short = bases.config(method, seed=7).replace(iterations=12, pool_size=1, pool_steps=2)
        monkeypatch.setattr(bases, "config", lambda _method, config=short, **_seed: config)
        run = bases.watched(method, seed=7)
        assert list(run.frames) == [0, 10, 12] and len(run.losses) == 12
        assert run.made is not None and torch.equal(run.frames[12], run.made.to_uint8()[: len(run.made)])
        assert bases.watched(method, seed=7) is run, "a second look costs nothing"
        monkeypatch.setattr(bases, "_watched", {})
        assert list(bases.watched(method, seed=7).frames) == [0, 10, 12], "a result that was known has no frames"
        monkeypatch.undo()
    scrubber = views.film([run])
    assert scrubber.slider.options[0] == ("0", 0) and len(scrubber.slider.options) == 3
    scrubber.slider.index = 1
    assert f"Boost {fmean(run.losses[:10]):.4f}" in scrubber.sentence
    scrubber.close()
    assert "step" in capsys.readouterr().out


def test_figures_and_tables_show_the_records() -> None:
    shown = views.comparison()
    mean = fmean(row["source"] for row in rows("real images", targets_count=True, augmentation="rotation").values())
    assert any(
        value == pytest.approx(mean) for trace in shown.data for value in (trace.y if trace.y is not None else ())
    )
    assert len(views.ROWS) == 8 and "digits" in str(views.comparison("Boost", column="other").layout.title.text)
    curves = {trace.name: trace for trace in views.budget_curves().data if trace.mode == "lines+markers"}
    ours = [fmean(row["source"] for row in rows("KRR-ST", size).values()) for size in (10, 20, 40)]
    assert list(curves["KRR-ST"].y) == pytest.approx(ours)
    for table in (views.parts_table(), views.start_table(), views.shifts_table()):
        for middle, low, high in re.findall(r"\*\*(-?\d\.\d\d)\*\* \((-?\d\.\d\d) to (-?\d\.\d\d)\)", table):
            assert float(low) <= float(middle) <= float(high)


def test_the_papers_tables_stand_beside_ours() -> None:
    _, _, *parts = views.parts_table().splitlines()
    assert [line.split(" | ")[1] for line in parts] == ["47.00%", "-", "48.57%", "52.41%", "50.93%", "51.03%"]
    _, _, *starts = views.start_table().splitlines()
    assert [line.split(" | ")[2] for line in starts] == ["52.41%", "-", "-", "30.99%", "-", "22.05%"]
    assert f"**{fmean(row['source'] for row in rows(bases_start='real').values()):.2f}**" in starts[2]
    _, _, *models = views.shifts_table().splitlines()
    assert len(models) == len(printed.BOOST_11_SHIFTS) and models[3].startswith("| networks of width 4 | 0.19 |")
    assert models[0].split(" | ")[2].startswith("**1.00**"), "no shift leaves all of it"
    head, _, *others = views.architectures_table().splitlines()
    assert head.split(" | ")[3:] == ["untrained", "real images", "KRR-ST", "Boost |"]
    assert [line.split(" | ")[:3] for line in others[:2]] == [
        ["| VGG11", "27.78%", "35.35%"], ["| ResNet-18", "21.20%", "20.90%"]
    ]  # fmt: skip
    table: tuple[dict[str, Any], ...] = records.load("self_supervised_architectures").rows
    drawn = [row["source"] for row in table if (row["architecture"], row["method"]) == ("ViT", "untrained")]
    assert len(drawn) == 5 and others[4].split(" | ")[3].startswith(f"**{fmean(drawn):.2f}** (")


def test_pairs_do_not_depend_on_the_budget_under_the_papers_rule() -> None:
    _, _, *lines = views.pairs_table().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[3] for row in cells[:3]] == ["114"] * 3
    for row in cells:
        count, most, floats = int(row[3]), int(row[4]), 768 if "CIFAR" in row[0] else 192
        assert most * (floats + count) < count * floats <= (most + 1) * (floats + count)


def test_a_point_of_the_record_that_is_far_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {method: rows(method)[3] for method in ("KRR-ST", "Boost")}
    monkeypatch.setattr(records, "run_point", lambda _name, point: known[point["method"]])
    assert views.repeated(seed=3).count("recorded") == 4
    known["Boost"] = known["Boost"] | {"other": 0.1}
    with pytest.raises(AssertionError, match="other of seed 3"):
        views.repeated(seed=3)


def test_exercises_take_the_right_answer_and_give_hints_for_wrong_ones(capsys: Any) -> None:
    lesson = ddlab.start("40_bases_and_views")

    def ridge(ones: float, half: bool) -> Any:
        def loss(real: Any, wanted: Any, distilled: Any, targets: Any) -> Any:
            kernel = distilled @ distilled.T + ones
            regular = kernel + 1e-6 * kernel.trace() * torch.eye(len(kernel), dtype=kernel.dtype)
            squares = (wanted - (real @ distilled.T + ones) @ torch.linalg.solve(regular, targets)).square()
            return squares.sum() / 2 if half else squares.mean()

        return loss

    answers: dict[str, tuple[list[Any], list[Any]]] = {
        "pairs": ([114], [None, 127, 128, 113, 85, 115, 200, 114.0, True]),
        "outer loss": (
            [ridge(1, False)],
            [None, ridge(1, True), ridge(0, False), lambda r, w, d, t: w.mean(), lambda r, w, d, t: 0.1, lambda r: r],
        ),
        "restore": (
            [lambda view, places: view.flatten(1)[:, places.argsort()].view_as(view)],
            [
                None, lambda view, places: view, lambda view, places: view.flatten(1)[:, places].view_as(view),
                lambda view, places: view.flatten(1), lambda view: view,
            ],
        ),
    }  # fmt: skip
    assert answers.keys() == bases.CHECKS.keys()
    hints = set()
    for name, (right, wrong) in answers.items():
        for answer in right:
            assert lesson.check(name, answer), name
        for answer in wrong:
            capsys.readouterr()
            assert not lesson.check(name, answer), (name, answer)
            hints.add(capsys.readouterr().out)
    assert len(hints) >= 14, "wrong answers get different hints"
