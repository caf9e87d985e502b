"""Lesson 90: the checks of its exercises."""

import math
from typing import Any

import numpy as np

from ..answers import NotYet, numbers
from . import closed_forms


def check_counterexample(answer: Any) -> str:
    """Check exercise 2: (h, x, y, alpha) that breaks Corollary 1 as printed.

    h is 1-Lipschitz, h(x) = h(y), and alpha is not one half.
    """
    if not isinstance(answer, tuple) or len(answer) != 4 or not callable(answer[0]):
        raise NotYet("Give four things: (h, x, y, alpha), h a function of a number.")
    h, *numbers_given = answer
    try:
        x, y, alpha = map(float, numbers_given)
    except (TypeError, ValueError) as problem:
        raise NotYet(f"Your answer raised {type(problem).__name__}: {problem}.") from None
    if not math.isfinite(x - y) or not 0 < alpha < 1 or alpha == 0.5:
        raise NotYet("x and y must be finite, and alpha between 0 and 1 and not one half.")
    places = np.linspace(min(x, y), max(x, y), 201)
    first, last, at_z, *between = numbers(
        h,
        (x,),
        (y,),
        (alpha * x + (1 - alpha) * y,),
        *((place,) for place in places),
        of="a number",
    )
    if not abs(first - last) <= 1e-9:
        raise NotYet(f"The chord is to be level: your h(x) is {first:.3f} and h(y) {last:.3f}.")
    slope = max(abs(np.diff(between)), default=0.0)
    distance = abs(at_z - alpha * first - (1 - alpha) * last)
    if not slope <= (places[1] - places[0]) * (1 + 1e-6):
        raise NotYet("Your h is steeper than 1 somewhere between x and y: it must be 1-Lipschitz.")
    bound = alpha * (1 - alpha) * abs(x - y)
    if distance > bound * (1 + 1e-9):
        return (
            f"h(z) lies {distance:.3f} from the chord, the printed bound is {bound:.3f}. With "
            f"the factor 2 it is {2 * bound:.3f}."
        )
    raise NotYet(
        f"h(z) lies {distance:.3f} from the chord, within the printed {bound:.3f}. Let h "
        "climb as fast as it may on the way to z."
    )


def check_floor(answer: Any) -> str:
    """Check exercise 1: a function that gives what E[(theta_t - theta*)^2] ends on.

    Its arguments are (spread, learning_rate, batch); means lie 1 apart, rho = 0.
    """
    settings = [(0.1, 0.1, 1), (1.0, 0.1, 4), (0.5, 0.4, 10)]
    floors = numbers(answer, *settings, of="(spread, learning_rate, batch)")
    expected = []
    for s, rate, batch in settings:
        expected.append(closed_forms.noise_floor(spread=s, learning_rate=rate) / batch)
    noise = [(s**2 + 0.25) / batch for s, _, batch in settings]
    for wrong, hint in (
        (
            [rate / (2 - rate) * s**2 / batch for s, rate, batch in settings],
            "Nearly: the noise is not S^2 alone, the prediction misses even at its best.",
        ),
        (
            [closed_forms.noise_floor(spread=s, learning_rate=rate) for s, rate, _ in settings],
            "Nearly: the mean of a batch has less noise.",
        ),
        (
            [rate * v for (_, rate, _), v in zip(settings, noise, strict=True)],
            "Nearly: solve f = (1 - eta)^2 f + eta^2 V for f.",
        ),
        (
            [0.0] * 3,
            "That is the printed line. With noise in every step the error does not vanish.",
        ),
    ):
        if np.allclose(floors, wrong, rtol=1e-6, atol=1e-12):
            raise NotYet(hint)
    if np.allclose(floors, expected, rtol=1e-6, atol=0):
        return "Spread and batch set the floor; the rate (1 - eta)^2 does not depend on them."
    raise NotYet("Once it rests, f = (1 - eta)^2 f + eta^2 V, with V = (S^2 + 1/4) / batch.")


CHECKS = {"counterexample": check_counterexample, "floor": check_floor}
