"""Networks: `spec` describes one, `initialise` draws its weights, `call` runs it on any weights.

An architecture is a `NetworkSpec` in a config; its weights and buffers are a flat dict of tensors.
`call` is the only place in ddlab that runs a network. Families: `convnet`, `mlp`, `vit`,
torchvision's in `zoo`; each has FAMILY, SMALLEST_IMAGE, CLASSIFIER, Options, build and last_conv.
Your own: `register` a factory, or take a module as it is, torchvision's trained ones too
(`from_module`).
"""

from ..core import listing
from .specification import (
    FAMILIES,
    Network,
    NetworkSpec,
    batch_norm_layers,
    initialise,
    load,
    parameter_names,
    spec,
)

from .calling import Outputs, call, predict, takes_size  # isort: skip (stands on specification)
from .grid import convnet_grid  # isort: skip
from .own import from_module, register  # isort: skip

__all__ = [
    "FAMILIES",
    "Network",
    "NetworkSpec",
    "Outputs",
    "batch_norm_layers",
    "call",
    "convnet_grid",
    "from_module",
    "initialise",
    "load",
    "parameter_names",
    "predict",
    "register",
    "spec",
    "takes_size",
]
__dir__ = listing(__all__)
