"""Browser tests: skipped where there is no Chromium, a failure there with DDLAB_REQUIRE_BROWSER=1."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "test-results"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def lab_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that JupyterLab serves; tests put their notebooks there."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def browser(lab_folder: Path) -> Iterator[object]:
    """A `lab.Browser` on a running JupyterLab."""
    try:
        from tests.browser.lab import Browser, LabServer, find_chromium
    except ImportError as missing:
        _give_up(f"the browser tests need {missing.name}")
    if find_chromium() is None:
        _give_up("no Chromium on this machine")
    log = f"jupyterlab{os.environ.get('PYTEST_XDIST_WORKER', '')}.log"
    with LabServer(lab_folder, RESULTS / log) as server, Browser(server, RESULTS) as running:
        yield running


@pytest.fixture
def open_notebook(browser, lab_folder: Path) -> Iterator[Callable[..., object]]:
    """Copy a notebook into the served folder and open it: `page = open_notebook(path)`."""
    opened = []

    def open_one(path: Path, **options: str) -> object:
        shutil.copy(path, lab_folder / path.name)
        opened.append(browser.open(path.name, **options))
        return opened[-1]

    yield open_one
    for page in opened:
        page.close()


def _give_up(reason: str) -> None:
    if os.environ.get("DDLAB_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
