"""Trajectories of training: an epoch of plain SGD, and a network's parameters as one row, as they
are kept after each.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import networks
from ..core import optimisers, randomness
from ..data.siamese_views import siamese_view
from ..networks import NetworkSpec
from ..networks.specification import skeleton
from ..runs import Inputs
from .unrolled import Tensors, leaves_of


def vector(weights: Tensors) -> Tensor:
    """Return all parameters in one row: [P]."""
    return torch.cat([value.flatten() for value in weights.values()])


def by_name(spec: NetworkSpec, row: Tensor) -> dict[str, Tensor]:
    """Return the inverse of `vector`."""
    shapes = {name: value.shape for name, value in skeleton(spec).named_parameters()}
    parts = row.split([shape.numel() for shape in shapes.values()])
    return {
        name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def buffers_of(spec: NetworkSpec, device: torch.device | str) -> dict[str, Tensor]:
    """Return what a network without batch norm holds beside its parameters, by name.

    Training leaves it as it is.
    """
    names = [name for name, _ in skeleton(spec).named_buffers()]
    # Buffers that no training moves are the same for every seed.
    weights = networks.initialise(spec, seed=0).weights if names else {}
    return {name: weights[name].to(device) for name in names}


def sgd_epoch(
    spec: NetworkSpec,
    row: Tensor,
    inputs: Inputs,
    *,
    rate: float,
    batch_size: int,
    strategy: str,
    seed: int,
    step: int,
) -> tuple[Tensor, Tensor]:
    """Train for one epoch of SGD at a constant rate.

    The data come in random order, each image in a view of its own.

    Args:
        row: all parameters, [P].
        strategy: of `data.siamese_views`.
        seed, step: of the draws.

    Returns:
        The parameters after it, [P], and the mean loss, [].
    """
    data = inputs.data
    losses = []
    parameters = by_name(spec, row)
    fixed = buffers_of(spec, inputs.device)
    order = randomness.permutation(len(data.train_labels), seed, step, "order of an epoch")
    for number, rows in enumerate(order.split(batch_size)):
        view = step * len(order) + number
        images = siamese_view(
            data.normalised(rows, device=inputs.device),
            strategy,
            seed=seed,
            step=view,
            per_image=True,
        )
        leaves = leaves_of(parameters)
        with torch.enable_grad():
            logits = networks.call(spec, {**fixed, **leaves}, images)[0].logits
            loss = F.cross_entropy(logits, data.train_labels[rows].to(inputs.device))
            slopes = torch.autograd.grad(loss, list(leaves.values()))
        gradients = dict(zip(parameters, slopes, strict=True))
        # Without momentum, so no velocity has to be carried from step to step.
        parameters, _ = optimisers.sgd_update(
            parameters, gradients, optimisers.sgd_init(parameters), learning_rate=rate
        )
        losses.append(loss.detach())
    return vector(parameters), torch.stack(losses).mean()
