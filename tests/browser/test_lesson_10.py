"""Lesson 10 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ddlab.benchmark import machine
from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, p95

RESULTS = Path(__file__).parents[2] / "test-results"
LESSON = NOTEBOOKS / "10_ideal_data.ipynb"
EXPLORERS = ("SigmaLab", "RhoLab", "LandscapeLab")
TRAINING = ("learning rate", "momentum", "updates")


@pytest.mark.timeout(900)
def test_lesson_10_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.wait_for_plots(13)
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

    # Dark theme: every plot follows.
    light = {plot["title"]: plot["text_colour"] for plot in opened.plots() if plot["alt"]}
    opened.screenshot("lesson_10_light")
    opened.set_theme("dark")
    opened.screenshot("lesson_10_dark")
    dark = {plot["title"]: plot["text_colour"] for plot in opened.plots() if plot["alt"]}
    assert light.keys() == dark.keys() and all(light[title] != dark[title] for title in light), (light, dark)
    opened.set_theme("light")

    # A reload keeps the plots; a cell that runs again closes what it replaces.
    opened.reload()
    opened.wait_for_plots(len(light))
    assert opened.problems() == []
    for name in EXPLORERS:
        reader.run_again(name)
    opened.wait_for_plots(len(light))
    assert opened.kernel_threads() == []

    summary = {name: round(p95(value) if isinstance(value, list) else value, 1) for name, value in measured.items()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "lesson_10.json").write_text(
        json.dumps({"machine": machine(), "milliseconds, p95": summary, "all": measured}, indent=1)
    )
    print(summary)
    # Far above what is aimed at (150 ms, 220 with the landscape): this machine is shared, and benchmarks are not tests.
    assert max(value for name, value in summary.items() if name != "run_all_seconds") < 1000
