"""The bar of a running lesson: where it is, what is left on this machine, what an error leaves, and that it knows every cell."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.events import EventManager, available_events

from ddlab.commands.lessons import NOTEBOOKS
from ddlab.explorers import registry
from ddlab.lessons import run_all
from ddlab.lessons.run_all import SECONDS, RunAll

CELLS = {"a": 1.0, "b": 4.0, "c": 0.0, "d": 15.0}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that a test sets."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(run_all, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def run(bar: RunAll, clock: SimpleNamespace, cell: str, seconds: float, error: BaseException | None = None) -> None:
    bar.begins(cell)
    clock.now += seconds
    bar.ends(cell, error)


def test_it_counts_cells_and_expects_what_was_measured(clock: SimpleNamespace) -> None:
    bar = RunAll(CELLS, before="a")
    assert bar.at == {"place": 0, "cells": 4, "left": [1.0, 5.0, 5.0, 20.0], "share": 0.05, "stopped": ""}
    bar.begins("b")
    assert bar.at == {"place": 2, "cells": 4, "left": [4.0, 4.0, 19.0], "share": 0.05, "stopped": ""}
    clock.now += 4
    bar.ends("b")
    bar.begins("c")
    assert bar.at["left"] == [0.0, 15.0] and bar.at["share"] == 0.25  # as fast as expected
    run(bar, clock, "c", 0)
    run(bar, clock, "d", 15)
    assert bar.at["place"] == 0 and bar.at["share"] == 1.0


def test_a_slower_machine_has_more_left(clock: SimpleNamespace) -> None:
    bar = RunAll(CELLS, before="a")
    run(bar, clock, "b", 40)
    bar.begins("d")
    assert bar.at["left"] == [round(15 * (40 + 3) / (4 + 3), 1)]


def test_an_error_is_said_and_the_bar_goes_on(clock: SimpleNamespace) -> None:
    bar = RunAll(CELLS, before="a")
    run(bar, clock, "b", 1, KeyboardInterrupt())
    assert bar.at["stopped"].startswith("Cell 2 of 4 was interrupted.") and bar.at["share"] == 0.05
    run(bar, clock, "b", 1, ValueError("x"))
    assert bar.at["stopped"].startswith("Cell 2 of 4 raised ValueError.")
    bar.begins("b")
    assert bar.at["stopped"] == "" and bar.at["place"] == 2
    bar.ends("b")
    assert bar.at["share"] == 0.25
    bar.begins("b")  # once more: it is not done twice
    assert bar.at["share"] == 0.05


def test_a_cell_of_the_reader_is_not_counted(clock: SimpleNamespace) -> None:
    bar = RunAll(CELLS, before="own")
    before = bar.at
    for cell in ("own", None):
        run(bar, clock, cell, 5)  # type: ignore[arg-type]
    assert bar.at == before and before["share"] == 0


def test_it_watches_a_shell_and_a_second_one_replaces_the_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "seconds.json").write_text(json.dumps({"a lesson": CELLS}))
    monkeypatch.setattr(run_all, "SECONDS", tmp_path / "seconds.json")
    shown: list[Any] = []
    parent = {"metadata": {"cellId": "a"}}
    shell: Any = SimpleNamespace(get_parent=lambda: parent)
    shell.events = EventManager(shell, available_events)
    monkeypatch.setattr(run_all, "_shell", lambda: shell)
    monkeypatch.setattr("IPython.display.display", shown.append)
    first, second = run_all.watch("a lesson"), run_all.watch("a lesson")
    assert shown == [first, second] and first is not None and second is not None
    kept = [len(shell.events.callbacks[name]) for name in ("pre_run_cell", "post_run_cell")]
    assert first.comm is None and kept == [1, 2]  # memory is given back after a cell, by one function
    shell.events.trigger("pre_run_cell", SimpleNamespace(cell_id="c"))
    assert second.at["place"] == 3
    failed = SimpleNamespace(info=SimpleNamespace(cell_id="c"), error_before_exec=None, error_in_exec=ValueError())
    shell.events.trigger("post_run_cell", failed)
    assert second.at["stopped"]
    registry.close_all()
    assert shell.events.callbacks["pre_run_cell"] == [] and second.comm is None
    parent["metadata"] = {}  # a page that does not name its cells
    assert run_all.watch("a lesson") is None


def test_there_is_none_without_a_kernel() -> None:
    assert run_all.watch("50_kernels") is None


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_every_cell_of_a_lesson_was_measured(path) -> None:
    cells = [cell["id"] for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert list(json.loads(SECONDS.read_text())[path.stem]) == cells, "run: ddlab lessons time --keep"
