"""Accuracy of a network on real images."""

from __future__ import annotations

from typing import Annotated

import torch

from .. import networks
from ..core import errors
from ..core.boundary import checked, within
from ..data import ImageData
from ..data.images import Split
from ..networks import Network


@checked
def accuracy(
    network: Network, data: ImageData, split: Split = "test", *, batch_size: Annotated[int, within(1)] = 64
) -> float:
    """The fraction in [0, 1] of images of a split that the network classifies right, in evaluation mode.

    Raises:
        DDLabError: a network of another number of classes than the data's, or whose class names are others or in another order.
    """
    if network.class_names is not None or network.spec.classes != data.classes:
        named = network.class_names or [str(number) for number in range(network.spec.classes or 0)]
        errors.check_same_classes("network", named, data.class_names)
    device = next(iter(network.weights.values())).device
    labels, right = data.labels(split), 0
    for indices in torch.arange(len(labels)).split(min(batch_size, len(labels))):
        images = data.normalised(indices, split, device)
        logits = errors.check_tensor("the network's logits", networks.predict(network, images).logits)
        predicted = logits.argmax(1).cpu()  # NaN would count as the first class
        right += int((predicted == labels[indices]).sum())
    return right / len(labels)
