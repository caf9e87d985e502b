"""LeNet-5 (LeCun et al. 1998, doi 10.1109/5.726791): two 5x5 convolutions with pooling, three linear layers.

As in the paper for images of 32 px, and 28 px padded to them; other sizes change the first linear layer. Below 32 px the first
convolution pads by 2. As usual today: ReLU and max-pooling by default, every map of the first stage seen by every map of the
second, a linear output. No stride changes: the stem has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from ..core.parameters import Parameters, parameter

FAMILY = "lenet"
SMALLEST_IMAGE = 12
CLASSIFIER = "classifier"

_ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}
_POOLINGS = {"max": nn.MaxPool2d, "average": nn.AvgPool2d}


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """What a LeNet can be built with."""

    activation: str = parameter("relu", choices=tuple(_ACTIVATIONS), help="Activation of each layer.", explorable=True)
    pooling: str = parameter("max", choices=tuple(_POOLINGS), help="Pooling of each stage.", explorable=True)


class LeNet(nn.Module):
    """6 and 16 maps, then 120 and 84 units; see `Options`."""

    def __init__(self, channels: int, classes: int, image_size: tuple[int, int], options: Options) -> None:
        super().__init__()
        padding = 2 if min(image_size) < 32 else 0
        self.stages = nn.Sequential(
            _stage(nn.Conv2d(channels, 6, 5, padding=padding), options), _stage(nn.Conv2d(6, 16, 5), options)
        )
        height, width = (((side + 2 * padding - 4) // 2 - 4) // 2 for side in image_size)
        activation = _ACTIVATIONS[options.activation]
        self.hidden = nn.Sequential(nn.Linear(16 * height * width, 120), activation(), nn.Linear(120, 84), activation())
        self.classifier = nn.Linear(84, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.hidden(self.stages(images).flatten(1)))


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, with torch's default initialisation."""
    return LeNet(channels, classes, image_size, options)


def last_conv(module: nn.Module) -> str:
    """The submodule whose output is the last convolutional feature map, before pooling."""
    return "stages.1.activation"


def _stage(convolution: nn.Conv2d, options: Options) -> nn.Sequential:
    stage = nn.Sequential()
    stage.add_module("convolution", convolution)
    stage.add_module("activation", _ACTIVATIONS[options.activation]())
    stage.add_module("pooling", _POOLINGS[options.pooling](2))
    return stage
