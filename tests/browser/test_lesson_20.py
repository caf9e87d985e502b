"""Lesson 20 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "20_inverting_a_network.ipynb"

EXPLORERS = ("LabelsAgainstImages", "Live", "DiversityView")


@pytest.mark.timeout(900)
def test_lesson_20_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.unfold()
    opened.wait_for_plots(9)
    assert opened.problems() == []
    plots = opened.plots()
    assert len(plots) >= 9 and all(plot["traces"] for plot in plots)
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
    reader.cell("LabelsAgainstImages").locator(".ddlab-quest[data-met=true]").wait_for()  # real, online
    opened.move_slider("seed", timeout=60)
    reader.wait_for_sentence("LabelsAgainstImages", "From noise images, stored labels, seed 1")

    # Live: every slider by keyboard, at rest; then a whole run, pause, single step, its slider, a student, reset, stop.
    live = reader.cell("Live")
    for name in ("λ_mean", "λ_var", "learning rate"):
        before = reader.sentence("Live")
        opened.slider(name, cell=reader.cells["Live"]).focus()
        opened.page.keyboard.press("ArrowLeft")
        reader.wait_for_change("Live", before)
    reader.press("Live", "real")
    reader.wait_for_sentence("Live", "Before the first of 200 updates with initialisation real")
    reader.press("Live", "noise")
    reader.wait_for_sentence("Live", "Before the first of 200 updates with initialisation noise")
    reader.press("Live", "Step")
    reader.wait_for_sentence("Live", "Step 1 of")
    reader.press("Live", "Play")
    reader.press("Live", "Pause")
    live.get_by_text(", paused").first.wait_for()
    reader.press("Live", "Play")
    live.get_by_text(", finished").first.wait_for(timeout=60_000)
    keep_picture(opened, reader.cells["Live"], "live")
    measured["live step"] = opened.move_slider(
        "step", presses=10, key="ArrowLeft", kind="cursor", cell=reader.cells["Live"]
    )
    reader.press("Live", "class probability")
    reader.press("Live", "Train a student")
    live.get_by_text("of as many random real images").first.wait_for(timeout=60_000)
    reader.press("Live", "Reset")
    reader.wait_for_sentence("Live", "Before the first of")
    reader.press("Live", "Play")
    reader.press("Live", "Stop")
    live.get_by_text(", stopped").first.wait_for()

    # The scrubber.
    measured["scrubber"] = opened.move_slider(
        "step", presses=20, key="ArrowLeft", kind="cursor", cell=reader.cells["scrubber"]
    )
    assert reader.sentence("scrubber").startswith("Step ")
    assert opened.problems() == []

    # The diversity view: a recording moves the points, the keyboard moves one, another map.
    before = reader.sentence("DiversityView")
    reader.press("DiversityView", "step by step")
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
