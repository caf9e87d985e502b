"""Lesson 40 in a real browser, as a reader would use it: Run All, every explorer, both themes, reload, run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "40_bases.ipynb"
BASES, LAB = "BasesLab", "SelfSupervisedLab"
ANSWERS = ("images that are sums of learned bases", "both few, the teacher's fewer")


@pytest.mark.timeout(1200)
def test_lesson_40_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all(timeout=900)}
    opened.wait_for_plots(4)
    assert opened.problems() == []
    assert all(plot["traces"] for plot in opened.plots()), "no plot is empty"

    # All predictions lock.
    for number, answer in enumerate(ANSWERS):
        opened.page.get_by_label(answer).first.check()
        opened.page.locator("button", has_text="Lock my answer").nth(number).click()
        opened.page.get_by_text(f"Locked: {answer}").wait_for()

    # The laboratory: methods, bases, budget.
    assert reader.cell(LAB).locator(".ddlab-quest[data-met=false]").count() == 1
    before = reader.sentence(LAB)
    reader.press(LAB, "Boost")
    reader.wait_for_change(LAB, before, seconds=60)
    for label, key in (("image bases", "ArrowLeft"), ("budget", "ArrowRight")):
        before = reader.sentence(LAB)
        opened.slider(label, cell=reader.cells[LAB]).focus()
        opened.page.keyboard.press(key)
        reader.wait_for_change(LAB, before, seconds=60)
    assert opened.problems() == []
    keep_picture(opened, reader.cells[LAB], "self_supervised_lab_in_lesson")
    reader.press(LAB, "Reset")

    # The scrubber.
    cell = reader.cells["scrubber"]
    measured["scrubber"] = opened.move_slider("step", presses=10, key="ArrowLeft", kind="cursor", cell=cell)
    assert reader.sentence("scrubber").startswith("Step ")

    # What lies deeper: the laboratory of bases.
    opened.unfold()
    opened.wait_for_plots(6)
    cell = reader.cells[BASES]
    measured["bases, U"] = opened.move_slider("image bases U", presses=8, key="ArrowLeft", kind="picture", cell=cell)
    reader.press(BASES, "Representations")
    measured["bases, V"] = opened.move_slider(
        "representation bases V", presses=8, key="ArrowLeft", kind="cursor", cell=cell
    )

    plots = reader.in_both_themes("lesson_40")
    reader.reload_and_run_again((LAB,), plots)
    keep_results("lesson_40", measured)
