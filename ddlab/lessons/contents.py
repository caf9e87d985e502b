"""The indexes of lessons and methods; the start page and the README show the same table of lessons."""

from __future__ import annotations

from .. import methods
from ..core.errors import check_text
from .lesson import LESSONS


def index(folder: str = "") -> str:
    """The lessons as a Markdown table with links: what a reader finds out, minutes to read, seconds and memory to run.

    Args:
        folder: where the notebooks are, seen from the page that shows the table: "" beside them, "notebooks/" from the README.
    """
    check_text("folder", folder)
    lines = ["| | lesson | you find out | read | run | memory |", "|---|---|---|---|---|---|"]
    for name, lesson in LESSONS.items():
        number = name.partition("_")[0]
        lines.append(
            f"| {number} | [{lesson.title}]({folder}{name}.ipynb) | {lesson.finds} | {lesson.minutes} min "
            f"| {lesson.wall_seconds:g} s | {lesson.megabytes:,g} MB |"
        )
    return "\n".join(lines)


def method_index() -> str:
    """The methods as a Markdown table: name and aliases, and the first line of each module's docstring."""
    lines = ["| name | method |", "|---|---|"]
    for name, aliases in methods.MODULES.items():
        words = (methods.get(name).__doc__ or "").strip().splitlines()[0].removesuffix(".")
        lines.append(f"| {', '.join(f'`{word}`' for word in (name, *aliases))} | {words} |")
    return "\n".join(lines)
