"""The laboratory of self-supervised distillation in a real page: every control by keyboard, in time, runs, probes and Stop, both themes."""

from __future__ import annotations

import re

from tests.browser.reader import p95
from tests.browser.test_widgets import note, summary, write_notebook

PREPARE = """
import ddlab
import torch
from ddlab import networks
from ddlab.lessons.bases.lab import SelfSupervisedLab, score_table
from ddlab.lessons.bases.world import iteration
from ddlab.methods import boost
from ddlab.records import setting

torch.set_num_threads(1)
data = ddlab.data.load("shapes", size=16)
other = ddlab.data.aligned(ddlab.data.load("digits"), data)
teacher = networks.load(setting.TEACHERS / "shapes16_self_supervised.safetensors")
"""
LAB = """
lab = SelfSupervisedLab(data, teacher, boost.Config.teaching(representation_bases=24), other=other, candidates=(1e-3,))
lab
"""


def of(page, expression: str):
    """What the explorer in the kernel says."""
    return page.in_kernel(f"__import__('__main__').lab.{expression}")


def settle(page) -> None:
    """Wait until nothing is computed; what was pressed last is on its way to the kernel."""
    page.page.wait_for_timeout(300)
    of(page, "runner.join(300)")
    of(page, "beside.join(120)")
    page.page.wait_for_timeout(400)


def press(page, label: str, which: int = 0) -> None:
    """A button by keyboard; the words alone, because an icon is part of the name."""
    words = re.compile(rf"^\s*{re.escape(label)}\s*$")
    page.page.locator("button.jupyter-button:not([disabled])").filter(has_text=words).nth(which).focus()
    page.page.keyboard.press("Enter")


def opened_lab(open_notebook, tmp_path):
    page = open_notebook(write_notebook(tmp_path / "self_supervised_lab.ipynb", PREPARE, LAB))
    page.run_all()
    page.wait_for_plots(3)
    return page


def test_settings_show_at_once_by_keyboard(open_notebook, tmp_path):
    page = opened_lab(open_notebook, tmp_path)
    assert page.problems() == [] and page.kernel_threads() == []
    page.screenshot("self_supervised_lab_light", cell=1)
    taken = page.move_slider("image bases U", presses=9, key="ArrowLeft", kind="picture")
    taken += page.move_slider("image bases U", presses=9, key="ArrowRight", kind="picture")
    note("self-supervised lab: U to painted picture, ms (aim p95 150)", summary(taken))
    assert p95(taken) < 2000
    page.click("More settings")
    for label, name in (
        ("budget in images N", "budget"), ("representation bases V", "representation_bases"), ("hidden units h", "hidden"),
        ("outer learning rate", "learning_rate"), ("outer steps T", "iterations"),
    ):  # fmt: skip
        before = of(page, f"panel.value.{name}")
        page.slider(label).focus()
        page.page.keyboard.press(
            "ArrowLeft"
        )  # not `move_slider`: another learning rate changes no picture before a step
        page.page.wait_for_timeout(400)
        assert of(page, f"panel.value.{name}") < before, label
    press(page, "Reset")
    page.page.wait_for_timeout(400)
    for label, name, value in (
        ("jigsaw", "augmentation", "jigsaw"), ("stored", "shift", "stored"), ("real", "bases_start", "real"),
        ("projection", "coefficients_start", "projection"), ("on", "all_views", True), ("4", "scale", 4), ("KRR-ST", "method", "KRR-ST"),
    ):  # fmt: skip
        press(page, label)
        page.page.wait_for_timeout(500)
        assert of(page, f"panel.value.{name}") == value, label
    press(page, "Boost")
    press(page, "1")  # 40 bases of 16 x 16 pixels: more than the budget of 20 images
    refused = "() => document.body.innerText.includes('budget must be at least')"
    page.wait_for(refused)
    assert of(page, "refusal") and of(page, "runner.thread") is None
    page.screenshot("self_supervised_lab_refused", cell=1)
    press(page, "Reset")
    page.wait_for("() => !document.body.innerText.includes('budget must be at least')")
    assert (
        of(page, "error") is None
        and page.problems() == []
        and of(page, "panel.value == __import__('__main__').lab.start")
    )
    of(page, "close()")


def test_a_run_is_watched_scrubbed_and_probed_in_both_themes(open_notebook, tmp_path):
    page = opened_lab(open_notebook, tmp_path)
    page.click("More settings")
    press(page, "on")  # all views
    press(page, "Run")
    page.wait_for("() => document.body.innerText.includes('Boost: pool')", 60)
    drawn = page.plots()[0]["drawn"]
    page.wait_for("() => /Boost: step [2-9][0-9] of 300/.test(document.body.innerText)", 240)
    assert page.plots()[0]["drawn"] > drawn, "the curve is seen to grow"
    page.screenshot("self_supervised_lab_watched", cell=1)
    press(page, "Stop")
    page.wait_for("() => document.body.innerText.includes('at rest')", 60)
    reached = page.in_kernel("iteration(lab.watched, lab.watched.step)")
    assert 20 <= reached < 300 and f"After outer step {reached} of 300" in of(page, "sentence")
    press(page, "Go on")
    settle(page)
    assert "This run is finished" in of(page, "sentence")

    taken = page.move_slider("outer step$", presses=20, key="ArrowLeft", kind="picture")
    note("self-supervised lab: scrubber to painted picture, ms (aim p95 150)", summary(taken))
    assert p95(taken) < 2000 and of(page, "panel.value.step") is not None
    page.move_slider("outer step$", presses=20, key="ArrowRight", kind="picture")
    press(page, "KRR-ST")
    page.wait_for("() => document.body.innerText.includes('KRR-ST: a budget of 20 images')")
    press(page, "Run")
    settle(page)
    press(page, "Pre-train and probe")
    page.wait_for("() => /real images|probe on/.test(document.querySelector('.ddlab-explorer').innerText)", 120)
    press(page, "Stop")
    page.wait_for("() => document.body.innerText.includes('at rest')", 60)
    press(page, "Pre-train and probe")
    settle(page)
    press(page, "Boost")
    page.page.wait_for_timeout(600)
    press(page, "Pre-train and probe")
    settle(page)
    assert of(page, "widget(score_table).value").count("<tr>") == 5 and "untrained" in of(
        page, "widget(score_table).value"
    )
    page.screenshot("self_supervised_lab_probed", cell=1)
    page.set_theme("dark")
    page.screenshot("self_supervised_lab_dark", cell=1)
    page.set_theme("light")
    assert page.problems() == [] and of(page, "error") is None
    page.reload()
    page.wait_for_plots(3)
    assert page.problems() == [] and page.page.locator(".ddlab-explorer img").count() == 1
    page.run_all()
    page.wait_for_plots(3)
    assert page.kernel_threads() == [], "a cell that runs again closes the lab it replaces"
    of(page, "close()")
    assert page.kernel_threads() == []
