"""Lesson 40 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "40_bases_and_views.ipynb"
BASES, LAB, BUDGET = "BasesLab", "SelfSupervisedLab", "BudgetLab"
ANSWERS = ("bases, coefficients and views (Boost)", "from the predefined views", "both few, the teacher's fewer")


@pytest.mark.timeout(900)
def test_lesson_40_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all(timeout=560)}
    opened.wait_for_plots(12)
    assert opened.problems() == []
    plots = opened.plots()
    assert len(plots) >= 12 and all(plot["traces"] for plot in plots)

    # All predictions lock.
    for number, answer in enumerate(ANSWERS):
        opened.page.get_by_label(answer).first.check()
        opened.page.locator("button", has_text="Lock my answer").nth(number).click()
        opened.page.get_by_text(f"Locked: {answer}").wait_for()

    # Bases, the bill, the laboratory: a control of each is answered with another sentence.
    cells = reader.cells
    measured["bases, U"] = opened.move_slider(
        "image bases U", presses=10, key="ArrowLeft", kind="picture", cell=cells[BASES]
    )
    reader.press(BASES, "Representations")
    measured["bases, V"] = opened.move_slider(
        "representation bases V", presses=10, key="ArrowLeft", kind="cursor", cell=cells[BASES]
    )
    reader.press(BUDGET, "More settings")
    for explorer, label, key in (
        (BUDGET, "budget in images N", "ArrowLeft"),
        (BUDGET, "hidden units h", "ArrowLeft"),
        (LAB, "image bases", "ArrowLeft"),
        (LAB, "budget", "ArrowRight"),  # the next smaller one does not pay for one pair
    ):
        before = reader.sentence(explorer)
        opened.slider(label, cell=cells[explorer]).focus()
        opened.page.keyboard.press(key)
        reader.wait_for_change(explorer, before, seconds=60)
    before = reader.sentence(LAB)
    reader.press(LAB, "KRR-ST")
    reader.wait_for_change(LAB, before, seconds=60)
    assert opened.problems() == []
    keep_picture(opened, cells[LAB], "self_supervised_lab_in_lesson")
    reader.press(LAB, "Reset")

    # The scrubber.
    measured["scrubber"] = opened.move_slider(
        "step", presses=10, key="ArrowLeft", kind="cursor", cell=cells["scrubber"]
    )
    assert reader.sentence("scrubber").startswith("Step ")

    plots = reader.in_both_themes("lesson_40")
    reader.reload_and_run_again((BASES, LAB, BUDGET), plots)
    keep_results("lesson_40", measured)
