"""The rules that every notebook keeps, and the generator that makes lessons from solutions."""

import csv
import itertools
import json
import re
import statistics
from pathlib import Path

import nbformat
import pytest

from ddlab.core import DDLabError
from ddlab.lessons import LESSONS, build
from ddlab.lessons.build import NOTEBOOKS
from tests.support import statement_count

SOLUTIONS = sorted((NOTEBOOKS / "solutions").glob("*.ipynb"))
# Read in a quarter of an hour: the rules that make a lesson long are relaxed for it, each where it
# stands.
START = "00_start"
APPENDICES = "90_theorems_on_trial", "95_at_paper_scale"  # have no method of their own
DEEPER = "## Deeper"
WHOLE = "whole-method"
EXERCISE = r"\*\*(?:Exercise)? ?\d*\.?\*\*"
EVERY = [*SOLUTIONS, *sorted(NOTEBOOKS.glob("*.ipynb"))]


def codes(path: Path) -> list[str]:
    return [
        "".join(c["source"])
        for c in json.loads(path.read_text())["cells"]
        if c["cell_type"] == "code"
    ]


def test_there_is_a_lesson_for_every_entry_of_the_catalogue() -> None:
    assert [path.stem for path in SOLUTIONS] == sorted(LESSONS), (
        "each notebook of notebooks/solutions is an entry of ddlab/lessons/contents.py, and no other is"
    )


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_keeps_the_rules(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3", "its kernel is python3"
    assert "widgets" not in notebook.metadata, "saved with widgets: make strip"
    whole = {
        "".join(cell.source) for cell in notebook.cells if WHOLE in cell.metadata.get("tags", [])
    }
    sizes = [statement_count(code) for code in codes(path) if code not in whole]
    assert max(sizes) <= 20, "a cell has at most 20 statements: what is longer goes to its folder"
    assert statistics.median(sizes) <= 6, "half of the cells have at most 6 statements"
    assert not re.search(
        r"https?://|urlopen|requests\.|torch\.hub|download=True|!pip|%pip", "\n".join(codes(path))
    ), "a page loads nothing from a network"
    assert "lesson.finish" not in "\n".join(codes(path))
    assert f'ddlab.start("{path.stem}"' in codes(path)[0], (
        f'the first cell has lesson = ddlab.start("{path.stem}")'
    )


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_links_of_a_lesson_lead_somewhere(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    links = re.findall(r"\]\(([^)#:\s]+)\)", text(cells, "markdown"))
    broken = [link for link in links if "." in link and not (path.parent / link).exists()]
    assert broken == [], f"links that lead nowhere: {broken}"


def core(path: Path) -> list[dict]:
    """The cells of the core path: all before the folded part."""
    cells = json.loads(path.read_text())["cells"]
    starts = [
        number for number, cell in enumerate(cells) if "".join(cell["source"]).startswith(DEEPER)
    ]
    assert len(starts) <= 1
    return cells[: starts[0]] if starts else cells


def text(cells: list[dict], kind: str) -> str:
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == kind)


def test_next_is_the_next_of_the_course() -> None:
    for name, after in itertools.pairwise(LESSONS):
        text = "".join(
            cell.source
            for cell in nbformat.read(NOTEBOOKS / "solutions" / f"{name}.ipynb", 4).cells
        )
        for line in re.findall(r"^\*Next:\*.*", text, re.MULTILINE):
            assert f"({after}.ipynb)" in line, (
                f"in contents.py {name} is followed by {after}: its line *Next:* links to {after}.ipynb"
            )


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_the_core_path_is_read_within_its_minutes(path: Path) -> None:
    cells = core(path)
    words = re.findall(
        r"[A-Za-z0-9][^\s|]*",
        re.sub(r"\$\$.+?\$\$|\$[^$]+\$", "x", text(cells, "markdown"), flags=re.DOTALL),
    )
    limit = 1000 if path.stem == START else 1500
    assert len(words) <= limit, f"{len(words)} words before *Deeper*; a page has at most {limit}"
    total = 0
    for section in re.split(r"^## ", text(cells, "markdown"), flags=re.MULTILINE)[1:]:
        minutes = re.search(r"\((\d+) min\)$", section.splitlines()[0])
        assert minutes is not None, "each section says how long it takes, its exercises included"
        exercises = sum(map(int, re.findall(rf"{EXERCISE} \((\d+) minutes?,", section)))
        assert int(minutes[1]) > exercises, (
            f"{section.splitlines()[0]!r} includes its exercises, which alone take {exercises} minutes"
        )
        total += int(minutes[1])
    assert total == LESSONS[path.stem].minutes, (
        f"its sections take {total} minutes; contents.py says {LESSONS[path.stem].minutes}"
    )
    assert total <= 45, "a page takes 45 minutes at most"


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_what_lies_deeper_is_folded(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    folded = [cell for cell in cells if "".join(cell["source"]).startswith(DEEPER)]
    assert all(cell["metadata"].get("jp-MarkdownHeadingCollapsed") is True for cell in folded), (
        "the heading Deeper is folded: its cell has the metadata jp-MarkdownHeadingCollapsed"
    )
    after = cells[cells.index(folded[0]) + 1 :] if folded else []
    assert len(after) <= 6, f"{len(after)} cells below Deeper; six at most"
    headings = [line for line in text(after, "markdown").splitlines() if re.match("##? ", line)]
    assert headings == [], f"below Deeper headings are of the third level: {headings}"


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_the_method_is_drawn_and_written_whole_in_plain_pytorch(path: Path) -> None:
    cells = core(path)
    has_picture = any("opening" in cell["metadata"].get("tags", []) for cell in cells[:4])
    assert has_picture or "```mermaid" in text(cells[:1], "markdown"), (
        "one of the first four cells has the tag 'opening', or the head has a Mermaid drawing"
    )
    whole = ["".join(cell["source"]) for cell in cells if WHOLE in cell["metadata"].get("tags", [])]
    if path.stem in (START, *APPENDICES):
        assert not whole
        return
    sizes = [statement_count(code) for code in whole]
    assert (len(sizes) == 1 and sizes[0] <= 30) or (2 <= len(sizes) <= 4 and max(sizes) <= 15), (
        "cells with the tag 'whole-method' hold the method: one of at most 30 statements, or two to "
        f"four of at most 15; here {sizes}"
    )
    assert not re.search(
        r"\bchecks\.|\bsre2l\.|\bdwa\.|\bfadrm\.|\bkrr_st\.|\bboost\.|ddlab\.(distill|Run)\b",
        "\n".join(whole),
    ), "the whole method is plain PyTorch, without the library's own"


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_predictions_come_before_results_and_nothing_on_a_page_is_bookkeeping(path: Path) -> None:
    source = "\n".join(codes(path))
    predicted = re.findall(r'lesson\.predict\(\s*"([^"]+)"', source)
    compared_keys = re.findall(r'lesson\.compare\(\s*"([^"]+)"', source)
    assert predicted, "a page asks for a prediction: lesson.predict(key, question, answers)"
    assert set(predicted) == set(compared_keys), "each lesson.predict has its lesson.compare"
    for key in predicted:
        compared = re.search(rf'lesson\.compare\(\s*"{re.escape(key)}"', source)
        assert compared is not None and source.index(f'"{key}"') < compared.start(), (
            f"the prediction {key!r} is locked before the cell that answers it"
        )
    words = text(json.loads(path.read_text())["cells"], "markdown")
    assert not re.search(r"^ *assert ", source, flags=re.MULTILINE), "a page shows; tests assert"
    assert not re.search(
        r"Claim of this (lesson|page)|A test (of this lesson )?holds|a test of this "
        r"lesson|undecided",
        words,
    )


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_an_exercise_stands_in_the_core_path(path: Path) -> None:
    words = text(core(path), "markdown")
    exercises = re.findall(rf"{EXERCISE} \(\d+ minutes?, (?:easy|medium|hard)\)", words)
    assert len(exercises) >= (1 if path.stem == START else 2), "two exercises at least"


def test_each_item_of_the_sources_is_found_where_the_map_says_or_has_a_reason() -> None:
    with (NOTEBOOKS / "sources.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 300
    for row in rows:
        assert row["item"] and (row["page"] or row["note"]), row
        if row["page"]:
            cells = json.loads((NOTEBOOKS / f"{row['page']}.ipynb").read_text())["cells"]
            headings = re.findall(
                r"^##? (?:\d+ · )?(.+?)(?: \(\d+ min\))?$", text(cells, "markdown"), re.M
            )
            assert row["section"] in headings, row


def notebook_with(source: str) -> dict:
    return {"cells": [{"cell_type": "code", "source": source.splitlines(keepends=True)}]}


def test_a_solution_becomes_its_stub() -> None:
    source = (
        "a = 1\n### BEGIN SOLUTION\n### STUB answer = None  # yours\nanswer = 42\n### END "
        "SOLUTION\nprint(answer)"
    )
    (cell,) = build.lesson_from(notebook_with(source))["cells"]
    assert "".join(cell["source"]) == "a = 1\nanswer = None  # yours\nprint(answer)"


@pytest.mark.parametrize(
    "source",
    ["### BEGIN SOLUTION\na", "### END SOLUTION", "### BEGIN SOLUTION\n### BEGIN SOLUTION"],
)
def test_a_solution_that_does_not_end_is_refused(source: str) -> None:
    with pytest.raises(DDLabError, match="a solution must"):
        build.lesson_from(notebook_with(source))


def test_check_notices_a_lesson_that_is_not_in_step(tmp_path, capsys) -> None:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "99_x.ipynb").write_text(build.as_text(notebook_with("a = 1")))
    assert build.main(["--check"], tmp_path) == 1
    assert build.main([], tmp_path) == 0
    assert build.main(["--check"], tmp_path) == 0
    (tmp_path / "99_x.ipynb").write_text("{}")
    assert build.main(["--check"], tmp_path) == 1
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
    assert len(stubs) >= (1 if path.stem == START else 2), "two exercises at least"
    for code in stubs:
        exec(code, space)
    assert capsys.readouterr().out.count("Not yet: No answer yet.") == len(stubs)
