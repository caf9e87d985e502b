"""Makes the lessons from their solutions: notebooks/solutions/NN_topic.ipynb is the master, notebooks/NN_topic.ipynb is generated.

python -m ddlab.lessons.build            write the lessons
python -m ddlab.lessons.build --check    exit 1 if a lesson is not what its solution gives

In a code cell, the lines from "### BEGIN SOLUTION" to "### END SOLUTION" are replaced by the lines in between that begin with
"### STUB " (without that mark), so that a stub runs, prints its hint and never raises. Where pyproject.toml names a public address,
lessons and README get a link that opens them in Binder (`binder.py`).
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
from . import binder
from .readme import with_part

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
BEGIN, END, STUB = "### BEGIN SOLUTION", "### END SOLUTION", "### STUB "


def lesson_from(solution: dict[str, Any]) -> dict[str, Any]:
    """The lesson notebook (as JSON) that a solution notebook gives."""
    lesson = copy.deepcopy(solution)
    for cell in lesson["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = _without_solution("".join(cell["source"])).splitlines(keepends=True)
    return lesson


def generated(notebooks: Path) -> dict[Path, str]:
    """What each lesson, and the README beside the folder where there is one, must contain."""
    address, found = binder.repository(notebooks.parent), {}
    solutions = sorted((notebooks / "solutions").glob("*.ipynb"))
    for solution in solutions:
        lesson = lesson_from(json.loads(solution.read_text(encoding="utf-8")))
        if address:
            binder.with_link(lesson, binder.link(address, solution.stem))
        found[notebooks / solution.name] = as_text(lesson)
    readme = notebooks.parent / "README.md"
    if readme.exists():
        first = f"{binder.link(address, solutions[0].stem)}\n" if address and solutions else ""
        found[readme] = with_part(readme.read_text(encoding="utf-8"), "binder", f"\n{first}")
    return found


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
    for path, text in generated(options.notebooks).items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.name)
        if not options.check:
            write_atomically(path, text.encode())
    verb = "not in step with solutions and pyproject.toml, run make lessons" if options.check else "written"
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
