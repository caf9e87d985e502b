"""The start page in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ddlab.commands.bench import machine
from tests.browser.reader import NOTEBOOKS, Reader, keep_picture

RESULTS = Path(__file__).parents[2] / "test-results"
LESSON = NOTEBOOKS / "00_start.ipynb"
PLAY = "LabelsAgainstImages"
PLOTS = 4  # two pictures of images; curves and table of the explorer, whose labels lie in a folded tab


@pytest.mark.timeout(900)
def test_the_start_page_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all(600)}
    opened.wait_for_plots(PLOTS, timeout=60)
    assert opened.problems() == []
    plots = opened.plots()
    assert len(plots) == PLOTS and all(plot["traces"] for plot in plots)
    assert opened.page.locator("details", has_text="In words").count() == 2, "static figures say what they show"

    # Both predictions lock.
    opened.page.get_by_label("the same random images, with a teacher's labels").first.check()
    opened.click("Lock my answer")
    opened.page.get_by_text("Locked: the same random images").wait_for()
    opened.page.get_by_label("a third to two thirds").first.check()
    opened.click("Lock my answer")
    opened.page.get_by_text("Locked: a third to two thirds").wait_for()

    # Each choice trains a student; the slider works by keyboard and changes the plot.
    assert reader.sentence(PLAY).startswith("From random images, hard labels")
    measured["seconds of a click"] = []
    for images, labels in (("random", "online"), ("k-means", "hard"), ("k-means", "stored"), ("SRe2L", "online")):
        reader.press(PLAY, images)
        reader.press(PLAY, labels)
        began = time.monotonic()
        reader.wait_for_sentence(PLAY, f"From {images} images, {labels} labels")
        measured["seconds of a click"].append(time.monotonic() - began)
    reader.look_away()
    keep_picture(opened, reader.cells[PLAY], "start_page")
    opened.move_slider("seed", timeout=60)
    reader.wait_for_sentence(PLAY, "From SRe2L images, online labels, seed 1")
    assert opened.problems() == []

    # The table of results, and the index: its links lead to the notebooks beside this one.
    assert opened.page.locator("table", has_text="online labels").locator("strong").count() == 6
    link = opened.page.locator(".jp-OutputArea a", has_text="Inverting a network")
    assert "20_inverting_a_network.ipynb" in (link.get_attribute("href") or "")

    # Dark theme: every plot widget follows.
    light = {plot["title"]: plot["text_colour"] for plot in opened.plots() if plot["alt"]}
    opened.screenshot("lesson_00_light")
    opened.set_theme("dark")
    opened.screenshot("lesson_00_dark")
    dark = {plot["title"]: plot["text_colour"] for plot in opened.plots() if plot["alt"]}
    assert len(light) == 2 and all(light[title] != dark[title] for title in light), (light, dark)
    opened.set_theme("light")

    # A reload keeps the plots; a cell that runs again closes what it replaces.
    opened.reload()
    opened.wait_for_plots(len(light), timeout=60)  # static figures come back as the picture that JupyterLab has saved
    assert opened.problems() == []
    reader.run_again(PLAY)
    opened.wait_for_plots(len(light), timeout=60)
    assert opened.kernel_threads() == []

    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "lesson_00.json").write_text(json.dumps({"machine": machine(), "all": measured}, indent=1))
    print(measured)
