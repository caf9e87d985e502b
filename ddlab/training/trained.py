"""Parts of the processes that train a network.

The state, its beginning, a step down a loss of the logits, and the network at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .. import networks
from ..core import Parameters, optimisers
from ..networks import Network, NetworkSpec
from ..runs import Inputs


@dataclass(frozen=True)
class State:
    """`step` updates done; weights and buffers by name; the optimiser's state."""

    step: int
    weights: dict[str, Tensor]
    optimiser: optimisers.SGDState | optimisers.AdamState


def initial_state(spec: NetworkSpec, config: Any, device: torch.device | str) -> State:
    """Draw fresh weights for the config's seed, with an optimiser that has seen no gradient."""
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
    restart: bool = False,
    batch_norm_images: int | None = None,
    forward_passes: int = 1,
) -> tuple[State, Tensor, Tensor]:
    """Take one step of the config's optimiser.

    Args:
        images: [n, c, h, w], normalised.
        loss: logits [n, classes] -> [].
        restart: the optimiser forgets its moments first.
        batch_norm_images: batch norm sees so many images at a time; None shows it the whole batch.
        forward_passes: how often the batch passes through in training mode; the running statistics
            move each time.

    Returns:
        The state, and the loss [] and the logits [n, classes] of the network before the step.
    """
    current = {name: state.weights[name] for name in networks.parameter_names(spec)}
    leaves = {name: value.detach().requires_grad_() for name, value in current.items()}
    parts = images.split(batch_norm_images or max(len(images), 1))
    buffers = {name: value for name, value in state.weights.items() if name not in current}
    with torch.no_grad():
        # These passes move the running statistics and nothing else, as in RDED's code.
        for part in parts * (forward_passes - 1):
            _, buffers = networks.call(spec, {**current, **buffers}, part, train=True)
    with torch.enable_grad():
        logits_of_parts = []
        for part in parts:
            outputs, buffers = networks.call(spec, {**leaves, **buffers}, part, train=True)
            logits_of_parts.append(outputs.logits)
        logits = torch.cat(logits_of_parts) if len(parts) > 1 else logits_of_parts[0]
        batch_loss = loss(logits)
        gradients = torch.autograd.grad(batch_loss, list(leaves.values()))
    moved, optimiser = optimisers.descend(
        current,
        dict(zip(current, gradients, strict=True)),
        # DC's code makes a new SGD where the rate falls, and with it the momentum begins anew.
        optimisers.begin(config.optimiser, current) if restart else state.optimiser,
        learning_rate=learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
    )
    state = State(state.step + 1, {**moved, **buffers}, optimiser)
    return state, batch_loss.detach(), logits.detach()


def trained_network(
    name: str,
    config: Parameters,
    inputs: Inputs,
    spec: NetworkSpec,
    state: Any,
    total: int,
    **extra: Any,
) -> Network:
    """Return the network of a state of the process `name`, complete after `total` updates.

    Further arguments join its provenance.

    On the CPU wherever it was trained, so that it meets the data there; `Inputs` moves it to the
    device of the next run.
    """
    provenance = {
        "process": name,
        "config": config.to_dict(),
        "inputs": inputs.fingerprint,
        "step": state.step,
    }
    provenance |= {"complete": state.step >= total} | extra
    source: Any = inputs.data if inputs.distilled is None else inputs.distilled
    # Its outputs are no classes, or mean nothing yet.
    names = None if "classifier" in extra else source.class_names
    on_cpu = {name: value.cpu() for name, value in state.weights.items()}
    return Network(
        spec=spec,
        weights=on_cpu,
        provenance=provenance,
        class_names=names,
        normalisation=(source.mean.tolist(), source.std.tolist()),
    )
