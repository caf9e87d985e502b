"""A statement on trial, driven in Python: nothing shows before an answer is locked, everything
follows the sliders after.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
import pytest

from ddlab.core import Parameters, parameter
from ddlab.explorers import Laboratory
from ddlab.figures import loss_curves
from ddlab.lessons.theorems_on_trial.trial_card import (
    Outcome,
    Trial,
    TrialCard,
    outcome_figure,
    statement,
    verdict,
)
from ddlab.lessons.theorems_on_trial.trials import TRIALS


@dataclass(frozen=True, kw_only=True)
class Size(Parameters):
    """One slider."""

    size: int = parameter(3, symbol="n", range=(1, 20), explorable=(1, 10), help="A number.")


SIZES_SHOWN: list[int] = []


def square(view: Size) -> Outcome:
    """n^2 <= 10."""
    SIZES_SHOWN.append(view.size)
    curve = loss_curves(
        {"square": [n**2 for n in range(1, 11)]}, title="Squares", x_label="n", y_label="square"
    )
    return Outcome(
        figure=curve,
        sentence=f"The square is {view.size**2}.",
        cursor=float(view.size),
    )


def square_trial(**changes: Any) -> Trial:
    fields: dict[str, Any] = {
        "key": "square",
        "source": "Nobody, eq 1",
        "statement": r"$n^2 \le 10$ & so on",
        "symbols": "$n$: a number",
        "parameters": Size,
        "picture": lambda view: loss_curves({"n": [view.size]}, title="n"),
        "show": square,
        "holds": lambda view: view.size**2 <= 10,
        "verdict": "fails",
        "survives": r"It is true while $n \le 3$.",
        "right": r"$n^2 < 11$ for $n \le 3$",
        "reason": "Squares grow.",
    }
    return Trial(**{**fields, **changes})


@pytest.fixture
def card() -> Iterator[Laboratory]:
    SIZES_SHOWN.clear()
    laboratory = TrialCard(square_trial())
    yield laboratory
    laboratory.close()


def test_it_waits_for_an_answer(card: Laboratory) -> None:
    assert SIZES_SHOWN == [] and card.title == "On trial: Nobody, eq 1"
    assert all(card.panel[name].disabled for name in card.panel) and card.share_field.disabled
    assert list(card.widget(outcome_figure).figure.data) == []
    assert card.sentence == "Lock an answer: then the sliders open."
    words = card.widget(statement)
    assert isinstance(words, widgets.HTMLMath) and r"$n^2 \le 10$ &amp; so on" in words.value
    assert "$n$: a number" in words.value and card.widget(verdict).value == ""
    card.panel["size"].value = 7  # a reader cannot, but whatever happens nothing is given away
    assert SIZES_SHOWN == [] and list(card.widget(outcome_figure).figure.data) == []


def test_a_click_opens_it(card: Laboratory) -> None:
    answers, row = card.prediction.children[1:]
    answers.value = "fails"
    assert SIZES_SHOWN == [], "chosen is not locked"
    row.children[0].click()
    assert (
        card.prediction.locked == "fails"
        and not any(card.panel[name].disabled for name in card.panel)
        and not card.share_field.disabled
    )
    plot = card.widget(outcome_figure)
    assert [trace.name for trace in plot.figure.data] == ["square"] and plot.cursor == 3
    assert card.sentence == "The square is 9. Here the statement holds."
    words = re.sub("<[^>]*>", "", card.widget(verdict).value)
    assert (
        r"Verdict: fails. You said: fails" in words
        and r"What survives: It is true while $n \le 3$." in words
    )
    assert r"Right: $n^2 &lt; 11$" in words and "Why: Squares grow." in words
    assert 'role="status"' in card.widget(verdict).value


def test_sliders_move_figure_cursor_and_sentence(card: Laboratory) -> None:
    card.commit("holds")
    card.panel["size"].value = 4
    assert card.sentence == "The square is 16. Here the statement fails."
    assert card.widget(outcome_figure).cursor == 4
    assert SIZES_SHOWN == [3, 4], "each drawing tries it once"


def test_a_slider_that_plays_no_part_is_grey() -> None:
    card = TrialCard(TRIALS["chord"]).commit("holds")
    assert card.panel["kink"].disabled and not card.panel["seed"].disabled
    card.panel["function"].value = "|x - c|"
    assert card.panel["seed"].disabled and not card.panel["kink"].disabled
    card.close()
