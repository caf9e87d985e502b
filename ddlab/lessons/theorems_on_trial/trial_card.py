r"""A statement of a paper on trial: read it, commit an answer, then move the sliders and see the
verdict.

    trial = Trial(key="R5", source="ReLA, appendix G", statement="The best boundary is the same for every $\Sigma$.", ...)
    card = TrialCard(trial)      # shows the statement and waits
    card.commit("holds")         # as a click on an answer and on "Lock my answer" would

No slider moves before an answer is locked; until then only what the statement is about is drawn.
The card opens at settings where the statement holds. The figure draws what is printed against what is true, a sentence gives the
numbers and says whether the statement holds at these settings, and below it stand the verdict, the
right form and the reason. The quest is the border between settings where it holds and where it
fails.
"""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from ...core import Parameters, describe, errors
from ...explorers import Chart, Formulas, Lab, Named, Quest, Results, Row
from ...figures import finish_figure, start_figure

HOLDS = "holds"
FAILS = "fails"
ANSWERS = (HOLDS, FAILS)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a trial shows for its sliders.

    Attributes:
        figure: what is printed against what is true.
        sentence: both in numbers, at the sliders.
        cursor: where the sliders stand on the x axis, None for nowhere.
    """

    figure: go.Figure
    sentence: str
    cursor: float | None = None


Draw = Callable[[Any], go.Figure]


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
            names it. The statement holds at their defaults.
        picture: draws what the statement is about, for the sliders; it gives no verdict away.
        show: what it shows for them.
        holds: whether the statement is true at these settings; cheap, the quest asks it several
            times a press.
        verdict: one of `ANSWERS`: one position of the sliders at which it is false is enough for
            the second.
        survives: of a statement that fails, what is true of it all the same.
        right: what is right.
        reason: why, in two or three sentences.
        solution: of the quest: both sides of a border, or both ends of every slider.
    """

    key: str
    source: str
    statement: str
    parameters: type[Parameters]
    picture: Draw
    show: Callable[[Any], Outcome]
    holds: Callable[[Any], bool]
    verdict: str
    right: str
    reason: str
    symbols: str = ""
    survives: str = ""
    solution: Sequence[tuple[str, Any]] = ()


class World:
    """One trial, and where its sliders begin.

    Args:
        trial: what is tried.
        settings: where the sliders begin, as the card's own text of that name says it, such as
            "spread=0.2".
    """

    def __init__(self, trial: Trial, settings: str = "") -> None:
        self.trial = errors.check_instance("trial", trial, Trial)
        self.start = trial.parameters.from_string(settings)

    def outcome(self, settings: Any) -> Outcome:
        """Return what the trial shows for these sliders."""
        return errors.check_instance(
            "what Trial.show gives", self.trial.show(settings), Outcome, "an Outcome"
        )


def computed_outcome(world: World, settings: Any, results: Results) -> Outcome | None:
    """Return the outcome at the sliders, None before an answer is locked."""
    return None if results.answer is None else world.outcome(settings)


def statement_data(world: World, settings: Any, results: Results) -> Named:
    """Return the statement and its symbols."""
    return {"words": world.trial.statement, "symbols": world.trial.symbols}


def statement(words: str, symbols: str) -> str:
    """Return the statement as HTML, its symbols in small print below it."""
    small = f"<p><small>{html.escape(symbols)}</small></p>" if symbols else ""
    return f'<div style="font-size:15px">{html.escape(words)}{small}</div>'


def picture_data(world: World, settings: Any, results: Results) -> Named:
    """Return the trial and the sliders."""
    return {"trial": world.trial, "settings": settings}


def picture(trial: Trial, settings: Any) -> go.Figure:
    """Draw what the statement is about."""
    return trial.picture(settings)


def outcome_data(world: World, settings: Any, results: Results) -> tuple[Any, ...]:
    """Return the figure at the sliders, None before an answer is locked."""
    return (None if results.shared is None else results.shared.figure,)


def outcome_figure(figure: go.Figure | None) -> go.Figure:
    """Return the figure, or an empty one that says what opens it."""
    if figure is not None:
        return go.Figure(figure)  # the view adds to its drawing, and the outcome stays as it is
    title = "Lock an answer: then the figure opens"
    empty = start_figure(title=title, x_label="setting", y_label="printed and true", height=370)
    return finish_figure(empty, alt="Nothing is drawn before an answer is locked.")


