"""Makes what students get from what teachers keep: `python -m ddlab.lessons.build` (make lessons),
`--check` to write nothing.

notebooks/solutions/NN_topic.ipynb                 -> notebooks/NN_topic.ipynb             the lesson
notebooks/assignments/instructor/topic.ipynb       -> notebooks/assignments/topic.ipynb    the assignment
ddlab/lessons/contents.py, ddlab/methods           -> README.md                            its table of lessons, its list of methods
notebooks/sources.csv                              -> notebooks/sources.md                 where each figure of the papers stands

In a code cell of a lesson, the lines from "### BEGIN SOLUTION" to "### END SOLUTION" are replaced
by the lines in between that begin with "### STUB " (without that mark), so that a stub runs, prints
its hint and never raises.

Assignments are made by nbgrader, which `make lessons` installs, so that a course with nbgrader and
one without hand out the same file.
"""

import copy
import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import methods
from ..core import DDLabError
from ..core.storage import write_atomically
from .contents import index

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

STUB = "### STUB "
_SOURCES = """# Where the sources stand

What the papers behind these lessons show, item by item, and the page and section where you find it.
Where no page has an item, the reason stands beside it."""


def lesson_from(solution: dict[str, Any]) -> dict[str, Any]:
    """Return the lesson notebook (as JSON) that a solution notebook gives."""
    lesson = copy.deepcopy(solution)
    for cell in lesson["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = _lines(_replace("".join(cell["source"])))
    return lesson


def assignment_from(source: dict[str, Any]) -> dict[str, Any]:
    """Return the student's notebook (as JSON) of an instructor's notebook.

    The steps are those of `nbgrader generate_assignment`.

    Solutions become stubs, hidden tests go, cells are locked as their role asks for, and each
    marked cell gets its checksum.
    """
    import nbformat
    from nbgrader import preprocessors

    assignment: Any = nbformat.from_dict(copy.deepcopy(source))
    for cell in assignment["cells"]:
        cell["source"] = "".join(cell["source"])
    for step in ("LockCells", "ClearSolutions", "ClearHiddenTests", "ComputeChecksums"):
        assignment = getattr(preprocessors, step)().preprocess(assignment, {})[0]
    for cell in assignment["cells"]:
        cell["source"] = _lines(cell["source"])
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"] = dict(sorted(cell["metadata"]["nbgrader"].items()))
    return assignment


def generated(notebooks: Path) -> dict[Path, str]:
    """Return what each lesson and assignment must contain, and the README beside the folder, if
    any.
    """
    texts = {
        notebooks / solution.name: as_text(lesson_from(_read(solution)))
        for solution in sorted((notebooks / "solutions").glob("*.ipynb"))
    }
    assignments = notebooks / "assignments"
    for source in sorted((assignments / "instructor").glob("*.ipynb")):
        texts[assignments / source.name] = as_text(assignment_from(_read(source)))
    table = notebooks / "sources.csv"
    if table.exists():
        texts[notebooks / "sources.md"] = sources_page(table)
    readme = notebooks.parent / "README.md"
    if readme.exists():
        text = with_part(
            readme.read_text(encoding="utf-8"), "lessons", f"\n{index('notebooks/')}\n"
        )
        texts[readme] = with_part(text, "methods", f"\n{methods_in_words()}\n")
    return texts


def sources_page(table: Path) -> str:
    """Return the map of the papers: what each of them shows, and the page and section that has it."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [_SOURCES]
    for source in dict.fromkeys(row["source"] for row in rows):
        lines += [f"\n## {source}\n", "| what it shows | where |", "|---|---|"]
        for row in rows:
            if row["source"] == source:
                number = row["page"].partition("_")[0]
                link = f"[{number}, *{row['section']}*]({row['page']}.ipynb)" if number else ""
                lines.append(f"| {row['item']} | {'; '.join(filter(None, (link, row['note'])))} |")
    return "\n".join(lines) + "\n"


def methods_in_words() -> str:
    """Return the methods by their usual names, for the README."""
    available = {name: methods.get(name) for name in dir(methods) if name not in methods.__all__}
    without = [
        name for name, method in available.items() if getattr(method, "WITHOUT_LABELS", False)
    ]
    labelled = ", ".join(f"`{name}`" for name in available if name not in without)
    return f"Methods: {labelled}; without labels {', '.join(f'`{name}`' for name in without)}."


def with_part(text: str, name: str, content: str) -> str:
    """Return a page with `content` between <!-- NAME: begin --> and <!-- NAME: end -->.

    Raises:
        DDLabError: the marks are missing, or stand in the wrong order.
    """
    begin = f"<!-- {name}: begin -->"
    end = f"<!-- {name}: end -->"
    before, found_begin, remainder = text.partition(begin)
    _, found_end, after = remainder.partition(end)
    if not (found_begin and found_end):
        raise DDLabError(
            f"the page must have the marks {begin!r} and {end!r}; given one without them."
        )
    return f"{before}{begin}{content}{end}{after}"


def stale(notebooks: Path) -> dict[Path, str]:
    """Return those files of `generated` that are not what they must be."""
    expected = generated(notebooks).items()
    return {
        path: text
        for path, text in expected
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def as_text(notebook: dict[str, Any]) -> str:
    """Return the notebook as it stands in the file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _read(notebook: Path) -> dict[str, Any]:
    return json.loads(notebook.read_text(encoding="utf-8"))


def _stub(solution: list[str]) -> list[str]:
    """Return the lines of a solution that begin with the stub's mark, without it."""
    return [
        line[: len(line) - len(line.lstrip())] + line.strip().removeprefix(STUB)
        for line in solution
        if line.strip().startswith(STUB.strip())
    ]


def _replace(source: str) -> str:
    """Return the source with each region "### BEGIN SOLUTION" to "### END SOLUTION" replaced by its stub."""
    begin = "### BEGIN SOLUTION"
    end = "### END SOLUTION"
    student_lines: list[str] = []
    inside: list[str] | None = None
    for line in source.splitlines():
        mark = line.strip()
        if mark in (begin, end):
            if (inside is None) != (mark == begin):
                raise DDLabError(f"a solution must begin and end once; given a stray {mark!r}.")
            student_lines += _stub(inside or [])
            inside = [] if mark == begin else None
        else:
            (student_lines if inside is None else inside).append(line)
    if inside is not None:
        raise DDLabError(f"a solution must end with {end!r}; given a cell without it.")
    return "\n".join(student_lines)


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def main(arguments: Sequence[str], notebooks: Path = NOTEBOOKS) -> int:
    """Write what is not in step with its source.

    With "--check" write nothing and return 1 if there is such a file.
    """
    check = "--check" in arguments
    outdated = stale(notebooks)
    for path, text in outdated.items():
        if not check:
            write_atomically(path, text.encode())
        print(
            f"{path.name}: "
            f"{'not in step with its source, run make lessons' if check else 'written'}"
        )
    return 1 if outdated and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
