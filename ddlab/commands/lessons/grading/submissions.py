"""Grades the checked tasks of an assignment without nbgrader; the points are those that nbgrader gives an honest submission.

Students are the attackers here. What they wrote runs in a process that reaches nothing (`sandbox`, `kernel`); the
instructor's cells, hidden tests included, run in another (`judge`), and between the two there is only data (`data`).
A test cell gives all its points, or none if it raises or writes to standard error. Written answers are left to a reader.
"""

from __future__ import annotations

import csv
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....core import errors
from ....core.errors import DDLabError
from .. import build
from . import judge, sandbox, watching
from .sandbox import Limits

LIMITS = Limits()
MEGABYTES = 20  # of a notebook, with the outputs that students hand in
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class Ungraded(RuntimeError):
    """A submission that did not run to its end; the message says why."""


@dataclass(frozen=True)
class Grades:
    """What one submission gets.

    Attributes:
        student: what stands in the notebook's STUDENT, to be compared with whose file it is.
        points: test cell -> points. written: answer that a reader grades -> points it can get.
        remarks: sentences on what could not be judged.
    """

    student: str
    points: dict[str, float]
    written: dict[str, float]
    remarks: tuple[str, ...] = ()


def plan(submission: dict[str, Any], source: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of `judge.Judge.go`, in the instructor's order (both notebooks as JSON).

    The student's kernel gets every locked cell, tests too, as it was handed out; the judge gets the instructor's. A student's own cells
    stay behind the marked cell that they follow. A copy of a marked cell is the student's own.

    Raises:
        DDLabError: a cell with tests, or one that an answer belongs in, is not there.
    """
    marked = {key: (place, cell) for place, (key, cell) in enumerate(_marked(source))}
    handed_out = dict(_marked(build.assignment_from(source)))
    groups: list[tuple[int, list[dict[str, Any]]]] = [(-1, [_start(source)])]
    seen: set[str] = set()
    for cell in submission["cells"]:
        key = _key(cell)
        own = _text(cell) if cell["cell_type"] == "code" else None
        step = {"key": key, "student": own, "judge": None, "names": [], "points": None}
        if key in marked and key not in seen:
            seen.add(key)
            place, whole = marked[key]
            groups.append((place, []))
            marks, text, is_code = whole["metadata"]["nbgrader"], _text(whole), whole["cell_type"] == "code"
            if not marks["solution"]:
                step["student"], step["judge"] = (_text(handed_out[key]), text) if is_code else (None, None)
                step["points"] = float(marks["points"]) if marks["grade"] else None
            elif is_code:
                step |= {"judge": judge.imports(text), "names": sorted(judge.bound_names(text))}
        groups[-1][1].append(step)
    missing = [key for key, (_, cell) in marked.items() if key not in seen and cell["cell_type"] == "code"]
    if missing:
        raise DDLabError(f"submission must hold every cell that was handed out; given one without {missing}.")
    return [step for _, group in sorted(groups, key=lambda group: group[0]) for step in group]


def _start(source: dict[str, Any]) -> dict[str, Any]:
    """What the instructor's unmarked cells (STUDENT = "...") define is the student's to define."""
    texts = [_text(cell) for cell in source["cells"] if cell["cell_type"] == "code" and not _key(cell)]
    names = sorted(name for text in texts for name in judge.bound_names(text))
    imports = "\n".join(judge.imports(text) for text in texts)
    return {"key": "", "student": None, "judge": imports, "names": names, "points": None}


def judged(steps: list[dict[str, Any]], limits: Limits) -> dict[str, Any]:
    """Run the steps, the student's in a process of their own; returns `points` and `remarks` as in `judge.Judge`.

    Raises:
        Ungraded: a limit is exceeded, or one of the two processes ends early.
    """
    with watching.fresh_folder() as home, watching.fresh_folder() as ours:
        arguments = [json.dumps(asdict(limits))]
        with watching.Confined("kernel", arguments, home, limits) as student:
            process = subprocess.Popen(
                sandbox.command("judge"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=student.pipes,
                cwd=ours,
                env=sandbox.environment(ours),
                start_new_session=True,
            )
            try:
                student.leave_to(process.pid)
                given = {"steps": steps, "limits": asdict(limits), "pipes": student.pipes}
                result, why = student.watched(process, json.dumps(given).encode())
            finally:
                process.kill()
                process.wait()
    try:
        found = json.loads(result)
    except ValueError:
        found = {"problem": "the judge ended without a result"}
    if why or found["problem"]:
        raise Ungraded(why or found["problem"])
    return found


def graded(file: Path, source: dict[str, Any], limits: Limits) -> Grades:
    """Grade one file.

    Raises:
        DDLabError: it is no notebook, or not this assignment's. Ungraded: it did not run to its end.
    """
    notebook = _read("submissions", file)
    found = judged(plan(notebook, source), limits)
    text = "\n".join(_text(cell) for cell in notebook["cells"] if cell["cell_type"] == "code")
    student = re.search(r"""^STUDENT\s*=\s*["'](.*?)["']""", text, re.MULTILINE)
    return Grades(student[1][:200] if student else "", found["points"], _worth(source)[1], tuple(found["remarks"]))


def grade(submissions: Path, source: Path, limits: Limits | None = None) -> tuple[int, dict[str, Any]]:
    """Print a line of CSV for each submission; returns 1 if one could not be graded, and the same as JSON types.

    Args:
        submissions: a notebook, or a folder in which each notebook below is one student's. source: the instructor's notebook.
        limits: of each submission (default: `LIMITS`).
    """
    whole = _read("source", source)
    tests, written = _worth(whole)
    files = _notebooks(submissions)
    for argument, place in (("source", source), ("submissions", submissions)):
        if any(place.resolve().is_relative_to(folder) for folder in sandbox.readable()):
            errors.fail(
                argument, "outside the folders of Python and the system, which submissions can read", str(place)
            )
    print(sandbox.isolation(), file=sys.stderr)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["file", "student", *tests, "sum", *(f"{key} (to read, of {of:g})" for key, of in written.items())])
    lines: list[dict[str, Any]] = []
    refused: list[str] = []
    for file in files:
        name = _printable(str(file))
        try:
            found = graded(file, whole, limits or LIMITS)
        except (DDLabError, Ungraded) as problem:
            refused.append(f"{name}: {_printable(str(problem))}")
            print(refused[-1], file=sys.stderr)
            continue
        for remark in found.remarks:
            print(f"{name}: {remark}", file=sys.stderr)
        points, student = [found.points[key] for key in tests], _printable(found.student)
        table.writerow([_cell(name), _cell(student), *points, sum(points), *("" for _ in written)])
        sys.stdout.flush()
        lines.append({"file": name, "student": student, "points": found.points, "to_read": written})
    return 1 if refused else 0, {"submissions": lines, "refused": refused}


def _cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _printable(text: str) -> str:
    """What a terminal and a UTF-8 file can take: no control characters, no halves of characters."""
    return "".join(each if each.isprintable() or each == "\t" else ascii(each)[1:-1] for each in text)


def _key(cell: dict[str, Any]) -> str:
    """A cell's grade_id; "" of a cell that has none."""
    marks = cell["metadata"].get("nbgrader")
    key = marks.get("grade_id") if isinstance(marks, dict) else None
    return key if isinstance(key, str) else ""


def _text(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _marked(notebook: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for cell in notebook["cells"]:
        if _key(cell):
            yield _key(cell), cell


def _worth(notebook: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """What test cells and written answers are worth, by grade_id."""
    tests: dict[str, float] = {}
    written: dict[str, float] = {}
    for key, cell in _marked(notebook):
        marks = cell["metadata"]["nbgrader"]
        if marks["grade"]:
            (written if marks["solution"] else tests)[key] = float(marks["points"])
    return tests, written


def _notebooks(place: Path) -> list[Path]:
    files = [place] if place.is_file() else sorted(place.rglob("*.ipynb"))
    files = [file for file in files if ".ipynb_checkpoints" not in file.parts]
    if not files:
        errors.fail("submissions", "a notebook, or a folder with notebooks", str(place))
    return files


def _read(argument: str, file: Path) -> dict[str, Any]:
    """The notebook, with cells of known form and nothing else: outputs are never looked at.

    Raises:
        DDLabError: anything else.
    """
    try:
        about = os.stat(file, follow_symlinks=argument == "source")
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("a link, a folder or a device")
        if about.st_size > MEGABYTES * 2**20:
            raise ValueError(f"more than {MEGABYTES} MB")
        notebook = json.loads(file.read_text(encoding="utf-8"))
        if notebook["nbformat"] != 4:
            raise ValueError("of another version than 4")
        return {"cells": [_checked(cell, number) for number, cell in enumerate(_listed(notebook["cells"]))]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        why = "without " if isinstance(problem, KeyError) else ""
        raise DDLabError(f"{argument} must be a Jupyter notebook; given {str(file)!r} ({why}{problem}).") from problem


def _listed(cells: Any) -> list[Any]:
    if not isinstance(cells, list):
        raise TypeError("cells are not a list")
    return cells


def _checked(cell: Any, number: int) -> dict[str, Any]:
    source, metadata = (cell.get("source"), cell.get("metadata")) if isinstance(cell, dict) else (None, None)
    lines = [source] if isinstance(source, str) else source
    known = isinstance(lines, list) and all(isinstance(line, str) for line in lines) and isinstance(metadata, dict)
    if not known or cell.get("cell_type") not in ("code", "markdown", "raw"):
        raise TypeError(f"cell {number} has another form than a cell")
    return {"cell_type": cell["cell_type"], "metadata": metadata, "source": lines}
