"""Slides, opened from the disk: arrow keys move, a formula and a figure show, and nothing is asked of any other place."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import nbformat

from ddlab import figures
from ddlab.commands.lessons import html_stills, slides


def test_arrows_move_and_a_formula_and_a_figure_show(browser, tmp_path: Path) -> None:
    figure = figures.bars(["a", "b"], [0.1, 0.2], title="Bars", y_label="height")
    data = {html_stills.FIGURE: json.loads(str(figure.to_json())), "text/plain": figures.alt_text(figure)}
    shown = nbformat.v4.new_output("display_data", data=data)
    text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    cells = [text("# First\n\nwords\n\n## Second\n\n$$\\frac{1}{2}$$"), code("x = 1"), code("x", outputs=[shown])]
    path = tmp_path / "a.slides.html"
    path.write_text(slides.slides(nbformat.v4.new_notebook(cells=cells), title="Page"), encoding="utf-8")
    (tmp_path / "plotly.min.js").write_bytes(files("plotly").joinpath("package_data", "plotly.min.js").read_bytes())

    page, asked = browser.open_file(path)
    place = page.locator(".ddlab-place")
    assert place.inner_text() == "1 of 3" and page.get_by_text("words").is_visible()
    assert not page.locator("math").is_visible() and not page.locator(".ddlab-figure").is_visible()
    page.keyboard.press("ArrowRight")
    assert place.inner_text() == "2 of 3" and page.locator("math mfrac").bounding_box()["height"] > 20
    assert page.get_by_text("x = 1").is_visible(), "code without a result is shown"
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".ddlab-figure .main-svg")
    box = page.locator(".ddlab-figure .main-svg").first.bounding_box()
    assert box["width"] > 600 and page.locator(".ddlab-figure .bars path").count() == 2
    assert "Second" in page.locator(".ddlab-part").inner_text()
    code_of = page.locator(".ddlab-has-output > .jp-Cell-inputWrapper")
    assert not code_of.is_visible()
    page.keyboard.press("c")
    assert code_of.is_visible()
    page.keyboard.press("ArrowRight")
    assert place.inner_text() == "3 of 3"
    page.keyboard.press("Home")
    assert place.inner_text() == "1 of 3" and page.url.endswith("#1")
    page.get_by_label("Next slide").click()
    assert place.inner_text() == "2 of 3"
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []
    page.close()
