"""The lines of an explorer: the sentence that says what is seen, how far the computing is, and a
quest.

Lab(..., quest=Quest("Cover 25% of the real images.", lambda world, settings, known: coverage(world, settings, known) >= 0.25))
"""

import html
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
import traitlets

from ..core import errors
from .front_end import SyncedWidget, front_end, style

_GAP = 0.1  # seconds between two pictures of what goes on


class Sentence(SyncedWidget):
    """One line of text; changes are read out, at most every two seconds.

    sentence = Sentence(text="Step 1 of 10.")
    sentence.text = "Step 2 of 10."         # from any thread
    """

    _esm = front_end("sentence.js")
    _css = style()
    _resent = ("text",)
    text = traitlets.Unicode().tag(sync=True)


class Progress(widgets.FloatProgress):
    """What is being computed and how much of it is done; hidden while nothing is.

    Attributes:
        due: whether the next picture may be drawn. gap: seconds between two at least; a tenth, or
            more for who wants few.
    """

    def __init__(self, *, words: str = "11em", drawing: float = 0.25, **options: Any) -> None:
        """
        Args:
            words: the width of what is said.
            drawing: the share of the time that it may take.
            options: of `ipywidgets.FloatProgress`.
        """
        super().__init__(max=1.0, style={"description_width": words}, **options)
        self.add_class("ddlab-progress")
        self.layout.visibility = "hidden"
        self.gap = _GAP
        self._drawing = drawing
        self._next = 0.0

    @property
    def is_due(self) -> bool:
        return time.monotonic() > self._next

    def show(self, words: str, share: float) -> None:
        """Say what is being computed and which share of it, from 0 to 1, is done."""
        self._next = time.monotonic() + self.gap
        self.value = share
        self.description = words
        self.layout.visibility = "visible"

    def show_rest(self) -> None:
        """Show that nothing is being computed."""
        self.value = 0.0
        self.description = ""
        # Its place stays, so that nothing on the page jumps when a computation begins.
        self.layout.visibility = "hidden"

    def note_drawing(self, start_time: float) -> None:
        """Note that a picture was drawn from `start_time` (of `time.monotonic`) until now."""
        current_time = time.monotonic()
        # A drawing that takes 50 ms is followed by 150 ms of computing: three quarters of the time
        # go into the run.
        self._next = current_time + max(
            self.gap, (current_time - start_time) * (1 - self._drawing) / self._drawing
        )


# Presses of a solution that move no control.
BUTTON = "button"
DRAG = "drag"


@dataclass(frozen=True)
class Quest:
    """What is to be reached in a laboratory: in words, and (world, settings, known) -> whether what
    is on show reaches it.

    Attributes:
        words: what the reader is asked for.
        met: whether it is reached.
        solution: how it can be, press by press: (control, value), (BUTTON, its words), or
            (DRAG, (point, x, y)).

    >>> quest = Quest("Reach 90%.", lambda world, settings, results: results["accuracy"] >= 0.9)
    >>> quest.met(None, None, {"accuracy": 0.95})
    True
    """

    words: str
    met: Callable[[Any, Any, Any], bool]
    solution: Sequence[tuple[str, Any]] = ()

    def __post_init__(self) -> None:
        errors.check_text("words of a quest", self.words, empty=False)
        errors.check_function("met of a quest", self.met)


class QuestLine(widgets.HTML):
    """The line of a quest; `met` says whether it was reached."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.met = False
        super().__init__()
        self._show()

    def look(self, met: bool) -> None:
        """Say so when it is reached; it stays so."""
        if met and not self.met:
            self.met = True
            self._show()

    def forget(self) -> None:
        """Take it back: what reached it was a recording, and no reader."""
        self.met = False
        self._show()

    def _show(self) -> None:
        self.value = self.words_if(met=self.met)

    def words_if(self, *, met: bool) -> str:
        """Return the line as it is once the quest is met, or before."""
        sign, prefix = ("★", "Done. ") if met else ("☆", "")
        return (
            f'<div role="status" class="ddlab-quest" data-met="{str(met).lower()}" '
            'style="padding:4px 8px;line-height:1.4;'
            f"border:1px {'solid' if met else 'dashed'} "
            '#8A8A8A;border-radius:4px;white-space:normal">'
            f"{sign} <b>Quest.</b> {prefix}{html.escape(self.words)}</div>"
        )
