"""Three pages of the gate in Chromium: the start page, one laboratory by keyboard, and the plot
widget with what can go wrong.
"""

from pathlib import Path

import nbformat
import numpy as np
import pytest
from playwright.sync_api import Page

from ddlab import networks
from ddlab.data import load
from ddlab.explorers import Laboratory, Live, Plot, export, recording
from ddlab.lessons.trajectories.one_expert import OneExpert
from ddlab.methods import dm
from tests.browser.reader import NOTEBOOKS, after_a_reload, controls, in_both_themes, redraws
from tests.explorers.test_recording import DescentLab, curve_of

LAB = (
    "import torch\nfrom ddlab import data, networks\nfrom ddlab.lessons.matching.lab import "
    "MatchingLab\nfrom ddlab.methods import dm\n"
    'digits = data.load("digits", size=8)\nconfig = '
    'dm.Config.teaching(network=networks.spec("convnet", width=8, norm="instance"), '
    "iterations=20)",
    "MatchingLab(digits, config, seeds=1)",
)
DEMO = """
from dataclasses import dataclass
import numpy as np
from ddlab import Inputs, Run, figures, networks\nfrom ddlab.runs import Keep
from ddlab.core.parameters import Parameters, parameter
from ddlab import networks
from ddlab.data import load
from ddlab.explorers import Live, Plot
from ddlab.explorers.controls import Controls
from ddlab.explorers.layout import Explorer
from ddlab.lessons.lesson import show
from ddlab.methods import sre2l

@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    decay: float = parameter(0.1, help="How fast the curve falls.", range=(0, None), scale="log", explorable=(0.01, 1.0))
    labels: str = parameter("hard", help="Kind of labels.", choices=("hard", "stored"), explorable=True)

steps = np.arange(1, 1001)

def curve(config):
    return figures.loss_curves({"loss": np.exp(-config.decay * steps / 10)}, title=f"decay {config.decay:g}")

class Demo(Explorer):
    def __init__(self):
        self.panel = Controls(Config())
        self.plot = Plot(curve(Config()), announce=False)
        super().__init__("Demo", controls=[self.panel], views=[self.plot], key="demo")
        self.share(self.panel)
        self.panel.observe(self.guard(self.moved), "value")

    def moved(self, change):
        if change["new"].labels == "stored":
            raise RuntimeError("no stored labels here")
        self.plot.figure = curve(change["new"])
        self.say(f"The decay is {change['new'].decay:g}.")
"""
FILM = """
data = load("shapes", size=16, train=40, test=10)
teacher = networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)
Live(Run(sre2l, sre2l.Config(iterations=20, images_per_class=1), Inputs(data=data, teachers=(teacher,)), keep=Keep(21)).advance())
"""
# System-wide numbers of ddlab's threads in the kernel.
THREADS = (
    "[thread.native_id for thread in __import__('threading').enumerate() "
    "if thread.name.startswith('ddlab')]"
)
# Whether the laboratory in the kernel knows that a reader has it on the screen.
IS_SEEN = "__import__('ddlab.explorers.layout', fromlist=['']).explorers_on_page()[0].schedule._ahead.is_seen"
# Of each plot on show, the heights of each trace.
HEIGHTS = """() => [...document.querySelectorAll('.js-plotly-plot')].filter((graph) => graph.offsetParent)
  .map((graph) => graph._fullData.map((trace) => Array.from(trace.y)))"""
# Of each plot on show, its traces (what they are, x, y) and the words in its margin.
SHOWN = """() => [...document.querySelectorAll('.js-plotly-plot')].filter((graph) => graph.offsetParent)
  .map(({ _fullData: data, layout }) => [data.map(({ meta, name, x, y }) => [String(meta ?? name), [...x], [...y]]),
    (layout.annotations ?? []).map(({ text }) => text)])"""
# Where the points of the first plot lie on the screen.
POINT = """() => { const graph = document.querySelector('.js-plotly-plot'), box = graph.getBoundingClientRect();
  const { xaxis, yaxis } = graph._fullLayout, points = graph.data.find((trace) => trace.name === 'training points');
  return points.x.map((x, place) => [box.left + xaxis._offset + xaxis.d2p(x), box.top + yaxis._offset + yaxis.d2p(points.y[place])]); }"""
