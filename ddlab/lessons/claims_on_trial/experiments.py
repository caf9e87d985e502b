"""Lesson 90: the trials by name, what becomes of them when their sliders move, the register in numbers, and the exercises' checks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import theory
from ...core import errors, randomness
from ...core.parameters import Parameters, describe
from .. import claims
from .claims import SUBJECTS
from .trial_card import FAILS, HOLDS, WHEN, Trial

# Results whose printed proof has a wrong line: does the conclusion survive?
PROOFS = ("ReLA A.3", "ReLA Theorem 3", "ReLA Theorem 6", "FADRM Corollary 1")


def trials() -> dict[str, Trial]:
    """Every trial by its key, with the verdicts of the record as it is now."""
    return {key: made() for subject in SUBJECTS for key, made in subject.trials.items()}


def some_settings(parameters: type[Parameters], count: int, *, seed: int = 0) -> list[Any]:
    """So many positions of the sliders, drawn evenly from their ranges and choices, at the sliders' own steps."""
    errors.check_integer("count", count, 1, 10_000)
    draw = randomness.numpy_generator(seed, 0, f"settings of {parameters.__qualname__}")
    return [parameters(**{name: _drawn(field, draw) for name, field in _sliders(parameters)}) for _ in range(count)]


def sweep(trial: Trial, count: int, *, seed: int = 0) -> float:
    """The share of drawn settings at which the statement of a trial holds."""
    return sum(trial.show(view).holds for view in some_settings(trial.parameters, count, seed=seed)) / count


def counts(known: Mapping[str, Trial]) -> dict[str, int]:
    """How many trials have each verdict."""
    found = Counter(trial.verdict for trial in known.values())
    return {verdict: found[verdict] for verdict in (HOLDS, WHEN, FAILS)}


def surviving(shares: Mapping[str, float]) -> dict[str, bool]:
    """Of each result in `PROOFS`, whether its conclusion holds, numerically.

    Args:
        shares: key of a trial -> share of settings at which its statement held, as `sweep` gives it. A.3's conclusion is that a smaller
            spread learns better: the error ends lower.
    """
    floors = [theory.noise_floor(spread=s, learning_rate=0.1) for s in np.linspace(0.05, 2, 40)]
    keys = ("R15 Theorem 3", "R6 theorem", "F8 Corollary 1")
    return dict(zip(PROOFS, [bool((np.diff(floors) > 0).all()), *(shares[key] == 1 for key in keys)], strict=True))


def register_counts() -> dict[str, int]:
    """How many claims of the whole register have each recorded verdict; "not run" for those without a record yet."""
    found = Counter(claims.recorded(name).verdict if claims.is_recorded(name) else "not run" for name in claims.CLAIMS)
    return {verdict: found[verdict] for verdict in (*claims.VERDICTS, "not run") if found[verdict]}


def check_half(answer: Any) -> tuple[bool, str]:
    """Exercise 2: the spread at which eq 24 is one half."""
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not math.isfinite(answer) or answer <= 0:
        return False, "Give a spread, a number above 0. When is the numerator half of the denominator?"
    spread = min(max(float(answer), 1e-6), 1e6)
    value = theory.printed_normalised_information(spread=spread)
    if abs(value - 0.5) < 2e-4:
        exact = theory.mixture_information(spread=spread, dimensions=1).share
        return (
            True,
            f"It is 4 / sqrt(2 pi e). Exactly a sample tells {exact:.3f} of its target there: much less than half.",
        )
    return False, f"At your spread eq 24 gives {value:.4f}. One half needs log(2 pi e S^2) / 2 = 2 log 2."


