"""The conflict of the two gaps in a real page: sliders and the mouse move points, in time, in both themes, by keyboard alone too."""

from __future__ import annotations

import pytest

from tests.browser.reader import p95
from tests.browser.test_widgets import note, summary, write_notebook

VIEW = """
from ddlab.lessons.diversity.latents import LatentConflict
view = LatentConflict()
view
"""
# Where a latent is on the screen, and in units of the axes.
POINT = """(number) => {
  const graph = document.querySelector('.js-plotly-plot');
  const trace = graph.data.find((one) => one.name === 'latents');
  const [box, {xaxis, yaxis}] = [graph.getBoundingClientRect(), graph._fullLayout];
  return [box.left + xaxis._offset + xaxis.d2p(trace.x[number]), box.top + yaxis._offset + yaxis.d2p(trace.y[number]),
    trace.x[number], trace.y[number]];
}"""
# The length on the screen of the first arrow of a kind.
ARROW = """(kind) => {
  const trace = document.querySelector('.js-plotly-plot').data.find((one) => one.name === kind);
  return Math.hypot(trace.x[1] - trace.x[0], trace.y[1] - trace.y[0]);
}"""
UNITS = """() => {
  const {xaxis, yaxis} = document.querySelector('.js-plotly-plot')._fullLayout;
  return [xaxis.d2p(1) - xaxis.d2p(0), yaxis.d2p(0) - yaxis.d2p(1), ...xaxis.range, ...yaxis.range];
}"""


def kernel(page, expression: str):
    return page.in_kernel(f"(lambda view: {expression})(__import__('__main__').view)")


def test_points_and_weights_by_keyboard_and_by_mouse(open_notebook, tmp_path):
    page = open_notebook(write_notebook(tmp_path / "latents.ipynb", VIEW))
    page.run_all()
    page.wait_for_plots(2)
    assert page.problems() == []
    across, up, *ranges = page.page.evaluate(UNITS)
    assert across == pytest.approx(up, rel=1e-6), "a circle is round"
    assert ranges == [-3.5, 3.5, -3.5, 3.5]
    page.screenshot("latents_light", cell=0)

    before = page.page.evaluate(ARROW, "variance gap")
    taken = page.move_slider("λ_var", presses=25)
    note("latents: weight slider to painted plot, ms (aim p95 120)", summary(taken))
    assert p95(taken) < 500
    after = page.page.evaluate(ARROW, "variance gap")
    assert after == pytest.approx(before * 0.75 / 0.5, rel=0.01), "the arrows grow with the weight"

    taken = page.move_slider("updates", presses=40)
    note("latents: updates slider to painted plot, ms (aim p95 120)", summary(taken))
    assert "After 40 updates" in kernel(page, "view.sentence")
    page.screenshot("latents_moved", cell=0)

    page.page.locator(".js-plotly-plot").first.scroll_into_view_if_needed()
    x, y, *_ = page.page.evaluate(POINT, 1)
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    for share in range(1, 11):
        page.page.mouse.move(x - 8 * share, y + 6 * share)
        page.page.wait_for_timeout(30)
    page.page.mouse.up()
    page.page.wait_for_timeout(1500)
    there_x, there_y, *drawn = page.page.evaluate(POINT, 1)
    assert abs(there_x - (x - 80)) < 2 and abs(there_y - (y + 60)) < 2, "the point lies where it was dropped"
    assert kernel(page, "view.shown.points[1].tolist()") == pytest.approx(drawn, abs=1e-3)
    assert kernel(page, "view.panel.value.updates") == 0
    assert "inner product is 0.000" in kernel(page, "view.sentence")

    page.page.get_by_text("Move a point by keyboard").click()
    taken = page.move_slider("across", presses=20, key="ArrowLeft") + page.move_slider(
        "up .share", presses=10, key="ArrowUp"
    )
    note("latents: point moved by slider to painted plot, ms (aim p95 120)", summary(taken))
    assert p95(taken) < 500
    assert page.page.evaluate(POINT, 1)[2:] != drawn
    assert kernel(page, "view.panel.value.updates") == 0

    page.set_theme("dark")
    page.screenshot("latents_dark", cell=0)
    page.set_theme("light")
    assert page.problems() == []


def test_every_control_by_keyboard_a_narrow_page_and_a_reload(open_notebook, tmp_path):
    page = open_notebook(write_notebook(tmp_path / "latents_again.ipynb", VIEW))
    page.run_all()
    page.wait_for_plots(2)
    page.move_slider("latents", presses=2)
    page.wait_for("() => document.querySelectorAll('.js-plotly-plot')[1].data[0].x.length === 9")
    for label, seen in (("norm", "norm (eq 4)"), ("Other points", "seed=1"), ("Reset", "seed=1")):
        button = page.page.locator("button.jupyter-button").filter(has_text=label).first
        button.focus()
        page.page.keyboard.press("Enter")
        page.page.wait_for_timeout(400)
        assert seen in kernel(page, "view.share_field.value")
    assert "of 8 points" in kernel(page, "view.sentence")
    page.page.locator("summary", has_text="Data table").nth(1).focus()
    page.page.keyboard.press("Enter")
    page.page.locator(".ddlab-rows tr", has_text="sum").wait_for()
    page.page.locator("summary", has_text="Data table").first.click()
    page.page.locator(".ddlab-rows tr", has_text="target mean").wait_for()
    page.page.set_viewport_size({"width": 560, "height": 1000})
    page.page.wait_for_timeout(800)
    assert page.problems() == []
    page.screenshot("latents_narrow", cell=0)
    page.page.set_viewport_size({"width": 1280, "height": 1000})
    page.reload()
    page.wait_for_plots(2)
    assert page.problems() == []
    page.move_slider("λ_mean", presses=2)
    page.run_all()
    page.wait_for_plots(2)
    assert page.problems() == [] and page.kernel_threads() == []
