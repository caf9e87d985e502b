r"""A copy of the encoder that follows it by momentum and sets the targets.

BYOL, MoCo and DINO share it.

| equation | here |
|---|---|
| $\xi \leftarrow m \xi + (1 - m) \theta$ after each step | `follow` |
| $m = m_1 - (m_1 - m_0) (\cos(\pi k / K) + 1) / 2$ after $k$ of $K$ steps (Grill et al. 2020, section 3.3) | `target_momentum` |
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from ...core import parameter
from .objective import Batch, NarrowTraining, ObjectiveState, follow_by_momentum


@dataclass(frozen=True, kw_only=True)
class MomentumTraining(NarrowTraining):
    """A `NarrowTraining` with a momentum encoder.

    The defaults are ReLA's, a momentum that stays as it is.
    """

    target_momentum: float = parameter(
        0.99,
        symbol="m_0",
        range=(0, 1),
        explorable=(0.9, 1),
        help="Part of itself that the target keeps in the first step.",
        source="the code of ReLA",
    )
    final_target_momentum: float = parameter(
        0.99,
        symbol="m_1",
        range=(0, 1),
        help="The same in the last step; a cosine leads there.",
        source="the code of ReLA",
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset whose target comes near in few steps."""
        return super().teaching(**{"target_momentum": 0.9} | changes)


def target_momentum(progress: float, *, first: float, last: float) -> float:
    """Return the part of itself that the target keeps.

    It goes from `first` to `last` along a cosine.
    """
    return last - (last - first) * (math.cos(math.pi * progress) + 1) / 2


def targets(batch: Batch, state: ObjectiveState) -> tuple[tuple[Tensor, Tensor], dict[str, Tensor]]:
    """Return the target's projections [n, d] of the two views, and the target with its buffers
    after both passes. No gradient passes.
    """
    with torch.no_grad():
        first, target = batch.encode(state.target, batch.views[0])
        second, target = batch.encode(target, batch.views[1])
    return (first, second), target


def follow(
    config: MomentumTraining, state: ObjectiveState, learnt: dict[str, Tensor], progress: float
) -> ObjectiveState:
    """Move the target towards what has just been learnt."""
    momentum = target_momentum(
        progress, first=config.target_momentum, last=config.final_target_momentum
    )
    return replace(state, target=follow_by_momentum(state.target, learnt, momentum=momentum))
