"""The explorers of bases and of the storage budget in a real page: every control by keyboard, in time, both themes."""

from __future__ import annotations

import re

from tests.browser.reader import p95
from tests.browser.test_widgets import note, summary, write_notebook

BASES = """
import ddlab
import torch
from ddlab import networks
from ddlab.training import supervised
from ddlab.lessons.bases.bases_lab import BasesLab, picture

torch.set_num_threads(1)
data = ddlab.data.load("shapes")
spec = networks.spec("convnet", width=16)
teacher = ddlab.train_teacher(data, supervised.Config.for_data(data, "teacher", network=spec, epochs=1), progress=False)
"""
LAB = """
lab = BasesLab(data, teacher)
lab
"""
BUDGET = """
from ddlab.lessons.views.budget_lab import BudgetLab
lab = BudgetLab()
lab
"""


def of(page, expression: str):
    """What the explorer in the kernel says."""
    return page.in_kernel(f"__import__('__main__').lab.{expression}")


def press(page, label: str, which: int = 0) -> None:
    """A button by keyboard; the words alone, because an icon is part of the name."""
    words = re.compile(rf"^\s*{re.escape(label)}\s*$")
    page.page.locator("button.jupyter-button:not([disabled])").filter(has_text=words).nth(which).focus()
    page.page.keyboard.press("Enter")


def settle(page) -> None:
    of(page, "runner.join(120)")
    page.page.wait_for_timeout(400)


def test_bases_by_keyboard_in_time_and_in_both_themes(open_notebook, tmp_path):
    page = open_notebook(write_notebook(tmp_path / "bases_lab.ipynb", BASES, LAB))
    page.run_all()
    page.wait_for_plots(4)
    assert page.problems() == []
    page.screenshot("bases_lab_light", cell=1)

    taken = page.move_slider("image bases U", presses=40, kind="picture")
    note("bases lab: U to painted picture, ms (aim p95 100)", summary(taken))
    assert p95(taken) < 1000 and of(page, "panel.value.bases") != 50 and "bases of 16 x 16" in of(page, "sentence")
    taken = page.move_slider("page", presses=10, kind="picture")
    note("bases lab: another page to painted picture, ms (aim p95 100)", summary(taken))
    press(page, "Representations")
    taken = page.move_slider("representation bases V", presses=10, kind="cursor")
    note("bases lab: V to moved line, ms (aim p95 100)", summary(taken))
    assert of(page, "panel.value.page") == 11 and of(page, "panel.value.representation_bases") > 20
    page.click("More settings")

    for label, field, value in (
        ("training", "split", "training"),
        ("nothing", "below", "nothing"),
        ("8", "scale", 8),
        ("stored", "image_mean", "stored"),
        ("lost", "image_mean", "lost"),
    ):
        before = of(page, "sentence") + of(page, "widget(picture).alt")
        press(page, label)
        settle(page)
        assert (
            of(page, f"panel.value.{field}") == value
            and of(page, "sentence") + of(page, "widget(picture).alt") != before
        )
    page.screenshot("bases_lab_lost", cell=1)
    page.set_theme("dark")
    page.screenshot("bases_lab_dark", cell=1)
    page.set_theme("light")
    assert page.problems() == [] and of(page, "error") is None

    page.reload()
    page.wait_for_plots(4)
    assert page.problems() == [] and page.page.locator(".ddlab-explorer img").count() == 1
    of(page, "close()")
    assert page.kernel_threads() == []


def test_the_budget_by_keyboard_in_time_and_in_both_themes(open_notebook, tmp_path):
    page = open_notebook(write_notebook(tmp_path / "budget_lab.ipynb", BUDGET))
    page.run_all()
    page.wait_for_plots(1)
    assert page.problems() == [] and "m = 114" in of(page, "sentence")
    page.screenshot("budget_lab_light", cell=0)
    page.click("More settings")
    for label in ("budget in images N", "image bases U", "representation bases V", "hidden units h"):
        before = of(page, "sentence")
        taken = page.move_slider(label, presses=8, key="ArrowLeft")
        note(f"budget lab: {label} to painted bars, ms (aim p95 150)", summary(taken))
        assert p95(taken) < 1000 and of(page, "sentence") != before
    for label, field, value in (
        ("4", "scale", 4),
        ("crop", "augmentation", "crop"),
        ("stored", "shift", "stored"),
        ("on", "representation_mean", True),
    ):
        press(page, label)
        page.page.wait_for_timeout(300)
        assert of(page, f"panel.value.{field}") == value
    page.move_slider("Table 5", presses=3)
    page.page.wait_for_timeout(300)
    assert of(page, "preset.value") == "CIFAR100, N = 100" and "m = 114" in of(page, "sentence")
    page.move_slider("budget in images N", presses=9, key="ArrowLeft")
    page.wait_for("() => document.body.innerText.includes('This budget buys nothing')")
    page.set_theme("dark")
    page.screenshot("budget_lab_dark", cell=0)
    page.set_theme("light")
    press(page, "Reset")
    page.wait_for("() => document.body.innerText.includes('buy m = 114 pairs')")
    assert page.problems() == [] and of(page, "error") is None
