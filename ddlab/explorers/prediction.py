"""A prediction: the reader commits an answer before the result is shown, and sees both side by side
later.

prediction = Prediction("Which?", ["one", "other"])
prediction.observe(handler, "locked")               # change["new"] is the answer, once
"""

import html
from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets
import traitlets

from ..core import errors
from .front_end import SyncedWidget, front_end


class Locking(SyncedWidget):
    """Locks the answer to a question, and shows the reply, on a page without a kernel.

    Traits:
        answers, button, line, reply: models of the question and of its reply.
        replies: one for each choice.
    """

    _esm = front_end("locking.js")
    answers = traitlets.Unicode().tag(sync=True)
    button = traitlets.Unicode().tag(sync=True)
    line = traitlets.Unicode().tag(sync=True)
    reply = traitlets.Unicode().tag(sync=True)
    replies = traitlets.List().tag(sync=True)


class Prediction(widgets.VBox):
    """A question with answers to choose from; "Lock my answer" keeps it.

    Attributes:
        locked: the answer, or None while nothing is locked.
    """

    # Any to type checkers, which see the trait and not the text that it holds.
    locked: Any = traitlets.Unicode(None, allow_none=True)

    def __init__(self, question: str, choices: Sequence[str]) -> None:
        errors.check_text("question", question, empty=False)
        errors.check_instance("choices", choices, (list, tuple), "a list of answers")
        choices = [errors.check_text("choices", choice, empty=False) for choice in choices]
        if len(choices) < 2 or len(set(choices)) != len(choices):
            errors.fail("choices", "at least two different answers", list(choices))
        self.question = question
        self.choices = tuple(choices)
        self._answers = widgets.RadioButtons(
            options=list(choices), value=None, layout=widgets.Layout(width="auto")
        )
        self._button = widgets.Button(
            description="Lock my answer", tooltip="It cannot be changed afterwards", disabled=True
        )
        self._said = widgets.HTML()
        self._answers.observe(self._chosen, "value")
        self._button.on_click(lambda _button: self.lock())
        super().__init__(
            [
                widgets.HTML(f'<b style="line-height:1.4">{html.escape(question)}</b>'),
                self._answers,
                widgets.HBox([self._button, self._said]),
            ]
        )

    def choose(self, answer: str) -> None:
        """Choose as a click would."""
        self._answers.value = errors.check_choice("answer", answer, tuple(self._answers.options))

    def lock(self) -> None:
        """Keep the answer chosen; from then on it stays."""
        if self.locked is None and self._answers.value is not None:
            # Told last: whoever observes the answer finds it locked.
            self._answers.disabled = self._button.disabled = True
            # The locked answer takes the button's place, which a narrow column needs.
            self._button.layout.display = "none"
            self._said.value = f"Locked: {html.escape(self._answers.value)}"
            self.locked = self._answers.value

    @property
    def on_page(self) -> dict[str, str]:
        """Models of the answers, of the button that locks one, and of the line that says so."""
        parts = {"answers": self._answers, "button": self._button, "line": self._said}
        return {name: part.model_id for name, part in parts.items()}

    def answer_on_page(self, words: str, replies: Sequence[str]) -> None:
        """Show words here and now, which become the reply to the answer on a page without a kernel.

        Args:
            words: shown until an answer is locked.
            replies: one for each choice.
        """
        from IPython.display import display

        reply = widgets.HTML(html.escape(words))
        display(reply)
        on_page = Locking(
            **self.on_page,
            reply=reply.model_id,
            replies=[html.escape(text) for text in replies],
        )
        self.children = [*self.children, on_page]

    def _chosen(self, _change: object) -> None:
        self._button.disabled = self._answers.value is None or self.locked is not None
