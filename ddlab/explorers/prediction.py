"""A prediction: the reader commits an answer before the result is shown, and sees both side by side
later.

prediction = Prediction("Which?", ["one", "other"])
prediction.observe(handler, "locked")               # change["new"] is the answer, once
"""

import html
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import traitlets

from ..core import errors
from .front_end import SyncedWidget, front_end, style

_LOCK_FIRST = "Lock your guess above, and the verdict appears here."


class Verdict(SyncedWidget):
    """The line that answers a prediction as soon as it is locked, with a kernel or without.

    verdict = Verdict(lambda prediction: ["Not so.", "Right."])   # a reply for each choice
    verdict.follow(prediction)

    Traits:
        text: what it says now.
        replies: one for each choice.
        answers, button, line: models of the question, for a page without a kernel.
    """

    _esm = front_end("verdict.js")
    _css = style()
    _resent = ("text", "replies", "answers", "button", "line")
    text = traitlets.Unicode().tag(sync=True)
    replies = traitlets.List().tag(sync=True)
    answers = traitlets.Unicode().tag(sync=True)
    button = traitlets.Unicode().tag(sync=True)
    line = traitlets.Unicode().tag(sync=True)

    def __init__(self, reply: Callable[[Sequence[str]], Sequence[str]]) -> None:
        """
        Args:
            reply: choices -> a reply for each.
        """
        self._reply = reply
        super().__init__(text=_LOCK_FIRST)

    def follow(self, prediction: "Prediction") -> None:
        """Answer this prediction from now on; one of the same question may have gone before it."""
        self.replies = list(self._reply(prediction.choices))
        for name, model in prediction.on_page.items():
            setattr(self, name, model)

        def show(_change: object = None) -> None:
            answer = prediction.locked
            index = None if answer is None else prediction.choices.index(answer)
            self.text = _LOCK_FIRST if index is None else self.replies[index]

        prediction.observe(show, "locked")
        show()


class Prediction(widgets.VBox):
    """A question with answers to choose from; "Lock my answer" keeps it.

    Attributes:
        locked: the answer, or None while nothing is locked.
        on_lock: called with the answer when its reader locks it.
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
        self.on_lock: Callable[[str], Any] = lambda answer: None
        self.choices = tuple(choices)
        self._answers = widgets.RadioButtons(
            options=list(choices), value=None, layout=widgets.Layout(width="auto")
        )
        self._button = widgets.Button(
            description="Lock my answer", tooltip="It cannot be changed afterwards", disabled=True
        )
        self._said = widgets.HTML()
        self._answers.observe(self._on_choice, "value")
        self._button.on_click(lambda _button: self.lock())
        super().__init__(
            [
                widgets.HTML(f'<b style="line-height:1.4">{html.escape(question)}</b>'),
                self._answers,
                widgets.HBox([self._button, self._said]),
            ]
        )

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget, with the question and its answers for readers without scripts."""
        answers = "".join(f"<li>{html.escape(choice)}</li>" for choice in self.choices)
        words = {
            "text/plain": f"Question: {self.question} Answers: {'; '.join(self.choices)}.",
            "text/html": f"<p><b>{html.escape(self.question)}</b></p><ul>{answers}</ul>",
        }
        return super()._repr_mimebundle_(**options) | words

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
            self.on_lock(self.locked)

    @property
    def on_page(self) -> dict[str, str]:
        """Models of the answers, of the button that locks one, and of the line that says so."""
        parts = {"answers": self._answers, "button": self._button, "line": self._said}
        return {name: part.model_id for name, part in parts.items()}

    def _on_choice(self, _change: object) -> None:
        self._button.disabled = self._answers.value is None or self.locked is not None
