"""What a reader does with an open lesson, in words that the lessons' tests share."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ddlab.commands.bench import machine

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
RESULTS = NOTEBOOKS.parent / "test-results"

_SOURCES = "() => [...jupyterapp.shell.currentWidget.content.model.cells].map((cell) => cell.sharedModel.getSource())"
_RUN_CELL = """(index) => { jupyterapp.shell.currentWidget.content.activeCellIndex = index;
  return jupyterapp.commands.execute('notebook:run-cell').then(() => null); }"""


class Reader:
    """An open lesson. `cells`: the name of each explorer, and "scrubber" -> number of the cell that shows it.

    Several explorers of one kind that show entries of a table are told apart by them: "TrialCard R4" for TrialCard(trials["R4"]).
    """

    def __init__(self, opened: Any) -> None:
        self.lab, self.page = opened, opened.page
        self.cells: dict[str, int] = {}
        for number, source in enumerate(self.page.evaluate(_SOURCES)):
            shown = re.search(
                r"""^(?:explorers\.)?(?!Markdown)([A-Z]\w+)\((?:\w+\["([^"]+)"\])?""", source, re.MULTILINE
            )
            if shown or re.search(r"^\w+\.film\(", source, re.MULTILINE):
                self.cells[" ".join(filter(None, shown.groups())) if shown else "scrubber"] = number

    def cell(self, name: str) -> Any:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(self.cells[name])

    def sentence(self, name: str) -> str:
        return self.cell(name).locator(".ddlab-sentence[aria-live]").last.inner_text()

    def wait_for_sentence(self, name: str, begin: str, seconds: float = 60) -> None:
        wanted = (
            self.cell(name)
            .locator(".ddlab-sentence[aria-live]")
            .filter(has_text=re.compile(rf"^\W*{re.escape(begin)}"))
        )
        wanted.first.wait_for(timeout=seconds * 1000)

    def wait_for_change(self, name: str, before: str, seconds: float = 30) -> None:
        """Wait until an explorer says something else."""
        end = time.monotonic() + seconds
        while self.sentence(name) == before:
            assert time.monotonic() < end, f"{name} still says: {before}"
            self.page.wait_for_timeout(50)

    def wait_until_still(self, name: str, seconds: float = 120, still: float = 4) -> None:
        """Wait until an explorer rests and has said the same for some seconds: between two jobs it rests for a moment."""
        end, said, since = time.monotonic() + seconds, "", time.monotonic()
        while time.monotonic() - since < still:
            assert time.monotonic() < end, f"{name} does not come to rest: {said}"
            self.page.wait_for_timeout(200)
            now = self.sentence(name) + self.cell(name).get_by_text("at rest").count() * " at rest"
            if now != said or not now.endswith("at rest"):
                said, since = now, time.monotonic()

    def press(self, name: str, label: str) -> None:
        self.cell(name).locator("button.jupyter-button:not([disabled])").filter(has_text=label).first.click()

    def look_away(self) -> None:
        """Make the first cell the active one, so that no other shows the marks of being active."""
        self.page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")

    def in_both_themes(self, picture: str, dark_cells: Sequence[str] = ()) -> int:
        """Look at the page in light and dark: every plot follows. Returns how many plots have words of their own.

        Args:
            picture: how the screenshots are called. dark_cells: explorers that get one of their own in the dark.
        """
        light = self._text_colours()
        self.lab.screenshot(f"{picture}_light")
        self.lab.set_theme("dark")
        self.lab.screenshot(f"{picture}_dark")
        for name in dark_cells:
            self.lab.screenshot(f"{picture}_dark_{name.replace(' ', '_')}", cell=self.cells[name])
        dark = self._text_colours()
        assert light.keys() == dark.keys() and all(light[plot] != dark[plot] for plot in light), (light, dark)
        self.lab.set_theme("light")
        return len(light)

    def reload_and_run_again(self, names: Sequence[str], plots: int, workers: Sequence[str] = ()) -> None:
        """A reload keeps the plots; a cell that runs again closes what it replaces.

        Args:
            workers: the threads that explorers of this lesson keep, one each.
        """
        self.lab.reload()
        self.lab.wait_for_plots(plots)  # static figures come back as the picture that JupyterLab has saved
        assert self.lab.problems() == []
        for name in names:
            self.run_again(name)
        self.lab.wait_for_plots(plots)
        assert self.lab.kernel_threads() == [*workers]

    def _text_colours(self) -> dict[str, str]:
        return {plot["title"] + plot["alt"][:60]: plot["text_colour"] for plot in self.lab.plots() if plot["alt"]}

    def run_again(self, name: str) -> None:
        self.page.evaluate(_RUN_CELL, self.cells[name])
        self.lab.wait_for_kernel()


def p95(values: list[float]) -> float:
    """The time that 19 of 20 stay below."""
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def keep_results(lesson: str, measured: dict[str, Any]) -> None:
    """Write what was measured, in milliseconds but for "run_all_seconds", and look that no control takes a second.

    That is far above what is aimed at: the machine is shared, mostly with another page, and benchmarks are not tests.
    """
    summary = {name: round(p95(value) if isinstance(value, list) else value, 1) for name, value in measured.items()}
    RESULTS.mkdir(exist_ok=True)
    content = {"machine": machine(), "milliseconds, p95": summary, "all": measured}
    (RESULTS / f"{lesson}.json").write_text(json.dumps(content, indent=1))
    print(summary)
    assert max(value for name, value in summary.items() if name != "run_all_seconds") < 1000


def keep_picture(opened: Any, cell: int, name: str) -> None:
    """A screenshot of one explorer; with DDLAB_PICTURES=1 it becomes the README's."""
    taken = opened.screenshot(name, cell=cell)
    if os.environ.get("DDLAB_PICTURES") == "1":
        (NOTEBOOKS / "pictures").mkdir(exist_ok=True)
        shutil.copy(taken, NOTEBOOKS / "pictures" / f"{name}.png")
