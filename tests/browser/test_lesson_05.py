"""Lesson 05 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "05_matching.ipynb"
MATCHING, GRADIENT, LIVE = EXPLORERS = ("MatchingLab", "GradientLab", "Live")


def moved(reader: Reader, name: str, label: str, field: str) -> None:
    """Move a slider, or press a button, by keyboard, and wait until the kernel has heard of it: the explorer shares other settings."""
    from playwright.sync_api import expect

    shared = reader.cell(name).locator(".widget-text").filter(has_text="settings").locator("input")
    before = shared.input_value()
    if label == "independent":
        reader.press(name, label)
    else:
        reader.lab.slider(label, cell=reader.cells[name]).focus()  # which waits until it is there
        reader.page.keyboard.press("ArrowLeft")
    expect(shared).not_to_have_value(before, timeout=30_000)
    expect(shared).to_have_value(re.compile(rf"\b{field}="), timeout=30_000)


@pytest.mark.timeout(900)
def test_lesson_05_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.unfold()
    opened.wait_for_plots(11)
    assert opened.problems() == []

    # Predictions lock.
    opened.page.get_by_label("over 85%").first.check()
    opened.click("Lock my answer")
    opened.page.get_by_text("Locked: over 85%").wait_for()

    # The first laboratory: three rivals are there at once; images learn, students are trained, the quest is met, updates are scrubbed.
    lab, place = reader.cell(MATCHING), reader.cells[MATCHING]
    said = reader.sentence(MATCHING)
    assert "from random real images" in said and "from k-means centres" in said and "Press Learn" in said
    assert lab.locator(".ddlab-quest[data-met=true]").count() == 0
    reader.press(MATCHING, "Learn")
    reader.wait_for_sentence(MATCHING, "1 image of each of 10 classes, begun as random real images, after update 50")
    reader.press(MATCHING, "Train students")
    lab.locator(".ddlab-quest[data-met=true]").wait_for(timeout=240_000)
    reader.wait_until_still(MATCHING)
    keep_picture(opened, place, "matching_lab")
    measured["update"] = opened.move_slider("update$", presses=10, key="ArrowLeft", kind="picture", cell=place)
    reader.press(MATCHING, "noise")
    reader.wait_for_sentence(MATCHING, "1 image of each of 10 classes, begun as noise")
    measured["images per class"] = opened.move_slider("images per class", kind="picture", cell=place)
    reader.wait_for_sentence(MATCHING, "2 images of each of 10 classes")
    moved(reader, MATCHING, "learning rate", "learning_rate")  # no plot shows it until the images learn
    reader.press(MATCHING, "More settings")
    for label, field in (("updates", "iterations"), ("real batch", "batch_size"), ("momentum", "momentum")):
        moved(reader, MATCHING, label, field)
    reader.press(MATCHING, "Reset")
    reader.wait_for_sentence(MATCHING, "1 image of each of 10 classes, begun as random real images")

    # The recorded run of the method.
    at = reader.cells["scrubber"]
    measured["scrubber"] = opened.move_slider("step", presses=20, key="ArrowLeft", kind="cursor", cell=at)
    assert reader.sentence("scrubber").startswith("Step ")

    # The second laboratory: it learns, and is asked channel by channel, class by class, at every update.
    place = reader.cells[GRADIENT]
    assert "as they begin, in network 1 of 8" in reader.sentence(GRADIENT)
    reader.press(GRADIENT, "Learn")
    reader.wait_for_sentence(GRADIENT, "Class 0, 2 learned images after update 40 of 40, in network 8 of 8", 120)
    reader.wait_until_still(GRADIENT)
    keep_picture(opened, place, "gradient_lab")
    measured["gradients, update"] = opened.move_slider(
        "update$", presses=10, key="ArrowLeft", kind="picture", cell=place
    )
    reader.press(GRADIENT, "Distance")
    measured["distance, update"] = opened.move_slider("update$", presses=5, key="ArrowLeft", kind="cursor", cell=place)
    reader.press(GRADIENT, "Gradients")
    reader.wait_until_still(GRADIENT)
    reader.press(GRADIENT, "Reset")
    for label in ("images per class", "matchings in each network"):
        measured[f"gradients, {label}"] = opened.move_slider(label, presses=3, cell=place)
    for label in ("squared", "vector", "crop", "all five"):
        before = reader.sentence(GRADIENT)
        reader.press(GRADIENT, label)
        reader.wait_for_change(GRADIENT, before)
    reader.press(GRADIENT, "More settings")
    moved(reader, GRADIENT, "independent", "views")
    measured["gradients, class"] = opened.move_slider("class on show", presses=3, kind="picture", cell=place)
    reader.wait_for_sentence(GRADIENT, "Class 3, ")
    for label, field in (
        ("learning rate", "learning_rate"),
        ("passes", "inner_epochs"),
        ("real batch", "batch_size"),
        ("updates", "updates"),
    ):
        moved(reader, GRADIENT, label, field)
    reader.press(GRADIENT, "Reset")
    reader.wait_for_sentence(GRADIENT, "Class 0, 2 learned images")
    reader.wait_until_still(GRADIENT)

    # DSA, live.
    reader.press(LIVE, "independent")
    reader.wait_for_sentence(LIVE, "Before the first of 30 updates with images per class 1, views independent")
    reader.press(LIVE, "Step")
    reader.wait_for_sentence(LIVE, "Step 1 of 30")
    reader.press(LIVE, "Reset")
    reader.wait_for_sentence(LIVE, "Before the first of 30 updates")
    assert opened.problems() == []

    plots = reader.in_both_themes("lesson_05", (GRADIENT,))
    reader.reload_and_run_again(EXPLORERS, plots)
    keep_results("lesson_05", measured)
