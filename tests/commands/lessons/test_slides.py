"""`ddlab lessons slides`: one file a lesson, with its results on request; what fails is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ddlab.commands import main


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name, code in (("00_small", "print(6 * 7)"), ("10_broken", "1 / 0")):
        cells = [nbformat.v4.new_markdown_cell(f"# Title of {name}"), nbformat.v4.new_code_cell(code)]
        cells[0].metadata["slideshow"] = {"slide_type": "slide"}
        for number, cell in enumerate(cells):
            cell.id = f"cell-{number}"  # a random one may hold the digits that are looked for
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / f"{name}.ipynb")
    return folder


def test_slides_of_what_the_cells_hold(lessons: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "slides"
    given = ["lessons", "slides", "--notebooks", str(lessons), "--out", str(out), "--json"]
    assert main(given) == 0
    assert json.loads(capsys.readouterr().out) == {"written": 2, "of": 2, "failed": [], "begin": str(out)}
    text = (out / "00_small.slides.html").read_text(encoding="utf-8")
    cells = text.split("<main")[1].split("<script")[0]
    assert "Title of 00_small" in cells and cells.count("celltag_ddlab-slide") == 1 and "42" not in cells
    assert not re.search(r'(src|href)="https?:', text) and (out / "plotly.min.js").exists()


def begins(*cells: Any) -> list[list[str]]:
    """The sources, slide by slide, that a notebook of these cells gives."""
    from ddlab.commands.lessons import slides

    notebook, found = nbformat.v4.new_notebook(cells=list(cells)), []
    marked = any("slideshow" in cell.metadata for cell in cells)
    for cell in (slides._as_marked if marked else slides._by_headings)(notebook.cells):
        if slides.BEGIN in cell.metadata.get("tags", []) or not found:
            found.append([])
        found[-1].append(cell.source)
    return found


def test_headings_and_what_follows_code_begin_slides_and_deeper_is_left_out() -> None:
    text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    found = begins(
        text("# A\n\nwords\n\n## B\n\n```\n# no heading\n```"), code("1"), text("more"), code("2"),
        text("## Deeper: C"), code("3"), text("### D"), code("4"), text("## E"), code("5"),
    )  # fmt: skip
    assert found == [["# A\n\nwords\n"[:-1]], ["## B\n\n```\n# no heading\n```", "1"], ["more", "2"], ["## E", "5"]]


def test_metadata_goes_before_headings() -> None:
    cells = [nbformat.v4.new_markdown_cell(word) for word in ("# a", "# b", "c", "d", "e")]
    for cell, kind in zip(cells, ("slide", "fragment", "skip", "subslide", "notes"), strict=True):
        cell.metadata["slideshow"] = {"slide_type": kind}
    assert begins(*cells) == [["# a", "# b"], ["d"]]


@pytest.mark.slow
def test_slides_with_results(lessons: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "slides"
    assert main(["lessons", "slides", "--notebooks", str(lessons), "--out", str(out), "--run"]) == 1
    said = capsys.readouterr()
    assert "10_broken.ipynb: ZeroDivisionError: division by zero" in said.err and "1 of 2 written" in said.out
    assert sorted(path.name for path in out.iterdir()) == ["00_small.slides.html", "plotly.min.js"]
    assert "42" in (out / "00_small.slides.html").read_text(encoding="utf-8").split("Title of 00_small")[1]


def test_an_unknown_lesson_is_refused(lessons: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lessons", "slides", "00_smal", "--notebooks", str(lessons)]) == 2
    assert capsys.readouterr().err.startswith(
        "ddlab: lesson must be one of '00_small', '10_broken' (nearest: '00_small')"
    )
