"""The base of our own widgets: messages that cannot be lost.

anywidget gives each widget's script two seconds to start; a model that was slower never hears of a
change again. On a slow page that happened to plots in tests, so `listen.js` takes the messages
itself and, once started, asks for what it may have missed.
"""

import uuid
from pathlib import Path
from typing import Any

import anywidget
import traitlets

_FOLDER = Path(__file__).parent


def front_end(*names: str) -> str:
    """Return the script of a widget in one piece, with what all of them share before it."""
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("listen.js", *names))


def style() -> str:
    """Return the style sheet of our own widgets."""
    return (_FOLDER / "widgets.css").read_text(encoding="utf-8")


class SyncedWidget(anywidget.AnyWidget):
    """A widget whose traits named in `_resent` reach the page whenever it is ready."""

    _resent: tuple[str, ...] = ()
    _own = traitlets.Unicode().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        # The front end must know its own id before the first message, so it is chosen here.
        own_id = uuid.uuid4().hex
        super().__init__(_own=own_id, model_id=own_id, **state)
        self._has_changed = False
        self.on_msg(self._front_end_started)
        self.observe(self._note_change, list(self._resent))

    def _note_change(self, _change: Any) -> None:
        self._has_changed = True

    def _front_end_started(self, _widget: Any, content: Any, _buffers: Any) -> None:
        # Only where something has changed since the widget was made: the first state travels with
        # it.
        if content.get("kind") == "started" and self._has_changed:
            self.send_state(list(self._resent))
