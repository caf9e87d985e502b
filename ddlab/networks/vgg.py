"""VGG-11 with batch norm (Simonyan & Zisserman 2014, arXiv 1409.1556), with one linear layer as its head.

The convolutions, and the draw of their weights, are torchvision's vgg11_bn. Its head of three linear layers, with dropout, holds 120
of its 129 million weights and is made for maps of 7x7; as usual for small images, the mean of each map and one linear layer take its
place at every size. No stride changes: the stem has none. Of the five max-pools the first one is left out below 32 px, and the
second below 16 px, so that one pixel remains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from torch import Tensor, nn

from ..core.parameters import Parameters

FAMILY = "vgg11"
SMALLEST_IMAGE = 8
CLASSIFIER = "classifier"
STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))  # channels; a max-pool ends each stage


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """VGG-11 has no options."""


class VGG(nn.Module):
    """Stages of 3x3 convolutions, global average pooling, a linear layer."""

    def __init__(self, channels: int, classes: int, image_size: tuple[int, int]) -> None:
        super().__init__()
        pools = min(int(math.log2(min(image_size))), len(STAGES))
        self.features = nn.Sequential()
        for number, widths in enumerate(STAGES):
            for width in widths:
                self.features.extend(
                    [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
                )
                channels = width
            if number >= len(STAGES) - pools:
                self.features.append(nn.MaxPool2d(2))
        self.classifier = nn.Linear(channels, classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(cast(Tensor, layer.bias))
        nn.init.normal_(self.classifier.weight, std=0.01)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.features(images).mean((2, 3)))


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, drawn as torchvision draws its own."""
    return VGG(channels, classes, image_size)


def last_conv(module: nn.Module) -> str:
    """The submodule whose output is the last convolutional feature map, before the last max-pool."""
    return f"features.{len(module.features) - 2}"  # type: ignore[arg-type]
