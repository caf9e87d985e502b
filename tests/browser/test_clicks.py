"""A real mouse on explorers that take it: clicks and drags, near a mark and on empty ground; and a
cell that is deleted while its explorer computes (make test-all).
"""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ddlab.explorers import export
from ddlab.lessons.arena.lab import ArenaLab
from tests.browser.reader import NOTEBOOKS
from tests.browser.test_gate import LAB, notebook

# nbclient of other tests leaves its event loop to the garbage collector, which complains at any time.
LEFT = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.filterwarnings(LEFT)]

# Where a point of a plot's axes is on the page, once the plot stands still in view.
PLACE = """([title, x, y]) => {
  const graph = [...document.querySelectorAll('.js-plotly-plot')].find(
    (graph) => graph.offsetParent && graph._fullLayout?.title?.text?.includes(title));
  graph.scrollIntoView({block: 'center'});
  const area = graph.querySelector('.nsewdrag').getBoundingClientRect();
  return [area.left + graph._fullLayout.xaxis.d2p(x), area.top + graph._fullLayout.yaxis.d2p(y)];
}"""
IS_ON_SHOW = """(title) => [...document.querySelectorAll('.js-plotly-plot')].some(
  (graph) => graph.offsetParent && graph._fullLayout?.title?.text?.includes(title))"""
MARKS = """([title, name]) => [...document.querySelectorAll('.js-plotly-plot')]
  .filter((graph) => graph.offsetParent && graph._fullLayout?.title?.text?.includes(title))
  .flatMap((graph) => graph._fullData.filter((trace) => !name || trace.name === name)
    .flatMap((trace) => Array.from(trace.x ?? [], (x, place) => [x, trace.y[place]])))"""
ERRORS = "() => [...document.querySelectorAll('.ddlab-error')].map((box) => box.textContent)"


# The gate's laboratory, with a run that would take minutes.
LONG_LAB = (
    LAB[0].replace("iterations=20", "iterations=100_000"),
    "laboratory = MatchingLab(digits, config, seeds=1)\nlaboratory",
)
Place = tuple[float, float]


def run_page(open_notebook: Any, name: str) -> Any:
    """Open a lesson and run all of it; return it once its first plots are painted."""
    opened = open_notebook(NOTEBOOKS / f"{name}.ipynb")
    opened.run_all(300)
    opened.unfold()
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


def drag(opened: Any, title: str, start: Place, end: Place) -> None:
    """Take what lies at `start` of a plot, move it to `end` and let it go; both in the axes' units."""
    opened.page.evaluate(PLACE, [title, *start])
    opened.page.wait_for_timeout(300)  # until the plot has come into view
    corners = [opened.page.evaluate(PLACE, [title, *place]) for place in (start, end)]
    mouse = opened.page.mouse
    mouse.move(*corners[0])
    mouse.down()
    mouse.move(*corners[1], steps=12)
    mouse.up()
    opened.page.wait_for_timeout(1500)  # the page waits a second for what Python draws


def test_a_mark_is_clicked_on_a_page_without_a_kernel(browser: Any, tmp_path: Path) -> None:
    page, requested = browser.open_file(export(ArenaLab(), tmp_path / "lab.html"))
    page.wait_for_selector(".ddlab-replay[data-state='0']", state="attached", timeout=60_000)
    page.wait_for_timeout(1000)  # until the plot is painted
    opened = SimpleNamespace(page=page)
    live = ArenaLab(key="live")
    title = live.views_on_page[1].widget.figure.layout.title.text
    marks = {}
    for trace in live.views_on_page[1].widget.figure.data:
        for method, x, y in zip(trace.customdata or (), trace.x, trace.y, strict=False):
            marks[method] = (x, y)

    def room(method: str) -> float:
        """To the next mark upwards or downwards: some lie on each other."""
        return min(abs(marks[method][1] - y) for other, (_, y) in marks.items() if other != method)

    others = sorted((method for method in marks if method != live.world.start.method), key=room)
    for method in others[-2:]:
        click(opened, title, *marks[method])
        page.wait_for_timeout(500)
        live.panel.value = live.world.start.replace(method=method)
        assert page.locator(".ddlab-sentence").inner_text() == live.sentence
        assert page.locator(".ddlab-replay-note").first.inner_text() == ""
    assert not any(url.startswith("http") for url in requested)
    live.close()


