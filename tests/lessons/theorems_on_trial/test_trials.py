"""The trials of lesson 90: what each card says against an independent computation, at positions of
its sliders drawn at random.
"""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

from ddlab.core import describe
from ddlab.core.randomness import numpy_generator
from ddlab.lessons.theorems_on_trial import trials
from ddlab.lessons.theorems_on_trial.trial_card import FAILS, HOLDS, TrialCard
from ddlab.lessons.theorems_on_trial.trials import TRIALS

# What an independent computation says of a view: whether the statement holds there, and numbers
# that its sentence must have.
Judged = tuple[bool, list[str]]


def settings(key: str, count: int, seed: int) -> list[Any]:
    """So many positions of a trial's sliders, drawn evenly from their ranges and choices, at the
    sliders' own steps.
    """
    parameters = TRIALS[key].parameters
    draw = numpy_generator(seed, 0, f"settings of {key}")
    sliders = {
        name: field for name, field in describe(parameters).items() if field.explorable is not None
    }

    def random_value(field: Any) -> Any:
        if field.choices is not None:
            return field.choices[int(draw.integers(len(field.choices)))]
        low, high = field.explorable
        step = field.step or (1 if field.type is int else (high - low) / 100)
        number = low + step * int(draw.integers(round((high - low) / step) + 1))
        return int(number) if field.type is int else min(float(f"{number:.4g}"), high)

    drawn_settings = []
    for _ in range(count):
        values = {name: random_value(field) for name, field in sliders.items()}
        drawn_settings.append(parameters(**values))
    return drawn_settings


def judge_sgd(view: Any) -> Judged:
    noise = view.spread**2 + 0.25
    rate = view.learning_rate
    exact = 1.0
    for _ in range(view.steps):
        exact = (1 - rate) ** 2 * exact + rate**2 * noise
    printed = (1 - rate) ** (2 * view.steps) * (1 + rate / (2 - rate) * noise)
    return printed >= exact, [f"{printed:.3g}", f"{exact:.3g}"]


def judge_information(view: Any) -> Judged:
    """I(X; Y) / H(Y) as H(X) - H(X | Y), both differential, on a grid; and what eq 24 stands for,
    of the same.
    """
    printed = 2 / (np.log2(2 * np.pi * np.e * view.spread**2) / 2 + 2)
    x = np.linspace(-12 * view.spread, 1 + 12 * view.spread, 400_001)
    mixed = (stats.norm.pdf(x, 0, view.spread) + stats.norm.pdf(x, 1, view.spread)) / 2
    entropy = -integrate.trapezoid(special.xlogy(mixed, mixed), x)
    share = (entropy - stats.norm(0, view.spread).entropy()) / math.log(2)
    exact = 2 * share * math.log(2) / (entropy + math.log(2))
    return 0 <= printed <= 1, [f"{printed:.3g}", f"{share:.3f}", f"is {exact:.3g}, a difference"]


def overlap_by_grid(gap: float, first: float, second: float) -> float:
    reach = 12 * max(first, second)
    x = np.linspace(-reach, gap + reach, 400_001)
    return integrate.trapezoid(
        np.minimum(stats.norm.pdf(x, 0, first), stats.norm.pdf(x, gap, second)), x
    )


def judge_overlap(view: Any) -> Judged:
    def at(strength: float) -> float:
        spreads = (
            math.sqrt(spread**2 + strength / 4) for spread in (view.spread, view.other_spread)
        )
        return overlap_by_grid(view.gap, *spreads)

    return True, [f"is {at(view.strength):.3f}.", f"from {at(0):.3f}", f"to {at(10):.3f},"]


def judge_chord(view: Any) -> Judged:
    slopes = trials.slope_one(view, np.array([-1.0, 1.0, 1 - 2 * view.merge_ratio]))
    distance = abs(slopes[2] - view.merge_ratio * slopes[0] - (1 - view.merge_ratio) * slopes[1])
    bound = view.merge_ratio * (1 - view.merge_ratio) * 2
    return bool(distance <= bound + 1e-12), [
        f"lies {distance:.3f}",
        f"bound is {bound:.3f}; the right bound is {2 * bound:.3f}",
    ]


JUDGES: dict[str, Callable[[Any], Judged]] = {
    "SGD": judge_sgd,
    "information": judge_information,
    "overlap": judge_overlap,
    "chord": judge_chord,
}


@pytest.mark.parametrize("key", TRIALS)
def test_a_card_says_what_an_independent_computation_says(key: str) -> None:
    for view in settings(key, 25, seed=1):
        statement = TRIALS[key].show(view)
        holds, numbers = JUDGES[key](view)
        assert TRIALS[key].holds(view) == holds, (view, statement.sentence)
        for number in numbers:
            assert number in statement.sentence, (view, number, statement.sentence)


@pytest.mark.parametrize("key", TRIALS)
def test_the_verdict_is_what_drawn_settings_find(key: str) -> None:
    trial = TRIALS[key]
    views = settings(key, 60, seed=2)
    verdicts = [trial.holds(view) for view in views]
    assert trial.verdict == (HOLDS if all(verdicts) else FAILS)
    if key == "SGD":  # its condition, written down once more
        assert verdicts == [
            (1 - view.learning_rate) ** (2 * view.steps) >= 0.5 for view in views
        ] and any(verdicts)


def test_eq_24_does_not_tend_to_one_and_the_share_does() -> None:
    """It fails although it lies in [0, 1] for wide classes: its limit is another."""
    sentences = [
        TRIALS["information"].show(trials.Width(spread=spread)).sentence
        for spread in (0.06, 0.04, 0.02)
    ]
    values = [
        float(re.findall(r"eq 24 gives (-?[\d.e+]+)\. The", sentence)[0]) for sentence in sentences
    ]
    assert max(values) < 0 and all("I/H(Y) is 1.000 in one" in sentence for sentence in sentences)


def test_what_corollary_1_is_tried_on_is_lipschitz() -> None:
    places = np.linspace(-1, 1, 1601)
    for seed in range(5):
        for function in ("|x - c|", "random"):
            values = trials.slope_one(trials.Merge(function=function, seed=seed, kink=0.3), places)
            assert np.abs(np.diff(values)).max() <= (places[1] - places[0]) * (1 + 1e-9)
    views = [
        trials.Merge(function="|x - c|", merge_ratio=a, kink=round(1 - 2 * a, 2))
        for a in (0.1, 0.25, 0.5, 0.8)
    ]
    assert not any(TRIALS["chord"].holds(view) for view in views), (
        "with its kink at z, whatever alpha"
    )


@pytest.mark.parametrize("key", TRIALS)
def test_a_card_opens_where_its_statement_holds_and_its_solution_meets_the_quest(key: str) -> None:
    trial = TRIALS[key]
    first = trial.parameters()
    assert trial.holds(first)
    card = TrialCard(trial).commit("holds")
    assert card.quest is not None and not card.quest.met
    for name, value in trial.solution:
        assert not card.quest.met, "one side alone is no border"
        card.panel[name].value = value
    assert card.quest.met, card.settings
    card.close()