# From now on `states` lists the states that an exported page shows.
NOTE_STATES = """() => { window.states = []; const replay = document.querySelector('.ddlab-replay');
  new MutationObserver(() => states.push(replay.dataset.state)).observe(replay, { attributes: true, attributeFilter: ['data-state'] }); }"""
STATIC = 'show(figures.bars(["a", "b"], [1, 2], title="Bars", y_label="y"))'


def notebook(path: Path, *cells: str) -> Path:
    """A notebook of these code cells."""
    page = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in cells],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
    )
    nbformat.write(page, path)
    return path


@pytest.mark.timeout(600)
def test_the_start_page(open_notebook) -> None:
    opened = open_notebook(NOTEBOOKS / "00_start.ipynb")
    opened.run_all(400)
    opened.wait_for_plots(4, timeout=60)
    assert opened.problems() == [] and all(plot["traces"] for plot in opened.plots())
    assert opened.page.locator("summary:visible", has_text="Table and words").count() == len(
        opened.plots()
    ), "each figure has its words, its picture and its numbers behind one menu"
    opened.page.get_by_label("the same random images, with a teacher's labels").first.check()
    opened.click("Lock my answer")
    opened.page.get_by_text("Locked: the same random images").wait_for()
    assert all(redraws(opened, control, seconds=60) for control in controls(opened))
    link = opened.page.locator(".jp-OutputArea a", has_text="Inverting a network")
    assert "20_inverting_a_network.ipynb" in (link.get_attribute("href") or "")
    in_both_themes(opened, "start_page")
    after_a_reload(opened, 2)


@pytest.mark.timeout(300)
def test_a_laboratory_by_keyboard(open_notebook, tmp_path) -> None:
    opened = open_notebook(notebook(tmp_path / "lab.ipynb", *LAB))
    size = opened.page.viewport_size
    # So low that the explorer's last line, its sentence, is below the window.
    opened.page.set_viewport_size({"width": size["width"], "height": 420})
    opened.run_all()
    opened.wait_for_plots(1)
    place = opened.page.locator(".ddlab-sentence").bounding_box()
    assert place["y"] > 420 and opened.in_kernel(IS_SEEN), "its first lines are on the screen"
    opened.page.set_viewport_size(size)
    assert opened.problems() == []
    learn = opened.page.get_by_role("button", name="Learn")
    learn.focus()
    opened.page.keyboard.press("Enter")
    opened.page.get_by_text("after update 20").first.wait_for()
    sliders = [control for control in controls(opened) if control.kind == "slider"]
    assert len(sliders) >= 2
    assert [str(control) for control in sliders if not redraws(opened, control)] == []
    in_both_themes(opened, "laboratory")
    after_a_reload(opened, 1)
    earlier = opened.in_kernel(THREADS)
    assert earlier, "it has learned, in a thread of its own"
    opened.run_all()
    opened.wait_for_plots(1)
    # The new explorer may compute ahead, in another thread.
    assert not {*earlier} & {*opened.in_kernel(THREADS)}, (
        "a cell that runs again closes the explorer it replaces"
    )


def shown_on(page: Page) -> list:
    """What `SHOWN` gives; the order of traces is the page's own."""
    return [[sorted(traces), notes] for traces, notes in page.evaluate(SHOWN)]


def shown_by(live: Laboratory) -> list:
    """The same of a laboratory with a kernel."""
    plots = []
    for view_on_page in live.views_on_page:
        if isinstance(view_on_page.widget, Plot) and not view_on_page.is_hidden:
            figure = view_on_page.widget.figure
            traces = []
            for trace in figure.data:
                kind = trace.meta or trace.name
                words = ",".join(kind) if isinstance(kind, tuple | list) else kind
                traces.append([words, list(trace.x), list(trace.y)])
            plots.append([sorted(traces), [note.text for note in figure.layout.annotations]])
    return plots


