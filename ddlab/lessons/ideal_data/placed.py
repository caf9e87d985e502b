"""Ten samples, dragged by hand: how little data a small network needs, if the data are chosen.

TenLab()
"""

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import figures
from ...core import Parameters, errors, parameter, randomness, with_default
from ...explorers import DRAG, Change, Chart, Drag, Handles, Lab, Named, Quest, Results, Tabs
from ...explorers.ready import world_of
from ...figures import finish_figure, series_style
from ...figures.theme import neutral
from ..shared import dragging
from . import mixture, toys
from .world import BEST_BOUNDARY, EXTENT, HEIGHT, SQUARED, WRONG, decisions_of, least_errors

# Samples that the reader places.
COUNT = 10
# Of squared error: five on each mean give .067, a thousand samples of the best Sigma .062; nothing
# is below .058.
ENOUGH = 0.06
# First weights that all learn from the same samples.
_SEEDS = 20
# Test points of each class, spread and not drawn: what changes the error is the samples.
_PER_CLASS = 96
_TOY = toys.Config(seeds=_SEEDS)
# Of the original data that are drawn as small dots.
_DOTS = 100
LABELS = torch.arange(COUNT) % 2.0  # class 0 and class 1 in turn
MEANS = LABELS[:, None].expand(COUNT, 2) + 1
SAMPLES = "your samples"
_MAP_HEIGHT = 420  # pixels; the plane is a square


def points_of(placed: str) -> Tensor:
    """Return the ten points of "1.00 1.00; 2.00 2.00; ...", float64 [10, 2]."""
    points = dragging.numbers(placed)
    if points.shape != (COUNT, 2) or not bool(points.isfinite().all()):
        errors.fail("points", f"{COUNT} pairs of numbers such as '1.00 1.00; 2.00 2.00'", placed)
    return points


@dataclass(frozen=True, kw_only=True)
class Placed(Parameters):
    """Where the ten samples lie, and how networks learn from them."""

    steps: int = with_default(toys.Config, "steps", 1000, source="Figure 1")
    momentum: float = with_default(toys.Config, "momentum", 0.98, source="Figure 1")
    learning_rate: float = with_default(toys.Config, "learning_rate", 0.002, source="Figure 1")
    points: str = parameter(
        dragging.text(MEANS.double(), EXTENT), help="All ten samples, class 0 and class 1 in turn."
    )

    def rules(self) -> None:
        """Require ten points."""
        super().rules()
        points_of(self.points)

    @property
    def training(self) -> toys.Config:
        """The training of networks that see these samples over and over."""
        return _TOY.replace(
            steps=self.steps,
            momentum=self.momentum,
            learning_rate=self.learning_rate,
            record_every=self.steps,
        )


@dataclass(frozen=True, eq=False)
class Learned:
    """What twenty networks make of samples: their mean output over the plane, squared error and
    share of wrong decisions on G.
    """

    decisions: dict[str, Tensor]
    final_errors: dict[str, float]


def learned(settings: Placed) -> Learned:
    """Return what networks learn that see the ten samples over and over."""
    config = settings.training
    rows = torch.arange(config.steps) % COUNT
    points, labels = (
        values[rows].expand(1, _SEEDS, *values[rows].shape).contiguous()
        for values in (points_of(settings.points).float(), LABELS)
    )
    return _judge(toys.Samples(points, labels, labels), config)


def sampled(config: toys.Config) -> Learned:
    """Return what networks learn that see a new random sample in each update."""
    return _judge(toys.distilled_samples([config]), config)


def _judge(samples: toys.Samples, config: toys.Config) -> Learned:
    runs = toys.train([config], samples=samples)
    judged = toys.judge(runs, per_class=_PER_CLASS)
    final_errors = {SQUARED: judged.mean_squared_error[-1], WRONG: 1 - judged.accuracy_fraction[-1]}
    return Learned(
        decisions_of(runs.rows[-1, 0]),
        {name: float(value.mean()) for name, value in final_errors.items()},
    )


def put(world: Any, settings: Placed, point: int, x: float, y: float) -> Placed:
    """Return the settings with a sample at (x, y)."""
    return settings.replace(points=dragging.put(settings.points, point, x, y, EXTENT))


def handles(world: Any, settings: Placed, results: Results) -> Handles:
    """Return the samples as they are drawn."""
    names = [f"class {int(label)}" for label in LABELS]
    return Handles(names, points_of(settings.points), EXTENT)


def draw_again(settings: Placed) -> Placed:
    """Draw ten random samples of G, others than before."""
    draws = randomness.generator(0, 0, f"ten samples after {settings.points}")
    points = MEANS + _TOY.original_deviation * torch.randn(COUNT, 2, generator=draws)
    return settings.replace(points=dragging.text(points.double(), EXTENT))


