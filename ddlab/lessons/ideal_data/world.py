"""What the labs of the toy world compute: from the settings on the sliders to curves, maps, landscapes and numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...core import errors
from ...core.parameters import parameter
from . import theory
from .theory import ToyConfig, ToyRuns

EXTENT = ((-1.0, 4.0), (-1.0, 4.0))  # of the plane that is drawn, around the middle between the means
SQUARED, WRONG = "squared error", "share wrong"
PATHS, RANDOM = "through the paths", "random filters"
_EXACT_SEEDS, _EXACT_POINTS = 5, 32  # the exact gradient takes longer
_FRAMES, _PER_CLASS, _SAMPLES = 20, 96, 80
_GRID, _SURFACE, _MARGIN = 41, 31, 0.2
_MOST = "Updates, each from one sample; at most 1000 here, so that every slider can train everything anew."


@dataclass(frozen=True, kw_only=True)
class Settings(ToyConfig):
    """One position of a lab's sliders: a setting of the toy experiment, and what is shown of it."""

    steps: int = parameter(
        1000, symbol="T", range=(1, 1000), explorable=(50, 1000), step=50, source="Table 8", help=_MOST
    )
    seeds: int = parameter(20, range=(1, 60), explorable=(1, 60), step=1, help="Runs of each setting.")
    measure: str = parameter(
        SQUARED, choices=(SQUARED, WRONG), explorable=True, help="What the curves show, on the original data G."
    )
    plane: str = parameter(
        PATHS,
        choices=(PATHS, RANDOM),
        explorable=True,
        help="The landscape's plane: most of the three paths, or two random directions, scaled filter by filter.",
    )

    def rules(self) -> None:
        """The plane that is drawn has two dimensions."""
        super().rules()
        if self.dimensions != 2:
            errors.fail("ideal_data.Settings.dimensions", "2, as many as can be drawn", self.dimensions)


class Sweep(NamedTuple):
    """The settings that are trained beside the chosen one.

    Attributes:
        field: of `ToyConfig`, that varies. symbol: of it, as in "Σ = 0.1". values: of the settings.
        paths: three of them that have a path in the landscape; the chosen setting stands for the middle one.
    """

    field: str
    symbol: str
    values: tuple[float, ...]
    paths: tuple[float, float, float]

    def name(self, value: float) -> str:
        """ "Σ = 0.1"."""
        return f"{self.symbol} = {value:g}"


SIGMAS = Sweep("deviation", "Σ", (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0), (0.1, 0.5, 1.0))
RHOS = Sweep("relabelling", "ρ", (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.5, 1.0))


class World:
    """Which settings are swept, and where the sliders start, as a shared text says it: "deviation=0.2,steps=200"."""

    def __init__(self, sweep: Sweep, settings: str) -> None:
        self.sweep, self.start = sweep, Settings.from_string(settings)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """What one position of the sliders gives.

    Attributes:
        settings: the position. sweep: what varies. values: of the settings trained. chosen: which of them is chosen.
        steps: [frames]. seeds: networks of each setting.
        means, errors: measure on G -> mean over the seeds and its standard error (0 of one seed), [frames, settings].
        least: measure -> what no predictor can be below.
        decisions: arguments of `figures.decision_map`: the mean output of the chosen setting's networks, and the first samples.
        landscape: arguments of `figures.landscape_contours`.
    """

    settings: Settings
    sweep: Sweep
    values: tuple[float, ...]
    chosen: int
    steps: Tensor
    seeds: int
    means: dict[str, Tensor]
    errors: dict[str, Tensor]
    least: dict[str, float]
    decisions: dict[str, Any]
    landscape: dict[str, Any]


