"""Accuracy of a network on real images."""

from __future__ import annotations

import torch

from .. import errors, networks
from ..data import ImageData
from ..networks import Network


def accuracy(network: Network, data: ImageData, split: str = "test", *, batch_size: int = 512) -> float:
    """The fraction in [0, 1] of images of a split that the network classifies right, in evaluation mode."""
    if not isinstance(network, Network):
        errors.fail("network", "a Network", network)
    if not isinstance(data, ImageData):
        errors.fail("data", "an ImageData", data)
    errors.check_integer("batch_size", batch_size, 1)
    device = next(iter(network.weights.values())).device
    labels, right = data.labels(split), 0  # type: ignore[arg-type]
    for indices in torch.arange(len(labels)).split(batch_size):
        images = data.normalised(indices, split, device)  # type: ignore[arg-type]
        predicted = networks.predict(network, images).logits.argmax(1).cpu()
        right += int((predicted == labels[indices]).sum())
    return right / len(labels)
