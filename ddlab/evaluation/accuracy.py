"""Accuracy of a network on real images."""

from __future__ import annotations

import torch

from .. import networks
from ..core import errors
from ..data import ImageData
from ..networks import Network


def accuracy(network: Network, data: ImageData, split: str = "test", *, batch_size: int = 64) -> float:
    """The fraction in [0, 1] of images of a split that the network classifies right, in evaluation mode."""
    if not isinstance(network, Network):
        errors.fail("network", "a Network", network)
    if not isinstance(data, ImageData):
        errors.fail("data", "an ImageData", data)
    batch_size = errors.check_integer("batch_size", batch_size, 1)
    device = next(iter(network.weights.values())).device
    labels, right = data.labels(split), 0  # type: ignore[arg-type]
    for indices in torch.arange(len(labels)).split(min(batch_size, len(labels))):
        images = data.normalised(indices, split, device)  # type: ignore[arg-type]
        logits = errors.check_tensor("the network's logits", networks.predict(network, images).logits)
        predicted = logits.argmax(1).cpu()  # NaN would count as the first class
        right += int((predicted == labels[indices]).sum())
    return right / len(labels)
