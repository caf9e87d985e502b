"""What the labs of the toy world compute: from the settings on the sliders to curves, maps,
landscapes and numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...core import parameter
from ...evaluation.landscapes import main_plane, random_plane
from . import mixture, toys
from .networks import outputs, parts

# Of the plane that is drawn, around the middle between the means.
EXTENT = ((-1.0, 4.0), (-1.0, 4.0))
HEIGHT = 358  # of a chart, in pixels
BEST_BOUNDARY = [[-1, 4], [4, -1]]  # x_1 + x_2 = 3, whatever the deviation
SQUARED = "squared error"
WRONG = "share wrong"
PATHS = "through the paths"
RANDOM = "random directions"
# the exact gradient takes longer
_EXACT_SEEDS = 5
# Of each class, and fewer seeds: the exact gradient takes longer.
_EXACT_POINTS = 32
# Moments of a run that are kept.
_FRAMES = 20
# Test points of each class.
_PER_CLASS = 96
# Of the data that are drawn as dots.
_SAMPLES = 80
# Places of the map of outputs, on each side.
_GRID = 41
# Places of the map of the loss, on each side.
_SURFACE = 31


@dataclass(frozen=True, kw_only=True)
class Settings(toys.Config):
    """One position of a lab's sliders: a setting of the toy experiment, and what is shown of it."""

    seeds: int = parameter(
        20, range=(1, 60), explorable=(1, 60), step=1, help="Runs of each setting."
    )
    measure: str = parameter(
        SQUARED,
        choices=(SQUARED, WRONG),
        explorable=True,
        help="What the curves show, on the original data G.",
    )
    plane: str = parameter(
        PATHS,
        choices=(PATHS, RANDOM),
        explorable=True,
        help="The landscape's plane: most of the three paths, or two random directions, scaled "
        "filter by filter.",
    )


class Sweep(NamedTuple):
    """The settings that are trained beside the chosen one.

    Attributes:
        field: of `toys.Config`, that varies.
        symbol: of it, as in "Σ = 0.1".
        values: of the settings.
        paths: three of them that have a path in the landscape; the chosen setting stands for the
            middle one.
    """

    field: str
    symbol: str
    values: tuple[float, ...]
    paths: tuple[float, float, float]

    def name(self, value: float) -> str:
        """Write a value as "Σ = 0.1"."""
        return f"{self.symbol} = {value:g}"


SIGMAS = Sweep("deviation", "Σ", (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0), (0.1, 0.5, 1.0))
RHOS = Sweep("relabelling", "ρ", (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.5, 1.0))


class World:
    """Which settings are swept, and where the sliders start, as a shared text says it:
    "deviation=0.2,steps=200".
    """

    def __init__(self, sweep: Sweep, settings: str) -> None:
        self.sweep = sweep
        self.start = Settings.from_string(settings)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """What one position of the sliders gives.

    Attributes:
        settings: the position.
        sweep: what varies.
        values: of the settings trained.
        chosen: which of them is chosen.
        steps: [frames].
        seeds: networks of each setting.
        means, errors: measure on G -> mean over the seeds and its standard error (0 of one seed),
            [frames, settings].
        least: measure -> what no predictor can be below.
        decisions: arguments of `figures.decision_map`: the mean output of the chosen setting's
            networks, and the first samples.
        landscape: arguments of `figures.landscape`.
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


def answer(
    settings: Settings, sweep: Sweep, *, watch: Callable[[str, float], None] | None = None
) -> Answer:
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
    samples = toys.distilled_samples(configs)
    runs = toys.train(configs, samples=samples)
    judged = toys.judge(runs, per_class=_PER_CLASS)
    measured = {SQUARED: judged.mean_squared_error, WRONG: 1 - judged.accuracy_fraction}
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
        least=least_errors(settings.original),
        decisions=decisions_of(runs.rows[-1, chosen])
        | first
        | {"best_boundary": BEST_BOUNDARY if settings.gap else None},
        landscape=_landscape(runs, sweep, values, chosen),
    )


def _standard_error(of_seeds: Tensor) -> Tensor:
    seeds = of_seeds.shape[-1]
    return of_seeds.std(-1) / seeds**0.5 if seeds > 1 else torch.zeros_like(of_seeds[..., 0])


def grid(x: Tensor, y: Tensor) -> Tensor:
    """Return the points of a grid, [rows of y, columns of x, 2]."""
    return torch.stack(torch.meshgrid(x, y, indexing="xy"), -1)


def decisions_of(rows: Tensor) -> dict[str, Tensor]:
    """Return the mean output of networks [seeds, P] over the plane: both axes [41], and outputs [41, 41]."""
    axis = torch.linspace(*EXTENT[0], _GRID)
    return {
        "x": axis,
        "y": axis,
        "outputs": outputs(rows, grid(axis, axis).view(-1, 2)).mean(0).view(_GRID, _GRID),
    }


def least_errors(original: mixture.Mixture) -> dict[str, float]:
    """Return the Bayes risk by measure."""
    return dict(zip((SQUARED, WRONG), mixture.risk(original, original), strict=True))


# -- the landscape


def _landscape(
    runs: toys.Trained, sweep: Sweep, values: tuple[float, ...], chosen: int
) -> dict[str, Any]:
    """Return the loss on G of the weights between three runs, first seed of each."""
    settings: Any = runs.configs[chosen]
    low, middle, high = map(values.index, sweep.paths)
    numbers = sorted({low, middle if chosen in (low, high) else chosen, high})
    rows = runs.rows[:, numbers, 0].movedim(1, 0)  # [paths, frames, P]
    origin = rows[:, -1].mean(0)
    weights = rows.flatten(0, 1)
    plane = main_plane(weights, origin)
    if settings.plane == RANDOM:
        hidden, output, last = parts(origin)
        layers = {"w": hidden[:, :2], "b": hidden[:, 2], "output": output[None], "last": last[None]}
        plane = random_plane(layers, seed=settings.first_seed)
    x, y = plane.axes(weights, _SURFACE)

    def loss_on_original(weights: Tensor) -> Tensor:
        return toys.judge_on(weights, settings.original, _PER_CLASS).mean_squared_error[:, None]

    (loss,) = plane.measure(loss_on_original, x, y, at_once=_SURFACE**2)
    names = [sweep.name(values[number]) for number in numbers]
    paths = dict(zip(names, map(plane.places, rows), strict=True))
    return {"x": x, "y": y, "loss": loss, "paths": paths, "share": plane.share(weights)}
