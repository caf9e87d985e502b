"""A page without kernel and network: what was recorded of a scrubber and of a laboratory moves by keyboard, in both themes, on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import nbformat
import numpy as np
import pytest
from ipywidgets.embed import dependency_state

from ddlab import figures
from ddlab.commands.lessons import html, html_stills
from ddlab.core.parameters import Parameters, parameter
from ddlab.explorers import Chart, Lab, Laboratory, Scrubber, Strip, Tabs
from ddlab.explorers.recording import recordings
from ddlab.runs import Frame

SIZES, FRAMES = 5, 12
LAB = "document.querySelectorAll('.ddlab-still')[1]"


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """Of the laboratory."""

    size: int = parameter(2, range=(0, SIZES - 1), explorable=(0, SIZES - 1), help="Of the bar.")
    colour: str = parameter("red", choices=("red", "blue"), explorable=True, help="Of nothing.")


class World:
    """Where the laboratory begins."""

    def __init__(self) -> None:
        self.start = Settings()


def square(grey: int) -> bytes:
    return figures.encode_grid(np.full((4, 8, 8), grey, np.uint8), columns=4, scale=4)


def laboratory() -> Laboratory:
    def size(world: World, settings: Settings, known: object) -> tuple:
        return (settings.size,)

    def bar(name: str) -> Chart:
        return Chart(size, lambda size: figures.bars(["a", "b"], [size + 1, 2], title=f"{name} {size}", y_label="size"))

    squares = Strip(size, lambda size: (square(50 * size), f"Four squares of grey {50 * size}."))
    long = "A title that is long enough to need two lines on a phone: size"
    said = Lab(
        "Sizes",
        World,
        controls=("size", "colour"),
        views=[bar(long), Tabs(("Picture", squares), ("Folded", bar("Folded")))],
        sentence=lambda world, settings, known: f"Size {settings.size}.",
    )
    return said()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A page with a scrubber and a laboratory, plotly.js beside it."""
    frames = [Frame(step, square(20 * step)) for step in range(1, FRAMES + 1)]
    curve = figures.loss_curves({"loss": list(range(FRAMES))}, list(range(1, FRAMES + 1)), title="Loss")
    scrubber = Scrubber(frames, curve, describe=lambda step: f"loss {step - 1}.")
    explorers = scrubber, laboratory()
    cells = [nbformat.v4.new_markdown_cell("# Page"), nbformat.v4.new_code_cell(f"{'x' * 200}")]
    for explorer in explorers:
        data = {html_stills.WIDGET: {"model_id": explorer.model_id}}
        shown = nbformat.v4.new_output("display_data", data=data)
        cells.append(nbformat.v4.new_code_cell("show", outputs=[shown]))
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["widgets"] = {html_stills.STATE: {"state": dependency_state(explorers, drop_defaults=False)}}
    folder = tmp_path_factory.mktemp("page")
    text = html.page(notebook, title="Page", recordings=recordings())
    (folder / "page.html").write_text(text, encoding="utf-8")
    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    (folder / "plotly.min.js").write_bytes(script)
    for explorer in explorers:
        explorer.close()
    yield folder / "page.html"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_what_is_recorded_moves_by_keyboard(browser, path: Path, width: int, scheme: str) -> None:
    page, asked = browser.open_file(path, width=width, scheme=scheme)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.wait_for_function("document.querySelectorAll('.ddlab-figure .main-svg').length >= 4")
    scrubber, lab = (page.locator(".ddlab-still").nth(number) for number in (0, 1))

    # The scrubber: image, marker and sentence follow its slider.
    line, picture = scrubber.locator(".ddlab-cursor"), scrubber.locator("img")
    before = line.bounding_box()["x"], picture.get_attribute("src")
    scrubber.locator("input").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"document.querySelector('.ddlab-cursor').getBoundingClientRect().x < {before[0]} - 5")
    assert picture.get_attribute("src") != before[1]
    assert picture.get_attribute("alt") == "The images after step 10, frame 10 of 12."
    assert scrubber.locator("p[data-slot]").inner_text() == "Step 10 of 12: loss 9."
    assert scrubber.locator("input").get_attribute("aria-valuetext") == scrubber.locator("output").inner_text() == "10"

    # The laboratory: its figure, which is drawn anew, its picture and its sentence.
    bar = lab.locator(".bars path").first
    height = bar.bounding_box()["height"]
    lab.locator("input").focus()
    page.keyboard.press("End")
    page.wait_for_function(f"{LAB}.querySelector('.ddlab-caption').textContent.endsWith(' 4')")
    page.wait_for_function(f"Math.abs({LAB}.querySelector('.bars path').getBoundingClientRect().height - {height}) > 5")
    assert lab.locator("img").get_attribute("alt") == "Four squares of grey 200."
    assert lab.locator("p[data-slot]", has_text="Size 4.").count() == 1
    lab.locator("summary", has_text="Folded").click()
    page.wait_for_function(f"{LAB}.querySelectorAll('.ddlab-graph .main-svg').length >= 4")
    # A screen reader is told, once things have come to rest.
    page.wait_for_function("[...document.querySelectorAll('[aria-live]')].some((one) => one.textContent === 'Size 4.')")

    light = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((part) => part > 200)"
    assert page.evaluate(light) == (scheme == "light")
    ink = "getComputedStyle(document.querySelector('.ddlab-graph .xtick text')).fill.match(/\\d+/g).every((part) => part > 150)"
    assert page.evaluate(ink) == (scheme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        problems == [] and [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []
    )
    page.context.close()
