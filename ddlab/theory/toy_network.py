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
from typing import Annotated, Self

import numpy as np
import torch
from torch import Tensor

from ..core import errors, randomness
from ..core.boundary import check, check_fields, checked, filled, floats, within
from ._check import Places, precise

MOST_NUMBERS = 2 * 10**8  # weights of all frames, or outputs: 0.8 GB in float32
_AT_ONCE = 2**18  # hidden values computed together: they stay in a core's cache


@dataclass(frozen=True, kw_only=True, eq=False)
class ToyNetworks:
    """Weights of a block of networks, float32 or float64; shapes in the module's docstring."""

    hidden_weight: Annotated[Tensor, floats("... units inputs"), filled, precise]
    hidden_bias: Annotated[Tensor, floats("... units")]
    output_weight: Annotated[Tensor, floats("... units")]
    output_bias: Annotated[Tensor, floats("...")]

    def __post_init__(self) -> None:
        check_fields(self)
        for name, axes in (("hidden_bias", 1), ("output_weight", 1), ("output_bias", 2)):
            errors.check_tensor(name, getattr(self, name), shape=self.hidden_weight.shape[:-axes], finite=False)

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
        check("rows", rows, Annotated[Tensor, floats("... length")], length=units * (inputs + 2) + 1)
        hidden, bias, output, last = rows.split([units * inputs, units, units, 1], -1)
        return type(self)(
            hidden_weight=hidden.unflatten(-1, (units, inputs)), hidden_bias=bias, output_weight=output, output_bias=last[..., 0]
        )  # fmt: skip

    def __getitem__(self, place: int | slice | tuple[int | slice, ...]) -> Self:
        """The networks at this place of the block, as a tensor of the block's shape is indexed."""
        where = place if isinstance(place, tuple) else (place,)
        if len(where) > len(self.block) or not all(isinstance(part, (int, slice)) for part in where):
            errors.fail("place", f"an index into networks of shape {list(self.block)}", place)
        try:
            return type(self)(**{name: value[where] for name, value in vars(self).items()})
        except IndexError:
            errors.fail("place", f"an index into networks of shape {list(self.block)}", place)


@checked
def initial_toys(
    seeds: Annotated[int, within(1, 10**5)] = 1,
    *,
    inputs: Annotated[int, within(1, 1000)] = 2,
    units: Annotated[int, within(1, 10**5)] = 50,
    first_seed: Annotated[int, within(0)] = 0,
    stream: str = "student",
) -> ToyNetworks:
    """float32 networks [seeds] with PyTorch's default start: each layer uniform in +-1/sqrt(its inputs), biases too.

    Args:
        seeds: how many, of the seeds first_seed, first_seed + 1, ... stream: another name gives other weights of the same seeds.
    """
    _check_size("seeds, inputs and units", seeds * units * (inputs + 2))
    drawn = np.stack([
        randomness.numpy_generator(first_seed + number, 0, f"toy weights {stream}").uniform(-1, 1, units * (inputs + 2) + 1)
        for number in range(seeds)
    ])  # fmt: skip
    drawn[:, : units * (inputs + 1)] /= math.sqrt(inputs)
    drawn[:, units * (inputs + 1) :] /= math.sqrt(units)
    empty = torch.zeros(units, inputs)
    shape = ToyNetworks(
        hidden_weight=empty, hidden_bias=empty[:, 0], output_weight=empty[:, 0], output_bias=empty[0, 0]
    )
    return shape.from_rows(torch.from_numpy(drawn).float())


@checked
def toy_outputs(networks: ToyNetworks, points: Annotated[Tensor, floats("n d", finite=False)]) -> Tensor:
    """f(x) of every network at the same points: [..., n] in (0, 1), without gradients.

    Args:
        points: [n, d] of the networks' dtype.
    """
    check("points", points, Places, d=networks.inputs, dtype=networks.hidden_weight.dtype)
    _check_size("networks and points", networks.block.numel() * len(points))
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
    return errors.check_tensor("the networks' outputs", found).view(*networks.block, len(points))


def _check_size(argument: str, numbers: int) -> None:
    if numbers > MOST_NUMBERS:
        errors.fail(argument, f"so few that at most {MOST_NUMBERS:.0e} numbers are needed at once", numbers)
