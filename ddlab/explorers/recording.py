"""What explorers show at each value of a control, as data for a page without a kernel.

    recordings(seconds=60)     # of every explorer that is open, as JSON: {"explorer": id, "controls": [...], "changes": {...}}

An explorer says which controls are worth it (`Explorer.to_record`); they are moved as a reader would, and after each move the explorer
finishes what it computes (`Explorer.finish_now`). What differs in its widgets from value to value is kept, whatever kinds of widgets these
are. It ends where it began. Nothing of this runs in a normal notebook.
"""

from __future__ import annotations

import base64
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from ..core.errors import DDLabError, check_number
from .quest import QuestLine
from .registry import opened

if TYPE_CHECKING:
    from .layout import Explorer


@dataclass(frozen=True)
class Moving:
    """A control to be recorded: one with options, or a slider over numbers; and through how many values at most."""

    control: Any
    most: int = 17

    def places(self) -> list[tuple[str, Any]]:
        """All that it can be moved to: words and value; of options their positions."""
        if hasattr(self.control, "options"):
            return [(label, position) for position, label in enumerate(self.control._options_labels)]
        low, high, step = self.control.min, self.control.max, self.control.step
        numbers = {low + number * step for number in range(round((high - low) / step) + 1)} | {self.control.value}
        return [(f"{number:.4g}", number) for number in sorted(numbers)]

    @property
    def at(self) -> Any:
        """Where it stands, as one of the values of `places`."""
        return self.control.index if hasattr(self.control, "options") else self.control.value

    def go(self, value: Any) -> None:
        """Move it."""
        setattr(self.control, "index" if hasattr(self.control, "options") else "value", value)


def recordings(seconds: float = 60.0) -> list[dict[str, Any]]:
    """What every open explorer shows along its controls.

    Args:
        seconds: for each explorer; after that no further values of its first control are computed.

    Returns:
        For each that has such controls, JSON with `explorer` (its model id) and `title`, and either

        - `controls`: of each the `model` id, `name`, `labels` of its recorded values, `at` (where it stands) and `of` (how many there are);
        - `changes`: model id -> trait -> {"values": [...], "at": [...]}, for what is not the same throughout: the value at each
          combination of the controls, the last control moving first; None in `at` where there is no such widget. Bytes are base64.

        or `failed`: why there is none, in a sentence.
    """
    check_number("seconds", seconds, 0)
    found = []
    for explorer in opened():
        about = {"explorer": explorer.model_id, "title": explorer.title}
        try:
            recorded = _recorded(explorer, seconds)
        except Exception as error:  # whatever an explorer raises: the others are recorded all the same
            recorded = {"failed": str(error) if isinstance(error, DDLabError) else f"{type(error).__name__}: {error}"}
        if recorded:
            found.append({**about, **recorded})
    return found


def _recorded(explorer: Explorer, seconds: float) -> dict[str, Any]:
    moving = list(explorer.to_record())
    if not moving:
        return {}
    first = moving[0]
    places = [one.places() for one in moving]
    began = [one.at for one in moving]
    try:
        # Twice: what an explorer draws from all that it knows is the same then, in whichever order values are looked at.
        reached = _reached(explorer, first, places[0], time.monotonic() + seconds)
        stops = [[places[0][position] for position in reached], *places[1:]]
        states = [_shown(explorer, moving, values) for values in itertools.product(*stops)]
    finally:
        _move(explorer, moving, began)
    return {
        "controls": [
            {
                "model": one.control.model_id,
                "name": one.control.description,
                "labels": [label for label, _ in kept],
                "at": [value for _, value in kept].index(value),
                "of": len(known),
            }
            for one, kept, known, value in zip(moving, stops, places, began, strict=True)
        ],
        "changes": _changes(states),
    }


def _reached(explorer: Explorer, moving: Moving, places: Sequence[tuple[str, Any]], end: float) -> list[int]:
    """Which places can be shown: that of now, then those farthest from all before, as many as there is time for."""
    start = [value for _, value in places].index(moving.at)
    reached, why = [], None
    for position in _spread(len(places), start, moving.most):
        try:
            _move(explorer, [moving], [places[position][1]])
        except DDLabError as error:  # a setting that the others do not allow
            why = error
        else:
            reached.append(position)
        if len(reached) > 1 and time.monotonic() > end:
            break
    if start not in reached or len(reached) < 2:
        raise why or DDLabError(f"{moving.control.description or 'its control'} has only one value")
    return sorted(reached)


def _spread(count: int, start: int, most: int) -> Iterator[int]:
    """Positions among `count`, beginning at one, each as far as can be from those before."""
    chosen = [start]
    while True:
        yield chosen[-1]
        if len(chosen) >= min(count, most):
            return
        chosen.append(max(range(count), key=lambda place: min(abs(place - other) for other in chosen)))


def _move(explorer: Explorer, moving: Sequence[Moving], values: Sequence[Any]) -> None:
    """Move the controls, and wait for what they bring; a quest is met where these values meet it, not where others did."""
    if [one.at for one in moving] != list(values):
        for widget in _inside(explorer):
            if isinstance(widget, QuestLine):
                widget.forget()
    for one, value in zip(moving, values, strict=True):
        one.go(value)
    explorer.finish_now()


def _shown(explorer: Explorer, moving: Sequence[Moving], values: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    _move(explorer, moving, [value for _, value in values])
    return {widget.model_id: _plain(widget.get_state()) for widget in _inside(explorer)}


def _inside(widget: Any) -> Iterator[widgets.Widget]:
    """A widget, its layout, and all that stands in it."""
    yield widget
    if isinstance(widget, widgets.DOMWidget):
        yield widget.layout
    for child in getattr(widget, "children", ()):
        yield from _inside(child)


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes | memoryview) else value
        for name, value in state.items()
    }


def _changes(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for model in dict.fromkeys(itertools.chain.from_iterable(states)):
        present = [state.get(model) for state in states]
        for trait in next(filter(None, present)):
            values: dict[str, int] = {}
            at = [
                None if one is None else values.setdefault(json.dumps(one[trait], default=str), len(values))
                for one in present
            ]
            if len(set(at)) > 1:
                column = {"values": [json.loads(text) for text in values], "at": at}
                changes.setdefault(model, {})[trait] = column
    return changes