def check_counterexample(answer: Any) -> tuple[bool, str]:
    """Exercise 3: (h, x, y, alpha) with a 1-Lipschitz h, h(x) = h(y), that breaks Corollary 1 as printed; alpha is not one half."""
    if not isinstance(answer, tuple) or len(answer) != 4 or not callable(answer[0]):
        return False, "Give four things: (h, x, y, alpha), h a function of a number."
    h, *numbers = answer
    try:
        x, y, alpha = map(float, numbers)
        if not math.isfinite(x - y) or not 0 < alpha < 1 or alpha == 0.5:
            return False, "x and y must be finite, and alpha between 0 and 1 and not one half."
        if not abs(float(h(x)) - float(h(y))) <= 1e-9:
            return False, f"The chord is to be level: your h(x) is {float(h(x)):.3f} and h(y) {float(h(y)):.3f}."
        places = np.linspace(min(x, y), max(x, y), 201)
        slope = max(abs(np.diff([float(h(float(place))) for place in places])), default=0.0)
        distance = abs(float(h(alpha * x + (1 - alpha) * y)) - alpha * float(h(x)) - (1 - alpha) * float(h(y)))
    except Exception as problem:
        return False, f"Your answer raised {type(problem).__name__}: {problem}."
    if not slope <= (places[1] - places[0]) * (1 + 1e-6):
        return False, "Your h is steeper than 1 somewhere between x and y: it must be 1-Lipschitz."
    bound = alpha * (1 - alpha) * abs(x - y)
    if distance > bound * (1 + 1e-9):
        return (
            True,
            f"h(z) lies {distance:.3f} from the chord, the printed bound is {bound:.3f}. With the factor 2 it is {2 * bound:.3f}.",
        )
    return (
        False,
        f"h(z) lies {distance:.3f} from the chord, within the printed {bound:.3f}. Let h climb as fast as it may on the way to z.",
    )


def check_floor(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function (spread, learning_rate, batch) -> what E[(theta_t - theta*)^2] ends on, means 1 apart, rho = 0."""
    if not callable(answer):
        return False, "Write a function of (spread, learning_rate, batch)."
    settings = [(0.1, 0.1, 1), (1.0, 0.1, 4), (0.5, 0.4, 10)]
    try:
        given = [float(answer(*one)) for one in settings]  # type: ignore[arg-type]
    except Exception as problem:
        return False, f"Your function raised {type(problem).__name__}: {problem}."
    wanted = [theory.noise_floor(spread=s, learning_rate=rate) / batch for s, rate, batch in settings]
    noise = [(s**2 + 0.25) / batch for s, _, batch in settings]
    for wrong, hint in (
        ([rate / (2 - rate) * s**2 / batch for s, rate, batch in settings],
         "Nearly: the noise is not S^2 alone, the prediction misses even at its best."),
        ([theory.noise_floor(spread=s, learning_rate=rate) for s, rate, _ in settings], "Nearly: the mean of a batch has less noise."),
        ([rate * v for (_, rate, _), v in zip(settings, noise, strict=True)], "Nearly: solve f = (1 - eta)^2 f + eta^2 V for f."),
        ([0.0] * 3, "That is the printed line. With noise in every step the error does not vanish."),
    ):  # fmt: skip
        if np.allclose(given, wrong, rtol=1e-6, atol=1e-12):
            return False, hint
    if np.allclose(given, wanted, rtol=1e-6, atol=0):
        return True, "Spread and batch set the floor; the rate (1 - eta)^2 does not know them."
    return False, "Once it rests, f = (1 - eta)^2 f + eta^2 V, with V = (S^2 + 1/4) / batch."


CHECKS = {"half": check_half, "counterexample": check_counterexample, "floor": check_floor}


def _sliders(parameters: type[Parameters]) -> list[tuple[str, Any]]:
    return [(name, field) for name, field in describe(parameters).items() if field.explorable is not None]


def _drawn(field: Any, draw: np.random.Generator) -> Any:
    if field.choices is not None:
        return field.choices[int(draw.integers(len(field.choices)))]
    low, high = field.explorable
    step = field.step or (1 if field.type is int else (high - low) / 100)
    number = low + step * int(draw.integers(round((high - low) / step) + 1))
    return int(number) if field.type is int else min(float(f"{number:.4g}"), high)
