"""Accuracy of a network on real images."""

from typing import Annotated

import torch
from torch import Tensor

from .. import networks
from ..core import as_usual, checked, errors, within
from ..data import ImageData
from ..data.images import Split
from ..networks import Network
from ..runs.inputs import warn_of_other_normalisation


@as_usual
@checked
def accuracy(
    network: Network,
    data: ImageData,
    split: Split = "test",
    *,
    batch_size: Annotated[int, within(1)] = 64,
) -> float:
    """Return the fraction in [0, 1] of a split's images that the network classifies correctly.

    It is in evaluation mode.

    Raises:
        DDLabError: a network of another number of classes than the data's, or whose class names are
            others or in another order.
    """
    # A network without names is taken at its word; one with other names would be counted wrong,
    # class by class.
    if network.class_names is not None or network.spec.classes != data.classes:
        named = network.class_names or [str(number) for number in range(network.spec.classes or 0)]
        errors.check_same_classes("network", named, data.class_names)
    warn_of_other_normalisation("network", network, data)
    return float(_right(network, data, split, batch_size).float().mean())


@as_usual
def balanced_accuracy(network: Network, data: ImageData, split: Split = "test") -> float:
    """Return the mean over classes of the fraction that is classified correctly.

    Chance is one over the classes, however uneven these are.
    """
    right = _right(network, data, split)
    labels = data.labels(split)
    return float(
        torch.stack([right[labels == label].float().mean() for label in labels.unique()]).mean()
    )


def _right(network: Network, data: ImageData, split: Split, batch_size: int = 64) -> Tensor:
    """Return whether each image of a split is classified right, bool [n]."""
    device = next(iter(network.weights.values())).device
    labels = data.labels(split)
    right = []
    for indices in torch.arange(len(labels)).split(min(batch_size, len(labels))):
        images = data.normalised(indices, split, device)
        logits = errors.check_tensor(
            "the network's logits", networks.predict(network, images).logits
        )
        # NaN would count as the first class.
        right.append(logits.argmax(1).cpu() == labels[indices])
    return torch.cat(right)
