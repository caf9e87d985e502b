"""Networks: `spec` describes one, `initialise` draws its weights, `call` runs it on any weights.

An architecture is a `NetworkSpec` in a config; its weights and buffers are a flat dict of tensors. `call` is the only place in ddlab
that runs a network. One file per family; a family is a module with FAMILY, SMALLEST_IMAGE, CLASSIFIER, Options, build, last_conv.
"""

from __future__ import annotations

from .specification import FAMILIES, Network, NetworkSpec, batch_norm_layers, initialise, load, parameter_names, spec

from .calling import Outputs, call, predict, takes_size  # isort: skip (stands on specification)
from .folding import folded  # isort: skip

__all__ = [
    "FAMILIES",
    "Network",
    "NetworkSpec",
    "Outputs",
    "batch_norm_layers",
    "call",
    "folded",
    "initialise",
    "load",
    "parameter_names",
    "predict",
    "spec",
    "takes_size",
]