def cursor(world: World, settings: Any, results: Results) -> float | None:
    """Return where the sliders stand on the x axis."""
    return None if results.shared is None else results.shared.cursor


def verdict_data(world: World, settings: Any, results: Results) -> Named | None:
    """Return the trial and the reader's answer."""
    return {"trial": world.trial, "answer": results.answer}


def verdict(trial: Trial, answer: str | None) -> str:
    """Return verdict, right form and reason as HTML, once an answer is locked."""
    if answer is None:
        return ""
    survives = f"<b>What survives:</b> {html.escape(trial.survives)}<br>" if trial.survives else ""
    return (
        f'<details role="status"><summary><b>Verdict: {trial.verdict}.</b> You said: '
        f"<i>{html.escape(answer)}</i>. <u>What is right, and why</u></summary>{survives}"
        f"<b>Right:</b> {html.escape(trial.right)}"
        f"<br><b>Why:</b> {html.escape(trial.reason)}</details>"
    )


def sentence(world: World, settings: Any, results: Results) -> str:
    """Say both numbers, and whether the statement holds at the sliders."""
    outcome = results.shared
    if outcome is None:
        return "Lock an answer: then the sliders open."
    verb = "holds" if world.trial.holds(settings) else "fails"
    return f"{outcome.sentence} Here the statement {verb}."


def controls(world: World) -> list[str]:
    """Return the fields of the trial that have a slider."""
    return [
        name
        for name, described in describe(world.start).items()
        if described.explorable is not None
    ]


def unused(world: World, settings: Any) -> list[str]:
    """Return the field that plays no part, if the trial names one."""
    name = getattr(settings, "unused", None)
    return [] if name is None else [name]


def slider_ranges(world: World, settings: Any) -> dict[str, tuple[float, float]]:
    """Return the ends of each slider of a number; a choice has none."""
    ranges = {}
    for name in controls(world):
        described = describe(settings)[name]
        if described.choices is None and isinstance(described.explorable, tuple):
            ranges[name] = described.explorable
    return ranges


def neighbours(world: World, settings: Any) -> list[Any]:
    """List the settings one step of one slider away; a seed has no neighbours."""
    beside = []
    for name, (low, high) in slider_ranges(world, settings).items():
        if name == "seed":
            continue
        described = describe(settings)[name]
        step = described.step or 1
        for value in (getattr(settings, name) - step, getattr(settings, name) + step):
            # Steps of .01 add up to 0.24000000000000002, which no slider shows.
            value = value if described.type is int else round(value, 6)
            if low <= value <= high:
                beside.append(settings.replace(**{name: value}))
    return beside


def is_border(world: World, settings: Any, results: Results) -> bool:
    """Return whether both sides of a border were on show, or all ends, none of which breaks it."""
    if results.answer is None:
        return False
    holds = world.trial.holds(settings)
    for beside in neighbours(world, settings):
        if beside in results.past and world.trial.holds(beside) is not holds:
            return True
    for name, limits in slider_ranges(world, settings).items():
        visited = {getattr(past, name) for past in results.past}
        if not visited.issuperset(limits):
            return False
    # Every end of every slider was on show; had one of them broken it, the verdict would not hold.
    return world.trial.verdict == HOLDS


TrialCard = Lab(
    lambda world: f"On trial: {world.trial.source}",
    World,
    controls=controls,
    shared=computed_outcome,
    unused=unused,
    question=("Your verdict, as printed:", ANSWERS),
    views=[
        Formulas(statement_data, statement),
        Row(
            Chart(picture_data, picture, ghosts=False),
            Chart(outcome_data, outcome_figure, cursor=cursor),
        ),
        Formulas(verdict_data, verdict),
    ],
    sentence=sentence,
    quest=lambda world: Quest(
        "Find a border: two neighbouring positions of one slider, where the statement holds at one "
        "and fails at the other. If it never fails, show both ends of every slider.",
        is_border,
        solution=world.trial.solution,
    ),
)
