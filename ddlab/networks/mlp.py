"""A perceptron: the pixels in one row, hidden layers with ReLU, a linear layer.

The smallest network that has something to learn.
"""

from dataclasses import dataclass

from torch import Tensor, nn

from ..core import Parameters, parameter

FAMILY = "mlp"
SMALLEST_IMAGE = 1
CLASSIFIER = "classifier"


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """The options of a perceptron."""

    width: int = parameter(
        64, range=(1, 4096), help="Units of each hidden layer.", explorable=(8, 256)
    )
    depth: int = parameter(1, range=(1, 8), help="Hidden layers.", explorable=(1, 3))


class MLP(nn.Module):
    """`depth` hidden layers and a linear one; see `Options`."""

    def __init__(self, pixels: int, classes: int, options: Options) -> None:
        super().__init__()
        sizes = [pixels, *[options.width] * options.depth]
        layers = []
        for i in range(options.depth):
            for part in (nn.Linear(sizes[i], sizes[i + 1]), nn.ReLU()):
                layers.append(part)
        self.hidden = nn.Sequential(nn.Flatten(), *layers)
        self.classifier = nn.Linear(options.width, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.hidden(images))


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """Return a module whose weights come from torch's global generator."""
    return MLP(channels * image_size[0] * image_size[1], classes, options)


def last_conv(module: nn.Module) -> str:
    """Return "": it has no maps, so a network's features stand for them."""
    return ""
