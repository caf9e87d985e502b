"""Every lesson as a page of the site, opened from disk without a network, at two widths and in both
themes, and as a notebook that nobody has run (make test-all).
"""

import statistics
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from ddlab.lessons.contents import LESSONS
from ddlab.lessons.site import build_site
from tests.browser.notebook_page import NotebookPage
from tests.browser.reader import answer_questions, tight

LARGEST = 4e6  # bytes of a page
LARGEST_SCRIPTS = 12e6  # and of what all pages share
SLOWEST = 60  # milliseconds from a moved control to a painted plot, in the median
PHONE = 390  # pixels
VIEWS = [(width, scheme) for width in (1280, PHONE) for scheme in ("light", "dark")]
# How many explorers are there, and how many answer.
ANSWERING = """() => [document.querySelectorAll('.ddlab-explorer').length,
  document.querySelectorAll('.ddlab-replay[data-state]').length]"""
# What each explorer shows: the number of its state, and its sentence.
STATES = """() => [...document.querySelectorAll('.ddlab-explorer')].map((explorer) =>
  [explorer.querySelector('.ddlab-replay').dataset.state, explorer.querySelector('.ddlab-sentence').innerText].join())"""
# Whether all plots on show are painted.
PAINTED = """() => [...document.querySelectorAll('.ddlab-plot')].filter((plot) => plot.offsetParent)
  .every((plot) => plot.querySelector('.main-svg'))"""
# From now on, when a plot is painted after a key.
WATCH = """() => {
  window.pressed = 0; window.painted = [];
  addEventListener('keydown', () => { pressed = performance.now(); }, true);
  new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => {
    if (pressed) painted.push(performance.now() - pressed);
    pressed = 0;
  }))).observe(document.body, {subtree: true, attributes: true, attributeFilter: ['data-drawn']});
}"""


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.mark.slow
@pytest.mark.timeout(1500)
# nbclient leaves its event loop to the garbage collector, which complains whenever it comes by.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", list(LESSONS))
def test_a_lesson_without_a_kernel(
    browser: Any, open_notebook: Any, site_folder: Path, name: str
) -> None:
    (path,) = build_site(site_folder, [name.partition("_")[0]])
    assert path.stat().st_size <= LARGEST
    scripts = sum(file.stat().st_size for file in (site_folder / "scripts").rglob("*.*"))
    assert scripts <= LARGEST_SCRIPTS
    milliseconds: list[float] = []
    tight_places: set[tuple[str, int, str]] = set()
    for width, scheme in VIEWS:
        page, requested = browser.open_file(path, width=width, scheme=scheme)
        failures: list[Any] = []
        page.on("pageerror", lambda error, seen=failures: seen.append(error))
        page.wait_for_function(f"() => (([all, live]) => all === live)(({ANSWERING})())")
        page.wait_for_function(PAINTED)
        answer_questions(page)
        page.evaluate(WATCH)
        seen_tight = tight(page, is_phone=width == PHONE)
        for slider in sliders(page):
            before = page.evaluate(STATES)
            move(page, slider)
            assert page.evaluate(STATES) != before, (width, slider.get_attribute("aria-label"))
            seen_tight += tight(page, is_phone=width == PHONE)
        tight_places |= {(words, width, scheme) for words in seen_tight}
        milliseconds += page.evaluate("painted")
        assert failures == [] and not any(url.startswith("http") for url in requested)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.context.close()
    assert not tight_places
    assert not milliseconds or statistics.median(milliseconds) <= SLOWEST
    reopened(open_notebook(site_folder / "notebooks" / f"{name}.ipynb"))


def reopened(opened: NotebookPage) -> None:
    """A notebook that was saved, and that nobody has run here: its explorers answer all the same."""
    page = opened.page
    # Until a reader trusts it a sentence and a picture stand for each explorer.
    explorers = page.get_by_text("This is an explorer").count()
    pictures = page.locator(".jp-OutputArea img[src^='data:image/png']").count()
    assert explorers == pictures > 0
    page.evaluate("() => void jupyterapp.commands.execute('notebook:trust')")
    page.locator(".jp-Dialog button", has_text="Trust").last.click()
    page.wait_for_timeout(1000)
    page.reload()
    opened.wait_for_kernel()
    page.wait_for_function(f"() => (([all, live]) => all > 0 && all === live)(({ANSWERING})())")
    assert page.locator(".ddlab-explorer").count() == explorers
    for slider in sliders(page)[:1]:
        before = page.evaluate(STATES)
        move(page, slider)
        assert page.evaluate(STATES) != before
    answer_questions(page)  # a card without an answer has an empty plot
    assert opened.problems() == []


def sliders(page: Page) -> list[Locator]:
    """The sliders of all explorers' controls that are on show and play a part."""
    handles = ".ddlab-controls .noUi-target:not([disabled]) .noUi-handle:visible"
    return page.locator(f".ddlab-explorer {handles}").all()


def move(page: Page, slider: Locator) -> None:
    """One stop to the right, or to the left from the end, and wait until it is answered."""
    at_end = slider.get_attribute("aria-valuenow") == slider.get_attribute("aria-valuemax")
    slider.focus()
    page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    page.wait_for_timeout(400)
