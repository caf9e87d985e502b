"""Lesson 90: its exercises, the right answers and the usual mistakes."""

from typing import Any

import numpy as np
import torch

from ..answers import Exercise, NotYet, call_answer, to_float64
from . import closed_forms

_ASK = "Give four things: (h, x, y, alpha), h a function of a number."


def check_counterexample(answer: Any) -> str:
    """Check exercise 2: (h, x, y, alpha) that breaks Corollary 1 as printed.

    h is 1-Lipschitz, h(x) = h(y), and alpha is not one half.
    """
    if not isinstance(answer, tuple | list) or len(answer) != 4 or not callable(answer[0]):
        raise NotYet(_ASK)
    x, y, alpha = (float(to_float64(number).reshape(-1)[0]) for number in answer[1:])
    if not 0 < alpha < 1 or alpha == 0.5:
        raise NotYet("The share alpha must be between 0 and 1 and not one half.")
    places = [*np.linspace(min(x, y), max(x, y), 201)]
    heights = _heights(answer[0], [x, y, alpha * x + (1 - alpha) * y, *places])
    first, last, at_z = heights[:3]
    if not abs(first - last) <= 1e-6:
        raise NotYet(f"The chord is to be level: your h(x) is {first:.3f} and h(y) {last:.3f}.")
    slope = max(abs(np.diff(heights[3:])), default=0.0)
    if not slope <= (places[1] - places[0]) * (1 + 1e-4):
        raise NotYet("Your h is steeper than 1 somewhere between x and y: it must be 1-Lipschitz.")
    distance = abs(at_z - alpha * first - (1 - alpha) * last)
    bound = alpha * (1 - alpha) * abs(x - y)
    if distance > bound * (1 + 1e-4):
        return (
            f"At z, h lies {distance:.4g} from the chord, the printed bound is {bound:.4g}. With "
            f"the factor 2 it is {2 * bound:.4g}."
        )
    raise NotYet(
        f"At z, h lies {distance:.4g} from the chord, within the printed {bound:.4g}. Let h climb as "
        "fast as it may on the way to z."
    )


def _heights(h: Any, places: list[float]) -> list[float]:
    """Return a reader's function of a number at some places, whether it takes floats or tensors."""
    heights = []
    for place in places:
        try:
            height = h(float(place))
        except TypeError:  # as of torch.abs
            height = call_answer(h, torch.tensor(place), names=("place",), call_words=f"{place:g}")
        except Exception:
            height = call_answer(h, float(place), names=("place",), call_words=f"{place:g}")
        if height is None:
            raise NotYet("Your h returns nothing. Does it end with `return`?")
        number = to_float64(height, f"{place:g}")
        if number.numel() != 1:
            raise NotYet("Your h must return one number for each place.")
        heights.append(float(number))
    return heights


def _noise(spread: float, batch: int) -> float:
    return (spread**2 + 0.25) / batch


FLOOR = Exercise(
    arguments=("spread", "learning_rate", "batch"),
    cases=lambda: [(0.1, 0.1, 1), (1.0, 0.1, 4), (0.5, 0.4, 10)],
    expected=lambda spread, rate, batch: (
        closed_forms.noise_floor(spread=spread, learning_rate=rate) / batch
    ),
    mistakes={
        "Nearly: the noise is not S^2 alone, the prediction misses even at its best.": (
            lambda spread, rate, batch: rate / (2 - rate) * spread**2 / batch
        ),
        "Nearly: the mean of a batch has less noise.": (
            lambda spread, rate, batch: rate / (2 - rate) * _noise(spread, 1)
        ),
        "Nearly: in the fixed point (1 - eta)^2 has the term eta^2, which you left out.": (
            lambda spread, rate, batch: rate / 2 * _noise(spread, batch)
        ),
        "That is what one step adds. The errors of the steps before it are still there.": (
            lambda spread, rate, batch: rate**2 * _noise(spread, batch)
        ),
        "Nearly: 1 - (1 - eta)^2 is not eta.": (
            lambda spread, rate, batch: rate * _noise(spread, batch)
        ),
        "The variance of a mean falls with b, not with its square.": (
            lambda spread, rate, batch: rate / (2 - rate) * _noise(spread, batch) / batch
        ),
        "The whole error is averaged over the batch, the 1/4 as well.": (
            lambda spread, rate, batch: rate / (2 - rate) * (spread**2 / batch + 0.25)
        ),
        "That is the printed line. With noise in every step the error does not vanish.": (
            lambda spread, rate, batch: 0.0
        ),
        "That is the root of the floor. It is asked for as a mean square.": (
            lambda spread, rate, batch: (rate / (2 - rate) * _noise(spread, batch)) ** 0.5
        ),
    },
    look="Once it rests, one more step leaves E[e^2] as it is. What does that say about E[e'^2]?",
    success=(
        "Spread, batch and learning rate set where the error ends. How fast it gets there, "
        "(1 - eta)^2, depends on the learning rate alone."
    ),
)

CHECKS = {"counterexample": check_counterexample, "floor": FLOOR}
