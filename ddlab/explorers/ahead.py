"""When a laboratory may compute ahead of its reader, so that the first press finds its answer ready.

    ahead = Ahead()
    ahead.is_seen = True          # the explorer has come on the screen
    ahead.note_press()            # after each move of the reader
    ahead.wait(leave)             # returns once nobody else needs the processor

While a cell runs, as in Run All, and in the second after a press, computing ahead would slow down what
the reader waits for.
"""

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

# Seconds without a cell and without a press.
_REST = 1.0
# Between two looks whether it is time.
_GAP = 0.05
# Settings along the first control that are computed ahead, the nearest first.
MOST_AHEAD = 24


class _Cells:
    """Whether the kernel runs a cell, and when it last did; without IPython it never does."""

    def __init__(self, shell: Any) -> None:
        # Made by a cell that still runs.
        self.is_running = shell is not None
        self.ended = time.monotonic()
        if shell is not None:
            shell.events.register("pre_run_cell", self._begin)
            shell.events.register("post_run_cell", self._end)

    def _begin(self, _info: Any) -> None:
        self.is_running = True

    def _end(self, _result: Any) -> None:
        self.is_running = False
        self.ended = time.monotonic()


@functools.cache
def _cells() -> _Cells:
    """Return the one watch over the cells of this kernel."""
    module = sys.modules.get("IPython")
    return _Cells(None if module is None else module.get_ipython())


class Ahead:
    """Whether it is time to compute ahead; see the module.

    Attributes:
        is_seen: whether a reader has the explorer on the screen. Nothing is computed ahead before.
        done_for: the settings, the first control left aside, whose neighbours are computed.
    """

    def __init__(self) -> None:
        self._cells = _cells()
        self._pressed = 0.0
        self.is_seen = False
        self.done_for: Any = None

    def note_press(self) -> None:
        """Note that the reader has just moved something."""
        self._pressed = time.monotonic()

    def wait(self, leave: Callable[[], None]) -> None:
        """Return once neither a cell nor a press needs the processor; `leave` may raise meanwhile."""
        leave()
        while not self._is_quiet:
            time.sleep(_GAP)
            leave()

    @property
    def _is_quiet(self) -> bool:
        last = max(self._cells.ended, self._pressed)
        return not self._cells.is_running and time.monotonic() - last > _REST
