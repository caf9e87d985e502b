"""Lesson 21 in a real browser, as a reader would use it: Run All, every control, both themes, reload, run again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "21_diversity.ipynb"
EXPLORERS = ("LatentConflict", "DiversityLab")


@pytest.mark.timeout(900)
def test_lesson_21_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.unfold()
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
    reader.press("DiversityLab", "More settings")
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
    # On a full machine the page is still at rest from before.
    reader.wait_for_change("DiversityLab", before, seconds=120)
    reader.wait_until_still("DiversityLab")
    assert opened.problems() == []
    keep_picture(opened, lab, "diversity_lab")

    # The scrubber.
    measured["scrubber"] = opened.move_slider("step", presses=20, key="ArrowLeft", kind="cursor")
    assert reader.sentence("scrubber").startswith("Step ")

    plots = reader.in_both_themes("lesson_21")
    reader.reload_and_run_again(EXPLORERS, plots)
    keep_results("lesson_21", measured)
