"""Slides of lessons: the page that `html.py` makes, one part of it at a time, with arrow keys. Nothing is asked of the network.

A cell's `slideshow` metadata says where it goes ("slide", "subslide", "fragment", "-", "skip", "notes"). Where no cell has any, headings
do: each begins a slide, so does whatever follows a code cell, and what stands under "Deeper" is left out.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...core.storage import write_atomically
from . import NOTEBOOKS
from .html import page, title_of
from .running import LessonFailed, run

BEGIN = "ddlab-slide"  # a tag becomes the class celltag_ddlab-slide of the page
_SCRIPT = Path(__file__).with_name("slides.html")
_HEADING = re.compile(r"^(#{1,3}) +(.+)$", re.MULTILINE)
_LEFT_OUT = ("skip", "notes")
_FENCE = re.compile(r"^(```|~~~)")


def write(names: Sequence[str], folder: Path, *, notebooks: Path = NOTEBOOKS, results: bool = False) -> list[str]:
    """Write NAME.slides.html of each lesson, and plotly.js beside them.

    Args:
        results: run the lesson first.

    Returns:
        One sentence for each lesson that failed; it has no slides then.
    """
    import nbformat

    failed = []
    for name in names:
        source, target = notebooks / f"{name}.ipynb", folder / f"{name}.slides.html"
        try:
            ran = run(source) if results else nbformat.read(source, 4)
            text = slides(ran, title=title_of(source), folder=notebooks)
        except LessonFailed as error:
            target.unlink(missing_ok=True)
            failed.append(str(error))
        else:
            write_atomically(target, text.encode())
    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    write_atomically(folder / "plotly.min.js", script)
    return failed


def slides(notebook: Any, *, title: str, folder: Path = NOTEBOOKS) -> str:
    """One notebook as HTML text that shows a slide at a time; `plotly.min.js` must lie beside it. Arguments as for `html.page`."""
    notebook = copy.deepcopy(notebook)
    marked = any(cell.metadata.get("slideshow", {}).get("slide_type") for cell in notebook.cells)
    notebook.cells = list(_as_marked(notebook.cells) if marked else _by_headings(notebook.cells))
    for cell in notebook.cells:
        cell.metadata.pop("slideshow", None)
    before, after = page(notebook, title=title, folder=folder).rsplit("</body>", 1)
    return f"{before}{_SCRIPT.read_text(encoding='utf-8')}</body>{after}"


def _as_marked(cells: Sequence[Any]) -> Iterator[Any]:
    for cell in cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "-")
        if kind not in _LEFT_OUT:
            yield _tagged(cell, begin=kind in ("slide", "subslide"))


def _by_headings(cells: Sequence[Any]) -> Iterator[Any]:
    after_code, deeper = False, 0  # the level of the heading "Deeper" that we are under; 0: none
    for cell in (part for whole in cells for part in _parts(whole)):
        heading = _HEADING.match(cell.source) if cell.cell_type == "markdown" else None
        if heading and (not deeper or len(heading[1]) <= deeper):
            deeper = len(heading[1]) if heading[2].strip().lower().startswith("deeper") else 0
        if deeper:
            continue
        yield _tagged(cell, begin=bool(heading) or after_code)
        after_code = cell.cell_type == "code"


def _parts(cell: Any) -> Iterator[Any]:
    """A text cell cut before each of its headings; any other as it is."""
    if cell.cell_type != "markdown":
        yield cell
        return
    parts: list[list[str]] = [[]]
    fenced = False
    for line in cell.source.split("\n"):
        fenced ^= bool(_FENCE.match(line))
        if _HEADING.match(line) and not fenced and "".join(parts[-1]).strip():
            parts.append([])
        parts[-1].append(line)
    for number, lines in enumerate(parts):
        part = copy.deepcopy(cell)
        part.source = "\n".join(lines).strip("\n")
        part.id = f"{cell.id}-{number}" if number else cell.id
        yield part


def _tagged(cell: Any, *, begin: bool) -> Any:
    if begin:
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), BEGIN]
    return cell
