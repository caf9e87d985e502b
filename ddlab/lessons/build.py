"""Makes what students get from what teachers keep: `python -m ddlab.lessons.build` (make lessons), `--check` to write nothing.

notebooks/solutions/NN_topic.ipynb                 -> notebooks/NN_topic.ipynb             the lesson
notebooks/assignments/instructor/topic.ipynb       -> notebooks/assignments/topic.ipynb    the assignment
ddlab/lessons/contents.py, ddlab/methods           -> README.md                            its table of lessons, its list of methods

In a code cell of a lesson, the lines from "### BEGIN SOLUTION" to "### END SOLUTION" are replaced by the lines in between that begin
with "### STUB " (without that mark), so that a stub runs, prints its hint and never raises.

An assignment is what `nbgrader generate_assignment` makes of the instructor's notebook, cell for cell (a test compares both), so that a
course with nbgrader and one without hand out the same file. This here does not need nbgrader.
"""

from __future__ import annotations

import copy
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .. import methods
from ..core.errors import DDLabError
from ..core.storage import write_atomically
from .contents import index

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

STUB = "### STUB "
# What nbgrader puts in the place of a solution, by the type of the cell.
ASSIGNMENT_STUBS = {"code": ["# YOUR CODE HERE", "raise NotImplementedError()"], "markdown": ["YOUR ANSWER HERE"]}


