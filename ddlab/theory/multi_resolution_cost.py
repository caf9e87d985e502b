"""What FADRM's multi-resolution optimisation costs: eq 7 and 8 against its own Algorithm 1.

Cui et al. 2025 (FADRM), arXiv 2506.24125. Budget B, k merges: k stages of b = floor(B / (k + 1)) steps and a last one of B - k b,
at the small and the full resolution in turn, the first at the small one; a step costs as many units as an image has values (eq 7).

Eq 8 counts ceil(k / 2) small stages. For odd k there are as many, the last stage is at full size, and eq 8 is exact. For even k, 0
included, the last stage is at the small size too: k / 2 + 1 of them, of which the last also has the steps that floor left over.
Eq 8 then overstates the cost, and the algorithm returns an image of the small size.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..core import errors


class ResolutionStage(NamedTuple):
    """A part of a run: how many steps, and whether at the small resolution."""

    steps: int
    small: bool


def resolution_stages(*, budget: int, merges: int) -> tuple[ResolutionStage, ...]:
    """The stages of Algorithm 1, merges + 1 of them, of `budget` steps together.

    >>> resolution_stages(budget=2000, merges=2)
    (ResolutionStage(steps=666, small=True), ResolutionStage(steps=666, small=False), ResolutionStage(steps=668, small=True))
    """
    each = _steps_each(budget, merges)
    lengths = [each] * merges + [budget - merges * each]
    return tuple(ResolutionStage(steps, number % 2 == 0) for number, steps in enumerate(lengths))


def full_resolution_cost(*, budget: int, side: int, channels: int = 3) -> int:
    """Eq 7: budget x side^2 x channels, the values that all steps at full size go through, per image."""
    errors.check_integer("budget", budget, 1, 10**9)
    return budget * _side("side", side) ** 2 * errors.check_integer("channels", channels, 1, 10**5)


def resolution_cost_ratio(*, budget: int, merges: int, small_side: int, side: int) -> float:
    """The cost of Algorithm 1 over that of eq 7, exact for every number of merges.

    >>> resolution_cost_ratio(budget=2000, merges=3, small_side=112, side=224)
    0.625
    """
    share = _share(small_side, side)
    return (
        sum(steps * (share if small else 1.0) for steps, small in resolution_stages(budget=budget, merges=merges))
        / budget
    )


def printed_resolution_cost_ratio(*, budget: int, merges: int, small_side: int, side: int) -> float:
    """Eq 8 as printed, 1 - (b / B) ceil(k / 2) (1 - r), r = (small_side / side)^2: right for odd k alone."""
    saved = 1 - _share(small_side, side)
    return 1 - _steps_each(budget, merges) / budget * math.ceil(merges / 2) * saved


def _steps_each(budget: Any, merges: Any) -> int:
    """b."""
    budget = errors.check_integer("budget", budget, 1, 10**9)
    return budget // (errors.check_integer("merges", merges, 0, 1000) + 1)


def _side(argument: str, value: Any) -> int:
    return errors.check_integer(argument, value, 1, 10**5)


def _share(small_side: Any, side: Any) -> float:
    """r."""
    side = _side("side", side)
    return (errors.check_integer("small_side", small_side, 1, side) / side) ** 2
