"""What the effect of a claim is measured as: one number per pair, in a setting; what these say together; how draws are made."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core import errors, randomness
from ...core.errors import DDLabError
from ...evaluation import interval

EACH = 20  # draws per pair of the record: closed forms cost nothing


class Measured(NamedTuple):
    """The effects behind a claim, as `claims.judge` takes them.

    Attributes:
        values: one effect per pair or draw. setting: on what, in words. under: those that meet the claim's condition, if it has one.
    """

    values: list[float]
    setting: str
    under: list[float] | None = None


class Numbers(NamedTuple):
    """What the pairs say: their mean, its 95% interval, how many, their standard deviation, the least of them (None in old records)."""

    number: float
    interval: tuple[float, float]
    pairs: int
    spread: float
    least: float | None

    def text(self, every: bool = False) -> str:
        """In words, with the least pair for a claim about every pair."""
        low, high = map(_signed, self.interval)
        return f"{self._middle(every)}, 95% interval {low} to {high}, {self.pairs} pairs"

    def cell(self, every: bool = False) -> str:
        """The same, short, for a table."""
        low, high = map(_signed, self.interval)
        return f"{self._middle(every)} ({low} to {high}, {self.pairs})"

    def _middle(self, every: bool) -> str:
        least = f"least {_signed(self.least)}, mean " if every and self.least is not None else ""
        return f"{least}{_signed(self.number)}"


def numbers_of(argument: str, differences: Any) -> Numbers:
    """What paired differences say; refused if they are fewer than two, or not finite."""
    errors.check_instance(argument, differences, Sequence, "a sequence of numbers")
    values = [errors.check_number(argument, value) for value in differences]
    if len(values) < 2:
        raise DDLabError(f"{argument} must be of at least two pairs; given {len(values)}.")
    low, high = interval(values) or (math.nan, math.nan)
    return Numbers(statistics.fmean(values), (low, high), len(values), statistics.stdev(values), min(values))


def drawn(name: str, count: int) -> Iterator[np.random.Generator]:
    """`count` generators for the draws of a claim; the first ones stay when more are drawn."""
    return (randomness.numpy_generator(number, 0, f"claim {name}") for number in range(count))


def log_uniform(draw: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform between those of two others."""
    return float(np.exp(draw.uniform(np.log(low), np.log(high))))


def measured(effects: dict[str, list[float]], setting: str) -> dict[str, Measured]:
    """Claims that were measured together, on one setting."""
    return {name: Measured(values, setting) for name, values in effects.items()}


def split(pairs: list[tuple[float, bool]], setting: str) -> Measured:
    """Effects with whether each meets the condition."""
    return Measured([value for value, _ in pairs], setting, [value for value, met in pairs if met])


def _signed(value: float) -> str:
    """With three decimals; rounding is not shown as a negative zero."""
    return f"{round(value, 3) + 0.0:+.3f}"


def differences(first: list[float], second: list[float]) -> list[float]:
    """Pair by pair."""
    return [one - other for one, other in zip(first, second, strict=True)]
