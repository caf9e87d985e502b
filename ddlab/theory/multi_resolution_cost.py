"""What FADRM's multi-resolution optimisation costs: eq 7 and 8 against its own Algorithm 1.

Cui et al. 2025 (FADRM), arXiv 2506.24125. Budget B, k merges: k stages of b = floor(B / (k + 1)) steps and a last one of B - k b,
at the small and the full resolution in turn, the first at the small one; a step costs as many units as an image has values (eq 7).

Eq 8 counts ceil(k / 2) small stages. For odd k there are as many, the last stage is at full size, and eq 8 is exact. For even k, 0
included, the last stage is at the small size too: k / 2 + 1 of them, of which the last also has the steps that floor left over.
Eq 8 then overstates the cost, and the algorithm returns an image of the small size.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from ..core import errors
from ..core.boundary import checked, within

Budget = Annotated[int, within(1, 10**9)]
Merges = Annotated[int, within(0, 1000)]
Side = Annotated[int, within(1, 10**5)]


class ResolutionStage(NamedTuple):
    """A part of a run: how many steps, and whether at the small resolution."""

    steps: int
    small: bool


@checked
def resolution_stages(*, budget: Budget, merges: Merges) -> tuple[ResolutionStage, ...]:
    """The stages of Algorithm 1, merges + 1 of them, of `budget` steps together.

    >>> resolution_stages(budget=2000, merges=2)
    (ResolutionStage(steps=666, small=True), ResolutionStage(steps=666, small=False), ResolutionStage(steps=668, small=True))
    """
    each = budget // (merges + 1)
    lengths = [each] * merges + [budget - merges * each]
    return tuple(ResolutionStage(steps, number % 2 == 0) for number, steps in enumerate(lengths))


@checked
def resolution_cost_ratio(*, budget: Budget, merges: Merges, small_side: int, side: Side) -> float:
    """The cost of Algorithm 1 over that of eq 7, exact for every number of merges.

    >>> resolution_cost_ratio(budget=2000, merges=3, small_side=112, side=224)
    0.625
    """
    share = (errors.check_integer("small_side", small_side, 1, side) / side) ** 2
    stages = resolution_stages(budget=budget, merges=merges)
    return sum(steps * (share if small else 1.0) for steps, small in stages) / budget


@checked
def printed_resolution_cost_ratio(*, budget: Budget, merges: Merges, small_side: int, side: Side) -> float:
    """Eq 8 as printed, 1 - (b / B) ceil(k / 2) (1 - r), r = (small_side / side)^2: right for odd k alone."""
    share = (errors.check_integer("small_side", small_side, 1, side) / side) ** 2
    return 1 - budget // (merges + 1) / budget * math.ceil(merges / 2) * (1 - share)
