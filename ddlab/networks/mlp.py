"""MLP: the pixels in one row, hidden linear layers with an activation, one linear layer.

Three layers of 128 units are the smallest network of the field's comparisons (Zhao et al. 2021, arXiv 2006.05929, table 2). It has no
convolution: the last hidden layer, as maps of one pixel [n, width, 1, 1], stands for the last convolutional feature map.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn

from ..core.parameters import Parameters, parameter

FAMILY = "mlp"
SMALLEST_IMAGE = 1
CLASSIFIER = "classifier"

_ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """What an MLP can be built with."""

    width: int = parameter(128, range=(1, 8192), help="Units of every hidden layer.", explorable=(8, 512))
    depth: int = parameter(2, range=(1, 8), help="Number of hidden layers.", explorable=(1, 4))
    activation: str = parameter(
        "relu", choices=tuple(_ACTIVATIONS), help="Activation of each hidden layer.", explorable=True
    )


class MLP(nn.Module):
    """`depth` hidden layers and a linear layer; see `Options`."""

    def __init__(self, channels: int, classes: int, image_size: tuple[int, int], options: Options) -> None:
        super().__init__()
        widths = [channels * image_size[0] * image_size[1]] + [options.width] * options.depth
        self.hidden = nn.Sequential()
        for before, after in pairwise(widths):
            self.hidden.extend([nn.Linear(before, after), _ACTIVATIONS[options.activation]()])
        self.maps = nn.Unflatten(1, (options.width, 1, 1))
        self.classifier = nn.Linear(options.width, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.maps(self.hidden(images.flatten(1))).flatten(1))


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, with torch's default initialisation."""
    return MLP(channels, classes, image_size, options)


def last_conv(module: nn.Module) -> str:
    """The submodule whose output stands for the last convolutional feature map: the last hidden layer, one pixel per map."""
    return "maps"
