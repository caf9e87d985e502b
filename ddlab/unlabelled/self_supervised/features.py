"""What a network says of the images of a dataset, computed once."""

import torch
from torch import Tensor

from ... import networks
from ...core import devices, errors
from ...data import ImageData
from ...data.images import Split
from ...networks import Network
from ...runs import cache

_AT_ONCE = 512  # images


def representations(
    network: Network,
    data: ImageData,
    split: Split = "train",
    *,
    device: torch.device | str = "auto",
    keep: bool = True,
) -> Tensor:
    """Return the input of the network's last linear layer for each image of a split.

    float32 [n, d] on the CPU, in evaluation mode.

    The same network, data and split are found again (`ddlab.runs.cache`): the tensor is shared, so
    do not change it in place.

    Args:
        split: "train" or "test".
        device: where the network runs.
        keep: False computes them anew and forgets them, for networks that are asked once: those of
            many images are large.

    Raises:
        DDLabError: data of another shape than the network's images, or features that are not
            finite.
    """
    resolved = devices.checked_device(device)
    if (network.spec.channels, network.spec.image_size) != (data.channels, data.image_size):
        requirement = (
            f"of {network.spec.channels} channels and {network.spec.image_size} pixels, like the "
            "network's images"
        )
        errors.fail("data", requirement, (data.channels, data.image_size))

    def compute() -> Tensor:
        runner = network.to(resolved)
        count = len(data.images(split))
        parts = [
            networks.predict(runner, data.normalised(indices, split, resolved)).features.cpu()
            for indices in torch.arange(count).split(_AT_ONCE)
        ]
        return errors.check_tensor("the network's features", torch.cat(parts))

    if not keep:
        return compute()
    return cache.remember(
        compute, "representations", network.fingerprint, data.fingerprint, split, device=resolved
    )
