"""Lesson 05 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "05_matching.ipynb"
EXPLORERS = ("MatchingLab", "Live")


@pytest.mark.timeout(900)
def test_lesson_05_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.unfold()
    opened.wait_for_plots(9)
    assert opened.problems() == []
    plots = opened.plots()
    assert len(plots) >= 9 and all(plot["traces"] for plot in plots)

    # Predictions lock.
    opened.page.get_by_label("over 85%").first.check()
    opened.click("Lock my answer")
    opened.page.get_by_text("Locked: over 85%").wait_for()

    # The laboratory: three rivals are there at once; images learn, students are trained, the quest is met, the updates are scrubbed.
    lab = reader.cell("MatchingLab")
    said = reader.sentence("MatchingLab")
    assert "from random real images" in said and "from k-means centres" in said and "Press Learn" in said
    assert lab.locator(".ddlab-quest[data-met=true]").count() == 0
    reader.press("MatchingLab", "Learn")
    reader.wait_for_sentence(
        "MatchingLab", "1 image of each of 10 classes, begun as random real images, after update 50"
    )
    reader.press("MatchingLab", "Train students")
    lab.locator(".ddlab-quest[data-met=true]").wait_for(timeout=120_000)
    reader.wait_until_still("MatchingLab")
    keep_picture(opened, reader.cells["MatchingLab"], "matching_lab")
    place = reader.cells["MatchingLab"]
    measured["update"] = opened.move_slider("update$", presses=10, key="ArrowLeft", kind="picture", cell=place)
    reader.press("MatchingLab", "noise")
    reader.wait_for_sentence("MatchingLab", "1 image of each of 10 classes, begun as noise")
    measured["learning rate"] = opened.move_slider("learning rate", presses=2, key="ArrowLeft", cell=place)
    measured["images per class"] = opened.move_slider("images per class", presses=1, kind="picture", cell=place)
    reader.wait_for_sentence("MatchingLab", "2 images of each of 10 classes")
    lab.get_by_text("More settings").click()
    for label in ("updates", "real batch", "momentum"):
        handle = opened.slider(label, cell=place)
        before = handle.get_attribute("aria-valuenow")
        handle.focus()
        opened.page.keyboard.press("ArrowLeft")
        opened.page.wait_for_timeout(500)
        assert opened.slider(label, cell=place).get_attribute("aria-valuenow") != before, label
    reader.press("MatchingLab", "Reset")
    reader.wait_for_sentence("MatchingLab", "1 image of each of 10 classes, begun as random real images")
    reader.wait_until_still("MatchingLab")

    # The recorded run of the method.
    measured["scrubber"] = opened.move_slider(
        "step", presses=20, key="ArrowLeft", kind="cursor", cell=reader.cells["scrubber"]
    )
    assert reader.sentence("scrubber").startswith("Step ")

    # DSA, live.
    reader.press("Live", "independent")
    reader.wait_for_sentence("Live", "Before the first of 30 updates with views independent")
    reader.press("Live", "Step")
    reader.wait_for_sentence("Live", "Step 1 of")
    reader.press("Live", "Reset")
    assert opened.problems() == []

    plots = reader.in_both_themes("lesson_05")
    reader.reload_and_run_again(EXPLORERS, plots)
    keep_results("lesson_05", measured)
