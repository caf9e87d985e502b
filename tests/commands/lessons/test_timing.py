"""Lessons timed with one thread: what is measured, and that a budget exceeded is said and fails the command."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import nbformat
import pytest

from ddlab.commands import main
from ddlab.commands.lessons import timing
from ddlab.lessons import LESSONS
from tests.support import refuses

NAME = "20_inverting_a_network"
BUDGET = LESSONS[NAME]


def solution(folder: Path, *sources: str) -> Path:
    """A notebook of these cells under the lesson's name; returns the folder."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / f"{NAME}.ipynb")
    return folder


@pytest.mark.slow
def test_a_lesson_is_measured_in_a_kernel_with_one_thread(tmp_path: Path) -> None:
    cells = ("import ddlab", f"lesson = ddlab.start({NAME!r})", "lesson.finish()")
    found = timing.measure(NAME, solutions=solution(tmp_path, *cells))
    assert found["name"] == f"lesson {NAME}" and found["threads"] == 1 and found["problems"] == []
    assert found["cpu_seconds"] > 0 and 0 < found["wall_seconds"] < found["budget_seconds"] == 180
    assert 100 < found["peak_megabytes"] < found["budget_megabytes"]


@pytest.mark.slow
def test_what_goes_wrong_is_said_and_measured_all_the_same(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(timing, "LESSONS", {NAME: dataclasses.replace(BUDGET, one_thread_seconds=0.1, megabytes=1)})
    found = timing.measure(NAME, solutions=solution(tmp_path, "print(1 / 0)", "print('and on')"))
    assert found["peak_megabytes"] > 1
    raised, slow, large = found["problems"]
    assert raised == "ZeroDivisionError: division by zero"
    assert "with one thread, its budget is 0.1 s" in slow and "MB, its budget is 1 MB" in large


def test_a_kernel_that_dies_is_a_problem(tmp_path: Path) -> None:
    found = timing.measure(NAME, solutions=solution(tmp_path, "import os; os._exit(1)"))
    assert found["problems"] == [f"{NAME}.ipynb: the kernel died (often: out of memory)"]
    assert "wall_seconds" not in found


def test_within_both_limits_nothing_is_said() -> None:
    assert timing.over_budget(BUDGET, wall_seconds=180, megabytes=BUDGET.megabytes) == []
    assert len(timing.over_budget(BUDGET, wall_seconds=180.1, megabytes=BUDGET.megabytes + 1)) == 2


def test_an_unknown_lesson_is_refused() -> None:
    with refuses("name", NAME, "21_x"):
        timing.measure("21_x")


@pytest.mark.parametrize(("problems", "status"), [([], 0), (["it took 200 s"], 1)])
def test_the_command_writes_the_numbers_and_fails_beyond_a_budget(
    tmp_path: Path, monkeypatch, capsys, problems: list[str], status: int
) -> None:
    result = {"name": f"lesson {NAME}", "wall_seconds": 200.0, "problems": problems}
    monkeypatch.setattr(timing, "measure", lambda name: result | {"name": f"lesson {name}"})
    out = tmp_path / "x.json"
    assert main(["lessons", "time", NAME, "--out", str(out)]) == status
    written = json.loads(out.read_text())
    assert written["results"] == [result] and {"commit", "processor"} <= written["machine"].keys()
    assert ("it took 200 s" in capsys.readouterr().err) == bool(problems)
