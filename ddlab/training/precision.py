"""How the passes of a network in training compute: in float32 or bfloat16."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.arithmetic import PRECISIONS
from ..core.parameters import Parameters, parameter


@dataclass(frozen=True, kw_only=True)
class Precise(Parameters):
    """A config of a training whose passes may be in bfloat16 (autocast); weights, loss and optimiser stay float32."""

    precision: str = parameter("float32", choices=PRECISIONS, help="Of the network's passes.")
