r"""The small network of the ReLA paper's toy world, many of it at once.

Sun et al. 2024 (ReLA), arXiv 2405.14669, equation 4 and Table 7: d inputs, 50 hidden units, one probability,

    f(x) = sigmoid(theta_1 . ReLU(theta_2 x + theta_3) + theta_4)          -> toy_outputs

trained by plain stochastic gradient descent with momentum on (f(x) - y)^2, one sample per step (Table 8):

    delta = 2 (f - y) f (1 - f),   g_1 = delta h,   g_2 = delta (theta_1 * [h > 0]) x',   g_3 the same without x,   g_4 = delta
    v <- m v + g,   theta <- theta - eta v                                  -> stochastic_descent
    the same with g averaged over a whole set of points at each step        -> expected_descent

    symbol    name here        shape
    theta_2   hidden_weight    [..., units, d]
    theta_3   hidden_bias      [..., units]
    theta_1   output_weight    [..., units]
    theta_4   output_bias      [...]

"..." is one network or any block of them, such as [settings, seeds]. All of a block is computed together: gradients are written by
hand, and in `stochastic_descent` the networks lie along the last axis of numpy arrays, whose calls cost less than torch's on so few
numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from ....core import randomness

_AT_ONCE = 2**18  # hidden values computed together: they stay in a core's cache


@dataclass(frozen=True, kw_only=True, eq=False)
class ToyNetworks:
    """Weights of a block of networks, float32 or float64; shapes in the module's docstring."""

    hidden_weight: Tensor
    hidden_bias: Tensor
    output_weight: Tensor
    output_bias: Tensor

    @property
    def block(self) -> torch.Size:
        """The shape of "...": of the networks side by side."""
        return self.hidden_weight.shape[:-2]

    @property
    def units(self) -> int:
        """Hidden units."""
        return self.hidden_weight.shape[-2]

    @property
    def inputs(self) -> int:
        """d."""
        return self.hidden_weight.shape[-1]

    @property
    def rows(self) -> Tensor:
        """All weights of each network in one row, [..., units (inputs + 2) + 1]: theta_2, theta_3, theta_1, theta_4."""
        parts = self.hidden_weight.flatten(-2), self.hidden_bias, self.output_weight, self.output_bias[..., None]
        return torch.cat(parts, -1)

    def from_rows(self, rows: Tensor) -> Self:
        """Networks of these units and inputs with the weights in `rows` [..., units (inputs + 2) + 1]; the inverse of `rows`."""
        units, inputs = self.units, self.inputs
        hidden, bias, output, last = rows.split([units * inputs, units, units, 1], -1)
        return type(self)(
            hidden_weight=hidden.unflatten(-1, (units, inputs)),
            hidden_bias=bias,
            output_weight=output,
            output_bias=last[..., 0],
        )

    def __getitem__(self, place: int | slice | tuple[int | slice, ...]) -> Self:
        """The networks at this place of the block, as a tensor of the block's shape is indexed."""
        return type(self)(**{name: value[place] for name, value in vars(self).items()})


def initial_toys(
    seeds: int = 1, *, inputs: int = 2, units: int = 50, first_seed: int = 0, stream: str = "student"
) -> ToyNetworks:
    """float32 networks [seeds] with PyTorch's default start: each layer uniform in +-1/sqrt(its inputs), biases too.

    Args:
        seeds: how many, of the seeds first_seed, first_seed + 1, ... stream: another name gives other weights of the same seeds.
    """
    drawn = np.stack(
        [
            randomness.numpy_generator(first_seed + number, 0, f"toy weights {stream}").uniform(
                -1, 1, units * (inputs + 2) + 1
            )
            for number in range(seeds)
        ]
    )
    drawn[:, : units * (inputs + 1)] /= math.sqrt(inputs)
    drawn[:, units * (inputs + 1) :] /= math.sqrt(units)
    empty = torch.zeros(units, inputs)
    shape = ToyNetworks(
        hidden_weight=empty, hidden_bias=empty[:, 0], output_weight=empty[:, 0], output_bias=empty[0, 0]
    )
    return shape.from_rows(torch.from_numpy(drawn).float())


def toy_outputs(networks: ToyNetworks, points: Tensor) -> Tensor:
    """f(x) of every network at the same points: [..., n] in (0, 1), without gradients.

    Args:
        points: [n, d] of the networks' dtype.
    """
    with torch.no_grad():
        # The bias is one more input, always 1.
        inputs = torch.cat([points, torch.ones_like(points[:, :1])], 1).mT.contiguous()
        hidden = torch.cat([networks.hidden_weight, networks.hidden_bias[..., None]], -1).reshape(
            -1, networks.inputs + 1
        )
        output = networks.output_weight.reshape(-1, 1, networks.units)
        together = max(_AT_ONCE // (networks.units * max(len(points), 1)), 1)
        logits = points.new_empty(len(output), 1, len(points))
        for start in range(0, len(output), together):
            block = slice(start, start + together)
            active = (hidden[start * networks.units : (start + together) * networks.units] @ inputs).relu_()
            torch.bmm(output[block], active.view(len(output[block]), networks.units, len(points)), out=logits[block])
        found = (logits[:, 0] + networks.output_bias.reshape(-1, 1)).sigmoid_()
    return found.view(*networks.block, len(points))
