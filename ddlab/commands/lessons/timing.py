"""Measures lessons with one thread, as on a machine with one core: wall time, CPU-seconds and memory against their budgets."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ...core import errors
from ...core.storage import write_atomically
from ...lessons.contents import LESSONS, Budget
from ...lessons.run_all import SECONDS
from . import NOTEBOOKS
from .running import LessonFailed, errors_of, run

# The last: no students in a process beside the kernel.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}
# Runs in the lesson's kernel, after its last cell: only there CPU time and memory are the lesson's own.
_PROBE = """
import json, time, torch
from ddlab.lessons.lesson import peak_megabytes
print(json.dumps({"cpu": time.process_time(), "peak": peak_megabytes(), "threads": torch.get_num_threads()}))
"""


def measure(name: str, *, solutions: Path = NOTEBOOKS / "solutions") -> dict[str, Any]:
    """One solution in a fresh kernel with one thread.

    Returns:
        `name`, `threads`, `wall_seconds` (with the start of the kernel), `cpu_seconds`, `peak_megabytes`, `cells` (seconds of each by its
        id; these five are absent if the kernel died), the two limits, and `problems`: sentences, empty if the lesson ran and kept its
        budget.

    Raises:
        DDLabError: `name` is no lesson.
    """
    budget = LESSONS[errors.check_choice("name", name, tuple(LESSONS))]
    found: dict[str, Any] = {"name": f"lesson {name}"}
    begin = time.perf_counter()
    try:
        notebook = run(solutions / f"{name}.ipynb", environment=ONE_THREAD, last=_PROBE, keep_going=True)
    except LessonFailed as error:
        problems = [str(error)]
    else:
        wall = time.perf_counter() - begin
        told = json.loads("".join(o.text for o in notebook.cells[-1].outputs if o.get("name") == "stdout"))
        found |= {
            "threads": told["threads"],
            "wall_seconds": round(wall, 1),
            "cpu_seconds": round(told["cpu"], 1),
            "peak_megabytes": round(told["peak"]),
            "cells": {cell.id: _seconds(cell) for cell in notebook.cells[:-1] if cell.cell_type == "code"},
        }
        problems = [*errors_of(notebook), *over_budget(budget, wall_seconds=wall, megabytes=told["peak"])]
    return found | {
        "budget_seconds": budget.one_thread_seconds,
        "budget_megabytes": budget.megabytes,
        "problems": problems,
    }


def over_budget(budget: Budget, *, wall_seconds: float, megabytes: float) -> list[str]:
    """One sentence for each limit of a lesson on one thread that is exceeded."""
    found = []
    if wall_seconds > budget.one_thread_seconds:
        found.append(f"it took {wall_seconds:.0f} s with one thread, its budget is {budget.one_thread_seconds:g} s")
    if megabytes > budget.megabytes:
        found.append(f"it held {megabytes:.0f} MB, its budget is {budget.megabytes:g} MB")
    return found


def keep(results: Sequence[Mapping[str, Any]], file: Path = SECONDS) -> None:
    """Write what cells took, for the bar that is shown while they run; a lesson that had problems keeps what was there."""
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known |= {each["name"].removeprefix("lesson "): each["cells"] for each in results if not each["problems"]}
    lines = [f"{json.dumps(name)}: {json.dumps(cells)}" for name, cells in sorted(known.items())]
    write_atomically(file, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def _seconds(cell: Any) -> float:
    """From a cell's first line to its last, as the kernel told."""
    said = cell.metadata.get("execution", {})
    ends = [said.get(f"iopub.status.{name}") for name in ("busy", "idle")]
    begin, end = (datetime.fromisoformat(each) for each in ends) if all(ends) else (datetime.min, datetime.min)
    return round((end - begin).total_seconds(), 1)


def measure_all(names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """These lessons (default: all), one after the other; see `measure`."""
    return [measure(name) for name in (names or sorted(LESSONS))]
