"""The losses a self-supervised teacher can learn from. A second one is a function, a line here, and its numbers in the Config."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from .barlow_twins import barlow_twins_loss

# name -> (function of the projections [n, d] of two views and keyword numbers, the fields of a Config that hold these numbers)
LOSSES: dict[str, tuple[Callable[..., Tensor], tuple[str, ...]]] = {
    "barlow_twins": (barlow_twins_loss, ("off_diagonal_weight",)),
}


def pair_loss(first: Tensor, second: Tensor, config: Any) -> Tensor:
    """The loss that the config names, with the config's numbers: []."""
    function, numbers = LOSSES[config.loss]
    return function(first, second, **{name: getattr(config, name) for name in numbers})
