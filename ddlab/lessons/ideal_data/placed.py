"""Ten samples, placed by hand: how little data a small network needs, if the data are chosen.

TenLab()
"""

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import figures
from ...core import errors, randomness
from ...core.parameters import Parameters, parameter
from ...explorers.lab import Change, Lab, Results
from ...explorers.lines import Quest
from ...explorers.views import Chart, Row
from ...figures.theme import finish_figure, neutral, series_style, stacked_figure
from . import drawing, toys
from .world import BEST_BOUNDARY, EXTENT, SQUARED, WRONG, decided, least_errors

# Samples that the reader places.
COUNT = 10
# Of squared error: five on each mean give .067, a thousand samples of the best Sigma .062; nothing
# is below .058.
ENOUGH = 0.06
# First weights that all learn from the same samples.
_SEEDS = 20
# Test points of each class, spread and not drawn: what changes the error is the samples.
_PER_CLASS = 96
_TOY = toys.Config(seeds=_SEEDS, record_every=1000)
LABELS = torch.arange(COUNT) % 2.0  # class 0 and class 1 in turn
MEANS = LABELS[:, None].expand(COUNT, 2) + 1


def _written(points: Tensor) -> str:
    return "; ".join(f"{x:.2f} {y:.2f}" for x, y in points.tolist())


def points_of(placed: str) -> Tensor:
    """Return the ten points of "1.00 1.00; 2.00 2.00; ...", float32 [10, 2]."""
    try:
        points = torch.tensor(
            [[float(number) for number in pair.split()] for pair in placed.split(";")]
        )
    except ValueError:
        points = torch.empty(0)
    if points.shape != (COUNT, 2) or not bool(points.isfinite().all()):
        errors.fail("placed", f"{COUNT} pairs of numbers such as '1.00 1.00; 2.00 2.00'", placed)
    return points


@dataclass(frozen=True, kw_only=True)
class Placed(Parameters):
    """Where the ten samples lie, and which the next click moves."""

    point: int = parameter(
        1,
        range=(1, COUNT),
        explorable=(1, COUNT),
        help="Odd ones are of class 0, even ones of class 1.",
    )
    across: float = parameter(
        1.0,
        range=EXTENT[0],
        explorable=EXTENT[0],
        step=0.05,
        help="Where it goes: first dimension.",
    )
    up: float = parameter(
        1.0,
        range=EXTENT[1],
        explorable=EXTENT[1],
        step=0.05,
        help="Where it goes: second dimension.",
    )
    placed: str = parameter(_written(MEANS), help="All ten samples, class 0 and class 1 in turn.")

    def rules(self) -> None:
        """Require ten points."""
        super().rules()
        points_of(self.placed)


@dataclass(frozen=True, eq=False)
class Learned:
    """What twenty networks make of samples: their mean output over the plane, squared error and
    share of wrong decisions on G.
    """

    decided: dict[str, Tensor]
    final_errors: dict[str, float]


def learned(placed: str) -> Learned:
    """Return a thousand updates, the ten samples over and over."""
    rows = torch.arange(_TOY.steps) % COUNT
    points, labels = (
        values[rows].expand(1, _SEEDS, *values[rows].shape)
        for values in (points_of(placed), LABELS)
    )
    return _judged(
        toys.Samples(points.contiguous(), labels.contiguous(), labels.contiguous()), _TOY
    )


def sampled(deviation: float) -> Learned:
    """Return a thousand samples of this deviation."""
    config = _TOY.replace(deviation=deviation)
    return _judged(toys.distilled_samples([config]), config)


def _judged(samples: toys.Samples, config: toys.Config) -> Learned:
    runs = toys.train([config], samples=samples)
    judged = toys.judge(runs, per_class=_PER_CLASS)
    final_errors = {SQUARED: judged.mean_squared_error[-1], WRONG: 1 - judged.accuracy_fraction[-1]}
    return Learned(
        decided(runs.rows[-1, 0]),
        {name: float(value.mean()) for name, value in final_errors.items()},
    )


class World:
    """Where the ten begin: five on each mean."""

    def __init__(self) -> None:
        self.start = Placed()


def put(settings: Placed) -> Placed:
    """Return the chosen point goes where the sliders say, and the next one is chosen."""
    points = points_of(settings.placed)
    points[settings.point - 1] = torch.tensor([settings.across, settings.up])
    return settings.replace(placed=_written(points), point=settings.point % COUNT + 1)


def put_clicked(world: World, settings: Placed, clicked: dict[str, Any]) -> Placed:
    """Return the same, where the map was clicked."""
    low, high = EXTENT[0]
    across = min(max(float(clicked["x"]), low), high)
    up = min(max(float(clicked["y"]), low), high)
    return put(settings.replace(across=across, up=up))


