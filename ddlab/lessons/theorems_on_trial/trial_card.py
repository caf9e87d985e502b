r"""A statement of a paper on trial: read it, commit an answer, then move the sliders and see the
verdict.

    trial = Trial(key="R5", source="ReLA, appendix G", statement="The best boundary is the same for every $\Sigma$.", ...)
    card = TrialCard(trial)      # shows the statement and waits
    card.commit("holds")         # as a click on an answer and on "Lock my answer" would

Nothing is computed and no slider moves before an answer is locked. Then the figure draws what is
printed against what is true, a sentence gives the numbers and whether the statement holds at these
settings, and below it stand verdict, right form and reason.
"""

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import ipywidgets as widgets
import plotly.graph_objects as go

from ...core import errors
from ...core.parameters import Parameters
from ...explorers.controls import Controls
from ...explorers.layout import Explorer
from ...explorers.plot import Plot
from ...explorers.prediction import Prediction

HOLDS = "holds"
FAILS = "fails"
ANSWERS = (HOLDS, FAILS)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a trial shows for its sliders.

    Attributes:
        figure: what is printed against what is true.
        sentence: both in numbers, at the sliders.
        holds: whether the statement is true at these settings.
        cursor: where the sliders stand on the x axis, None for nowhere.
    """

    figure: go.Figure
    sentence: str
    holds: bool
    cursor: float | None = None


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One statement as printed, and what is needed to try it.

    Texts may have formulas between dollar signs.

    Attributes:
        key: its name among the trials of a lesson.
        source: paper and place.
        statement: as printed, in our words.
        symbols: every symbol and word of the statement that is not explained in it, shown before
            the answer is locked.
        parameters: the class of its sliders, one for each explorable field, grey where `unused`
            names it.
        show: what it shows for them.
        verdict: one of `ANSWERS`: one position of the sliders at which it is false is enough for
            the second.
        survives: of a statement that fails, what is true of it all the same.
        right: what is right.
        reason: why, in two or three sentences.
    """

    key: str
    source: str
    statement: str
    parameters: type[Parameters]
    show: Callable[[Any], Outcome]
    verdict: str
    right: str
    reason: str
    symbols: str = ""
    survives: str = ""


class TrialCard(Explorer):
    """One trial as an explorer; see the module.

    Attributes:
        trial: what is tried. panel: its `value` is an instance of `trial.parameters`. prediction:
            the question.
        plot: the figure, None until an answer is locked. shown: what `trial.show` gave last, or
            None.
    """

    def __init__(self, trial: Trial, settings: str = "", *, key: str = "") -> None:
        """
        Args:
            settings: where the sliders begin, as the card's own text of that name says it, such as
                "spread=0.2".
            key: of the card that this one replaces; default: that of the trial.
        """
        self.trial = errors.check_instance("trial", trial, Trial)
        self.panel = Controls(trial.parameters.from_string(settings), stacked=True)
        self.panel.disabled = True
        self.prediction = Prediction("Your verdict on it, as printed?", ANSWERS)
        self.plot: Plot | None = None
        self.shown: Outcome | None = None
        self._verdict = widgets.HTMLMath(layout=widgets.Layout(display="none"))
        symbols_text = (
            f"<p><small>{html.escape(trial.symbols)}</small></p>" if trial.symbols else ""
        )
        statement = widgets.HTMLMath(
            f'<div style="font-size:15px">{html.escape(trial.statement)}{symbols_text}</div>'
        )
        super().__init__(
            f"On trial: {trial.source}",
            controls=[self.prediction, self.panel],
            key=errors.check_text("key", key) or f"trial {trial.key}",
            beside=True,
        )
        # What is read goes across: the statement above sliders and figure, the verdict below.
        self.children = (self._title, statement, *self.children[1:], self._verdict)
        # First: the plot is sent before the text that can be shared.
        self.panel.observe(self.guard(self._moved), "value")
        self.share(self.panel)
        self.share_field.disabled = True
        self.prediction.observe(self.guard(self._opened), "locked")
        self.say("Lock an answer: then the sliders open.")

    def commit(self, answer: str) -> Self:
        """Choose and lock an answer, one of `ANSWERS`, as clicks would; the first one stays.

        Returns the card.
        """
        self.prediction.choose(errors.check_choice("answer", answer, ANSWERS))
        self.prediction.lock()
        return self

    def _opened(self, _change: Any) -> None:
        outcome = self._computed()
        self.plot = Plot(outcome.figure, announce=False, cursor=outcome.cursor)
        self.views_box.children = (self.plot,)
        self.panel.disabled = self.share_field.disabled = False
        self.prediction.layout.display = "none"  # the verdict repeats the answer
        self._show(outcome)
        self._verdict.value = self._verdict_in_words()
        self._verdict.layout.display = None

    def _moved(self, _change: Any) -> None:
        if self.plot is None:
            return
        outcome = self._computed()
        self.plot.figure = outcome.figure
        self.plot.cursor = outcome.cursor
        self._show(outcome)

    def _computed(self) -> Outcome:
        return errors.check_instance(
            "what Trial.show gives", self.trial.show(self.panel.value), Outcome, "an Outcome"
        )

    def _show(self, outcome: Outcome) -> None:
        self.shown, view = outcome, self.panel.value
        for name in self.panel:
            self.panel[name].disabled = name == getattr(view, "unused", None)
        self.say(f"{outcome.sentence} Here the statement {'holds' if outcome.holds else 'fails'}.")

    def _verdict_in_words(self) -> str:
        trial = self.trial
        verdict_locked = html.escape(self.prediction.locked)
        survives = (
            f"<br><b>What survives:</b> {html.escape(trial.survives)}" if trial.survives else ""
        )
        return (
            f'<div role="status"><b>Verdict: {trial.verdict}.</b> You said: <i>{verdict_locked}</i>{survives}'
            f"<br><b>Right:</b> {html.escape(trial.right)}"
            f"<br><b>Why:</b> {html.escape(trial.reason)}</div>"
        )
