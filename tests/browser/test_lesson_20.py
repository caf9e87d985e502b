"""Lesson 20 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "20_inverting_a_network.ipynb"

EXPLORERS = ("LabelsAgainstImages", "LiveRecovery", "DiversityView")


@pytest.mark.timeout(900)
def test_lesson_20_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.wait_for_plots(10)
    assert opened.problems() == []
    plots = opened.plots()
    assert len(plots) >= 10 and all(plot["traces"] for plot in plots)
    assert sum(bool(plot["alt"]) for plot in plots) >= 5, "every plot widget has a text for screen readers"
    assert opened.page.locator("details", has_text="In words").count() == len(plots) - sum(
        bool(p["alt"]) for p in plots
    )

    # Predictions lock.
    opened.page.get_by_label("the same images, with a teacher's labels").first.check()
    opened.click("Lock my answer")
    opened.page.get_by_text("Locked: the same images").wait_for()

    # Labels against images: each choice trains a student and changes every view.
    assert reader.sentence("LabelsAgainstImages").startswith("From real images, hard labels")
    for images, labels in (("real", "online"), ("recovered", "online"), ("noise", "stored")):
        reader.press("LabelsAgainstImages", images)
        reader.press("LabelsAgainstImages", labels)
        reader.wait_for_sentence("LabelsAgainstImages", f"From {images} images, {labels} labels")
    opened.move_slider("seed", timeout=60)
    reader.wait_for_sentence("LabelsAgainstImages", "From noise images, stored labels, seed 1")

    # Live recovery: every slider by keyboard, at rest; then a whole run, pause, single step, reset, stop.
    for name in ("λ_mean", "λ_var", "learning rate", "iterations"):
        measured[name] = opened.move_slider(name, presses=10)
    reader.press("LiveRecovery", "real")
    reader.wait_for_sentence("LiveRecovery", "Before the first update: real images")
    reader.press("LiveRecovery", "noise")
    reader.press("LiveRecovery", "Step")
    reader.wait_for_sentence("LiveRecovery", "Step 1 of")
    reader.press("LiveRecovery", "Play")
    reader.press("LiveRecovery", "Pause")
    reader.wait_for_sentence("LiveRecovery", "paused")
    reader.press("LiveRecovery", "Play")
    reader.wait_for_sentence("LiveRecovery", "finished")
    keep_picture(opened, reader.cells["LiveRecovery"], "live_recovery")
    reader.press("LiveRecovery", "Reset")
    reader.wait_for_sentence("LiveRecovery", "Before the first update: noise")
    reader.press("LiveRecovery", "Play")
    reader.press("LiveRecovery", "Stop")
    reader.wait_for_sentence("LiveRecovery", "stopped")

    # The scrubber.
    measured["scrubber"] = opened.move_slider("step", presses=20, key="ArrowLeft", kind="cursor")
    assert reader.sentence("scrubber").startswith("Step ")
    assert opened.problems() == []

    # The diversity view: a recording moves the points, the keyboard moves one, another map.
    before = reader.sentence("DiversityView")
    reader.press("DiversityView", "recovered")
    reader.wait_for_change("DiversityView", before)  # only then is there a recording to move through
    reader.wait_for_sentence("DiversityView", "PCA of the features")
    measured["frame"] = opened.move_slider("frame", presses=20, key="ArrowLeft")
    reader.cell("DiversityView").get_by_text("Move a point by keyboard").click()
    opened.move_slider("across", key="PageDown", presses=1)
    assert "by hand" in reader.sentence("DiversityView")
    reader.press("DiversityView", "t-SNE")
    reader.wait_for_sentence("DiversityView", "t-SNE of the features")
    keep_picture(opened, reader.cells["DiversityView"], "diversity_view")
    assert opened.problems() == []

    keep_picture(opened, reader.cells["LabelsAgainstImages"], "labels_against_images")
    plots = reader.in_both_themes("lesson_20")
    reader.reload_and_run_again(EXPLORERS, plots)
    keep_results("lesson_20", measured)
