"""The rules that every notebook keeps, and the generator that makes lessons from solutions."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path

import nbformat
import pytest
import torch

from ddlab.commands import main
from ddlab.commands.lessons import NOTEBOOKS, build
from ddlab.core.errors import DDLabError
from ddlab.lessons import LESSONS
from ddlab.methods import recovery

SOLUTIONS = sorted((NOTEBOOKS / "solutions").glob("*.ipynb"))
START = "00_start"  # read in five minutes: the rules that make a lesson long are relaxed for it, each where it stands
EVERY = [*SOLUTIONS, *sorted(NOTEBOOKS.glob("*.ipynb"))]


def codes(path: Path) -> list[str]:
    return ["".join(c["source"]) for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]


def test_there_is_a_lesson_for_every_entry_of_the_catalogue() -> None:
    assert [path.stem for path in SOLUTIONS] == sorted(LESSONS)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_keeps_the_rules(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata
    lengths = [len(code.splitlines()) for code in codes(path)]
    assert max(lengths) <= 25 and statistics.median(lengths) <= 8
    assert not re.search(r"https?://|urlopen|requests\.|torch\.hub|download=True|!pip|%pip", "\n".join(codes(path)))
    assert codes(path)[-1].strip() == "lesson.finish()"
    assert f'ddlab.start("{path.stem}"' in codes(path)[0]


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_the_core_path_is_short(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    exercises = next(i for i, c in enumerate(cells) if re.match(r"## \d+ . Exercises", "".join(c["source"])))
    assert sum(c["cell_type"] == "code" for c in cells[:exercises]) <= 20


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_claims_are_asserted_and_predictions_come_before_results(path: Path) -> None:
    source = "\n".join(codes(path))
    assert "lesson.claim(" in source and "assert" in source
    asked = re.findall(r'lesson\.predict\(\s*"([^"]+)"', source)
    assert len(asked) >= 2
    for key in asked:
        assert source.index(f'"{key}"') < source.index(f'lesson.compare("{key}"')


def test_the_start_page_is_read_in_five_minutes() -> None:
    cells = json.loads((NOTEBOOKS / "solutions" / f"{START}.ipynb").read_text())["cells"]
    prose = " ".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert len(re.findall(r"[A-Za-z0-9][^\s|]*", prose)) <= 700


def test_the_lines_of_lesson_20_are_the_library() -> None:
    solution = NOTEBOOKS / "solutions" / "20_inverting_a_network.ipynb"
    code = next(code for code in codes(solution) if code.startswith("def mean_gap"))
    space: dict = {}
    exec(code, space)
    inputs, remembered = torch.randn(6, 5, 4, 4), torch.randn(5)
    assert torch.equal(space["mean_gap"](inputs, remembered), recovery.batch_norm_mean_gap(inputs, remembered))
    assert torch.equal(space["variance_gap"](inputs, remembered), recovery.batch_norm_variance_gap(inputs, remembered))


def notebook_with(source: str) -> dict:
    return {"cells": [{"cell_type": "code", "source": source.splitlines(keepends=True)}]}


def test_a_solution_becomes_its_stub() -> None:
    source = "a = 1\n### BEGIN SOLUTION\n### STUB answer = None  # yours\nanswer = 42\n### END SOLUTION\nprint(answer)"
    (cell,) = build.lesson_from(notebook_with(source))["cells"]
    assert "".join(cell["source"]) == "a = 1\nanswer = None  # yours\nprint(answer)"


@pytest.mark.parametrize(
    "source", ["### BEGIN SOLUTION\na", "### END SOLUTION", "### BEGIN SOLUTION\n### BEGIN SOLUTION"]
)
def test_a_solution_that_does_not_end_is_refused(source: str) -> None:
    with pytest.raises(DDLabError, match="a solution must"):
        build.lesson_from(notebook_with(source))


def test_check_notices_a_lesson_that_is_not_in_step(tmp_path, capsys) -> None:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "99_x.ipynb").write_text(build.as_text(notebook_with("a = 1")))
    assert main(["lessons", "build", "--check", "--notebooks", str(tmp_path)]) == 1
    assert main(["lessons", "build", "--notebooks", str(tmp_path)]) == 0
    assert main(["lessons", "build", "--check", "--notebooks", str(tmp_path)]) == 0
    (tmp_path / "99_x.ipynb").write_text("{}")
    assert main(["lessons", "build", "--check", "--notebooks", str(tmp_path)]) == 1
    assert "99_x.ipynb" in capsys.readouterr().out


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_stubs_run_and_never_raise(path: Path, capsys) -> None:
    import ddlab
    from ddlab import explorers
    from ddlab.methods import selection, sre2l

    lesson = build.lesson_from(json.loads(path.read_text()))
    cells = ["".join(c["source"]) for c in lesson["cells"] if c["cell_type"] == "code"]
    space = {
        "lesson": ddlab.start(path.stem),
        "ddlab": ddlab,
        "explorers": explorers,
        "selection": selection,
        "sre2l": sre2l,
    }
    stubs = [code for code in cells if "lesson.check(" in code]
    assert len(stubs) >= (1 if path.stem == START else 3)
    for code in stubs:
        exec(code, space)
    assert capsys.readouterr().out.count("Not yet: No answer yet.") == len(stubs)
