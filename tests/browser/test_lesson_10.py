"""Lesson 10 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "10_ideal_data.ipynb"
EXPLORERS = ("SigmaLab", "RhoLab", "LandscapeLab")
TRAINING = ("learning rate", "momentum", "updates")


@pytest.mark.timeout(900)
def test_lesson_10_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.unfold()
    opened.wait_for_plots(12)
    assert opened.problems() == []
    assert all(plot["traces"] for plot in opened.plots())

    # A prediction locks.
    opened.page.get_by_label("0.5: like the test data").first.check()
    opened.page.locator("button", has_text="Lock my answer").first.click()
    opened.page.get_by_text("Locked: 0.5: like the test data").wait_for()

    def press(name: str, label: str) -> None:
        before = reader.sentence(name)
        reader.press(name, label)
        reader.wait_for_change(name, before)

    def move(name: str, label: str, presses: int = 12) -> None:
        before = reader.sentence(name)
        measured[f"{name}, {label}"] = opened.move_slider(
            label, presses=presses, key="ArrowLeft", cell=reader.cells[name]
        )
        assert reader.sentence(name) != before, label

    reader.press("SigmaLab", "More settings")
    for label in ("deviation of the samples", "gap between the means", "deviation of G", *TRAINING):
        move("SigmaLab", label)
    press("SigmaLab", "Other seeds")
    press("SigmaLab", "Reset")
    press("SigmaLab", "on")
    assert "5 networks" in reader.sentence("SigmaLab")
    press("SigmaLab", "off")
    reader.press("SigmaLab", "share wrong")
    reader.press("SigmaLab", "squared error")
    press("SigmaLab", "contours")
    move("SigmaLab", "momentum")
    keep_picture(opened, reader.cells["SigmaLab"], "sigma_lab")
    press("SigmaLab", "hidden")

    reader.press("RhoLab", "More settings")
    for label in ("share of the teacher", "teacher's deviation", "deviation of the samples"):
        move("RhoLab", label, presses=6)
    press("RhoLab", "posterior of the distilled")
    press("RhoLab", "Reset")
    opened.screenshot("rho_lab", cell=reader.cells["RhoLab"])

    move("LandscapeLab", "deviation of the samples", presses=8)
    press("LandscapeLab", "random filters")
    press("LandscapeLab", "through the paths")
    reader.press("LandscapeLab", "3-D")
    opened.page.wait_for_timeout(1500)
    opened.screenshot("landscape_lab", cell=reader.cells["LandscapeLab"])

    measured["scrubber"] = opened.move_slider("step", presses=12, key="ArrowLeft", kind="cursor")

    plots = reader.in_both_themes("lesson_10")
    reader.reload_and_run_again(EXPLORERS, plots)
    keep_results("lesson_10", measured)
