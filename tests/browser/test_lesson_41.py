"""Lesson 41 in a real browser, as a reader would use it: Run All, the quest by keyboard, both themes, reload, run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_results

LESSON = NOTEBOOKS / "41_views.ipynb"
BUDGET = "BudgetLab"
ANSWERS = ("yes: views are worth their price", "about as many")


@pytest.mark.timeout(1200)
def test_lesson_41_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all(timeout=900)}
    opened.wait_for_plots(4)
    assert opened.problems() == []
    for number, answer in enumerate(ANSWERS):
        opened.page.get_by_label(answer).first.check()
        opened.page.locator("button", has_text="Lock my answer").nth(number).click()
        opened.page.get_by_text(f"Locked: {answer}").wait_for()

    # The quest: fewer image bases.
    cell = reader.cells[BUDGET]
    quest = reader.cell(BUDGET).locator(".ddlab-quest")
    assert quest.get_attribute("data-met") == "false"
    measured["bases"] = opened.move_slider("image bases U", presses=6, key="ArrowLeft", cell=cell)
    reader.cell(BUDGET).locator(".ddlab-quest[data-met=true]").wait_for()
    reader.press(BUDGET, "More settings")
    before = reader.sentence(BUDGET)
    measured["hidden"] = opened.move_slider("hidden units h", presses=2, key="ArrowLeft", cell=cell)
    assert reader.sentence(BUDGET) != before

    cell = reader.cells["scrubber"]
    measured["scrubber"] = opened.move_slider("step", presses=10, key="ArrowLeft", kind="cursor", cell=cell)
    opened.unfold()
    opened.wait_for_plots(5)
    plots = reader.in_both_themes("lesson_41")
    reader.reload_and_run_again((BUDGET,), plots)
    keep_results("lesson_41", measured)
