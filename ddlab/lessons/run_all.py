"""The bar over a lesson that runs: which cell, and how long it still takes on this machine.

`cell_seconds.json` holds what every cell of a solution takes with one thread, as `ddlab lessons time --keep` measured it. How much
faster or slower this machine is, the cells that have run say.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import traitlets

from ..core import memory
from ..explorers.live import LiveWidget, front_end
from ..explorers.registry import replace

_HERE = Path(__file__).parent
SECONDS = _HERE / "cell_seconds.json"
# So many seconds, as expected, count as seen before anything has run: one short cell says little about a machine.
_PRIOR = 3.0


class RunAll(LiveWidget):
    """The bar; `at` is what it shows.

    Attributes:
        at: {"place": of the running cell, from 1, or 0 at rest; "cells": how many; "left": expected seconds to the end of this cell,
            of the next, and so on; "share": of the whole that is done, 0 to 1; "stopped": a sentence after an error, or ""}.
    """

    _esm = front_end() + (_HERE / "run_all.js").read_text(encoding="utf-8")
    _css = (_HERE / "run_all.css").read_text(encoding="utf-8")
    _resent = ("at",)
    at = traitlets.Dict().tag(sync=True)

    def __init__(self, seconds: Mapping[str, float], *, before: str | None = None) -> None:
        """
        Args:
            seconds: what each cell takes, by its id, from top to bottom. before: the id of the cell that runs now; those above it ran.
        """
        self._seconds, self._ids = dict(seconds), list(seconds)
        self._taken = self._expected = _PRIOR
        self._begun = time.monotonic()
        above = self._ids[: self._ids.index(before) + 1] if before in self._seconds else []
        self._done = {cell: self._seconds[cell] for cell in above}
        super().__init__(at=self._told(0))

    def begins(self, cell: str | None) -> None:
        """A cell begins to run; one that the lesson does not have is not counted."""
        if cell in self._seconds:
            self._begun = time.monotonic()
            self._done.pop(cell, None)
            self.at = self._told(self._ids.index(cell) + 1)

    def ends(self, cell: str | None, error: BaseException | None = None) -> None:
        """A cell has ended, or was left by an error."""
        if cell not in self._seconds:
            return
        if error is not None:
            how = "was interrupted" if isinstance(error, KeyboardInterrupt) else f"raised {type(error).__name__}"
            place = self._ids.index(cell) + 1
            again = 'To go on select it, then Run > "Run Selected Cell and All Below".'
            self.at = self._told(0, f"Cell {place} of {len(self._ids)} {how}. {again}")
            return
        self._done[cell] = time.monotonic() - self._begun
        self._taken, self._expected = self._taken + self._done[cell], self._expected + self._seconds[cell]
        self.at = self._told(0)

    def _told(self, place: int, stopped: str = "") -> dict[str, Any]:
        speed, ahead = self._taken / self._expected, self._ids[max(place - 1, 0) :]
        total = sum(self._seconds.values())
        return {
            "place": place,
            "cells": len(self._ids),
            "left": [round(speed * left, 1) for left in accumulate(self._seconds[cell] for cell in ahead)] or [0.0],
            "share": sum(self._seconds[cell] for cell in self._done) / total if total else 1.0,
            "stopped": stopped,
        }


def watch(lesson: str) -> RunAll | None:
    """Show the bar of a lesson while its cells run; None outside a kernel that names its cells. A second call replaces the first.

    In any kernel what a cell has freed is given back when it ends.
    """
    shell = _shell()
    if shell is not None:
        shell.events.register("post_run_cell", _after_cell)  # once, however often a lesson is started
    seconds = json.loads(SECONDS.read_text(encoding="utf-8")).get(lesson)
    running = (shell.get_parent() or {}).get("metadata", {}).get("cellId") if shell is not None else None
    if not seconds or running not in seconds:
        return None
    from IPython.display import display

    bar = RunAll(seconds, before=running)

    def begins(info: Any) -> None:
        bar.begins(info.cell_id)

    def ends(result: Any) -> None:
        bar.ends(result.info.cell_id, result.error_before_exec or result.error_in_exec)

    replace("run all", _Watching(shell, bar, {"pre_run_cell": begins, "post_run_cell": ends}))
    display(bar)
    return bar


def _after_cell(_: Any) -> None:
    memory.give_back()


class _Watching:
    """What is registered with the shell, and taken away at the end."""

    def __init__(self, shell: Any, bar: RunAll, events: Mapping[str, Any]) -> None:
        self.shell, self.bar, self.events = shell, bar, events
        for name, function in events.items():
            shell.events.register(name, function)

    def close(self) -> None:
        for name, function in self.events.items():
            self.shell.events.unregister(name, function)
        self.bar.close()


def _shell() -> Any:
    from ..explorers.layout import in_kernel

    if not in_kernel():
        return None
    from IPython import get_ipython

    return get_ipython()
