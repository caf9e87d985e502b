"""The diversity view in a real page: sliders and the mouse move points, in time, in both themes, on every map."""

from __future__ import annotations

import contextlib

from playwright.sync_api import TimeoutError

from tests.browser.test_widgets import note, summary, write_notebook

PREPARE = """
import ddlab
from ddlab import networks
from ddlab.training import supervised
from ddlab.lessons.inverting_a_network.diversity_view import DiversityView
from ddlab.methods import sre2l

data = ddlab.data.load("digits")
spec = networks.spec("convnet", width=32)
teacher = ddlab.train_teacher(data, supervised.Config.teaching("teacher", network=spec, epochs=4, flip=False), progress=False)
run = ddlab.Run(sre2l, sre2l.Config.teaching(iterations=100), ddlab.Inputs(data=data, teachers=(teacher,)))
recovered = run.to_end()
chosen = ddlab.distill("selection", data, teacher, progress=False)
"""
VIEW = """
view = DiversityView(
    data, teacher, {"random": chosen, "recovered": recovered}, films={"recovered": run}
)
view
"""
FIRST = """() => {
  const trace = document.querySelector('.js-plotly-plot').data.find((one) => one.name === 'distilled');
  return [trace.x[0], trace.y[0]];
}"""
# Where the first distilled point is on the screen.
POINT = """() => {
  const graph = document.querySelector('.js-plotly-plot');
  const trace = graph.data.find((one) => one.name === 'distilled');
  const [box, {xaxis, yaxis}] = [graph.getBoundingClientRect(), graph._fullLayout];
  return [box.left + xaxis._offset + xaxis.d2p(trace.x[0]), box.top + yaxis._offset + yaxis.d2p(trace.y[0])];
}"""


def sentence(page) -> str:
    return page.in_kernel("__import__('__main__').view.sentence")


def moved_points(page, slider: str, key: str) -> list[float]:
    """Milliseconds of some steps of a slider, without those after which the same real image is still the nearest."""
    taken = []
    for _ in range(10):
        with contextlib.suppress(TimeoutError):
            taken += page.move_slider(slider, key=key, timeout=1.5)
    return taken


def test_points_are_moved_by_a_recording_by_keyboard_and_by_hand(open_notebook, tmp_path):
    page = open_notebook(write_notebook(tmp_path / "diversity.ipynb", PREPARE, VIEW))
    page.run_all()
    page.wait_for_plots(2)
    assert page.problems() == []
    assert "random" in sentence(page)
    page.screenshot("diversity_light", cell=1)

    page.click("recovered")
    page.wait_for("() => document.querySelector('.js-plotly-plot').layout.title.text.includes('recovered')")
    moved = page.move_slider("frame", presses=25, key="ArrowLeft")
    note("diversity: frame slider to painted map, ms (aim p95 100)", summary(moved))
    assert "after step" in sentence(page)

    page.click("t-SNE")
    page.wait_for("() => document.querySelector('.js-plotly-plot').layout.title.text.startsWith('t-SNE')", 60)
    page.screenshot("diversity_tsne", cell=1)

    page.page.locator(".js-plotly-plot").first.scroll_into_view_if_needed()
    x, y = page.page.evaluate(POINT)
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    for share in range(1, 11):
        page.page.mouse.move(x + 12 * share, y + 6 * share)
        page.page.wait_for_timeout(30)
    page.page.mouse.up()
    page.wait_for("() => document.querySelector('.js-plotly-plot').layout.title.text.includes('by hand')")
    page.page.wait_for_timeout(1500)
    assert "by hand" in sentence(page)
    assert page.page.evaluate(POINT) != [x, y], "the point went with the mouse"
    resting = page.in_kernel("__import__('__main__').view.map.real[__import__('__main__').view.hand[0]].tolist()")
    drawn = page.page.evaluate(FIRST)
    assert all(abs(a - b) < 1e-2 for a, b in zip(resting, drawn, strict=True)), "it rests on a real image"

    page.page.get_by_text("Move a point by keyboard").click()
    moved = moved_points(page, "across", "ArrowLeft") + moved_points(page, "up", "ArrowUp")
    assert len(moved) >= 3
    note("diversity: point moved by slider to painted map, ms (aim p95 100)", summary(moved))

    page.set_theme("dark")
    page.screenshot("diversity_dark", cell=1)
    page.set_theme("light")
    assert page.problems() == []
    page.reload()
    page.wait_for_plots(2)
    assert page.problems() == []
    page.run_all()
    page.wait_for_plots(2)
    assert page.kernel_threads() == []