def decisions_data(world: Any, settings: Placed, results: Results) -> Named:
    """Return the samples, and what is learned from them."""
    return {"placed": settings.points, "network": results.compute_now(learned, settings)}


def decisions(placed: str, network: Learned) -> go.Figure:
    """Draw what the networks decide, some of G as small dots, and the ten samples."""
    dots, dot_labels = mixture.sample(_TOY.original, _DOTS, seed=0)
    figure = figures.decision_map(
        title=f"Squared error on G: {network.final_errors[SQUARED]:.4f}",
        extent=EXTENT,
        height=_MAP_HEIGHT,
        **network.decisions,
        points=dots,
        labels=dot_labels,
        targets=dot_labels,
        best_boundary=BEST_BOUNDARY,
    )
    for trace in figure.data[-2:]:
        trace.marker.update(size=5, opacity=0.5)
    colours = [series_style(1 - int(label)).colour for label in LABELS]
    points = points_of(placed)
    figure.add_scatter(
        # Plain lists: the plot widget moves single points of this trace.
        x=points[:, 0].tolist(),
        y=points[:, 1].tolist(),
        mode="markers",
        name=SAMPLES,
        marker={
            "size": 17,
            "color": colours,
            "symbol": ["circle", "square"] * (COUNT // 2),
            "line": {"width": 2.5, "color": neutral("text")},
        },
    )
    return figure


def ends_data(
    world: Any, settings: Placed, results: Results
) -> tuple[tuple[str, float, float], ...]:
    """Return name, squared error and share wrong of these ten samples and of their rivals.

    The rivals are five samples on each mean and new random samples of two kinds.
    """
    rows = {
        "your ten": results.compute_now(learned, settings),
        "five per mean": results.compute_now(learned, settings.replace(points=world.start.points)),
    }
    for sigma in (0.5, 0.2):
        config = settings.training.replace(deviation=sigma)
        rows[f"{settings.steps:,} samples, Σ = {sigma:g}"] = results.compute_now(sampled, config)
    errors_by_name = [
        (name, row.final_errors[SQUARED], row.final_errors[WRONG]) for name, row in rows.items()
    ]
    return tuple(errors_by_name)


def final_chart(*rows: tuple[str, float, float]) -> go.Figure:
    """Draw the squared error of each kind of samples beside the least that is possible."""
    names = [name for name, *_ in rows]
    figure = figures.bars(
        names,
        [squared for _, squared, _ in rows],
        title="Squared error on G after the last update",
        x_label="samples",
        y_label="squared error",
        text_format=".4f",
        reference=("least possible", least_errors(_TOY.original)[SQUARED]),
        height=HEIGHT,
    )
    figure.update_xaxes(tickangle=0, tickfont_size=11)
    clauses = [f"{name} {squared:.3f} and {wrong:.1%}" for name, squared, wrong in rows]
    return finish_figure(
        figure, alt=f"Squared error and share of wrong decisions on G: {'; '.join(clauses)}."
    )


def sentence(world: Any, settings: Placed, results: Results) -> str:
    """Say how the ten samples do."""
    (_, squared, wrong), *_ = ends_data(world, settings, results)
    least = least_errors(_TOY.original)
    return (
        f"From these ten samples twenty networks reach a squared error of {squared:.4f} on G, and "
        f"{wrong:.1%} of their decisions are wrong. The least possible is {least[SQUARED]:.4f} and "
        f"{least[WRONG]:.1%}."
    )


def good_enough(world: Any, settings: Placed, results: Results) -> bool:
    """Return whether ten samples come that near, in the training that the page has."""
    as_opened = settings.replace(points=world.start.points) == world.start
    error = results.compute_now(learned, settings).final_errors[SQUARED]
    return as_opened and error < ENOUGH


TenLab = Lab(
    "Ten samples of your own",
    world_of(Placed()),
    controls=("steps", "momentum", "learning_rate"),
    recorded={"steps": 13, "momentum": 13, "learning_rate": 13},
    labels={"steps": "updates (T)"},
    views=[
        Tabs(
            (
                "Samples",
                Chart(decisions_data, decisions, drag=Drag(SAMPLES, put, handles), ghosts=False),
            ),
            ("Rivals", Chart(ends_data, final_chart)),
        )
    ],
    buttons=[Change("Ten random ones", draw_again, hint="Draw ten samples of G")],
    sentence=sentence,
    quest=Quest(
        f"Drag the samples until the squared error is below {ENOUGH:g}; the least possible is .058.",
        good_enough,
        # Each class at 0, 1/4 and 1/2 along the boundary on both sides, .2 nearer to it than its mean.
        solution=[
            (DRAG, (2 * pair + label, 1.2 + 0.6 * label + along, 1.2 + 0.6 * label - along))
            for pair, along in enumerate((0.0, 0.5, -0.5, 0.25, -0.25))
            for label in (0, 1)
        ],
    ),
)
