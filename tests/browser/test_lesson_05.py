"""Lesson 05 in a real browser, as a reader would use it: Run All, the laboratory, the recorded run, both themes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "05_matching.ipynb"


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

    # The recorded run of the method.
    measured["scrubber"] = opened.move_slider(
        "step", presses=20, key="ArrowLeft", kind="cursor", cell=reader.cells["scrubber"]
    )
    assert reader.sentence("scrubber").startswith("Step ")

    assert opened.problems() == []
    reader.in_both_themes("lesson_05")
    keep_results("lesson_05", measured)
