"""A quest: what a reader is asked to reach in an explorer, and the line that says when it is reached.

    Lab(..., quest=Quest("Cover 25% of the real images.", lambda world, settings, known: coverage(world, settings, known) >= 0.25))

    self.quest = QuestLine("Cover 25% of the real images.")     # in a free-form explorer, among its controls
    self.quest.look(coverage >= 0.25)                           # after every change

What was reached once stays reached.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

from ..core import errors


@dataclass(frozen=True)
class Quest:
    """What is to be reached in a laboratory: in words, and (world, settings, known) -> whether what is on show reaches it."""

    words: str
    met: Callable[[Any, Any, Any], bool]

    def __post_init__(self) -> None:
        errors.check_text("words of a quest", self.words, empty=False)
        errors.check_function("met of a quest", self.met)


class QuestLine(widgets.HTML):
    """The line of a quest; `met` says whether it was reached."""

    def __init__(self, words: str) -> None:
        self.words, self.met = errors.check_text("words", words, empty=False), False
        super().__init__()
        self._show()

    def look(self, met: bool) -> None:
        """Say so when it is reached; it stays so."""
        if met and not self.met:
            self.met = True
            self._show()

    def _show(self) -> None:
        sign, said = ("★", "Done. ") if self.met else ("☆", "")
        self.value = (
            f'<div role="status" class="ddlab-quest" data-met="{str(self.met).lower()}" style="padding:4px 8px;line-height:1.4;'
            f'border:1px {"solid" if self.met else "dashed"} #8A8A8A;border-radius:4px;white-space:normal">'
            f"{sign} <b>Quest.</b> {said}{html.escape(self.words)}</div>"
        )
