"""The site of the lessons: pages that need no kernel and ask no other server for anything."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ddlab.core import DDLabError
from ddlab.lessons import site
from ddlab.lessons.contents import LESSONS

HIDDEN = {"jupyter": {"source_hidden": True}}


def notebook() -> Any:
    """A page with mathematics, a link, a hidden cell and an exercise, as if it had been run."""
    reply = nbformat.v4.new_output("stream", name="stdout", text="Not yet: write a function.")
    return nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("$$x^2$$ as in [lesson 05](05_matching.ipynb)."),
            nbformat.v4.new_code_cell("figure = 1", metadata=HIDDEN),
            nbformat.v4.new_code_cell('lesson.check("gap", gap);', outputs=[reply]),
        ]
    )


def test_a_page_links_pages_folds_code_and_says_what_needs_a_kernel() -> None:
    page = site.page_of(notebook(), "50_kernels")
    assert f"<title>{LESSONS['50_kernels'].title}</title>" in page
    assert 'href="05_matching.html"' in page
    assert re.findall(r'href="([^"]*ipynb)"', page) == ["notebooks/50_kernels.ipynb"]
    assert page.count('<summary class="ddlab-code">') == 1
    assert "Exercises need a kernel" in page and "Not yet" not in page


def test_exercises_open_on_the_binder_of_a_course() -> None:
    page = site.page_of(notebook(), "50_kernels", "https://mybinder.org/v2/gh/me/course/main/")
    address = "https://mybinder.org/v2/gh/me/course/main?labpath=notebooks/50_kernels.ipynb"
    assert f'href="{address}"' in page
    assert 'href="https://mybinder.org"' in site.page_of(notebook(), "50_kernels")


def test_a_page_asks_no_other_server() -> None:
    page = site.page_of(notebook(), "50_kernels")
    scripts = re.findall(r'<script[^>]* src="([^"]*)"', page)
    styles = re.findall(r'<link[^>]* href="([^"]*)"', page)
    places = ("scripts/", "data:")
    assert scripts and all(address.startswith(places) for address in scripts + styles)
    assert "cdn" not in page.lower() and "mathjax" not in page.lower().replace("jp-mathjax", "")


def test_what_stands_for_an_explorer_is_put_beside_it() -> None:
    view = "application/vnd.jupyter.widget-view+json"
    outputs = []
    for model in ("lab", "other"):
        data = {view: {"model_id": model}, "text/html": "before"}
        outputs.append(nbformat.v4.new_output("display_data", data=data))
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("lab", outputs=outputs)])
    displayed = [
        nbformat.v4.new_output("stream", name="stdout", text="recorded"),
        nbformat.v4.new_output(
            "display_data", data={"application/json": {"lab": {"text/html": "after"}}}
        ),
    ]
    site._put_stand_ins(page, displayed)
    assert [output.data["text/html"] for output in outputs] == ["after", "before"]


def test_a_page_lists_no_stage_of_a_progress_bar() -> None:
    picture = nbformat.v4.new_output("display_data", data={"text/html": "<p>a picture</p>"})
    outputs = [picture]
    for text in ("\rset:   0%|", "\rset:  50%|", "\r        \r", "teacher: 91%\n\rset:  99%|"):
        outputs.append(nbformat.v4.new_output("stream", name="stdout", text=text))
    cells = [nbformat.v4.new_markdown_cell("text"), nbformat.v4.new_code_cell("", outputs=outputs)]
    page = nbformat.v4.new_notebook(cells=cells)
    site._drop_progress_bars(page)
    assert page.cells[1].outputs[0] == picture
    assert [output.text for output in page.cells[1].outputs[1:]] == ["teacher: 91%\n"]


def test_the_index_links_the_pages_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "50_kernels.html").touch()
    index = site._front_page(tmp_path)
    assert re.findall(r'<a href="(\S+)"', index) == ["50_kernels.html"]
    assert index.count("<li>") == len(LESSONS) and index.count("<b>in two hours</b>") == 3
    assert "Can ten images lead a student" in index and index.count("not made here") == 17


def test_an_unknown_lesson_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(DDLabError, match=r"must be one of 00, .* given '51'"):
        site.build_site(tmp_path / "site", ["50", "51"])
    with pytest.raises(DDLabError, match=r"binder must be an address such as https://mybinder"):
        site.build_site(tmp_path / "site", ["50"], "mybinder.org/v2/gh/me/course")
    assert list(tmp_path.iterdir()) == []


def test_what_stands_for_a_widget_is_in_the_page_itself() -> None:
    """Where scripts are off, a policy forbids them, or the page was copied alone."""
    view = "application/vnd.jupyter.widget-view+json"
    data = {view: {"model_id": "lab"}, "text/html": "<p>The loss is <b>2</b>.</p>"}
    cell = nbformat.v4.new_code_cell("lab", outputs=[nbformat.v4.new_output("display_data", data)])
    states = {"application/vnd.jupyter.widget-state+json": {"state": {"lab": {"state": {}}}}}
    lesson = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": states})
    page = site.page_of(lesson, "50_kernels")
    standing = page.index("<p>The loss is <b>2</b>.</p>")
    assert 'class="ddlab-stand-in' in page[:standing] and '"model_id": "lab"' in page[standing:]


def test_a_lesson_that_fails_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def write_page(folder: Path, name: str, binder: str) -> Path:
        assert (folder / "index.html").exists(), "every page's way back leads somewhere"
        if name == "50_kernels":
            raise DDLabError("50_kernels cannot become a page: ValueError: 3.")
        (folder / f"{name}.html").write_text("")
        return folder / f"{name}.html"

    monkeypatch.setattr(site, "put_scripts", lambda folder: folder.mkdir(parents=True))
    monkeypatch.setattr(site, "_write_page", write_page)
    with pytest.raises(DDLabError, match="50_kernels cannot become a page"):
        site.build_site(tmp_path / "site", ["00", "50", "90"])
    index = (tmp_path / "site" / "index.html").read_text()
    assert 'href="00_start.html"' in index and 'href="90_theorems_on_trial.html"' in index
    assert "3 lessons" in capsys.readouterr().out


@pytest.mark.parametrize(
    "address", ["https://github.com/me/course", "https://mybinder.org", "v2/gh"]
)
def test_an_address_that_is_none_of_binders_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(DDLabError, match="binder must be an address such as"):
        site.build_site(tmp_path, ["00"], address)
