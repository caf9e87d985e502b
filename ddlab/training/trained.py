"""The last stage of every process that trains a network: its weights, and how they came about."""

from typing import Any

from torch import Tensor

from ..core.parameters import Parameters
from ..networks import Network, NetworkSpec
from ..runs.process import Inputs


def trained_network(
    spec: NetworkSpec,
    weights: dict[str, Tensor],
    *,
    process: str,
    config: Parameters,
    inputs: Inputs,
    step: int,
    total: int,
    **more: Any,
) -> Network:
    """The network after `step` of `total` updates; `more` joins its provenance.

    On the CPU wherever it was trained, so that it meets the data there; `Inputs` moves it to the device of the next run.
    """
    provenance = {"process": process, "config": config.to_dict(), "inputs": inputs.fingerprint, "step": step}
    provenance |= {"complete": step >= total} | more
    source: Any = inputs.data if inputs.distilled is None else inputs.distilled
    names = None if "classifier" in more else source.class_names  # its outputs are no classes, or mean nothing yet
    on_cpu = {name: value.cpu() for name, value in weights.items()}
    return Network(spec=spec, weights=on_cpu, provenance=provenance, class_names=names)
