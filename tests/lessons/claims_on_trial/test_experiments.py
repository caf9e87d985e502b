"""Lesson 90: settings and sweeps, what is counted, the exercises' checks."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ddlab.core.errors import DDLabError
from ddlab.lessons import claims
from ddlab.lessons.claims_on_trial import experiments
from ddlab.lessons.claims_on_trial.convergence import Descent
from ddlab.lessons.claims_on_trial.experiments import CHECKS, counts, register_counts, some_settings, surviving, sweep
from ddlab.lessons.claims_on_trial.information import Teacher
from ddlab.lessons.claims_on_trial.losses import Softmax
from ddlab.lessons.claims_on_trial.trial_card import ANSWERS

TRIALS = experiments.trials()


def test_settings_lie_on_the_sliders() -> None:
    drawn = some_settings(Descent, 300)
    assert drawn == some_settings(Descent, 300) != some_settings(Descent, 300, seed=1)
    assert drawn[:7] == some_settings(Descent, 7)
    assert min(view.steps for view in drawn) < 10 and max(view.steps for view in drawn) > 190
    for view in drawn:
        assert math.isclose(view.learning_rate / 0.005, round(view.learning_rate / 0.005), abs_tol=1e-6)
        assert 0.05 <= view.spread <= 2 and 1 <= view.steps <= 200
    teachers = some_settings(Teacher, 60)
    assert {view.teacher for view in teachers} == {"hard", "soft"} and {view.levels for view in teachers} <= set(
        range(2, 101)
    )
    assert {view.seed for view in some_settings(Softmax, 20)} == {0}, "what has no slider stays"
    with pytest.raises(DDLabError, match="count must be"):
        some_settings(Descent, 0)


def test_a_sweep_is_the_share_that_holds() -> None:
    trial = TRIALS["F4"]
    views = some_settings(trial.parameters, 30, seed=4)
    wanted = sum(view.merges % 2 == 1 or view.small_side == 224 for view in views) / 30
    assert 0 < sweep(trial, 30, seed=4) == wanted < 1


def test_counts() -> None:
    found = counts(TRIALS)
    assert tuple(found) == ANSWERS and sum(found.values()) == len(TRIALS) >= 18
    assert counts({key: TRIALS[key] for key in ("R5", "F4")}) == dict(zip(ANSWERS, (1, 1, 0), strict=True))


def test_conclusions_that_survive() -> None:
    shares = {"R15 Theorem 3": 1.0, "R6 theorem": 1.0, "F8 Corollary 1": 0.9}
    assert list(surviving(shares).values()) == [True, True, True, False]
    assert list(surviving(shares | {"R6 theorem": 0.99}).values()) == [True, True, False, False]


def test_the_whole_register_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = register_counts()
    assert sum(found.values()) == len(claims.CLAIMS)
    for verdict, count in found.items():
        recorded = [
            name for name in claims.CLAIMS if claims.is_recorded(name) and claims.recorded(name).verdict == verdict
        ]
        assert verdict == "not run" or len(recorded) == count
    monkeypatch.setattr(claims, "is_recorded", lambda _claim: False)
    assert register_counts() == {"not run": len(claims.CLAIMS)}


RIGHT: dict[str, Any] = {
    "half": 0.96788,
    "counterexample": (lambda place: -min(place + 3, 2 - place), -3, 2, 0.6),  # z = -1.0
    "floor": lambda spread, rate, batch: rate / (2 - rate) * (spread**2 + 0.25) / batch,
}
WRONG: list[tuple[str, Any, str]] = [
    ("half", "0.968", "a number above 0"),
    ("half", -1.0, "a number above 0"),
    ("half", math.inf, "a number above 0"),
    ("half", 0.5, "eq 24 gives 0.6564"),
    ("half", 0.0605, "eq 24 gives"),
    ("counterexample", abs, "four things"),
    ("counterexample", (abs, -1, 1, 0), "between 0 and 1"),
    ("counterexample", (abs, -1, 1, 0.5), "not one half"),
    ("counterexample", (abs, -1, "x", 0.5), "ValueError"),
    ("counterexample", (lambda place: 2 * abs(place), -1, 1, 0.4), "steeper than 1"),
    ("counterexample", (lambda place: math.nan, -1, 1, 0.4), "level"),
    ("counterexample", (lambda place: place, -1, 1, 0.4), "level"),
    ("counterexample", (lambda place: 0.0, -1, 1, 0.4), "within the printed"),
    ("counterexample", (lambda place: 1 / 0, -1, 1, 0.4), "ZeroDivisionError"),
    ("floor", 0.1, "Write a function"),
    ("floor", lambda spread: spread, "TypeError"),
    ("floor", lambda spread, rate, batch: 0.0, "That is the printed line"),
    ("floor", lambda spread, rate, batch: rate / (2 - rate) * spread**2 / batch, "not S^2 alone"),
    ("floor", lambda spread, rate, batch: rate * (spread**2 + 0.25) / batch, "solve f"),
    ("floor", lambda spread, rate, batch: rate / (2 - rate) * (spread**2 + 0.25), "of a batch has less noise"),
    ("floor", lambda spread, rate, batch: math.nan, "Once it rests"),
]


@pytest.mark.parametrize("exercise", CHECKS)
def test_right_answers_are_right_and_none_gets_a_hint(exercise: str) -> None:
    right, said = CHECKS[exercise](RIGHT[exercise])
    assert right and said.endswith(".")
    right, hint = CHECKS[exercise](None)
    assert not right and hint.endswith((".", "?"))


@pytest.mark.parametrize(("exercise", "answer", "hint"), WRONG)
def test_wrong_answers_get_their_hint(exercise: str, answer: Any, hint: str) -> None:
    right, said = CHECKS[exercise](answer)
    assert not right and hint in said
