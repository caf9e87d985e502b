"""Measures lessons with one thread, as on a machine with one core: wall time, CPU-seconds and memory against their budgets."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core import errors
from ...lessons.contents import LESSONS, Budget
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
        `name`, `threads`, `wall_seconds` (with the start of the kernel), `cpu_seconds`, `peak_megabytes` (absent if the kernel died),
        the two limits, and `problems`: sentences, empty if the lesson ran and kept its budget.

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


def measure_all(names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """These lessons (default: all), one after the other; see `measure`."""
    return [measure(name) for name in (names or sorted(LESSONS))]
