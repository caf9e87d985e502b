"""Lesson 50 in a real browser, as a reader would use it: Run All, images that learn, dragged points, widths, both themes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS, Reader, keep_picture, keep_results

LESSON = NOTEBOOKS / "50_kernels.ipynb"
# Where a support point is on the screen.
POINT = """(number) => {
  const trace = (one) => one.name === 'support points';
  const graph = [...document.querySelectorAll('.js-plotly-plot')].find((one) => (one.data ?? []).some(trace));
  const [point, box, {xaxis, yaxis}] = [graph.data.find(trace), graph.getBoundingClientRect(), graph._fullLayout];
  return [box.left + xaxis._offset + xaxis.d2p(point.x[number]), box.top + yaxis._offset + yaxis.d2p(point.y[number])];
}"""


@pytest.mark.timeout(900)
def test_lesson_50_as_a_reader_uses_it(open_notebook) -> None:
    opened = open_notebook(LESSON)
    reader = Reader(opened)
    measured: dict[str, Any] = {"run_all_seconds": opened.run_all()}
    opened.unfold()
    opened.wait_for_plots(14)
    assert opened.problems() == []
    plots = opened.plots()
    assert len(plots) >= 13 and all(plot["traces"] for plot in plots)

    # Predictions lock.
    opened.page.get_by_label("more than 100").first.check()
    opened.click("Lock my answer")
    opened.page.get_by_text("Locked: more than 100").wait_for()

    # The laboratory: ten images learn by themselves, and again as the ridge moves; half of the pixels frozen, then at zero.
    name = "KernelLab"
    reader.wait_for_sentence(name, "1 image of each of 10 classes, after update 300 of 300")
    assert "10 class means" in reader.sentence(name) and "1,000 real" in reader.sentence(name)
    place, lab = reader.cells[name], reader.cell(name)
    keep_picture(opened, place, "kernel_lab")
    measured["update"] = opened.move_slider("update$", presses=15, key="ArrowLeft", kind="picture", cell=place)
    measured["ridge"] = opened.move_slider("ridge", presses=3, kind="picture", cell=place)
    for _ in range(10):
        opened.slider("share of frozen pixels", cell=place).press("ArrowRight")
    reader.wait_for_sentence(name, "1 image of each of 10 classes, 50% of their pixels frozen, after update")
    opened.slider("update$", cell=place).press("End")
    reader.wait_for_sentence(name, "1 image of each of 10 classes, 50% of their pixels frozen, after update 300")
    assert lab.locator(".ddlab-quest[data-met=true]").count() == 0
    lab.get_by_role("button", name="More settings").click()
    reader.press(name, "zeros")
    lab.locator(".ddlab-quest[data-met=true]").wait_for(timeout=120_000)

    # The plane: a point under the mouse, then KIP.
    name = "KernelPlane"
    reader.cell(name).scroll_into_view_if_needed()
    before = reader.sentence(name)
    x, y = opened.page.evaluate(POINT, 0)
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x + 60, y + 20, steps=6)
    opened.page.mouse.up()
    reader.wait_for_change(name, before)
    assert "put by hand" in reader.sentence(name)
    measured["plane"] = opened.move_slider("updates", presses=20, cell=reader.cells[name])
    reader.wait_for_sentence(name, "4 support points, after 20 updates of KIP")

    # Finite networks.
    name = "WidthLab"
    measured["width"] = opened.move_slider("width", presses=5, cell=reader.cells[name])
    reader.wait_for_sentence(name, "512 hidden units")

    assert opened.problems() == []
    count = reader.in_both_themes("lesson_50")
    reader.reload_and_run_again(("KernelLab", "KernelPlane", "WidthLab"), count, workers=["ddlab-lab"])
    keep_results("lesson_50", measured)
