"""Every lesson as a page of the site, opened from disk without a network, at two widths and in both
themes (make test-all).
"""

from pathlib import Path
from typing import Any

import pytest

from ddlab.lessons.contents import LESSONS
from ddlab.lessons.site import build_site

LARGEST = 4e6  # bytes of a page
LARGEST_SCRIPTS = 12e6  # and of what all pages share
# How many explorers are there, and how many answer.
ANSWERING = """() => [document.querySelectorAll('.ddlab-explorer').length,
  document.querySelectorAll('.ddlab-replay[data-state]').length]"""
# What each explorer shows: the number of its state, and its sentence.
STATES = """() => [...document.querySelectorAll('.ddlab-explorer')].map((explorer) =>
  [explorer.querySelector('.ddlab-replay').dataset.state, explorer.querySelector('.ddlab-sentence').innerText].join())"""


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", list(LESSONS))
def test_a_lesson_without_a_kernel(browser: Any, site_folder: Path, name: str) -> None:
    (path,) = build_site(site_folder, [name.partition("_")[0]])
    assert path.stat().st_size <= LARGEST
    scripts = sum(file.stat().st_size for file in (site_folder / "scripts").rglob("*.*"))
    assert scripts <= LARGEST_SCRIPTS
    for width, scheme in ((1280, "light"), (390, "dark")):
        page, requested = browser.open_file(path, width=width, scheme=scheme)
        failures: list[Any] = []
        page.on("pageerror", failures.append)
        page.wait_for_function(f"() => (([all, live]) => all === live)(({ANSWERING})())")
        explorers = page.locator(".ddlab-explorer")
        for number in range(explorers.count()):
            sliders = explorers.nth(number).locator(".ddlab-controls .noUi-handle:visible")
            for place in range(sliders.count()):
                before = page.evaluate(STATES)
                at_end = sliders.nth(place).get_attribute("aria-valuenow") == sliders.nth(
                    place
                ).get_attribute("aria-valuemax")
                sliders.nth(place).focus()
                page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
                page.wait_for_timeout(300)
                assert page.evaluate(STATES) != before, (width, number, place)
        assert failures == [] and not any(url.startswith("http") for url in requested)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.context.close()
