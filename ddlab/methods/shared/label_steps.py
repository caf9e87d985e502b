r"""Two ways from LD's loss to a gradient in labels.

The last layer comes by ridge regression, or from one step of the whole network.

Symbol      In code      Shape                  What
Phi         features     [N_i, d + 1]           of N_i images with learned labels, with a column of ones
Y~          labels       [N_i, classes]
W, W_l      classifier   [d + 1, classes]       of all steps, and of this one
s           scale        []                     calibrates W

Equation (Bohdal, Yang & Hospedales 2020, arXiv 2006.08572)                              Function
eq 3   W_l = Phi^T (Phi Phi^T + lambda I)^-1 Y~                                          ridge_weights
       dL / dY~ = (Phi Phi^T + lambda I)^-1 Phi dL / dW_l                                label_gradient
alg 1  W <- (1 - alpha) W + alpha W_l, labels, then network and s                        ridge_step
eq 1   dL(theta - r grad l(X~, Y~, theta); X, Y) / dY~                                   second_order_step
       labels cut to [0, 1], rows divided by their sum                                   as_probabilities

Features of images with learned labels are computed once a step, real images without a graph: dL /
dW is their features times softmax minus one-hot. `state` and `config` are those of `ld`.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks
from ...core import optimisers
from ...core.optimisers import AdamState
from ...networks import NetworkSpec
from ...training.trajectories import buffers_of
from ...training.unrolled import Inner, Tensors, detached, inner_step, leaves_of
from . import kernel_ridge

PULL = 0.01  # alpha: how far W moves to that of a step
RIDGE = 1.0  # lambda
FAST_RATE = 0.01  # r, of the second-order way's step
SCALE_RATE = 0.01  # of Adam on the scale

Moved = tuple[Tensor, Tensor, AdamState, dict[str, Tensor], dict[str, Any]]
"""What a step gives: logits of the real images, labels and their optimiser, gradients of the network, and other fields of the state."""


def ridge_weights(features: Tensor, labels: Tensor, ridge: float) -> Tensor:
    """Solve equation 3 in float64, differentiable in both.

    features with ones [n, d + 1], labels [n, classes] -> [d + 1, classes].
    """
    return features.T.double() @ kernel_ridge.solve(features @ features.T, labels, ridge=ridge)


def label_gradient(features: Tensor, slopes: Tensor, ridge: float) -> Tensor:
    """Return dL / dY~ for slopes = dL / dW_l [d + 1, classes]: [n, classes], in float64."""
    return kernel_ridge.solve(features @ features.T, features @ slopes, ridge=ridge)


def as_probabilities(labels: Tensor) -> Tensor:
    """Cut rows [n, classes] to [0, 1] and divide each by its sum.

    A row of zeros becomes even again.
    """
    cut = labels.clamp(0, 1)
    total = cut.sum(1, keepdim=True)
    return torch.where(
        total > 0, cut / total.clamp_min(torch.finfo(cut.dtype).tiny), 1 / cut.shape[1]
    )


def ridge_step(
    config: Any, spec: NetworkSpec, state: Any, rows: Tensor, real: Tensor, answers: Tensor
) -> Moved:
    """Find W by ridge regression, and move the labels through W_l, then network and scale."""
    fixed = buffers_of(spec, real.device)
    leaves = leaves_of({**state.weights, "scale": state.scale})
    scale = leaves.pop("scale")
    with torch.enable_grad():
        features = with_ones(spec, {**fixed, **leaves}, state.images[rows])
        local = ridge_weights(features, state.labels[rows], RIDGE).to(features.dtype)
        classifier = (1 - PULL) * state.classifier + PULL * local
    real_features = with_ones(spec, {**fixed, **state.weights}, real)
    logits = state.scale * real_features @ classifier.detach()
    # The gradient of the cross-entropy by the logits, written out: real images need no graph.
    logit_errors = (
        state.scale * (logits.softmax(1) - F.one_hot(answers, logits.shape[1])) / len(real)
    )
    slopes = PULL * label_gradient(features.detach(), real_features.T @ logit_errors, RIDGE)
    # The labels move first; the network's step then learns from the new ones, as in Algorithm 1.
    labels, optimiser = moved_labels(config, state, rows, slopes.to(features.dtype))
    with torch.enable_grad():
        inner = F.cross_entropy(scale * features @ classifier, labels[rows])
        *network_gradients, of_scale = torch.autograd.grad(
            inner, [*leaves.values(), scale], materialize_grads=True
        )
    scales, scale_optimiser = optimisers.adam_update(
        {"scale": state.scale}, {"scale": of_scale}, state.scale_optimiser, learning_rate=SCALE_RATE
    )
    other_fields = {
        "classifier": classifier.detach(),
        "scale": scales["scale"],
        "scale_optimiser": scale_optimiser,
    }
    return (
        logits,
        labels,
        optimiser,
        dict(zip(leaves, network_gradients, strict=True)),
        other_fields,
    )


def second_order_step(
    config: Any, spec: NetworkSpec, state: Any, rows: Tensor, real: Tensor, answers: Tensor
) -> Moved:
    """Move the labels by the gradient through a step of the whole network.

    The network then moves by that step's slopes.
    """
    fixed = buffers_of(spec, real.device)
    images = state.images[rows]
    leaves = leaves_of(state.weights)

    def loss(step: int, weights: Tensors, learned: Tensors) -> Tensor:
        return F.cross_entropy(
            networks.call(spec, {**fixed, **weights}, images)[0].logits, learned["labels"]
        )

    learned = leaves_of({"labels": state.labels[rows]})
    still = optimisers.sgd_init(leaves).velocity
    inner = Inner(steps=1, loss=loss, rate=lambda step, learned: FAST_RATE)
    fast, gradients = inner_step(inner, 0, leaves, still, learned, differentiable=True)
    with torch.enable_grad():
        logits = networks.call(spec, {**fixed, **fast}, real)[0].logits
        (slopes,) = torch.autograd.grad(F.cross_entropy(logits, answers), learned["labels"])
    return logits.detach(), *moved_labels(config, state, rows, slopes), detached(gradients), {}


def moved_labels(config: Any, state: Any, rows: Tensor, slopes: Tensor) -> tuple[Tensor, AdamState]:
    """Return all labels after Adam's step, for slopes of those of this batch [N_i, classes]."""
    # Labels that were not in this batch get a gradient of 0, and Adam still moves them by its
    # momentum.
    gradients = {"labels": torch.zeros_like(state.labels).index_copy(0, rows, slopes)}
    labels, optimiser = optimisers.adam_update(
        {"labels": state.labels},
        gradients,
        state.label_optimiser,
        learning_rate=config.learning_rate,
    )
    return as_probabilities(labels["labels"]), optimiser


def with_ones(spec: NetworkSpec, weights: Tensors, images: Tensor) -> Tensor:
    """Return Phi of images [n, c, h, w]: [n, d + 1]."""
    return F.pad(networks.call(spec, weights, images)[0].features, (0, 1), value=1.0)
