"""What the labs of the toy world compute: from the settings on the sliders to curves, maps,
landscapes and numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...core import randomness
from ...core.parameters import parameter
from . import mixture, toys
from .networks import outputs, parts, rows_of

# Of the plane that is drawn, around the middle between the means.
EXTENT = ((-1.0, 4.0), (-1.0, 4.0))
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
# Of the path's extent, which the map of the loss shows around it.
_MARGIN = 0.2


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
        landscape: arguments of `drawing.landscape`.
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
        decisions=decided(runs.rows[-1, chosen])
        | first
        | {"best_boundary": BEST_BOUNDARY if settings.gap else None},
        landscape=_landscape(runs, sweep, values, chosen),
    )


def _standard_error(of_seeds: Tensor) -> Tensor:
    seeds = of_seeds.shape[-1]
    return of_seeds.std(-1) / seeds**0.5 if seeds > 1 else torch.zeros_like(of_seeds[..., 0])


def plane(x: Tensor, y: Tensor) -> Tensor:
    """Return the points of a grid, [rows of y, columns of x, 2]."""
    return torch.stack(torch.meshgrid(x, y, indexing="xy"), -1)


def decided(rows: Tensor) -> dict[str, Tensor]:
    """Return the mean output of networks [seeds, P] over the plane: both axes [41], and outputs [41, 41]."""
    axis = torch.linspace(*EXTENT[0], _GRID)
    return {
        "x": axis,
        "y": axis,
        "outputs": outputs(rows, plane(axis, axis).view(-1, 2)).mean(0).view(_GRID, _GRID),
    }


def least_errors(original: mixture.Mixture) -> dict[str, float]:
    """Return the Bayes risk by measure."""
    return dict(zip((SQUARED, WRONG), mixture.risk(original, original), strict=True))


# -- the landscape: f(a, b) = L(theta + a delta + b eta) (Li et al. 2018, arXiv 1712.09913, equation
# 1)


def random_directions(row: Tensor, *, seed: int) -> Tensor:
    """Draw two directions [2, P], each unit as long as the network's, biases 0 (section 4).

    The weights of either layer count.
    """
    directions = []
    for number in range(2):
        draw = randomness.generator(seed, number, "landscape direction")
        draw_row = torch.randn(row.shape[-1], generator=draw, dtype=torch.float64).to(row)
        (hidden, output, last) = parts(draw_row)
        (own_hidden, own_output, _) = parts(row)
        weights = (
            hidden[:, :2] * (own_hidden[:, :2].norm(dim=-1) / hidden[:, :2].norm(dim=-1))[:, None]
        )
        hidden = torch.cat([weights, torch.zeros_like(hidden[:, 2:])], -1)
        directions.append(
            rows_of(hidden, output * (own_output.norm() / output.norm()), torch.zeros_like(last))
        )
    return torch.stack(directions)


def main_directions(moves: Tensor) -> Tensor:
    """Return the orthonormal directions [2, P] that hold most of the moves [n, P] (section 7).

    The squared lengths count.

    Each points to where the moves reach farthest along it.
    """
    coordinates, _, right = torch.linalg.svd(moves, full_matrices=False)
    farthest = coordinates[:, :2].gather(0, coordinates[:, :2].abs().argmax(0, keepdim=True))[0]
    return right[:2] * farthest.sign()[:, None]


def project(moves: Tensor, directions: Tensor) -> tuple[Tensor, float]:
    """Project moves [n, P] on the plane: return places [n, 2] and the share of squared lengths
    held.

    By least squares, since directions need not be orthogonal or of length 1.
    """
    at = torch.linalg.lstsq(directions.mT, moves.mT).solution.mT
    return at, float((at @ directions).square().sum() / moves.square().sum().clamp_min(1e-300))


def _landscape(
    runs: toys.Trained, sweep: Sweep, values: tuple[float, ...], chosen: int
) -> dict[str, Any]:
    """Return the loss on G of the weights between three runs, first seed of each."""
    settings: Any = runs.configs[chosen]
    low, middle, high = map(values.index, sweep.paths)
    numbers = sorted({low, middle if chosen in (low, high) else chosen, high})
    rows = runs.rows[:, numbers, 0].movedim(1, 0)  # [paths, frames, P]
    origin = rows[:, -1].mean(0)
    moves = (rows.double() - origin.double()).flatten(0, 1)
    through = settings.plane == PATHS
    directions = (
        main_directions(moves)
        if through
        else random_directions(origin, seed=settings.first_seed).double()
    )
    at, captured = project(moves, directions)
    at = at.to(rows).unflatten(0, rows.shape[:2])
    directions = directions.to(rows)
    x = _axis(at[..., 0])
    y = _axis(at[..., 1])
    grid = origin + plane(x, y) @ directions
    loss = toys.judge_on(grid, settings.original, _PER_CLASS).mean_squared_error
    paths = dict(zip([sweep.name(values[number]) for number in numbers], at, strict=True))
    return {"x": x, "y": y, "loss": loss, "paths": paths, "captured": captured}


def _axis(coordinates: Tensor) -> Tensor:
    """Return an axis that holds the paths with room around them."""
    low, high = (float(end) for end in coordinates.aminmax())
    room = max(_MARGIN * (high - low), 0.05)
    return torch.linspace(low - room, high + room, _SURFACE)
