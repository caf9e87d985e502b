"""What processes that train a network share: the state, its beginning, a step down a loss of the logits, and the network at the end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .. import networks
from ..core import optimisers
from ..core.parameters import Parameters
from ..networks import Network, NetworkSpec
from ..runs.process import Inputs


@dataclass(frozen=True)
class State:
    """`step` updates done; weights and buffers by name; the optimiser's state."""

    step: int
    weights: dict[str, Tensor]
    optimiser: optimisers.SGDState | optimisers.AdamState


def initial_state(spec: NetworkSpec, config: Any, device: torch.device | str) -> State:
    """Fresh weights for the config's seed, and its optimiser, which has seen no gradient."""
    weights = networks.initialise(spec, seed=config.seed).to(device).weights
    trained = {name: weights[name] for name in networks.parameter_names(spec)}
    return State(0, weights, optimisers.begin(config.optimiser, trained))


def train_step(
    spec: NetworkSpec,
    config: Any,
    state: State,
    images: Tensor,
    loss: Callable[[Tensor], Tensor],
    *,
    learning_rate: float,
    anew: bool = False,
) -> tuple[State, Tensor, Tensor]:
    """One step of the config's optimiser.

    Args:
        images: [n, c, h, w], normalised. loss: logits [n, classes] -> []. anew: the optimiser forgets what it has seen.

    Returns:
        The state, and of the network before the step the loss, [], and the logits.
    """
    current = {name: state.weights[name] for name in networks.parameter_names(spec)}
    leaves = {name: value.detach().requires_grad_() for name, value in current.items()}
    with torch.enable_grad():
        outputs, buffers = networks.call(spec, {**state.weights, **leaves}, images, train=True)
        found = loss(outputs.logits)
        slopes = torch.autograd.grad(found, list(leaves.values()))
    moved, optimiser = optimisers.descend(
        current,
        dict(zip(current, slopes, strict=True)),
        optimisers.begin(config.optimiser, current) if anew else state.optimiser,
        learning_rate=learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
    )
    return State(state.step + 1, {**moved, **buffers}, optimiser), found.detach(), outputs.logits.detach()


def trained_network(
    name: str, config: Parameters, inputs: Inputs, spec: NetworkSpec, state: Any, total: int, **more: Any
) -> Network:
    """The network of a state of the process `name`, complete after `total` updates; `more` joins its provenance.

    On the CPU wherever it was trained, so that it meets the data there; `Inputs` moves it to the device of the next run.
    """
    provenance = {"process": name, "config": config.to_dict(), "inputs": inputs.fingerprint, "step": state.step}
    provenance |= {"complete": state.step >= total} | more
    source: Any = inputs.data if inputs.distilled is None else inputs.distilled
    names = None if "classifier" in more else source.class_names  # its outputs are no classes, or mean nothing yet
    on_cpu = {name: value.cpu() for name, value in state.weights.items()}
    return Network(spec=spec, weights=on_cpu, provenance=provenance, class_names=names)
