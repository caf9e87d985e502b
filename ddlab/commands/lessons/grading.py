"""Grades the checked tasks of an assignment without nbgrader; the points are those that nbgrader gives.

Every locked cell of a submission is replaced by the instructor's, hidden tests included; then the notebook runs in a kernel of its own.
A test cell gives all its points, or none if it raises or writes to standard error. Written answers are left to a reader.
"""

from __future__ import annotations

import copy
import csv
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import errors
from ...core.errors import DDLabError
from . import running


@dataclass(frozen=True)
class Grades:
    """What one submission gets.

    Attributes:
        student: what stands in the notebook's STUDENT, to be compared with whose file it is.
        points: test cell -> points. written: answer that a reader grades -> points it can get.
    """

    student: str
    points: dict[str, float]
    written: dict[str, float]


def merged(submission: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """The submission with every locked cell, tests first of all, as it stands in the instructor's notebook (both as JSON).

    Raises:
        DDLabError: a cell with tests, or one that an answer belongs in, is not there.
    """
    locked = {key: cell for key, cell in _marked(source) if not cell["metadata"]["nbgrader"]["solution"]}
    whole = copy.deepcopy(submission)
    found: set[str] = set()
    for cell in whole["cells"]:
        key = cell["metadata"].get("nbgrader", {}).get("grade_id")
        if key is None or key in found:  # a copy of a marked cell is the student's own
            cell["metadata"].pop("nbgrader", None)
            continue
        found.add(key)
        if key in locked:
            cell |= copy.deepcopy(locked[key])
    missing = [key for key, cell in _marked(source) if key not in found and cell["cell_type"] == "code"]
    if missing:
        raise DDLabError(f"submission must hold every cell that was handed out; given one without {missing}.")
    return whole


def run(notebook: dict[str, Any], file: Path) -> Any:
    """The notebook of `file` after running every cell beside it, whatever some of them raise.

    Raises:
        LessonFailed: a cell takes longer than ten minutes, or the kernel dies.
    """
    import nbformat

    node = nbformat.reads(json.dumps(notebook), as_version=4)
    running.execute(node, file.name, file.parent, keep_going=True)
    return node


def grades(executed: dict[str, Any]) -> Grades:
    """Points of a notebook that has been run."""
    tests, written = _worth(executed)
    cells = dict(_marked(executed))
    points = {key: 0.0 if _failed(cells[key]) else worth for key, worth in tests.items()}
    text = "\n".join("".join(cell["source"]) for cell in executed["cells"] if cell["cell_type"] == "code")
    student = re.search(r"""^STUDENT\s*=\s*["'](.*?)["']""", text, re.MULTILINE)
    return Grades(student[1] if student else "", points, written)


def grade(submissions: Path, source: Path) -> tuple[int, dict[str, Any]]:
    """Print a line of CSV for each submission; returns 1 if one could not be graded, and the same as JSON types.

    Args:
        submissions: a notebook, or a folder in which each notebook below is one student's. source: the instructor's notebook.
    """
    whole = _read("source", source)
    tests, written = _worth(whole)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["file", "student", *tests, "sum", *(f"{key} (to read, of {of:g})" for key, of in written.items())])
    graded: list[dict[str, Any]] = []
    refused: list[str] = []
    for file in _notebooks(submissions):
        try:
            found = grades(run(merged(_read("submissions", file), whole), file))
        except (DDLabError, running.LessonFailed) as problem:
            refused.append(f"{file}: {problem}")
            print(refused[-1], file=sys.stderr)
            continue
        points = [found.points[key] for key in tests]
        table.writerow([str(file), found.student, *points, sum(points), *("" for _ in written)])
        sys.stdout.flush()
        graded.append({"file": str(file), "student": found.student, "points": found.points, "to_read": written})
    return 1 if refused else 0, {"submissions": graded, "refused": refused}


def _marked(notebook: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for cell in notebook["cells"]:
        if "grade_id" in cell["metadata"].get("nbgrader", {}):
            yield cell["metadata"]["nbgrader"]["grade_id"], cell


def _worth(notebook: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """What test cells and written answers are worth, by grade_id."""
    tests: dict[str, float] = {}
    written: dict[str, float] = {}
    for key, cell in _marked(notebook):
        marks = cell["metadata"]["nbgrader"]
        if marks["grade"]:
            (written if marks["solution"] else tests)[key] = float(marks["points"])
    return tests, written


def _failed(cell: dict[str, Any]) -> bool:
    return any(output["output_type"] == "error" or output.get("name") == "stderr" for output in cell["outputs"])


def _notebooks(place: Path) -> list[Path]:
    files = [place] if place.is_file() else sorted(place.rglob("*.ipynb"))
    files = [file for file in files if ".ipynb_checkpoints" not in file.parts]
    if not files:
        errors.fail("submissions", "a notebook, or a folder with notebooks", str(place))
    return files


def _read(argument: str, file: Path) -> dict[str, Any]:
    try:
        notebook = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(notebook["cells"], list):
            return notebook
    except (OSError, ValueError, KeyError, TypeError):
        pass
    errors.fail(argument, "a Jupyter notebook", str(file))
