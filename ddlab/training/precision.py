"""How the passes of a network in training compute: in TF32 or bfloat16, and with channels last in memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.arithmetic import PRECISIONS
from ..core.parameters import Parameters, parameter


@dataclass(frozen=True, kw_only=True)
class Precise(Parameters):
    """A config of a training whose passes may be in TF32 or bfloat16 (autocast); weights, loss and optimiser stay float32.

    Channels last is faster where views are not laid out so anyway, as crops and pairs of self-supervised views partly are: on two cores
    and ConvNets of 16 px, pretraining 1.3 to 1.45 times, self-supervised 1.2 to 1.3, students of digits 1.1 to 1.36; teachers not.
    """

    precision: str = parameter(
        "float32", choices=PRECISIONS, help="Of the network's passes; tf32: of convolutions on a GPU.", later=True
    )
    memory_format: str = parameter(
        "preserve",
        choices=("preserve", "channels_last"),
        help="Of images and convolutions in the passes; it moves the last bits.",
        later=True,
    )
