"""Lesson 21 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ddlab.benchmark import machine
from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, p95

RESULTS = Path(__file__).parents[2] / "test-results"
LESSON = NOTEBOOKS / "21_diversity.ipynb"
EXPLORERS = ("LatentConflict", "DiversityLab")


@pytest.mark.timeout(900)
def test_lesson_21_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.wait_for_plots(12)
    assert opened.problems() == []
    plots = opened.plots()
    assert len(plots) >= 12 and all(plot["traces"] for plot in plots)

    # The latents: both weights, the updates, how many, another batch; a point by keyboard.
    latents = reader.cells["LatentConflict"]
    for label in ("λ_mean", "λ_var", "updates"):
        measured[f"latents, {label}"] = opened.move_slider(label, presses=20, cell=latents)
    opened.move_slider("latents", cell=latents)
    reader.press("LatentConflict", "norm")
    reader.press("LatentConflict", "squared")
    reader.press("LatentConflict", "Other points")
    reader.cell("LatentConflict").get_by_text("Move a point by keyboard").click()
    measured["latents, a point"] = opened.move_slider("across", presses=10, key="ArrowLeft", cell=latents)
    assert "inner product is 0.000" in reader.sentence("LatentConflict")
    keep_picture(opened, latents, "latent_conflict")
    reader.press("LatentConflict", "Reset")

    # A prediction locks.
    opened.page.get_by_label("it falls, as equation 15 says").first.check()
    opened.page.locator("button", has_text="Lock my answer").nth(1).click()
    opened.page.get_by_text("Locked: it falls").wait_for()

    # The laboratory: every slider and switch is answered, by itself or by Run.
    lab = reader.cells["DiversityLab"]
    before = reader.sentence("DiversityLab")
    for label in (
        "λ_mean", "λ_var", "adjustment steps", "adjustment radius", "iterations", "seed", "images per class",
    ):  # fmt: skip
        opened.slider(label, cell=lab).focus()
        opened.page.keyboard.press("ArrowLeft" if label in ("iterations", "images per class") else "ArrowRight")
        opened.page.wait_for_timeout(300)
    for label in ("random", "noise", "on"):
        reader.press("DiversityLab", label)
        opened.page.wait_for_timeout(300)
    button = reader.cell("DiversityLab").locator("button.jupyter-button", has_text="Run").first
    if button.is_enabled():
        button.click()
    reader.cell("DiversityLab").get_by_text("at rest").wait_for(timeout=120_000)
    assert reader.sentence("DiversityLab") != before
    assert opened.problems() == []
    keep_picture(opened, lab, "diversity_lab")

    # The scrubber.
    measured["scrubber"] = opened.move_slider("step", presses=20, key="ArrowLeft", kind="cursor")
    assert reader.sentence("scrubber").startswith("Step ")

    # Dark theme: every plot follows.
    light = {plot["title"]: plot["text_colour"] for plot in opened.plots() if plot["alt"]}
    opened.screenshot("lesson_21_light")
    opened.set_theme("dark")
    opened.screenshot("lesson_21_dark")
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
    (RESULTS / "lesson_21.json").write_text(
        json.dumps({"machine": machine(), "milliseconds, p95": summary, "all": measured}, indent=1)
    )
    print(summary)
    # Far above what is aimed at (120 ms for the latents): this machine is shared, and benchmarks are not tests.
    assert max(value for value in summary.values() if value != summary["run_all_seconds"]) < 1000
