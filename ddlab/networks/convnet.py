"""ConvNet: blocks of convolution, normalisation, activation and pooling, then one linear layer.

The convolutions are 3x3, the pooling 2x2; a global mean comes on request.

The small network of the field since Gidaris & Komodakis 2018 (arXiv 1804.09458); used as in Zhao et
al. 2021 (arXiv 2006.05929). KRR-ST (Lee et al. 2024, arXiv 2310.06511) doubles the channels from
block to block: growth=2 with width=128 at 32 px (128, 256, 512) and width=64 at 64 px (64 to 512).
"""

import math
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn

from ..core import DDLabError, Parameters, errors, parameter

FAMILY = "convnet"
# Three halvings leave one pixel.
SMALLEST_IMAGE = 8
LAST_CONV = "blocks.{last}.activation"
CLASSIFIER = "classifier"

WIDEST = 4096  # channels of a block
_ACTIVATIONS = {"relu": nn.ReLU, "leaky_relu": lambda: nn.LeakyReLU(0.01), "sigmoid": nn.Sigmoid}
_POOLINGS = {
    "average": lambda: nn.AvgPool2d(2),
    "max": lambda: nn.MaxPool2d(2),
    "none": nn.Identity,
}


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """The options of a ConvNet."""

    width: int = parameter(
        128, range=(1, 2048), help="Channels of the first block.", explorable=(8, 128)
    )
    depth: int | None = parameter(
        None,
        range=(1, 8),
        help="Number of blocks; None takes it from the image size: 3 up to 32 px, one more per "
        "doubling.",
    )
    norm: str = parameter(
        "batch",
        choices=("batch", "instance", "group", "layer", "none"),
        help="Normalisation of each block; group: four groups, as in DC's code.",
        explorable=True,
    )
    activation: str = parameter(
        "relu", choices=tuple(_ACTIVATIONS), help="Activation of each block.", explorable=True
    )
    pooling: str = parameter(
        "average", choices=tuple(_POOLINGS), help="Pooling of each block.", explorable=True
    )
    head: str = parameter(
        "positions",
        choices=("positions", "mean"),
        help="The linear layer sees every position, or each channel's mean over them; with the "
        "mean images of any size will do.",
    )
    padding: int = parameter(
        1,
        range=(1, 8),
        help="Of the first convolution; with 3, as in DC's code for grey images, 28 pixels become "
        "32.",
    )
    growth: int = parameter(
        1,
        range=(1, 4),
        help="Each block has so many times the channels of the one before it.",
        explorable=(1, 2),
    )


class ConvNet(nn.Module):
    """`depth` blocks and a linear layer; see `Options`."""

    def __init__(
        self, channels: int, classes: int, image_size: tuple[int, int], options: Options
    ) -> None:
        super().__init__()
        # A first convolution with padding 3 makes the image larger by two pixels on each side.
        image_size = (
            image_size[0] + 2 * (options.padding - 1),
            image_size[1] + 2 * (options.padding - 1),
        )
        depth = options.depth or depth_for(image_size)
        widths = [channels] + [options.width * options.growth**block for block in range(depth)]
        if widths[-1] > WIDEST:
            errors.fail(
                "growth",
                f"1, or small enough for at most {WIDEST} channels in block {depth}",
                options.growth,
            )
        paddings = [options.padding] + [1] * (depth - 1)
        blocks = (
            _block(*channels_in_out, padding, options)
            for channels_in_out, padding in zip(pairwise(widths), paddings, strict=True)
        )
        self.blocks = nn.Sequential(*blocks)
        # What is left after `depth` halvings, each rounded down as the pooling does.
        height, width = (
            side // 2**depth if options.pooling != "none" else side for side in image_size
        )
        if min(height, width) < 1:
            raise DDLabError(
                f"depth must be at most {int(math.log2(min(image_size)))} for images of "
                f"{min(image_size)} px; given {depth}."
            )
        self.head = options.head
        self.classifier = nn.Linear(
            widths[-1] * (1 if self.head == "mean" else height * width), classes
        )

    def forward(self, images: Tensor) -> Tensor:
        maps = self.blocks(images)
        return self.classifier(maps.mean((2, 3)) if self.head == "mean" else maps.flatten(1))


def depth_for(image_size: tuple[int, int]) -> int:
    """Return the number of blocks for an image size: 3 up to 32 px, 4 at 64, 5 at 128, 6 at 224."""
    # Four pixels of a side are left at every size, as in the papers.
    return min(max(round(math.log2(min(image_size))) - 2, 3), 6)


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """Return the module, with torch's default initialisation."""
    return ConvNet(channels, classes, image_size, options)


def last_conv(module: nn.Module) -> str:
    """Return the submodule whose output is the last convolutional feature map, before pooling."""
    return LAST_CONV.format(last=len(module.blocks) - 1)  # type: ignore[arg-type]


def _block(channels_in: int, channels_out: int, padding: int, options: Options) -> nn.Sequential:
    norms = {
        "batch": lambda: nn.BatchNorm2d(channels_out),
        # Per image and channel, affine.
        "instance": lambda: nn.GroupNorm(channels_out, channels_out),
        "group": lambda: nn.GroupNorm(math.gcd(4, channels_out), channels_out),
        # Per image. DC's public code scales and shifts every value by its own two numbers; here
        # they are of a channel, for any image size.
        "layer": lambda: nn.GroupNorm(1, channels_out),
        "none": nn.Identity,
    }
    block = nn.Sequential()
    block.add_module("convolution", nn.Conv2d(channels_in, channels_out, 3, padding=padding))
    block.add_module("normalisation", norms[options.norm]())
    block.add_module("activation", _ACTIVATIONS[options.activation]())
    block.add_module("pooling", _POOLINGS[options.pooling]())
    return block