def draw_again(settings: Placed) -> Placed:
    """Draw ten random samples of G, others than before."""
    draws = randomness.generator(0, 0, f"ten samples after {settings.placed}")
    points = MEANS + _TOY.original_deviation * torch.randn(COUNT, 2, generator=draws)
    return settings.replace(placed=_written(points.clamp(*EXTENT[0])), point=1)


def decisions_data(world: World, settings: Placed, results: Results) -> tuple[str, Learned, int]:
    """Return the samples, what is learned from them, and which is chosen."""
    return settings.placed, results.compute_now(learned, settings.placed), settings.point


def decisions(placed: str, network: Learned, point: int) -> go.Figure:
    """Return what the networks decide, and the ten samples."""
    title = f"A click puts sample {point} there (class {(point - 1) % 2})"
    samples = {
        "points": points_of(placed),
        "labels": LABELS,
        "targets": LABELS,
        "best_boundary": BEST_BOUNDARY,
    }
    return figures.decision_map(title=title, extent=EXTENT, **network.decided, **samples)


def ends_data(
    world: World, settings: Placed, results: Results
) -> tuple[tuple[str, float, float], ...]:
    """Return name, squared error and share wrong of these ten samples and of their rivals.

    The rivals are five on each mean and a thousand random samples of two kinds.
    """
    rows = {
        "your<br>ten": results.compute_now(learned, settings.placed),
        "five<br>each": results.compute_now(learned, world.start.placed),
    }
    for sigma in (0.5, 0.2):
        rows[f"1,000,<br>Σ {sigma:g}"] = results.compute_now(sampled, sigma)
    ends = []
    for name, row in rows.items():
        ends.append((name, row.final_errors[SQUARED], row.final_errors[WRONG]))
    return tuple(ends)


def final_chart(*rows: tuple[str, float, float]) -> go.Figure:
    """Draw both measures beside the least that is possible."""
    figure = stacked_figure(
        "On G, after 1,000 updates", "samples", (SQUARED, WRONG), drawing.HEIGHT
    )
    least = least_errors(_TOY.original)
    names = [name for name, *_ in rows]
    for number, measure in enumerate((SQUARED, WRONG), start=1):
        values = [row[number] for row in rows]
        labels = {
            "text": [f"{value:.3f}" for value in values],
            "textangle": 0,
            "insidetextanchor": "start",
        }
        look = {"marker_color": series_style(0).colour, "showlegend": False}
        figure.add_bar(x=names, y=values, **labels, **look, row=number, col=1)
        dashed = {"color": neutral("text"), "dash": "dash"}
        look = {
            "name": "least possible",
            "mode": "lines",
            "line": dashed,
            "showlegend": number == 1,
        }
        figure.add_scatter(x=names, y=[least[measure]] * len(names), **look, row=number, col=1)
    figure.update_layout(legend={"orientation": "h", "y": 1.08, "x": 1, "xanchor": "right"})
    figure.update_xaxes(tickangle=0)
    clauses = []
    for name, squared, wrong in rows:
        clauses.append(f"{name.replace('<br>', ' ')} {squared:.3f} and {wrong:.1%}")
    description = "; ".join(clauses)
    return finish_figure(
        figure, alt=f"Squared error and share of wrong decisions on G: {description}."
    )


def sentence(world: World, settings: Placed, results: Results) -> str:
    """Say how the ten samples do."""
    (_, squared, wrong), *_ = ends_data(world, settings, results)
    least = least_errors(_TOY.original)
    return (
        f"From these ten samples twenty networks reach a squared error of {squared:.4f} on "
        f"G, {wrong:.1%} of their decisions are wrong; "
        f"the least possible is {least[SQUARED]:.4f} and {least[WRONG]:.1%}."
    )


def good_enough(world: World, settings: Placed, results: Results) -> bool:
    """Return whether ten samples come that near."""
    return results.compute_now(learned, settings.placed).final_errors[SQUARED] < ENOUGH


TenLab = Lab(
    "Ten samples of your own",
    World,
    controls=("point", "across", "up"),
    labels={"point": "sample to move"},
    views=[Row(Chart(decisions_data, decisions, click=put_clicked), Chart(ends_data, final_chart))],
    buttons=[
        Change(
            "Put it there", put, icon="arrow-down", hint="Move the chosen sample to across and up"
        ),
        Change("Ten random ones", draw_again, hint="Draw ten samples of G"),
    ],
    sentence=sentence,
    quest=Quest(
        f"Place ten samples from which networks reach a squared error below {ENOUGH:g}; "
        "nothing can be below .058.",
        good_enough,
    ),
)