def test_a_sample_goes_where_it_is_dragged(open_notebook: Any) -> None:
    opened = run_page(open_notebook, "10_ideal_data")
    title = "Squared error on G:"
    samples = opened.page.evaluate(MARKS, [title, "your samples"])
    target = (1.8, 2.5)
    taken = samples.index(samples[3])  # the first of those that lie there
    drag(opened, title, samples[3], target)
    after = opened.page.evaluate(MARKS, [title, "your samples"])
    assert math.dist(after[taken], target) < 0.05
    for number in {*range(len(samples))} - {taken}:
        assert after[number] == pytest.approx(samples[number], abs=1e-3)
    assert opened.page.evaluate(ERRORS) == [] and opened.problems() == []


def test_a_point_that_is_clicked_is_kept(open_notebook: Any) -> None:
    opened = run_page(open_notebook, "75_memories")
    title = "Learning E and F"
    (x, y) = opened.page.evaluate(MARKS, [title, "A"])[7]
    click(opened, title, x, y)
    is_kept = (
        "([title, x, y]) => ("
        + MARKS
        + ")([title, 'kept of A']).some(([a, b]) => Math.hypot(a - x, b - y) < 0.03)"
    )
    opened.page.wait_for_function(is_kept, arg=[title, x, y], timeout=60_000)
    click(opened, title, 0.02, 0.02)  # nothing lies there, and nothing happens
    opened.page.wait_for_timeout(1000)
    assert opened.page.evaluate(ERRORS) == [] and opened.problems() == []


def test_a_method_that_is_clicked_is_chosen(open_notebook: Any) -> None:
    opened = run_page(open_notebook, "80_arena")
    title = "Accuracy, ConvNet"
    sources = (
        "() => [...document.querySelectorAll('.ddlab-explorer img')].map((image) => image.src)"
    )
    before = opened.page.evaluate(sources)  # the images of the method that is chosen
    marks = opened.page.evaluate(MARKS, [title, "matched"])
    click(opened, title, *marks[2])
    opened.page.wait_for_timeout(2000)
    after = opened.page.evaluate(sources)
    assert after != before
    assert opened.page.evaluate(ERRORS) == [] and opened.problems() == []


def test_a_support_point_that_is_dragged_stays(open_notebook: Any) -> None:
    opened = run_page(open_notebook, "50_kernels")
    title = "The regression's answers"
    support = opened.page.evaluate(MARKS, [title, "support points"])
    sentence = (
        "() => [...document.querySelectorAll('.ddlab-sentence')].map((text) => text.innerText)"
    )
    before = opened.page.evaluate(sentence)
    target = (support[0][0] + 0.4, support[0][1] + 0.3)
    drag(opened, title, support[0], target)
    after = opened.page.evaluate(MARKS, [title, "support points"])
    assert abs(after[0][0] - target[0]) < 0.05 and abs(after[0][1] - target[1]) < 0.05
    for place, place_before in zip(after[1:], support[1:], strict=True):
        assert place == pytest.approx(place_before, abs=1e-3)  # shared texts have four digits
    assert opened.page.evaluate(sentence) != before
    drag(opened, title, (target[0] + 0.5, target[1]), (target[0] + 0.8, target[1]))
    assert opened.page.evaluate(MARKS, [title, "support points"]) == after, "empty ground"
    assert opened.page.evaluate(ERRORS) == [] and opened.problems() == []


def test_an_explorer_whose_cell_is_deleted_stops(open_notebook: Any, tmp_path: Path) -> None:
    path = tmp_path / "deleted.ipynb"
    opened = open_notebook(notebook(path, *LONG_LAB))
    opened.run_all()
    opened.wait_for_plots(1)
    opened.click("Learn")
    opened.page.get_by_text("after update 2").first.wait_for()
    step = "laboratory.schedule.watched_run.step"
    running = opened.in_kernel(step)
    opened.page.wait_for_timeout(1000)
    assert opened.in_kernel(step) > running
    opened.page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }")
    opened.command("notebook:delete-cell")
    opened.page.wait_for_timeout(2000)
    at_rest = opened.in_kernel(step)
    opened.page.wait_for_timeout(2000)
    assert opened.in_kernel(step) == at_rest < 100_000
