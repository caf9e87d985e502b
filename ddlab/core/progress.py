"""How far something long is: one line on standard output."""

from __future__ import annotations

import contextlib
import sys
import time

from . import errors


class Progress:
    """How far a run is, on standard output (standard error would look like a failure in a notebook): tqdm's bar on a terminal, one line
    that is rewritten in a notebook, and plain lines, ten seconds apart, where output goes to a file (of a shorter run none).
    """

    def __init__(self, name: str, total: int, shown: bool, *, unit: str = "step") -> None:
        """
        Args:
            name, total: of what runs, and of how many units. unit: one of them ("image"). shown: False says nothing at all.
        """
        self.name, self.unit = errors.check_text("name", name), errors.check_text("unit", unit)
        self.total = errors.check_integer("total", total, 0)
        self.shown = errors.check_boolean("progress", shown)
        self.start = self.last = time.monotonic()
        self._bar, self._between, self._ends = None, 10.0, "{}\n"
        if self.shown and sys.stdout.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, desc=name, unit=self.unit, file=sys.stdout)
        elif type(sys.stdout).__module__.startswith("ipykernel"):
            self._between, self._ends = 0.25, "\r{} "

    def show(self, index: int) -> None:
        """Say how far the run is."""
        if self._bar is not None:
            self._bar.update(index - self._bar.n)
            return
        now = time.monotonic()
        said = self._between < 1 or self.last > self.start
        if self.shown and (now - self.last > self._between or (index == self.total and said)):
            self.last, spent = now, now - self.start
            left = spent / index * (self.total - index) if index else 0
            self._write(
                self._ends.format(f"{self.name}: {self.unit} {index} of {self.total}, {spent:.0f} s, {left:.0f} s left")
            )

    def close(self, stopped: bool, index: int, *, kept: str = "the result is marked complete=False") -> None:
        """End the line; of what was interrupted say how far it came and what is `kept`."""
        if self._bar is not None:
            self._bar.close()
        rewritten = self.shown and self._ends.startswith("\r")
        if stopped:
            text = f"{self.name}: interrupted after {self.unit} {index} of {self.total}; {kept}.\n"
            self._write(f"\n{text}" if rewritten else text)
        elif rewritten:
            self._write("\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.write(text)
            sys.stdout.flush()
