"""Real mouse clicks on explorers that take them: near a mark and on empty ground (make test-all)."""

from typing import Any

import pytest

from tests.browser.reader import NOTEBOOKS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# Where a point of a plot's axes is on the page, once the plot stands still in view.
PLACE = """([title, x, y]) => {
  const graph = [...document.querySelectorAll('.js-plotly-plot')].find(
    (graph) => graph.offsetParent && graph._fullLayout?.title?.text?.includes(title));
  graph.scrollIntoView({block: 'center'});
  const area = graph.querySelector('.nsewdrag').getBoundingClientRect();
  return [area.left + graph._fullLayout.xaxis.d2p(x), area.top + graph._fullLayout.yaxis.d2p(y)];
}"""
SHOWN = """(title) => [...document.querySelectorAll('.js-plotly-plot')].some(
  (graph) => graph.offsetParent && graph._fullLayout?.title?.text?.includes(title))"""
MARKS = """([title, name]) => [...document.querySelectorAll('.js-plotly-plot')]
  .filter((graph) => graph.offsetParent && graph._fullLayout?.title?.text?.includes(title))
  .flatMap((graph) => graph._fullData.filter((trace) => !name || trace.name === name)
    .flatMap((trace) => Array.from(trace.x ?? [], (x, place) => [x, trace.y[place]])))"""
ERRORS = "() => [...document.querySelectorAll('.ddlab-error')].map((box) => box.textContent)"


def run_page(open_notebook: Any, name: str) -> Any:
    """Open a lesson and run all of it; return it once its first plots are painted."""
    opened = open_notebook(NOTEBOOKS / f"{name}.ipynb")
    opened.run_all(300)
    opened.wait_for_plots(2, timeout=60)
    return opened


def click(opened: Any, title: str, x: float, y: float) -> None:
    """Click where a plot, whose title holds some words, has (x, y)."""
    place = opened.page.evaluate(PLACE, [title, x, y])
    opened.page.wait_for_timeout(300)
    place = opened.page.evaluate(PLACE, [title, x, y])
    opened.page.mouse.move(*place)
    opened.page.wait_for_timeout(300)
    opened.page.mouse.click(*place)


def test_a_sample_goes_where_the_map_is_clicked(open_notebook: Any) -> None:
    opened = run_page(open_notebook, "10_ideal_data")
    title = "A click puts sample"
    for number, (x, y) in enumerate([(1.8, 2.5), (0.3, 2.2)], 1):
        click(opened, title, x, y)
        opened.page.wait_for_function(SHOWN, arg=f"{title} {number + 1} ", timeout=20_000)
        marks = opened.page.evaluate(MARKS, [title, ""])
        assert any(abs(across - x) < 0.05 and abs(up - y) < 0.05 for across, up in marks), (x, y)
    assert opened.page.evaluate(ERRORS) == [] and opened.problems() == []


def test_a_point_that_is_clicked_is_kept(open_notebook: Any) -> None:
    opened = run_page(open_notebook, "75_memories")
    title = "Learning E and F"
    (x, y) = opened.page.evaluate(MARKS, [title, "A"])[7]
    click(opened, title, x, y)
    kept = (
        "([title, x, y]) => ("
        + MARKS
        + ")([title, 'kept of A']).some(([a, b]) => Math.hypot(a - x, b - y) < 0.03)"
    )
    opened.page.wait_for_function(kept, arg=[title, x, y], timeout=60_000)
    click(opened, title, 0.02, 0.02)  # nothing lies there, and nothing happens
    opened.page.wait_for_timeout(1000)
    assert opened.page.evaluate(ERRORS) == [] and opened.problems() == []


def test_a_method_that_is_clicked_is_chosen(open_notebook: Any) -> None:
    opened = run_page(open_notebook, "80_arena")
    title = "Accuracy, ConvNet"
    shown = "() => [...document.querySelectorAll('.ddlab-explorer img')].map((image) => image.src)"
    before = opened.page.evaluate(shown)  # the images of the method that is chosen
    marks = opened.page.evaluate(MARKS, [title, "matched"])
    click(opened, title, *marks[2])
    opened.page.wait_for_timeout(2000)
    after = opened.page.evaluate(shown)
    assert after != before
    assert opened.page.evaluate(ERRORS) == [] and opened.problems() == []
