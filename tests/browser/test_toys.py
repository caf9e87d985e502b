"""The toy labs in a real page: everything is trained anew at each press of a key, in time; the landscape in both of its forms."""

from __future__ import annotations

from tests.browser.reader import p95
from tests.browser.test_widgets import note, summary, write_notebook

VIEW = """
from ddlab.lessons.ideal_data.lab import LandscapeLab, RhoLab, SigmaLab
view = {lab}
view
"""
KINDS = "() => [...document.querySelectorAll('.js-plotly-plot')].map((graph) => graph.data.map((trace) => trace.type))"


def opened_lab(open_notebook, tmp_path, name: str, lab: str, plots: int):
    page = open_notebook(write_notebook(tmp_path / f"{name}.ipynb", VIEW.format(lab=lab)))
    page.run_all()
    page.wait_for_plots(plots)
    assert page.problems() == []
    page.screenshot(f"{name}_light", cell=0)
    return page


def sentence(page) -> str:
    return page.page.locator(".ddlab-sentence[aria-live]").last.inner_text()


def test_every_slider_of_the_sigma_lab_trains_everything_anew(open_notebook, tmp_path):
    page = opened_lab(open_notebook, tmp_path, "sigma_lab", "SigmaLab()", 2)
    page.click("More settings")
    for label in (
        "deviation of the samples",
        "gap between the means",
        "deviation of G",
        "learning rate",
        "momentum",
        "updates",
    ):
        before = sentence(page)
        taken = page.move_slider(label, presses=12, key="ArrowLeft", cell=0)
        note(f"sigma lab: {label} to painted map, everything retrained, ms (aim p95 150)", summary(taken))
        assert sentence(page) != before and p95(taken) < 1000

    taken = page.move_slider("updates", presses=12, key="ArrowRight", cell=0, plots=2)
    note("sigma lab: updates to both plots painted, ms (aim p95 150)", summary(taken))
    page.page.locator("button.jupyter-button", has_text="contours").click()
    page.wait_for_plots(3)
    taken = page.move_slider("momentum", presses=12, key="ArrowRight", cell=0, plots=3)
    note("sigma lab: momentum to all three plots painted, with the landscape, ms (aim p95 220)", summary(taken))
    assert "The landscape's plane holds" in sentence(page) and p95(taken) < 1000
    page.screenshot("sigma_lab_landscape", cell=0)
    page.page.locator("button.jupyter-button", has_text="3-D").click()
    page.page.wait_for_function(f"({KINDS})().some((types) => types.includes('surface'))")
    assert page.problems() == []
    page.screenshot("sigma_lab_relief", cell=0)
    page.set_theme("dark")
    page.screenshot("sigma_lab_dark", cell=0)


def test_the_rho_lab_and_its_teachers(open_notebook, tmp_path):
    page = opened_lab(open_notebook, tmp_path, "rho_lab", "RhoLab()", 2)
    for label in ("share of the teacher", "teacher's deviation"):
        before = sentence(page)
        taken = page.move_slider(label, presses=10, key="ArrowRight", cell=0)
        note(f"rho lab: {label} to painted plot, everything retrained, ms (aim p95 150)", summary(taken))
        assert sentence(page) != before and p95(taken) < 1000
    before = sentence(page)
    page.page.locator("button.jupyter-button", has_text="posterior of the distilled").click()
    page.page.wait_for_function(
        "(was) => [...document.querySelectorAll('.ddlab-sentence[aria-live]')].pop().innerText !== was", arg=before
    )
    assert page.problems() == []
    page.screenshot("rho_lab_posterior", cell=0)


def test_the_landscape_lab(open_notebook, tmp_path):
    page = opened_lab(open_notebook, tmp_path, "landscape_lab", 'LandscapeLab(vary="relabelling")', 3)
    taken = page.move_slider("share of the teacher", presses=10, key="ArrowRight", cell=0)
    note("landscape lab: rho to painted plot, ms (aim p95 220)", summary(taken))
    assert p95(taken) < 1000
    before = sentence(page)
    page.page.locator("button.jupyter-button", has_text="random filters").click()
    page.page.wait_for_function(
        "(was) => [...document.querySelectorAll('.ddlab-sentence[aria-live]')].pop().innerText !== was", arg=before
    )
    assert page.problems() == []
    page.screenshot("landscape_lab_random", cell=0)
