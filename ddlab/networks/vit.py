r"""ViT: self-attention between square patches.

Blocks of attention and a two-layer network, the mean of the tokens, one linear layer.

Dosovitskiy et al. 2021 (arXiv 2010.11929), small, for images of 16 to 64 px: patches of 4 px, six
blocks of width 128 with 4 heads (1.2 million weights). As there: norm first, GELU, four times the
width inside a block, learned positions. Not as there: no class token; the linear layer sees the
mean of the tokens, as in Beyer et al. 2022 (arXiv 2205.01580). No dropout.

A method that compares batch-norm statistics has nothing to compare here.

Attention, $\mathrm{softmax}(Q K^\top / \sqrt{d_h})\, V$ per head, is written out. torch's fused
one, which torchvision's ViT calls, has no second derivative on a CPU, and gives other last bits
without gradients than with them.

Linear layers are drawn by Glorot's rule with biases of 0, positions with a spread of .02, patches
as torch draws a convolution.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..core import Parameters, errors, parameter

FAMILY = "vit"
SMALLEST_IMAGE = 4
CLASSIFIER = "classifier"
EXPANSION = 4  # width inside a block's two-layer network


@dataclass(frozen=True, kw_only=True)
class Options(Parameters):
    """The options of a ViT."""

    patch_size: int = parameter(
        4,
        range=(1, 64),
        unit="px",
        help="Side of a patch; a divisor of the image's sides.",
        explorable=(2, 8),
    )
    width: int = parameter(
        128, range=(1, 2048), help="Numbers of a token; a multiple of heads.", explorable=(16, 256)
    )
    depth: int = parameter(6, range=(1, 24), help="Number of blocks.", explorable=(1, 8))
    heads: int = parameter(4, range=(1, 64), help="Attention heads of a block.", explorable=(1, 8))

    def rules(self) -> None:
        if self.width % self.heads:
            errors.fail("heads", f"a divisor of width, {self.width}", self.heads)


class Attention(nn.Module):
    """Every token looks at all tokens, once per head."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width)
        self.outputs = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:  # [n, t, width]
        # [n, t, 3, heads, width / heads].
        parts = self.inputs(tokens).unflatten(-1, (3, self.heads, -1))
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)  # each [n, heads, t, width / heads]
        looks = (queries @ keys.mT * queries.shape[-1] ** -0.5).softmax(-1)  # [n, heads, t, t]
        return self.outputs((looks @ values).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention, then a network on each token; each adds to its normalised input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        wide = EXPANSION * width
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.hidden_norm = nn.LayerNorm(width)
        self.hidden = nn.Sequential(nn.Linear(width, wide), nn.GELU(), nn.Linear(wide, width))

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.attention(self.attention_norm(tokens))
        return tokens + self.hidden(self.hidden_norm(tokens))


class ViT(nn.Module):
    """Patches, `depth` blocks and a linear layer; see `Options`."""

    def __init__(
        self, channels: int, classes: int, image_size: tuple[int, int], options: Options
    ) -> None:
        super().__init__()
        size = options.patch_size
        width = options.width
        if any(side % size for side in image_size):
            errors.fail(
                "patch_size",
                f"a divisor of the image's sides, {image_size[0]} and {image_size[1]} px",
                size,
            )
        grid = (image_size[0] // size, image_size[1] // size)
        self.patches = nn.Conv2d(channels, width, size, stride=size)
        self.positions = nn.Parameter(0.02 * torch.randn(1, width, *grid))
        self.blocks = nn.Sequential(*(Block(width, options.heads) for _ in range(options.depth)))
        self.norm = nn.LayerNorm(width)
        # A module of its own, so that a hook can see the last map.
        self.maps = nn.Unflatten(2, grid)
        self.classifier = nn.Linear(width, classes)
        # After all layers exist; the patches' convolution keeps torch's draw, as in the paper's
        # code.
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, images: Tensor) -> Tensor:
        tokens = (self.patches(images) + self.positions).flatten(2).mT  # [n, t, width]
        maps = self.maps(self.norm(self.blocks(tokens)).mT)  # [n, width, h / patch, w / patch]
        return self.classifier(maps.mean((2, 3)))


def build(channels: int, classes: int, image_size: tuple[int, int], options: Options) -> nn.Module:
    """Return the module, drawn as the text above says."""
    return ViT(channels, classes, image_size, options)


def last_conv(module: nn.Module) -> str:
    """Return the submodule whose output stands for the last convolutional map.

    It is the last tokens, each at its patch's position.
    """
    return "maps"
