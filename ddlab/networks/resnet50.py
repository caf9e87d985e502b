"""ResNet-50 (He et al. 2016, arXiv 1512.03385) from torchvision: blocks of 1x1, 3x3 and 1x1 convolutions.

Up to 64 px it gets the stem that ResNet-18 gets: 3x3, stride 1, no max-pool; the strides of the stages stay.
"""

from __future__ import annotations

from torch import nn

from ._stems import resnet_stem
from .resnet import CLASSIFIER, SMALLEST_IMAGE, Options, last_conv

__all__ = ["CLASSIFIER", "FAMILY", "SMALLEST_IMAGE", "Options", "build", "last_conv"]

FAMILY = "resnet50"


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, with torchvision's initialisation."""
    from torchvision.models import resnet50

    module = resnet50(weights=None, num_classes=classes)
    resnet_stem(module, channels, image_size)
    return module
