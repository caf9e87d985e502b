"""Networks of the field's comparisons: torchvision's, by their names there, and LeNet.

The layers, their names and their draws are torchvision's; what small images need differs. Up to 64
px the first two reductions, which would leave a quarter of each side, are left out: the stem is 3x3
with stride 1, and no max-pool (or stride) follows it. So the reference code of every method here
has it for ResNet-18. The other reductions stay: 8 pixels become one. A new stem is drawn by He's
rule over its outputs, as torchvision draws ResNet's; that code leaves it as `nn.Conv2d` draws it,
with 1.9 times the spread for three channels.

Dropout and stochastic depth are off: both would draw from torch's global generator.

ResNet: He et al. 2016, arXiv 1512.03385. VGG: Simonyan & Zisserman 2014, 1409.1556. MobileNetV2:
Sandler et al. 2018, 1801.04381. ShuffleNetV2: Ma et al. 2018, 1807.11164. EfficientNet: Tan & Le
2019, 1905.11946. DenseNet: Huang et al. 2017, 1608.06993.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from ..core import Parameters

# Of images up to here the first two reductions of a network would leave too little.
LARGEST_SMALL_IMAGE = 64


@dataclass(frozen=True, kw_only=True)
class NoOptions(Parameters):
    """These networks have no options; their sizes are in their names."""


@dataclass(frozen=True)
class Architecture:
    """A family: what is built, and the names of its layers.

    Attributes:
        make: (channels, classes, image_size) -> module, drawn from torch's global generator.
        CLASSIFIER: the linear layer whose outputs are the logits.
        maps: the layer whose output is the last convolutional map, before pooling.
    """

    FAMILY: str
    make: Callable[[int, int, tuple[int, int]], nn.Module]
    CLASSIFIER: str
    maps: str
    SMALLEST_IMAGE: int = 8
    Options: ClassVar = NoOptions

    def build(
        self, channels: int, classes: int, image_size: tuple[int, int], options: Parameters
    ) -> nn.Module:
        return self.make(channels, classes, image_size)

    def last_conv(self, module: nn.Module) -> str:
        return self.maps


def from_torchvision(name: str, classifier: str, maps: str, **options: float) -> Architecture:
    """Return a network of torchvision with the stem for its images."""

    def make(channels: int, classes: int, image_size: tuple[int, int]) -> nn.Module:
        import torchvision

        # Never with weights: torchvision would download them.
        module = torchvision.models.get_model(name, weights=None, num_classes=classes, **options)
        fit_stem(module, channels, small=min(image_size) <= LARGEST_SMALL_IMAGE)
        return module

    return Architecture(name, make, classifier, maps)


def fit_stem(module: nn.Module, channels: int, *, small: bool) -> None:
    """Give a module the first convolution for these channels, in place.

    For small images the first two reductions go.
    """
    convolutions = [
        (name, layer) for name, layer in module.named_modules() if isinstance(layer, nn.Conv2d)
    ]
    pools = [name for name, layer in module.named_modules() if isinstance(layer, nn.MaxPool2d)]
    name, first = convolutions[0]
    if small or channels != first.in_channels:
        kernel, stride = (3, 1) if small else (first.kernel_size[0], first.stride[0])
        stem = nn.Conv2d(
            channels, first.out_channels, kernel, stride=stride, padding=kernel // 2, bias=False
        )
        nn.init.kaiming_normal_(stem.weight, mode="fan_out", nonlinearity="relu")
        module.set_submodule(name, stem)
    if small and pools:
        module.set_submodule(pools[0], nn.Identity())
    # Without a max-pool (MobileNet, EfficientNet) the second reduction is the next convolution of
    # stride 2.
    elif small:
        next(layer for _, layer in convolutions[1:] if layer.stride == (2, 2)).stride = (1, 1)


def _densenet121(channels: int, classes: int, image_size: tuple[int, int]) -> nn.Module:
    """Return DenseNet-121 as a sequence.

    torchvision rectifies the last map in place and outside of any module, where no hook can see it.
    """
    module = from_torchvision("densenet121", "", "").make(channels, classes, image_size)
    features: nn.Module = module.features  # type: ignore[assignment]
    features.add_module("relu5", nn.ReLU(inplace=True))
    pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(OrderedDict(features=features, pool=pool, classifier=module.classifier))  # type: ignore[arg-type]


def _vgg11(channels: int, classes: int, image_size: tuple[int, int]) -> nn.Module:
    """Return the convolutions of VGG-11 with batch norm, the mean of each map and one linear layer.

    torchvision's head of three linear layers, made for maps of 7x7, holds 120 of its 129 million
    weights. There is no stem: of the five max-pools the first is left out below 32 px, and the
    second below 16 px.
    """
    from torchvision.models.vgg import cfgs, make_layers

    convolutions: list[str | int] = cfgs["A"][:-1]
    for _ in range(5 - int(math.log2(min(*image_size, 32)))):
        convolutions.remove("M")  # the first one that is left
    features = make_layers(convolutions, batch_norm=True)
    if channels != 3:
        features[0] = nn.Conv2d(channels, 64, 3, padding=1)
    pool = nn.Sequential(nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    module = nn.Sequential(
        OrderedDict(features=features, pool=pool, classifier=nn.Linear(512, classes))
    )
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    nn.init.normal_(module.classifier.weight, std=0.01)  # type: ignore[arg-type]
    return module


class LeNet(nn.Module):
    """LeNet-5 with ReLU and max-pooling, as it is used today.

    LeCun et al. 1998, doi 10.1109/5.726791.

    Two 5x5 convolutions of 6 and 16 maps, linear layers of 120 and 84 units. Below 32 px the first
    convolution pads by 2, so that images of 28 px have the paper's shapes; other sizes change the
    first linear layer.
    """

    def __init__(self, channels: int, classes: int, image_size: tuple[int, int]) -> None:
        super().__init__()
        padding = 2 if min(image_size) < 32 else 0
        height, width = (((side + 2 * padding - 4) // 2 - 4) // 2 for side in image_size)
        self.maps = nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=padding),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
        )
        self.hidden = nn.Sequential(
            nn.Linear(16 * height * width, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()
        )
        self.classifier = nn.Linear(84, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(
            self.hidden(nn.functional.max_pool2d(self.maps(images), 2).flatten(1))
        )


FAMILIES = {
    family_class.FAMILY: family_class
    for family_class in (
        Architecture("lenet", LeNet, "classifier", "maps", SMALLEST_IMAGE=12),
        from_torchvision("resnet18", "fc", "layer4"),
        from_torchvision("resnet50", "fc", "layer4"),
        Architecture("vgg11", _vgg11, "classifier", "features"),
        from_torchvision("mobilenet_v2", "classifier.1", "features", dropout=0.0),
        from_torchvision("shufflenet_v2_x0_5", "fc", "conv5"),
        from_torchvision(
            "efficientnet_b0", "classifier.1", "features", dropout=0.0, stochastic_depth_prob=0.0
        ),
        Architecture("densenet121", _densenet121, "classifier", "features"),
    )
}