@pytest.mark.timeout(300)
def test_an_exported_laboratory_answers_without_a_network(browser, tmp_path) -> None:
    page, requested = browser.open_file(export(DescentLab(), tmp_path / "lab.html"))
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("requestfailed", lambda request: failures.append(request.url))
    page.wait_for_selector(".ddlab-replay[data-state='0']", state="attached", timeout=60_000)
    live = DescentLab(key="live").run()
    assert page.locator(".ddlab-sentence").inner_text() == live.sentence
    slider = page.locator(".noUi-handle:visible").first
    page.wait_for_selector(".noUi-handle[aria-label]")
    live.forget()
    assert shown_on(page) == shown_by(live)
    handles = page.locator(".noUi-handle").all()
    names = [handle.get_attribute("aria-label") for handle in handles]
    assert names == ["rate", "steps"]
    assert page.locator("#stand-in").count() == 0
    for rate in (1.0, 1.5, 2.0):
        state = page.locator(".ddlab-replay").get_attribute("data-state")
        slider.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(f".ddlab-replay:not([data-state='{state}'])", state="attached")
        page.wait_for_timeout(500)  # until the plot is painted
        assert float(slider.get_attribute("aria-valuetext")) == rate
        live.panel.value = live.world.start.replace(rate=rate)
        live.run()
        assert page.locator(".ddlab-sentence").inner_text() == live.sentence
        (heights, *_), _ = page.evaluate(HEIGHTS)
        (curve,) = (trace for trace in live.widget(curve_of).figure.data if trace.name == "loss")
        np.testing.assert_allclose(heights, curve.y)
        # The curve before, and the points of all rates that were tried.
        assert shown_on(page) == shown_by(live)
        if rate == 1.0:
            page.locator("button:visible", has_text="Keep").click()
            live.views_on_page[1].keep()
            live.draw()
    assert "rate 1" in page.locator(".ddlab-kept:visible").first.inner_text()
    assert "Done." in page.locator(".ddlab-quest").inner_text()
    page.locator("button", has_text="far").click()
    # Not recorded together: the other control moves back, and the page says why.
    page.get_by_text("Recorded with rate 0.5 only.").wait_for()
    assert float(slider.get_attribute("aria-valuetext")) == 0.5
    live.panel.value = live.world.start.replace(start="far")
    live.run()
    page.wait_for_timeout(500)
    assert shown_on(page) == shown_by(live), "an arm joins the other"
    assert page.locator(".ddlab-sentence").inner_text() == live.sentence
    assert "Done." in page.locator(".ddlab-quest").inner_text(), "what was met stays met"
    page.locator("button", has_text="End").click()
    page.wait_for_timeout(500)
    assert page.evaluate(HEIGHTS)[0][0][-1] == pytest.approx(2.0 * 0.25**4)
    page.locator("button", has_text="Reset").click()
    page.get_by_text("0.5, near").wait_for()
    # The address holds the set-up, and a link brings it back.
    page.evaluate("location.hash = 'rate=1.5'")
    page.wait_for_timeout(500)
    assert float(slider.get_attribute("aria-valuetext")) == 1.5
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    assert page.url.endswith("lab.html#rate=2.0")
    assert failures == [] and not any(url.startswith("http") for url in requested)
    live.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_arrow_keys_reach_a_slider_in_notebook_7(open_notebook, tmp_path) -> None:
    """There they fold the heading of the selected cell, unless the explorer keeps them."""
    page = notebook(tmp_path / "notebook_7.ipynb", *LAB)
    opened = open_notebook(page, view="notebooks")
    opened.run_all(120, wait_for_plots=1)
    slider = opened.slider("images per class")
    slider.scroll_into_view_if_needed()
    slider.focus()
    stops = [slider.get_attribute("aria-valuenow")]
    for key in ("ArrowRight", "ArrowLeft"):
        opened.page.keyboard.press(key)
        opened.page.wait_for_timeout(500)
        stops.append(slider.get_attribute("aria-valuenow"))
    assert stops[0] == stops[2] != stops[1]


