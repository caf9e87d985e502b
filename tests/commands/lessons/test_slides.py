"""`ddlab lessons slides`: one file a lesson, with its results on request; what fails is said."""

from __future__ import annotations

import json
from pathlib import Path

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
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / f"{name}.ipynb")
    return folder


def test_slides_of_what_the_cells_hold(lessons: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "slides"
    given = ["lessons", "slides", "--notebooks", str(lessons), "--out", str(out), "--json"]
    assert main([*given, "--reveal", "reveal.js"]) == 0
    assert json.loads(capsys.readouterr().out) == {"written": 2, "of": 2, "failed": [], "begin": str(out)}
    text = (out / "00_small.slides.html").read_text(encoding="utf-8")
    assert "Title of 00_small" in text and "reveal.js/dist/reveal.js" in text and "<section" in text
    assert "unpkg.com/reveal" not in text and "42" not in text.split("Title of 00_small")[1]


@pytest.mark.slow
def test_slides_with_results(lessons: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "slides"
    assert main(["lessons", "slides", "--notebooks", str(lessons), "--out", str(out), "--run"]) == 1
    said = capsys.readouterr()
    assert "10_broken.ipynb: ZeroDivisionError: division by zero" in said.err and "1 of 2 written" in said.out
    assert [path.name for path in out.iterdir()] == ["00_small.slides.html"]
    assert "42" in (out / "00_small.slides.html").read_text(encoding="utf-8").split("Title of 00_small")[1]


def test_an_unknown_lesson_is_refused(lessons: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lessons", "slides", "00_smal", "--notebooks", str(lessons)]) == 2
    assert capsys.readouterr().err.startswith(
        "ddlab: lesson must be one of '00_small', '10_broken' (nearest: '00_small')"
    )
