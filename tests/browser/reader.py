"""What a reader does with an open lesson, in words that the lessons' tests share."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

_SOURCES = "() => [...jupyterapp.shell.currentWidget.content.model.cells].map((cell) => cell.sharedModel.getSource())"
_RUN_CELL = """(index) => { jupyterapp.shell.currentWidget.content.activeCellIndex = index;
  return jupyterapp.commands.execute('notebook:run-cell').then(() => null); }"""


class Reader:
    """An open lesson. `cells`: the name of each explorer, and "scrubber" -> number of the cell that shows it.

    Several explorers of one kind that show entries of a table are told apart by them: "TrialCard R4" for explorers.TrialCard(trials["R4"]).
    """

    def __init__(self, opened: Any) -> None:
        self.lab, self.page = opened, opened.page
        self.cells: dict[str, int] = {}
        for number, source in enumerate(self.page.evaluate(_SOURCES)):
            shown = re.search(r"""^explorers\.(\w+)\((?:\w+\["([^"]+)"\])?""", source, re.MULTILINE)
            if shown or re.search(r"^film\.scrubber", source, re.MULTILINE):
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

    def press(self, name: str, label: str) -> None:
        self.cell(name).locator("button.jupyter-button:not([disabled])").filter(has_text=label).first.click()

    def look_away(self) -> None:
        """Make the first cell the active one, so that no other shows the marks of being active."""
        self.page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")

    def run_again(self, name: str) -> None:
        self.page.evaluate(_RUN_CELL, self.cells[name])
        self.lab.wait_for_kernel()


def p95(values: list[float]) -> float:
    """The time that 19 of 20 stay below."""
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def keep_picture(opened: Any, cell: int, name: str) -> None:
    """A screenshot of one explorer; with DDLAB_PICTURES=1 it becomes the README's."""
    taken = opened.screenshot(name, cell=cell)
    if os.environ.get("DDLAB_PICTURES") == "1":
        (NOTEBOOKS / "pictures").mkdir(exist_ok=True)
        shutil.copy(taken, NOTEBOOKS / "pictures" / f"{name}.png")
