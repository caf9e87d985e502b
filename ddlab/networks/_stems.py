"""What the families from torchvision share: small images keep their pixels for longer, and grey images get one input channel.

Up to 64 px the stem and the next reduction, which together would leave a quarter of each side, stay at stride 1.
"""

from __future__ import annotations

from torch import nn

LARGEST_SMALL_IMAGE = 64


def is_small(image_size: tuple[int, int]) -> bool:
    """Whether images of (height, width) get the stem for small images."""
    return min(image_size) <= LARGEST_SMALL_IMAGE


def convolution(channels_in: int, channels_out: int, *, kernel: int, stride: int) -> nn.Conv2d:
    """A stem convolution without bias that keeps the size up to its stride, drawn as torchvision draws those it takes the place of."""
    layer = nn.Conv2d(channels_in, channels_out, kernel, stride=stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer


def resnet_stem(module: nn.Module, channels: int, image_size: tuple[int, int]) -> None:
    """Give a torchvision ResNet the stem for these images, in place."""
    if is_small(image_size):
        module.conv1 = convolution(channels, 64, kernel=3, stride=1)
        module.maxpool = nn.Identity()
    elif channels != 3:
        module.conv1 = convolution(channels, 64, kernel=7, stride=2)


def features_stem(module: nn.Module, channels: int, image_size: tuple[int, int]) -> None:
    """Give a torchvision MobileNetV2 or EfficientNet-B0 the stem for these images, in place."""
    if channels != 3:
        module.features[0][0] = convolution(channels, 32, kernel=3, stride=2)  # type: ignore[index,operator]
    if is_small(image_size):
        undo_strides(module, 2)


def last_of_features(module: nn.Module) -> str:
    """The submodule whose output is the last convolutional feature map, before global pooling."""
    return f"features.{len(module.features) - 1}"  # type: ignore[arg-type]


def undo_strides(module: nn.Module, count: int) -> None:
    """Give the first `count` convolutions of stride 2 a stride of 1, in place."""
    strided = [layer for layer in module.modules() if isinstance(layer, nn.Conv2d) and layer.stride == (2, 2)]
    for layer in strided[:count]:
        layer.stride = (1, 1)
