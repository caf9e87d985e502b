"""DenseNet-121 (Huang et al. 2017, arXiv 1608.06993) from torchvision: growth 32, blocks of 6, 12, 24 and 16 layers, compression by half.

Up to 64 px the 7x7 stride-2 stem becomes 3x3 with stride 1 and the max-pool behind it is left out. The three halvings between the
blocks stay, so that 8 pixels become one. The layers, their names and their initialisation are torchvision's; they stand in a
sequence here, because torchvision rectifies the last map in place and outside of any module, where nothing can look at it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from torch import nn

from ..core.parameters import Parameters
from ._stems import is_small

FAMILY = "densenet121"
SMALLEST_IMAGE = 8
CLASSIFIER = "classifier"


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """DenseNet-121 has no options; its depth is in its name."""


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, with torchvision's initialisation."""
    from torchvision.models import densenet121

    module = densenet121(weights=None, num_classes=classes)
    small = is_small(image_size)
    if small or channels != 3:
        kernel, stride = (3, 1) if small else (7, 2)
        module.features.conv0 = nn.Conv2d(channels, 64, kernel, stride=stride, padding=kernel // 2, bias=False)
        nn.init.kaiming_normal_(module.features.conv0.weight)
    if small:
        module.features.pool0 = nn.Identity()
    module.features.add_module("relu5", nn.ReLU(inplace=True))
    return nn.Sequential(
        OrderedDict(
            features=module.features, pool=nn.AdaptiveAvgPool2d(1), flatten=nn.Flatten(), classifier=module.classifier
        )
    )


def last_conv(module: nn.Module) -> str:
    """The submodule whose output is the last convolutional feature map, before global pooling."""
    return "features"
