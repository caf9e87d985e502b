"""The laboratory of diversity in a real page: every control by keyboard, Run, known runs in time, both themes."""

from __future__ import annotations

from tests.browser.test_widgets import note, summary, write_notebook

PREPARE = """
import ddlab
import torch
from ddlab import networks
from ddlab.training import supervised
from ddlab.lessons.diversity.lab import DiversityLab
from ddlab.methods import dwa

torch.set_num_threads(1)
data = ddlab.data.load("digits")
spec = networks.spec("convnet", width=32)
teacher = ddlab.train_teacher(data, supervised.Config.teaching("teacher", network=spec, epochs=4, flip=False), progress=False)
student = supervised.Config.teaching(network=spec, epochs=30)
"""
LAB = """
lab = DiversityLab(data, teacher, dwa.Config.teaching(images_per_class=2, iterations=50), student=student)
lab
"""


def of(page, expression: str):
    """What the explorer in the kernel says."""
    return page.in_kernel(f"__import__('__main__').lab.{expression}")


def settle(page) -> None:
    """Wait until nothing is computed."""
    of(page, "runner.join(120)")


def press(page, label: str, key: str) -> None:
    """A key on a control, whether it is answered at once or not."""
    page.slider(label).focus()
    page.page.keyboard.press(key)
    page.page.wait_for_timeout(400)
    settle(page)


def test_every_control_run_and_both_themes(open_notebook, tmp_path):
    page = open_notebook(write_notebook(tmp_path / "diversity_lab.ipynb", PREPARE, LAB))
    page.run_all()
    page.wait_for_plots(3)
    assert page.problems() == [] and "press Run" in of(page, "sentence")
    assert page.kernel_threads() == [], "nothing is computed before the reader asks"
    page.click("Run")
    page.wait_for("() => document.body.innerText.includes('students: hard labels')", 60)
    settle(page)
    assert "online labels" in of(page, "sentence") and of(page, "error") is None
    page.screenshot("diversity_lab_light", cell=1)

    page.click("More settings")
    for label, name in (
        ("λ_mean", "lambda_mean"), ("λ_var", "lambda_var"), ("adjustment steps", "adjustment_steps"),
        ("adjustment radius", "adjustment_radius"), ("iterations", "iterations"), ("seed", "seed"),
        ("images per class", "images_per_class"),
    ):  # fmt: skip
        before = of(page, f"panel.value.{name}")
        press(page, label, "ArrowRight")
        assert of(page, f"panel.value.{name}") > before, label
    page.click("random")
    page.click("noise")
    page.page.wait_for_timeout(500)
    page.page.get_by_role("button", name="Run").first.focus()
    page.page.keyboard.press("Enter")
    page.page.wait_for_timeout(300)
    settle(page)
    shown = of(page, "sentence")
    assert "adjustment random" in shown and "from noise" in shown and "online labels" in shown

    # Coupling is a button too: both sliders end on one weight.
    page.page.get_by_role("button", name="on", exact=True).click()
    page.page.wait_for_timeout(500)
    assert of(page, "panel.value.lambda_mean") == of(page, "panel.value.lambda_var")
    settle(page)

    # Between known runs the answer is at once.
    of(page, "panel['images_per_class'].set_trait('value', 2)")
    of(page, "panel['iterations'].set_trait('value', 20)")
    for seed in range(5):
        of(page, f"panel['seed'].set_trait('value', {seed})")
        of(page, "run().sentence")
    settle(page)
    taken = page.move_slider("seed", presses=4, key="ArrowLeft") + page.move_slider("seed", presses=4, key="ArrowRight")
    taken += page.move_slider("seed", presses=4, key="ArrowLeft") + page.move_slider(
        "seed", presses=4, key="ArrowRight"
    )
    note("diversity lab: slider between known runs to painted map, ms (aim p95 200)", summary(taken))

    page.click("logits")
    page.wait_for("() => document.querySelector('.js-plotly-plot').layout.title.text.includes('logits')")
    page.set_theme("dark")
    page.screenshot("diversity_lab_dark", cell=1)
    page.set_theme("light")
    assert page.problems() == [] and of(page, "error") is None
    page.run_all()
    page.wait_for_plots(3)
    assert page.kernel_threads() == []
