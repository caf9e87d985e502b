"""Slides of lessons, as `jupyter nbconvert --to slides` makes them: cells without `slideshow` metadata follow each other on one slide."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...core.storage import write_atomically
from ...lessons.lesson import OverBudget
from . import NOTEBOOKS
from .running import LessonFailed, run, without_errors


def write(
    names: Sequence[str], folder: Path, *, notebooks: Path = NOTEBOOKS, results: bool = False, reveal: str | None = None
) -> list[str]:
    """Write NAME.slides.html of each lesson.

    Args:
        results: run the lesson first. reveal: where a browser finds reveal.js; default nbconvert's place on the network.

    Returns:
        One sentence for each lesson that failed; it has no slides then.
    """
    import nbformat
    from nbconvert import SlidesExporter

    exporter, failed = SlidesExporter(**({"reveal_url_prefix": reveal} if reveal else {})), []
    for name in names:
        source, target = notebooks / f"{name}.ipynb", folder / f"{name}.slides.html"
        try:
            ran = without_errors(run(source, allowed=[OverBudget.__name__])) if results else nbformat.read(source, 4)
            text, _ = exporter.from_notebook_node(ran, {"metadata": {"path": str(notebooks), "name": name}})
        except LessonFailed as error:
            target.unlink(missing_ok=True)
            failed.append(str(error))
        else:
            write_atomically(target, text.encode())
    return failed
