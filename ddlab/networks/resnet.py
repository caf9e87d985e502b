"""ResNet-18 (He et al. 2016, arXiv 1512.03385) from torchvision, with the stem for small images.

Up to 64 px the 7x7 stride-2 stem and the max-pool would leave almost nothing: a 3x3 stride-1 convolution without pooling takes
their place, as in the reference code of every method that ddlab has. The strides of the stages stay, so that 8 pixels become one.
The new stem is drawn like torchvision's other convolutions; that code leaves it as `nn.Conv2d` draws it, with 1.9 times the spread
for three channels.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from ..core.parameters import Parameters
from ._stems import resnet_stem

FAMILY = "resnet18"
SMALLEST_IMAGE = 8
CLASSIFIER = "fc"


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """A ResNet has no options."""


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, with torchvision's initialisation."""
    from torchvision.models import resnet18

    module = resnet18(weights=None, num_classes=classes)
    resnet_stem(module, channels, image_size)
    return module


def last_conv(module: nn.Module) -> str:
    """The submodule whose output is the last convolutional feature map, before global pooling."""
    return "layer4"
