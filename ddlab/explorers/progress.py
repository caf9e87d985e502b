"""How far the computing behind an explorer is, as a bar with words, and when the next picture of it may be drawn."""

from __future__ import annotations

import time
from typing import Any

import ipywidgets as widgets

_GAP = 0.1  # seconds between two pictures of what goes on
_AT_REST = "at rest"


class Progress(widgets.FloatProgress):
    """What is being computed and how much of it is done, or "at rest".

    Attributes:
        due: whether the next picture may be drawn. gap: seconds between two at least; a tenth, or more for who wants few.
    """

    def __init__(self, *, words: str = "11em", drawing: float = 0.25, **options: Any) -> None:
        """
        Args:
            words: the width of what is said. drawing: the share of the time that it may take. options: of `ipywidgets.FloatProgress`.
        """
        super().__init__(max=1.0, description=_AT_REST, style={"description_width": words}, **options)
        self.gap, self._drawing, self._next = _GAP, drawing, 0.0

    @property
    def due(self) -> bool:
        return time.monotonic() > self._next

    def show(self, words: str, share: float) -> None:
        """Say what is being computed and which share of it, from 0 to 1, is done."""
        self._next = time.monotonic() + self.gap
        self.value, self.description = share, words

    def rest(self) -> None:
        """Nothing is being computed."""
        self.value, self.description = 0.0, _AT_REST

    def drawn(self, begun: float) -> None:
        """A picture was drawn, from `begun` (of `time.monotonic`) until now."""
        now = time.monotonic()
        self._next = now + max(self.gap, (now - begun) * (1 - self._drawing) / self._drawing)
