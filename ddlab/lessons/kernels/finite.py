"""From an infinitely wide network to a real one: the kernel of a finite network, beside the exact one, by its width.

WidthLab(data, learned)         # learned: a distilled set with labels for a regression, as KIP makes it

f(x) = sigma_w / sqrt(width) v relu(u) + sigma_b c,   u = sigma_w / sqrt(d) W x + sigma_b b,   all of W, b, v, c drawn from N(0, 1)
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ...core import errors, randomness
from ...core.parameters import Parameters, parameter
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation.students import check_like
from ...explorers.lab import Known, Lab
from ...explorers.views import Chart, Row, Tabs
from ...figures import finish_figure, loss_curves, series_style, start_figure
from ...methods import kip
from ...methods.kernels import KernelSpec, kernel_matrix

WIDTHS = tuple(2**power for power in range(2, 11))
_SPEC = KernelSpec()
_DRAWS = 5  # of the curves
_HEIGHT = 360


@dataclass(frozen=True, kw_only=True)
class Network(Parameters):
    """Which finite networks."""

    width: int = parameter(16, choices=WIDTHS, explorable=True, help="Units of the one hidden layer.")
    networks: int = parameter(1, range=(1, 10), explorable=(1, 10), help="How many, whose kernels are averaged.")
    draw: int = parameter(0, range=(0, 99), explorable=(0, 99), help="Of their weights.")


def finite_kernel(first: Tensor, second: Tensor, *, width: int, seed: int, spec: KernelSpec = _SPEC) -> Tensor:
    """<df(x)/dtheta, df(x')/dtheta> of a network with one hidden layer as it is drawn: [n, d], [m, d] -> [n, m].

    Its expectation is the NTK "fc1" of `spec` at any width; its spread falls as 1 / sqrt(width).
    """
    draw = functools.partial(torch.randn, generator=randomness.generator(seed, width, "finite network"))
    weights, biases, outer = (
        draw(shape, dtype=torch.float64) for shape in ((width, first.shape[1]), (width,), (width,))
    )
    across, bias, scale = spec.weight_std**2, spec.bias_std**2, spec.weight_std / math.sqrt(first.shape[1])
    hidden = [scale * rows @ weights.T + spec.bias_std * biases for rows in (first, second)]
    one, other = (rows.relu() for rows in hidden)
    slope, other_slope = ((rows > 0) * outer for rows in hidden)
    inputs = across * first @ second.T / first.shape[1] + bias
    return across / width * (one @ other.T + slope @ other_slope.T * inputs) + bias


class World:
    """Learned points and test images, with their exact kernel, and what networks of each width make of them.

    Args:
        data: whose test images are asked about. learned: a set with labels for a regression.

    Raises:
        DDLabError: a set unlike the data, or without such labels.
    """

    def __init__(self, data: ImageData, learned: DistilledSet) -> None:
        errors.check_instance("data", data, ImageData, "an ImageData")
        errors.check_instance("learned", learned, DistilledSet, "a DistilledSet")
        check_like(learned, data)
        self.start, self.labels = Network(), learned.target("regression").values
        images, asked = learned.images.double(), data.normalised(split="test").double()
        self.exact = kernel_matrix(_SPEC, images, images)
        self.points, self._asked, self._wanted = images.flatten(1), asked.flatten(1), data.test_labels
        self.exact_accuracy = self._accuracy(self.exact, kernel_matrix(_SPEC, asked, images))
        found = [[self.measured(Network(width=width, draw=draw)) for draw in range(_DRAWS)] for width in WIDTHS]
        self.errors, self.accuracies = (
            tuple(sum(draw[part] for draw in width) / _DRAWS for width in found) for part in (0, 1)
        )

    def kernel(self, rows: Tensor, network: Network) -> Tensor:
        """Of rows [m, d] with the learned points, the mean over the networks, [m, n]."""
        seeds = range(network.draw, network.draw + network.networks)
        found = [finite_kernel(rows, self.points, width=network.width, seed=seed) for seed in seeds]
        return torch.stack(found).mean(0)

    @functools.lru_cache(256)  # noqa: B019 - a world lives as long as its laboratory
    def measured(self, network: Network) -> tuple[float, float]:
        """How far the kernel of finite networks is from the exact one, relatively, and the accuracy of the regression with it."""
        own = self.kernel(self.points, network)
        error = float((own - self.exact).norm() / self.exact.norm())
        return error, self._accuracy(own, self.kernel(self._asked, network))

    def _accuracy(self, own: Tensor, cross: Tensor) -> float:
        # Of fewer weights than points the kernel is singular, but for the ridge.
        found = kip.predictions(own, cross, self.labels, strength=1e-6)
        return float((found.argmax(1) == self._wanted).double().mean())


def entries(world: World, network: Network) -> go.Figure:
    """Each entry of the finite kernel over the exact one."""
    exact, finite = (each.flatten().tolist() for each in (world.exact, world.kernel(world.points, network)))
    figure = start_figure(
        title=f"Kernel of {network.width} hidden units", x_label="exact kernel", y_label="finite kernel", theme="light", height=_HEIGHT
    )  # fmt: skip
    ends = [min(exact), max(exact)]
    figure.add_scatter(
        x=ends, y=ends, mode="lines", name="equal", line={"dash": "dash", "color": series_style(1).colour}
    )
    figure.add_scatter(x=exact, y=finite, mode="markers", name="two points", marker={"color": series_style(0).colour})
    error = world.measured(network)[0]
    return finish_figure(
        figure, alt=f"{len(exact)} entries of the finite kernel over the exact ones; relative error {error:.1%}."
    )


def _over_width(curves: dict[str, Any], **options: Any) -> go.Figure:
    places = [math.log2(width) for width in WIDTHS]
    figure = loss_curves(curves, places, x_label="width (hidden units)", height=_HEIGHT, **options)
    return figure.update_xaxes(tickvals=places[::3], ticktext=[str(width) for width in WIDTHS[::3]])


def error_curve(world: World) -> go.Figure:
    """The error over the width, beside a line that falls as 1 / sqrt(width)."""
    guide = [world.errors[0] * math.sqrt(WIDTHS[0] / width) for width in WIDTHS]
    curves = {"finite network": list(world.errors), "1 / √width": guide}
    return _over_width(curves, title="Error of the kernel", y_label="relative error", log_y=True)


def accuracy_curve(world: World) -> go.Figure:
    """The accuracy over the width, beside that of the exact kernel."""
    curves = {"finite network": list(world.accuracies), "exact kernel": [world.exact_accuracy] * len(WIDTHS)}
    return _over_width(curves, title="The learned points in it", y_label="test accuracy (fraction)")


def sentence(world: World, network: Network, known: Known) -> str:
    """What a network of this width is."""
    error, accuracy = world.measured(network)
    many = f", mean of {network.networks} networks" if network.networks > 1 else ""
    return (
        f"{network.width} hidden units{many}: the kernel is {error:.0%} off, and the regression with it has {accuracy:.1%} of the "
        f"test images right; with the exact kernel {world.exact_accuracy:.1%}."
    )


def _at(world: World, network: Network, known: Known) -> float:
    return math.log2(network.width)


WidthLab = Lab(
    "How wide is wide enough?",
    World,
    controls=("width", "networks", "draw"),
    labels={"networks": "networks, averaged"},
    views=[
        Row(
            Chart(lambda world, network, known: (world, network), entries),
            Tabs(
                ("Error", Chart(lambda world, network, known: (world,), error_curve, cursor=_at)),
                ("Accuracy", Chart(lambda world, network, known: (world,), accuracy_curve, cursor=_at)),
            ),
        )
    ],
    sentence=sentence,
)  # fmt: skip
