"""MobileNetV2 (Sandler et al. 2018, arXiv 1801.04381) from torchvision, with the stem for small images.

Up to 64 px two strides of 2 become 1: the stem's, and that of the first block with 24 channels. Three remain, so that 8 pixels
become one. There is no dropout in front of the classifier: it would draw from torch's global generator.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from ..parameters import Parameters
from ._stems import convolution, is_small, undo_strides

FAMILY = "mobilenet_v2"
SMALLEST_IMAGE = 8
CLASSIFIER = "classifier.1"


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """MobileNetV2 has no options."""


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, with torchvision's initialisation."""
    from torchvision.models import mobilenet_v2

    module = mobilenet_v2(weights=None, num_classes=classes, dropout=0.0)
    if channels != 3:
        module.features[0][0] = convolution(channels, 32, kernel=3, stride=2)
    if is_small(image_size):
        undo_strides(module, 2)
    return module


def last_conv(module: nn.Module) -> str:
    """The submodule whose output is the last convolutional feature map, before global pooling."""
    return f"features.{len(module.features) - 1}"  # type: ignore[arg-type]
