"""Spaces of ConvNets, as a search for an architecture walks them."""

import itertools
from typing import Annotated

from ..core import among, checked
from .specification import NetworkSpec, spec

_SPACES: dict[str, dict[str, tuple]] = {
    "dc": {
        "depth": (1, 2, 3, 4),
        "width": (32, 64, 128, 256),
        "activation": ("sigmoid", "relu", "leaky_relu"),
        "norm": ("none", "batch", "layer", "instance", "group"),
        "pooling": ("none", "max", "average"),
    },
    "small": {
        "depth": (1, 2, 3),
        "width": (8, 32),
        "activation": ("sigmoid", "relu"),
        "norm": ("none", "instance"),
        "pooling": ("max", "average"),
    },
}


@checked
def convnet_grid(space: Annotated[str, among(*_SPACES)] = "small") -> list[NetworkSpec]:
    """Return every ConvNet of a space: depth, width, activation, normalisation and pooling.

    Args:
        space: "dc", the 720 of Zhao et al. 2021 (arXiv 2006.05929, section 4.3), or "small", 48 for
            images of 16 pixels.
    """
    choices = _SPACES[space]
    return [
        spec("convnet", **dict(zip(choices, values, strict=True)))
        for values in itertools.product(*choices.values())
    ]
