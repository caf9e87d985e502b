"""One dataset in the shape of another, so that a network of the one can look at the other."""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import checked, errors
from .images import ImageData


@checked
def aligned(data: ImageData, like: ImageData) -> ImageData:
    """Return `data` with the channels and the image size of `like`.

    Transfer to another dataset needs that (Boost, section 4).

    Grey becomes three equal channels, colour becomes grey by the weights of ITU-R BT.601; other
    sizes are reached by bilinear scaling with antialiasing, whatever the aspect. Labels and classes
    stay; mean and standard deviation are those of the new images.

    Raises:
        DDLabError: channels other than 1 and 3 that differ.
    """
    # The same object: its fingerprint, and with it every remembered result, stays.
    if (data.channels, data.image_size) == (like.channels, like.image_size):
        return data
    if data.channels != like.channels and {data.channels, like.channels} != {1, 3}:
        errors.fail(
            "data",
            f"of {like.channels} channels, or one of them grey and one of 3 channels",
            data.channels,
        )
    return ImageData(
        name=f"{data.name} as {like.name}",
        train_images=_convert(data.train_images, like),
        train_labels=data.train_labels,
        test_images=_convert(data.test_images, like),
        test_labels=data.test_labels,
        class_names=data.class_names,
    )


def _convert(images: Tensor, like: ImageData) -> Tensor:
    """Return uint8 images [n, c, h, w] with the channels and the size of `like`."""
    parts = []
    # As float32 at once, CIFAR-10 would take 737 MB.
    for part in images.split(4096):
        values = part.float()
        if images.shape[1] == 3 and like.channels == 1:
            values = (values * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(
                1, keepdim=True
            )
        if values.shape[2:] != like.image_size:
            values = F.interpolate(
                values, size=like.image_size, mode="bilinear", align_corners=False, antialias=True
            )
        # Clamped, because antialiasing weights may overshoot at a hard edge.
        parts.append(values.expand(-1, like.channels, -1, -1).round().clamp(0, 255).to(torch.uint8))
    return torch.cat(parts)
