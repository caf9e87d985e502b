"""Lesson 30 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "30_data_residuals.ipynb"
LAB = "ResidualLab"


@pytest.mark.timeout(900)
def test_lesson_30_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.unfold()
    opened.wait_for_plots(9)
    assert opened.problems() == []
    plots = opened.plots()
    assert len(plots) >= 9 and all(plot["traces"] for plot in plots)

    # Both predictions lock.
    for number, answer in enumerate(("within .01 of each other", "random noise")):
        opened.page.get_by_label(answer).first.check()
        opened.page.locator("button", has_text="Lock my answer").nth(number).click()
        opened.page.get_by_text(f"Locked: {answer}").wait_for()

    # The laboratory: every slider and choice is answered with another sentence.
    lab = reader.cells[LAB]
    reader.cell(LAB).get_by_text("at rest").wait_for(timeout=240_000)
    reader.press(LAB, "More settings")
    for label, key in (
        ("merges", "ArrowLeft"),
        ("merge ratio", "ArrowRight"),
        ("steps B", "ArrowLeft"),
        ("class in the row", "ArrowRight"),
    ):
        before = reader.sentence(LAB)
        opened.slider(label, cell=lab).focus()
        opened.page.keyboard.press(key)
        reader.wait_for_change(LAB, before, seconds=60)
    for label in ("feature entropy", "48 px"):
        before = reader.sentence(LAB)
        reader.press(LAB, label)
        reader.wait_for_change(LAB, before, seconds=60)
    reader.cell(LAB).get_by_text("at rest").wait_for(timeout=240_000)
    measured["laboratory, step"] = opened.move_slider("step$", presses=10, key="ArrowLeft", kind="picture", cell=lab)
    assert opened.problems() == []
    keep_picture(opened, lab, "residual_lab_in_lesson")
    reader.press(LAB, "Reset")

    # The quest, by keyboard: six merges that put the patches back.
    quest = reader.cell(LAB).locator(".ddlab-quest")
    assert quest.get_attribute("data-met") == "false"
    for label, key in (("merges", "End"), ("merge ratio", "Home")):
        opened.slider(label, cell=lab).focus()
        opened.page.keyboard.press(key)
    reader.cell(LAB).locator('.ddlab-quest[data-met="true"]').wait_for(timeout=240_000)
    reader.press(LAB, "Reset")

    # The scrubber.
    measured["scrubber"] = opened.move_slider("step", presses=10, key="ArrowLeft", kind="cursor")
    assert reader.sentence("scrubber").startswith("Step ")

    reader.cell(LAB).get_by_text("at rest").wait_for(timeout=240_000)
    plots = reader.in_both_themes("lesson_30")
    reader.reload_and_run_again((LAB,), plots, workers=["ddlab-lab"])
    keep_results("lesson_30", measured)
