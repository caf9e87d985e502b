"""ShuffleNetV2 of half width (Ma et al. 2018, arXiv 1807.11164) from torchvision, with the stem for small images.

Up to 64 px the stem's stride of 2 becomes 1 and the max-pool behind it is left out. The strides of the three stages stay, so that
8 pixels become one.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from ..core.parameters import Parameters
from ._stems import is_small, undo_strides

FAMILY = "shufflenet_v2_x0_5"
SMALLEST_IMAGE = 8
CLASSIFIER = "fc"


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """ShuffleNetV2 has no options; its width is in its name."""


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, with torchvision's initialisation."""
    from torchvision.models import shufflenet_v2_x0_5

    module = shufflenet_v2_x0_5(weights=None, num_classes=classes)
    if channels != 3:
        module.conv1[0] = nn.Conv2d(channels, 24, 3, stride=2, padding=1, bias=False)
    if is_small(image_size):
        undo_strides(module, 1)
        module.maxpool = nn.Identity()
    return module


def last_conv(module: nn.Module) -> str:
    """The submodule whose output is the last convolutional feature map, before global pooling."""
    return "conv5"
