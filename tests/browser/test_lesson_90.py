"""Lesson 90 in a real browser: Run All, answers by click, sliders by keyboard, both themes, reload, a cell run again."""

from __future__ import annotations

from typing import Any

import pytest

from ddlab.lessons.claims_on_trial import experiments
from ddlab.lessons.claims_on_trial.trial_card import ANSWERS
from tests.browser.reader import NOTEBOOKS, Reader, keep_results

LESSON = NOTEBOOKS / "90_claims_on_trial.ipynb"
# The sliders of each card, by how their labels begin: those that redraw the curves, and the one that moves along them.
SLIDERS = {
    "R3": (("learning rate", "spread"), "steps"),
    "R2 noise": (("spread",), "relabelled"),
    "R4": ((), "spread"),
    "R17": (("spread",), "relabelled"),
    "R15 Theorem 5": (("coin", "detail"), ""),
    "R5": (("spread",), ""),
    "R6 formula": (("gap", "spread"), "strength"),
    "R6 theorem": (("gap", "spread", "other spread"), "strength"),
    "F4": (("small side",), "merges"),
    "F7 Lipschitz": (("classes", "temperature", "largest logit"), ""),
    "F8 Corollary 1": (("kink",), "merge ratio"),
    "F9": (("images", "error"), "sureness"),
    "D2 batch": (("latents", "seed"), ""),
    "R2 rate": (("spread", "constant"), "relabelled"),
    "R15 Theorem 3": (("skew",), "labels"),
    "R13": (("samples",), ""),
    "F7 bound": (("classes", "largest logit"), "temperature"),
    "F8 condition": (("merge ratio",), "loss lipschitz"),
    "D2 factor": ((), "latents"),
}

CROP_PLOTS = 3  # a map and two rows of bars


@pytest.mark.timeout(900)
def test_lesson_90_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    trials = experiments.trials()
    assert {f"TrialCard {key}" for key in trials} | {"CropMaps"} == set(reader.cells) and set(trials) == set(SLIDERS)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.unfold()
    assert opened.problems() == []
    opened.wait_for_plots(CROP_PLOTS)
    assert len(opened.plots()) == CROP_PLOTS, "the cards give nothing away"
    assert opened.page.locator(".ddlab-verdict:visible").count() == 0

    # Before an answer is locked no slider moves.
    waiting = reader.cells["TrialCard R3"]
    handle = opened.slider("spread", cell=waiting)
    stands = handle.get_attribute("aria-valuenow")
    handle.scroll_into_view_if_needed()
    handle.focus()
    opened.page.keyboard.press("ArrowRight")
    opened.page.wait_for_timeout(300)
    assert handle.get_attribute("aria-valuenow") == stands
    assert reader.sentence("TrialCard R3") == "Lock an answer: then the sliders open."
    opened.screenshot("lesson_90_waiting", cell=waiting)

    # Every card: an answer by click, the verdict, every slider by keyboard.
    for number, (key, (drawn, along)) in enumerate(SLIDERS.items()):
        name = f"TrialCard {key}"
        cell, index = reader.cell(name), reader.cells[name]
        cell.scroll_into_view_if_needed()
        cell.locator("input[type=radio]").nth(number % 3).check()
        reader.press(name, "Lock my answer")
        cell.locator(".ddlab-verdict").wait_for()
        opened.wait_for_plots(number + 1 + CROP_PLOTS)
        verdict = cell.locator(".ddlab-verdict").inner_text()
        assert "Verdict:" in verdict and f"You said: {ANSWERS[number % 3]}" in verdict
        assert "$" not in cell.locator(".ddlab-explorer").inner_text(), "formulas are typeset"
        before = reader.sentence(name)
        for label in drawn:
            measured[f"{key}, {label}"] = opened.move_slider(label, presses=4, cell=index)
        if along:
            measured[f"{key}, {along}"] = opened.move_slider(along, presses=4, kind="cursor", cell=index)
        assert before != reader.sentence(name) or key in ("R15 Theorem 3", "D2 batch"), before
        assert "Here the statement" in reader.sentence(name)
    assert opened.problems() == []

    # Views under weaker and stronger crops.
    before = reader.sentence("CropMaps")
    measured["crop maps, least area"] = opened.move_slider("least area", presses=4, cell=reader.cells["CropMaps"])
    assert reader.sentence("CropMaps") != before
    opened.screenshot("crop_maps_light", cell=reader.cells["CropMaps"])

    reader.in_both_themes(
        "lesson_90",
        ("TrialCard D2 batch", "TrialCard R15 Theorem 3", "TrialCard F8 condition", "TrialCard R13", "CropMaps"),
    )

    # A reload keeps answers and plots; a cell that runs again asks anew.
    opened.reload()
    opened.wait_for_plots(len(SLIDERS) + CROP_PLOTS)
    assert opened.problems() == []
    assert "Verdict:" in reader.cell("TrialCard R4").locator(".ddlab-verdict").inner_text()
    reader.run_again("TrialCard R4")
    reader.wait_for_sentence("TrialCard R4", "Lock an answer")
    assert reader.cell("TrialCard R4").locator(".ddlab-verdict:visible").count() == 0
    assert opened.kernel_threads() in ([], ["ddlab-lab"]) and opened.problems() == []  # one for the crops

    keep_results("lesson_90", measured)
