"""Lesson 45 in a real browser, as a reader would use it: Run All, priors, lambda, the quest, both themes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "45_representations.ipynb"


@pytest.mark.timeout(1200)
def test_lesson_45_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.unfold()
    opened.wait_for_plots(10)
    assert opened.problems() == []
    plots = opened.plots()
    assert len(plots) >= 10 and all(plot["traces"] for plot in plots)

    # The prediction locks.
    opened.page.get_by_label("yes, whoever gave the answers").first.check()
    opened.click("Lock my answer")
    opened.page.get_by_text("Locked: yes, whoever gave the answers").wait_for()

    # The laboratory: both runs come by themselves; the updates go back; another prior; lambda 1 and more images meet the quest.
    name = "TargetLab"
    place, lab = reader.cells[name], reader.cell(name)
    reader.wait_until_still(name, seconds=300)
    assert reader.sentence(name).startswith(
        "Targets of the prior untrained, 10% of the images in each epoch. After update 120 of 120"
    )
    assert "of BYOL alone" in reader.sentence(name) and "of the prior itself" in reader.sentence(name)
    keep_picture(opened, place, "target_lab")
    measured["update"] = opened.move_slider("update$", presses=8, key="ArrowLeft", kind="cursor", cell=place)
    reader.wait_for_sentence(
        name, "Targets of the prior untrained, 10% of the images in each epoch. After update 60 of 120"
    )
    opened.slider("update$", cell=place).press("End")
    assert lab.locator(".ddlab-quest[data-met=true]").count() == 0
    reader.press(name, "strong")
    reader.wait_for_sentence(name, "Targets of the prior strong")
    reader.press(name, "constant")
    lab.get_by_role("button", name="More settings").click()
    for _ in range(4):
        opened.slider("λ where constant", cell=place).press("ArrowRight")
    for _ in range(4):
        opened.slider("share of the images in an epoch", cell=place).press("ArrowRight")
    reader.wait_for_sentence(name, "Targets of the prior strong, 30% of the images in each epoch. After update")
    lab.locator(".ddlab-quest[data-met=true]").wait_for(timeout=300_000)
    keep_picture(opened, place, "target_lab_strong")

    assert opened.problems() == []
    count = reader.in_both_themes("lesson_45")
    reader.reload_and_run_again((name,), count, workers=["ddlab-lab"])
    keep_results("lesson_45", measured)
