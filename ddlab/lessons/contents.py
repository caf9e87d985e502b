"""The index of the lessons, from the catalogue: the start page and the README show the same table."""

from __future__ import annotations

from ..errors import check_text
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
