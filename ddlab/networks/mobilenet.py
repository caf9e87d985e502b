"""MobileNetV2 (Sandler et al. 2018, arXiv 1801.04381) from torchvision, with the stem for small images.

Up to 64 px two strides of 2 become 1: the stem's, and that of the first block with 24 channels. Three remain, so that 8 pixels
become one. There is no dropout in front of the classifier: it would draw from torch's global generator.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from ..core.parameters import Parameters
from ._stems import features_stem, last_of_features

FAMILY = "mobilenet_v2"
SMALLEST_IMAGE = 8
CLASSIFIER = "classifier.1"
last_conv = last_of_features


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """MobileNetV2 has no options."""


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, with torchvision's initialisation."""
    from torchvision.models import mobilenet_v2

    module = mobilenet_v2(weights=None, num_classes=classes, dropout=0.0)
    features_stem(module, channels, image_size)
    return module
