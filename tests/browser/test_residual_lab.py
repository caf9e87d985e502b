"""The laboratory of the merge ratio in a real page: watched, scrubbed, moved by keyboard in time, students and Stop, both themes."""

from __future__ import annotations

from tests.browser.reader import p95
from tests.browser.test_widgets import note, summary, write_notebook

PREPARE = """
import ddlab
import torch
from ddlab import networks
from ddlab.training import supervised
from ddlab.lessons.data_residuals.lab import ResidualLab, score_table

torch.set_num_threads(1)
data = ddlab.data.load("shapes", size=64, train=600, test=100)
spec = networks.spec("convnet", width=16, depth=5, pooling="max", head="mean")
teacher = ddlab.train_teacher(data, supervised.Config.for_data(data, "teacher", network=spec, epochs=2), progress=False)
student = supervised.Config.for_data(data, network=spec, epochs=2)
"""
LAB = """
lab = ResidualLab(data, teacher, student=student, seeds=2)
lab
"""


def of(page, expression: str):
    """What the explorer in the kernel says."""
    return page.in_kernel(f"__import__('__main__').lab.{expression}")


def settle(page) -> None:
    """Wait until nothing is computed; what was pressed last is on its way to the kernel."""
    page.page.wait_for_timeout(300)
    of(page, "runner.join(240)")
    page.page.wait_for_timeout(300)


def opened_lab(open_notebook, tmp_path):
    page = open_notebook(write_notebook(tmp_path / "residual_lab.ipynb", PREPARE, LAB))
    page.run_all()
    page.wait_for_plots(2)
    return page


def test_a_run_is_watched_scrubbed_and_left(open_notebook, tmp_path):
    page = opened_lab(open_notebook, tmp_path)
    assert page.kernel_threads() == ["ddlab-lab"] and "Being computed" in of(page, "sentence")
    drawn = page.plots()[0]["drawn"]
    page.wait_for("() => !document.body.innerText.includes('this run takes')", 60)
    assert page.plots()[0]["drawn"] > drawn, "the curve is seen to grow"
    page.page.wait_for_timeout(500)
    page.screenshot("residual_lab_watched", cell=1)
    settle(page)
    assert page.problems() == [] and "after step 100" in of(page, "sentence") and "computed" not in of(page, "sentence")
    page.screenshot("residual_lab_light", cell=1)

    taken = page.move_slider("step$", presses=20, key="ArrowLeft", kind="picture")
    note("residual lab: scrubber to painted strip, ms (aim p95 100)", summary(taken))
    assert p95(taken) < 1000 and of(page, "panel.value.step") is not None

    taken = page.move_slider("merge ratio", presses=1, key="ArrowRight", kind="picture")
    note("residual lab: a new ratio to its first picture, ms (aim 300)", summary(taken))
    settle(page)
    for key in ("ArrowRight",) * 3 + ("ArrowLeft",) * 4:
        page.move_slider("merge ratio", presses=1, key=key)
        settle(page)
    taken = []
    for key in ("ArrowRight", "ArrowLeft") * 3:
        taken += page.move_slider("merge ratio", presses=4, key=key, kind="picture")
    note("residual lab: ratio between known runs to painted strip, ms (aim p95 150)", summary(taken))
    assert p95(taken) < 1000
    taken = page.move_slider("merge ratio", presses=4, key="ArrowRight") + page.move_slider(
        "merge ratio", presses=4, key="ArrowLeft"
    )
    note("residual lab: ratio between known runs to painted curve, ms (aim p95 150)", summary(taken))

    page.click("More settings")
    for label, name in (("merges", "merges"), ("steps B", "iterations"), ("learning rate", "learning_rate")):
        of(page, "reset_button.click()")
        settle(page)  # else a picture of the setting before would be taken for the first one of this
        before = of(page, f"panel.value.{name}")
        taken = page.move_slider(label, presses=1, key="ArrowLeft", kind="picture")
        note(f"residual lab: {label} to the first picture of a new setting, ms (aim 300)", summary(taken))
        assert of(page, f"panel.value.{name}") < before, label
    of(page, "reset_button.click()")
    settle(page)
    assert page.problems() == [] and of(page, "error") is None


def test_class_measure_students_and_both_themes(open_notebook, tmp_path):
    page = opened_lab(open_notebook, tmp_path)
    settle(page)
    taken = page.move_slider("class", presses=8, key="ArrowRight", kind="picture")
    note("residual lab: another class to painted strip, ms (aim p95 150)", summary(taken))
    page.page.wait_for_timeout(500)
    assert of(page, "panel.value.class_name") == of(page, "world.data.class_names[8]")
    assert f"The row shows the {of(page, 'world.data.class_names[8]')}." in of(page, "sentence")
    page.click("distance to the patch")
    page.wait_for("() => document.querySelector('.js-plotly-plot').layout.yaxis.title.text.includes('distance')")
    page.click("More settings")
    page.click("full size")
    page.wait_for("() => document.body.innerText.includes('steps at full size')")
    settle(page)
    page.page.get_by_role("button", name="Train students").focus()
    page.page.keyboard.press("Enter")
    page.wait_for("() => document.body.innerText.includes('student 1 on')", 120)
    page.click("Stop")
    page.wait_for("() => document.body.innerText.includes('at rest')", 60)
    assert "not yet" in of(page, "widget(score_table).value") and of(page, "error") is None
    page.click("Train students")
    settle(page)
    assert "not yet" not in of(page, "widget(score_table).value")
    page.set_theme("dark")
    page.screenshot("residual_lab_dark", cell=1)
    page.set_theme("light")
    page.screenshot("residual_lab_students", cell=1)
    assert page.problems() == [] and of(page, "error") is None
    page.reload()
    page.wait_for_plots(2)
    assert page.problems() == [] and page.page.locator(".ddlab-explorer img").count() == 1
    page.run_all()
    page.wait_for_plots(2)
    assert page.kernel_threads() == ["ddlab-lab"], "a cell that runs again closes the lab it replaces"
    of(page, "close()")
    assert page.kernel_threads() == []