def answer(settings: Settings, sweep: Sweep, *, watch: Callable[[str, float], None] | None = None) -> Answer:
    """Train every setting of the sweep and the chosen one with every seed, and judge them on G.

    Raises:
        DDLabError: a learning rate with which weights grow beyond all numbers.
    """
    if watch is not None:
        watch("exact gradients", 0.0)
    value = getattr(settings, sweep.field)
    values = tuple(sorted({*sweep.values, value}))
    chosen = values.index(value)
    shared: dict[str, Any] = {"record_every": max(1, settings.steps // _FRAMES)}
    if settings.exact_gradient:
        shared |= {"seeds": min(settings.seeds, _EXACT_SEEDS), "gradient_points": _EXACT_POINTS}
    configs = [settings.replace(**{sweep.field: value}, **shared) for value in values]
    samples = theory.distilled_samples(configs)
    runs = theory.train_toys(configs, samples=samples)
    found = theory.validate_toys(runs, per_class=_PER_CLASS)
    axis = torch.linspace(*EXTENT[0], _GRID)
    measured = {SQUARED: found.mean_squared_error, WRONG: 1 - found.accuracy_fraction}
    outputs = theory.toy_outputs(runs.networks[-1, chosen], plane(axis, axis).view(-1, 2)).mean(0).view(_GRID, _GRID)
    first = {name: of[chosen, 0, :_SAMPLES].clone() for name, of in samples._asdict().items()}
    return Answer(
        settings=settings,
        sweep=sweep,
        values=values,
        chosen=chosen,
        steps=runs.steps,
        seeds=configs[0].seeds,
        means={name: of_seeds.mean(-1) for name, of_seeds in measured.items()},
        errors={name: _standard_error(of_seeds) for name, of_seeds in measured.items()},
        least=least_errors(settings.original.distance, settings.original_deviation),
        decisions={"x": axis, "y": axis, "outputs": outputs, "best_boundary": best_boundary(settings), **first},
        landscape=_landscape(runs, sweep, values, chosen),
    )


def _standard_error(of_seeds: Tensor) -> Tensor:
    seeds = of_seeds.shape[-1]
    return of_seeds.std(-1) / seeds**0.5 if seeds > 1 else torch.zeros_like(of_seeds[..., 0])


def plane(x: Tensor, y: Tensor) -> Tensor:
    """The points of a grid, [rows of y, columns of x, 2]."""
    return torch.stack(torch.meshgrid(x, y, indexing="xy"), -1)


@functools.lru_cache(maxsize=64)
def least_errors(distance: float, deviation: float) -> dict[str, float]:
    """The Bayes risk of G by measure."""
    original = theory.bimodal_mixture(distance=distance, deviation=deviation)
    risk = theory.predictive_risk(original, original)
    return {SQUARED: risk.mean_squared_error, WRONG: risk.error_fraction}


def best_boundary(settings: Settings) -> Tensor | None:
    """Two ends of the line that tells G's classes apart best, [2, 2]; None where the means are one."""
    if settings.gap == 0:
        return None
    line = theory.decision_boundary(settings.original)
    along = torch.stack([-line.normal[1], line.normal[0]])
    reach = max(high - low for low, high in EXTENT)
    return line.offset * line.normal + torch.stack([-reach * along, reach * along])


def _landscape(runs: ToyRuns, sweep: Sweep, values: tuple[float, ...], chosen: int) -> dict[str, Any]:
    """The loss on G of the weights between three runs, first seed of each."""
    settings: Any = runs.configs[chosen]
    low, middle, high = map(values.index, sweep.paths)
    numbers = sorted({low, middle if chosen in (low, high) else chosen, high})
    rows = runs.networks.rows[:, numbers, 0].movedim(1, 0)
    origin = rows[:, -1].mean(0)
    between = runs.networks[-1, chosen, 0].from_rows(origin)
    if settings.plane == PATHS:
        directions = theory.trajectory_directions(rows.flatten(0, 1), origin=origin)
    else:
        directions = theory.toy_directions(between, seed=settings.first_seed)
    shadow = theory.project(rows.flatten(0, 1), origin, directions)
    at = shadow.coordinates.unflatten(0, rows.shape[:2])
    x, y = (_axis(at[..., number]) for number in (0, 1))
    points, labels = theory.spread_points(settings.original, _PER_CLASS)
    loss = theory.toy_surface(between, directions, x, y, points.float(), labels.float()).mean_squared_error
    paths = dict(zip([sweep.name(values[number]) for number in numbers], at, strict=True))
    return {"x": x, "y": y, "loss": loss, "paths": paths, "captured": float(shadow.captured_fraction)}


def _axis(coordinates: Tensor) -> Tensor:
    """An axis that holds the paths with room around them."""
    low, high = (float(end) for end in coordinates.aminmax())
    room = max(_MARGIN * (high - low), 0.05)
    return torch.linspace(low - room, high + room, _SURFACE)