def lesson_from(solution: dict[str, Any]) -> dict[str, Any]:
    """The lesson notebook (as JSON) that a solution notebook gives."""
    lesson = copy.deepcopy(solution)
    for cell in lesson["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = _lines(_replaced("".join(cell["source"]), "SOLUTION", _lesson_stub))
    return lesson


def assignment_from(source: dict[str, Any]) -> dict[str, Any]:
    """The student's notebook (as JSON) that an instructor's notebook with nbgrader's cell metadata gives.

    Solutions become stubs, hidden tests go, cells are locked as their role asks for, and each marked cell gets its checksum.

    Raises:
        DDLabError: a solution outside a solution cell, hidden tests outside a test cell, or a region that does not end.
    """
    assignment = copy.deepcopy(source)
    for cell in assignment["cells"]:
        marks = cell["metadata"].get("nbgrader", {})
        solution, grade = marks.get("solution", False), marks.get("grade", False)
        text = "".join(cell["source"])
        for region, allowed in (("SOLUTION", solution), ("HIDDEN TESTS", grade)):
            if f"### BEGIN {region}" in text and not allowed:
                raise DDLabError(f"{region.lower()} must stand in a cell marked for it; given {text[:60]!r}.")
        stub = ASSIGNMENT_STUBS.get(cell["cell_type"], [])
        if solution and "### BEGIN SOLUTION" not in text:
            text = "\n".join(stub)  # nothing is marked: all of the cell is the solution
        text = _replaced(text, "SOLUTION", lambda indent, _, stub=stub: [indent + line for line in stub])
        text = _replaced(text, "HIDDEN TESTS", lambda indent, hidden: [])
        cell["source"] = _lines(text)
        if solution or grade or marks.get("locked", False):
            cell["metadata"]["deletable"] = False
            if not solution:
                cell["metadata"]["editable"] = False
            marks |= {"checksum": checksum(cell), "cell_type": cell["cell_type"]}
            cell["metadata"]["nbgrader"] = dict(sorted(marks.items()))
    return assignment


def checksum(cell: dict[str, Any]) -> str:
    """nbgrader's checksum of a cell: it tells an answer from an untouched stub, and a changed test from the one handed out."""
    marks = cell["metadata"]["nbgrader"]
    grade, solution = marks.get("grade", False), marks.get("solution", False)
    locked = False if solution else grade or marks.get("locked", False)
    parts = ["".join(cell["source"]), cell["cell_type"], str(grade), str(solution), str(locked), marks["grade_id"]]
    if grade:
        parts.append(str(float(marks["points"])))
    return hashlib.md5("".join(parts).encode(), usedforsecurity=False).hexdigest()


def generated(notebooks: Path) -> dict[Path, str]:
    """What each lesson and assignment, and the README beside the folder where there is one, must contain."""
    found = {
        notebooks / solution.name: as_text(lesson_from(_read(solution)))
        for solution in sorted((notebooks / "solutions").glob("*.ipynb"))
    }
    assignments = notebooks / "assignments"
    for source in sorted((assignments / "instructor").glob("*.ipynb")):
        found[assignments / source.name] = as_text(assignment_from(_read(source)))
    readme = notebooks.parent / "README.md"
    if readme.exists():
        text = with_part(readme.read_text(encoding="utf-8"), "lessons", f"\n{index('notebooks/')}\n")
        found[readme] = with_part(text, "methods", f"\n{methods_in_words()}\n")
    return found


def methods_in_words() -> str:
    """The methods by their usual names, for the README."""
    found = {name: methods.get(name) for name in dir(methods) if name not in methods.__all__}
    without = [name for name, method in found.items() if getattr(method, "WITHOUT_LABELS", False)]
    labelled = ", ".join(f"`{name}`" for name in found if name not in without)
    return f"Methods: {labelled}; without labels {', '.join(f'`{name}`' for name in without)}."


def with_part(text: str, name: str, content: str) -> str:
    """A page with `content` between <!-- NAME: begin --> and <!-- NAME: end -->.

    Raises:
        DDLabError: the marks are missing, or stand in the wrong order.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise DDLabError(f"the page must have the marks {begin!r} and {end!r}; given one without them.")
    return f"{before}{begin}{content}{end}{after}"


def stale(notebooks: Path) -> dict[Path, str]:
    """Those of `generated` that are not what they must be."""
    wanted = generated(notebooks).items()
    return {path: text for path, text in wanted if not path.exists() or path.read_text(encoding="utf-8") != text}


def as_text(notebook: dict[str, Any]) -> str:
    """The notebook as it stands in the file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _read(notebook: Path) -> dict[str, Any]:
    return json.loads(notebook.read_text(encoding="utf-8"))


def _lesson_stub(indent: str, solution: list[str]) -> list[str]:
    """The lines of a solution that begin with the stub's mark, without it."""
    kept = []
    for line in solution:
        if line.strip().startswith(STUB.strip()):
            kept.append(line[: len(line) - len(line.lstrip())] + line.strip().removeprefix(STUB))
    return kept


def _replaced(source: str, region: str, stub: Callable[[str, list[str]], list[str]]) -> str:
    """The source with each region "### BEGIN ..." to "### END ..." replaced by `stub(indent of its first mark, lines inside)`."""
    begin, end = f"### BEGIN {region}", f"### END {region}"
    kept: list[str] = []
    inside: list[str] | None = None
    indent = ""
    for line in source.splitlines():
        mark = line.strip()
        if mark in (begin, end):
            if (inside is None) != (mark == begin):
                raise DDLabError(f"a {region.lower()} must begin and end once; given a stray {mark!r}.")
            if inside is None:
                inside, indent = [], line[: len(line) - len(line.lstrip())]
            else:
                kept += stub(indent, inside)
                inside = None
        elif inside is not None:
            inside.append(line)
        else:
            kept.append(line)
    if inside is not None:
        raise DDLabError(f"a {region.lower()} must end with {end!r}; given a cell without it.")
    return "\n".join(kept)


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def main(arguments: Sequence[str], notebooks: Path = NOTEBOOKS) -> int:
    """Write what is not in step with its source; with "--check" write nothing and return 1 if there is such a file."""
    check = "--check" in arguments
    found = stale(notebooks)
    for path, text in found.items():
        if not check:
            write_atomically(path, text.encode())
        print(f"{path.name}: {'not in step with its source, run make lessons' if check else 'written'}")
    return 1 if found and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
