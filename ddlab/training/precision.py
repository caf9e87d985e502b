"""TF32 and bfloat16 in training: the network's passes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.arithmetic import PRECISIONS
from ..core.parameters import Parameters, parameter


@dataclass(frozen=True, kw_only=True)
class Precise(Parameters):
    """A config of a training whose passes may be in TF32 or bfloat16 (autocast); weights, loss and optimiser stay float32."""

    precision: str = parameter(
        "float32", choices=PRECISIONS, help="Of the network's passes; tf32: of convolutions on a GPU."
    )

    def to_dict(self) -> dict[str, Any]:
        """All fields; `precision` only where it is not float32: configs that were made before it keep their fingerprint."""
        described = super().to_dict()
        return {name: value for name, value in described.items() if (name, value) != ("precision", "float32")}
