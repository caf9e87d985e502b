"""A page for reading, opened from the disk: figures are drawn and nothing is asked of any other place."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import nbformat

from ddlab import figures
from ddlab.commands.lessons import html, html_stills


def test_a_page_draws_its_figures_and_formulas_by_itself(browser, tmp_path: Path) -> None:
    figure = figures.bars(["a", "b"], [0.1, 0.2], title="Bars", y_label="height")
    data = {html_stills.FIGURE: json.loads(str(figure.to_json())), "text/plain": figures.alt_text(figure)}
    shown = nbformat.v4.new_output("display_data", data=data)
    cells = [
        nbformat.v4.new_markdown_cell("# Page\n\n$$\\frac{1}{2}$$"),
        nbformat.v4.new_code_cell("x", outputs=[shown]),
    ]
    path = tmp_path / "page.html"
    path.write_text(html.page(nbformat.v4.new_notebook(cells=cells), title="Page"), encoding="utf-8")

    # Without plotly.js beside it the words of the figure are there.
    page, _ = browser.open_file(path)
    assert page.locator(".ddlab-figure p").inner_text() == figures.alt_text(figure)
    page.close()

    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    (tmp_path / "plotly.min.js").write_bytes(script)
    page, asked = browser.open_file(path)
    page.wait_for_selector(".ddlab-figure .main-svg")
    assert page.locator(".ddlab-figure .bars path").count() == 2
    assert page.locator("math mfrac").bounding_box()["height"] > 20
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []
    page.close()
