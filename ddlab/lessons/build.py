"""Makes the lessons from their solutions: notebooks/solutions/NN_topic.ipynb is the master, notebooks/NN_topic.ipynb is generated.

python -m ddlab.lessons.build            write the lessons
python -m ddlab.lessons.build --check    exit 1 if a lesson is not what its solution gives

In a code cell, the lines from "### BEGIN SOLUTION" to "### END SOLUTION" are replaced by the lines in between that begin with
"### STUB " (without that mark), so that a stub runs, prints its hint and never raises.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from pathlib import Path
from typing import Any

from ..errors import DDLabError
from ..storage import write_atomically

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
BEGIN, END, STUB = "### BEGIN SOLUTION", "### END SOLUTION", "### STUB "


def lesson_from(solution: dict[str, Any]) -> dict[str, Any]:
    """The lesson notebook (as JSON) that a solution notebook gives."""
    lesson = copy.deepcopy(solution)
    for cell in lesson["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = _without_solution("".join(cell["source"])).splitlines(keepends=True)
    return lesson


def as_text(notebook: dict[str, Any]) -> str:
    """The notebook as it stands in the file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--notebooks", type=Path, default=NOTEBOOKS)
    options = parser.parse_args(arguments)
    stale = []
    for solution in sorted((options.notebooks / "solutions").glob("*.ipynb")):
        lesson = options.notebooks / solution.name
        text = as_text(lesson_from(json.loads(solution.read_text(encoding="utf-8"))))
        if lesson.exists() and lesson.read_text(encoding="utf-8") == text:
            continue
        stale.append(lesson.name)
        if not options.check:
            write_atomically(lesson, text.encode())
    verb = "not in step with the solution, run python -m ddlab.lessons.build" if options.check else "written"
    for name in stale:
        print(f"{name}: {verb}")
    return 1 if stale and options.check else 0


def _without_solution(source: str) -> str:
    kept: list[str] = []
    inside = False
    for line in source.splitlines():
        mark = line.strip()
        if mark in (BEGIN, END):
            if inside == (mark == BEGIN):
                raise DDLabError(f"a solution must begin and end once; given a stray {mark!r}.")
            inside = mark == BEGIN
        elif inside:
            if mark.startswith(STUB.strip()):
                indent = line[: len(line) - len(line.lstrip())]
                kept.append(indent + mark.removeprefix(STUB))
        else:
            kept.append(line)
    if inside:
        raise DDLabError(f"a solution must end with {END!r}; given a cell without it.")
    return "\n".join(kept)


if __name__ == "__main__":
    sys.exit(main())