@pytest.mark.timeout(300)
def test_a_point_of_an_exported_laboratory_is_dragged_without_a_network(
    browser, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(recording, "_MOST_STOPS", 3)
    page, _ = browser.open_file(export(OneExpert(), tmp_path / "lab.html"))
    page.wait_for_selector(".ddlab-replay[data-state='0']", state="attached", timeout=60_000)
    page.wait_for_timeout(1000)  # until the plot is painted
    sentence = page.locator(".ddlab-sentence").inner_text()
    points = page.evaluate(POINT)
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(points[0][0] - 60, points[0][1] - 40, steps=4)
    page.mouse.up()
    page.get_by_text("Recorded at the nearest place: point 1 at (").wait_for()
    dragged = page.locator(".ddlab-sentence").inner_text()
    assert dragged != sentence
    # Of its many stops a slider has three here, and each press leads to another one.
    rate = page.locator(".widget-hslider", has_text="rate").locator(".noUi-handle")
    sentences = []
    for key in ("ArrowLeft", "ArrowRight"):
        rate.focus()
        page.keyboard.press(key)
        page.wait_for_timeout(500)
        sentences.append(page.locator(".ddlab-sentence").inner_text())
        assert page.locator(".ddlab-replay-note").first.inner_text() == ""
    assert sentences[0] not in (sentence, dragged) and sentences[1] == sentence
    page.get_by_text("Move a point by keyboard").click()
    slider = page.locator(".widget-hslider", has_text="across").locator(".noUi-handle")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    assert page.locator(".ddlab-sentence").inner_text() not in (sentence, dragged)
    page.locator("button", has_text="Reset").click()
    page.get_by_text(sentence).first.wait_for()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_exported_film_plays_without_a_network(browser, tmp_path) -> None:
    shapes = load("shapes", size=16, train=40, test=10)
    config = dm.Config.teaching(iterations=6, network=networks.spec("convnet", width=4))
    film = Live("dm", shapes, config=config, first=["initialisation"])
    page, _ = browser.open_file(export(film, tmp_path / "lab.html"))
    page.wait_for_selector(".ddlab-replay[data-state='0']", state="attached", timeout=60_000)
    page.evaluate(NOTE_STATES)
    play = page.locator("button[title='Let the run go on']")
    play.click()
    page.wait_for_timeout(4000)
    stops = page.evaluate("states")
    assert len(stops) >= 6 and len(set(stops)) == len(stops), "each step once, from the first"
    play.click()
    page.wait_for_timeout(500)
    page.locator("button", has_text="Reset").click()
    page.wait_for_timeout(1000)
    assert page.evaluate("states").count("0") == stops.count("0") + 1, "a reset ends the film"
    assert page.locator(".ddlab-replay").get_attribute("data-state") == "0"


@pytest.mark.timeout(300)
def test_the_plot_widget(open_notebook, tmp_path) -> None:
    opened = open_notebook(notebook(tmp_path / "plots.ipynb", DEMO, "Demo()", FILM, STATIC))
    # At an eighth of the speed anywidget gives widgets up; what Python sends must arrive all the
    # same.
    opened.slow_down(8)
    opened.run_all()
    opened.wait_for_plots(3, 120)
    opened.slow_down(1)
    assert opened.problems() == []
    opened.move_slider("decay")
    after = opened.plots()[0]["title"]
    assert after.startswith("decay ") and after != "decay 0.1"
    opened.page.get_by_text(f"The {after.replace('decay ', 'decay is ')}.").first.wait_for()
    assert opened.page.locator(".widget-text input").first.input_value() == after.replace(" ", "=")

    opened.move_slider("step", presses=3, key="ArrowLeft", kind="picture")
    assert (
        "Step 17 of 20" in opened.page.locator(".jp-Notebook").inner_text()
        and opened.plots()[1]["cursor"] == "17"
    )

    opened.click("stored")
    opened.page.get_by_text("This did not work: RuntimeError: no stored labels here").wait_for()
    opened.click("hard")
    opened.page.get_by_text("This did not work").wait_for(state="hidden")
    opened.page.locator("summary", has_text="Table and words").first.click()
    opened.page.locator(".ddlab-rows tr").nth(100).wait_for()

    opened.page.set_viewport_size({"width": 1000, "height": 2000})
    opened.page.wait_for_timeout(1500)  # a plot follows its place with a delay
    assert (
        opened.page.evaluate(
            "[...document.querySelectorAll('.js-plotly-plot')].map((plot) => plot.clientHeight)"
        )[-1]
        == 340
    )
    in_both_themes(opened, "plots")
    after_a_reload(opened, 2)
    assert opened.plots()[0]["title"] == after, "a reload shows what was there"
    opened.move_slider("decay")
    assert opened.plots()[0]["title"] != after
