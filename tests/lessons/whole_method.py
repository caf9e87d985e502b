"""The cells of a solution notebook that hold a whole method, run by themselves beside the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

SOLUTIONS = Path(__file__).parents[2] / "notebooks" / "solutions"


def sources(lesson: str, tag: str = "whole-method") -> list[str]:
    """The code cells of the solution that carry the tag, in order."""
    notebook = nbformat.read(SOLUTIONS / f"{lesson}.ipynb", 4)
    found = [cell.source for cell in notebook.cells if tag in cell.metadata.get("tags", [])]
    assert found, f"{lesson} has no cell tagged {tag!r}"
    return found


def run(lesson: str, namespace: dict[str, Any], tag: str = "whole-method") -> dict[str, Any]:
    """The namespace after these cells have run in it; it holds what the cells before them have made."""
    for number, source in enumerate(sources(lesson, tag)):
        exec(compile(source, f"{lesson} {tag} {number}", "exec"), namespace)
    return namespace


def lines(source: str) -> int:
    """Lines of code, without blank ones and comments."""
    return sum(1 for line in source.splitlines() if line.strip() and not line.strip().startswith("#"))
