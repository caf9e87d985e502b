"""AlexNet for small images: five convolutions of 5x5 and 3x3 in three stages, each with a 2x2 max-pool, then one linear layer.

Krizhevsky et al. 2012 (doi 10.1145/3065386) in the form in which dataset distillation has used it since Zhao et al. 2021
(arXiv 2006.05929): maps of 128, 192, 256, 192 and 192 channels, no stride, and one linear layer over all positions in place of three
with dropout. KRR-ST (Lee et al. 2024, arXiv 2310.06511) and Boost put a batch norm behind each convolution: the default here;
norm="none" is the form before them. Made for images of 32 and 64 px; no stem changes with the size. Weights are drawn as torch draws them.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from ..core.parameters import Parameters, parameter

FAMILY = "alexnet"
SMALLEST_IMAGE = 8
CLASSIFIER = "classifier"
STAGES = (((128, 5),), ((192, 5),), ((256, 3), (192, 3), (192, 3)))  # (channels, kernel); a max-pool ends each stage


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """What an AlexNet can be built with."""

    norm: str = parameter(
        "batch", choices=("batch", "none"), help="Normalisation behind each convolution.", explorable=True
    )


class AlexNet(nn.Module):
    """Three stages of convolutions and a linear layer; see `Options`."""

    def __init__(self, channels: int, classes: int, image_size: tuple[int, int], options: Options) -> None:
        super().__init__()
        self.features = nn.Sequential()
        for stage in STAGES:
            for width, kernel in stage:
                self.features.append(nn.Conv2d(channels, width, kernel, padding=kernel // 2))
                if options.norm == "batch":
                    self.features.append(nn.BatchNorm2d(width))
                self.features.append(nn.ReLU(inplace=True))
                channels = width
            self.features.append(nn.MaxPool2d(2))
        height, width = (side // 2 ** len(STAGES) for side in image_size)
        self.classifier = nn.Linear(channels * height * width, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.features(images).flatten(1))


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """The module, with torch's default initialisation."""
    return AlexNet(channels, classes, image_size, options)


def last_conv(module: nn.Module) -> str:
    """The submodule whose output is the last convolutional feature map, before the last max-pool."""
    return f"features.{len(module.features) - 2}"  # type: ignore[arg-type]
