"""The arena: every method of the record as a point; data, budget, labels and both axes are the
reader's.

ArenaLab()             # the record
ArenaLab(compared)     # and what `ddlab.compare` found of other methods, on digits with one image of each class
"""

import functools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import plotly.graph_objects as go
from torch import Tensor

from ... import data as datasets
from ... import records
from ...core import errors
from ...core.interval import interval, interval_text
from ...core.parameters import Parameters, parameter
from ...evaluation import Comparison
from ...evaluation.rows import RANDOM
from ...explorers.lab import Lab, Results
from ...explorers.lines import Quest
from ...explorers.views import Chart, Strip
from ...figures import Point, encode_grid, finish_figure, scatter, start_figure

FAMILIES = {
    "nothing learned": ("random", "herding", "nearest to centres", "class means"),
    "a trained network inverted": ("sre2l", "dwa", "fadrm", "rded"),
    "matched": ("dc", "dsa", "dm", "mtt"),
    "learned through training": ("dd", "sldd", "ld", "gtn", "mnemonics"),
    "regression": ("kip", "ls", "krr_st", "boost"),
}
YOURS = "yours"
BUDGETS = {
    "1": "one image of each class",
    "10": "ten images of each class",
    "floats": "the floats of ten images of each class",
}
LABELS = {"class numbers": "hard", "own": "", "teacher": "online"}  # of the record -> of `compare`
MEASURES = {
    "accuracy": "accuracy, ConvNet",
    "gain": "gain over random",
    "lenet": "accuracy, LeNet",
    "mlp": "accuracy, MLP",
    "no views": "accuracy, no views",
    "seconds": "CPU-seconds a set",
    "floats": "floats",
}
DATA: dict[str, dict[str, Any]] = {"digits": {}, "shapes": {"size": 16}}
_LOGARITHMIC = ("seconds", "floats")
_NUMBERED = ("lenet", "mlp", "no views")  # by class numbers, whatever the labels
_LEAST = 0.1  # of a second: what takes no time has a place on a logarithmic axis, too


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """What is on show."""

    data: str = parameter("digits", choices=tuple(DATA), help="Of 16 pixels.")
    budget: str = parameter("1", choices=tuple(BUDGETS), help="How much a set may hold.")
    labels: str = parameter(
        "class numbers", choices=tuple(LABELS), help="What students learn from."
    )
    across: str = parameter("seconds", choices=tuple(MEASURES), help="The horizontal axis.")
    up: str = parameter("accuracy", choices=tuple(MEASURES), help="The vertical axis.")
    method: str = parameter(
        "class means",
        choices=sum(FAMILIES.values(), ()),
        help="Whose images are on show; a click on its point, too.",
    )


class World:
    """The record, and rows of a reader's own.

    Raises:
        DDLabError: a comparison of other labels than class numbers or an online teacher's.
    """

    def __init__(self, compared: Comparison | None = None) -> None:
        table = records.load("arena")
        self.rows = {
            (row["data"], row["budget"], row["training"], row["method"]): row for row in table.rows
        }
        recorded = {row["method"] for row in table.rows}
        self.methods = []
        for names in FAMILIES.values():
            for name in names:
                if name in recorded:
                    self.methods.append(name)
        self.family = {}
        for family, names in FAMILIES.items():
            for name in names:
                self.family[name] = family
        if compared is not None:
            errors.check_instance("compared", compared, Comparison)
            by = {kind: labels for labels, kind in LABELS.items()}
            labels = by[
                errors.check_choice("labels of compared", compared.labels, ("hard", "online"))
            ]
            for row in compared.rows:
                if row.accuracies and not row.name.startswith(RANDOM):
                    values = {}
                    for name in ("accuracies", "gains", "seconds", "floats"):
                        values[name] = getattr(row, name)
                    self.rows["digits", "1", labels, row.name] = values
                    self.methods.append(row.name)
                    self.family[row.name] = YOURS
        self.start = Settings()

    def values(self, settings: Settings, measure: str, method: str) -> Sequence[float]:
        """Return a measure of each seed, or the one number that all have; nothing where there is
        none.
        """
        training = measure if measure in _NUMBERED else settings.labels
        row = self.rows.get((settings.data, settings.budget, training, method), {})
        if measure in _LOGARITHMIC:
            return () if row.get(measure) is None else (max(row[measure], _LEAST),)
        return row.get("gains" if measure == "gain" else "accuracies", ())

    def missing(self, settings: Settings) -> dict[str, list[str]]:
        """Return the methods without an accuracy, by the reason."""
        names_by_reason = defaultdict[str, list[str]](list)
        for name in self.methods:
            row = self.rows.get((settings.data, settings.budget, settings.labels, name), {})
            if row.get("missing"):
                names_by_reason[row["missing"]].append(name)
        return names_by_reason


def points_data(world: World, settings: Settings, results: Results) -> tuple:
    """Name, x, y, family and interval of every method that has both; the axes; the chosen one."""
    points = []
    for name in world.methods:
        x = world.values(settings, settings.across, name)
        y = world.values(settings, settings.up, name)
        if x and y:
            limits = interval(list(y)) or (None, None)
            points.append((name, fmean(x), fmean(y), world.family[name], *limits))
    return tuple(points), settings.across, settings.up, settings.method


def points(measured: tuple, across: str, up: str, method: str) -> go.Figure:
    """Return the plane."""
    if not measured:
        empty = start_figure(
            title="No method has both", x_label=MEASURES[across], y_label=MEASURES[up], height=430
        )
        return finish_figure(empty, alt="No method has a number on both axes.")
    placed = {}
    for name, x, y, family, low, high in measured:
        placed[name] = Point(x=x, y=y, family=family, low=low, high=high)
    figure = scatter(
        placed,
        title=MEASURES[up][0].upper() + MEASURES[up][1:],
        x_label=MEASURES[across],
        y_label=MEASURES[up],
        logarithmic=across in _LOGARITHMIC,
        chosen=method,
        first=("class means", "random"),
        height=430,
    )
    return figure.update_yaxes(type="log" if up in _LOGARITHMIC else "linear")


def choose(world: World, settings: Settings, clicked: dict[str, Any]) -> Settings:
    """Return the method whose point was clicked; a reader's own has no images here."""
    name = clicked["customdata"]
    return settings if world.family.get(name, YOURS) == YOURS else settings.replace(method=name)


@functools.cache
def strips(data: str) -> dict[tuple[str, str], Tensor]:
    """Return six images as bytes by (budget, method), read from the record when they are first
    needed.
    """
    film = records.film(f"arena_{data}", datasets.load(data, **DATA[data]))
    return {(setting["budget"], setting["method"]): images for setting, images in film}


def strip_data(world: World, settings: Settings, results: Results) -> tuple:
    """Name the method whose images are shown."""
    return settings.data, "1" if settings.budget == "1" else "10", settings.method


def images(data: str, budget: str, method: str) -> tuple[bytes, str]:
    """Draw six images of the method's first set, grey where it has none of this size."""
    pixels = strips(data).get((budget, method))
    if pixels is None:
        return encode_grid(
            np.full((6, 16, 16), 128, np.uint8), 6, scale=3
        ), f"{method} has no set of this size."
    return encode_grid(
        pixels.numpy(), 6, scale=3
    ), f"{method}: six images, in the order of their classes."


def best(world: World, settings: Settings, up: str) -> list[str]:
    """Return the methods by a measure, the best first. Of seconds and floats the least is best."""
    means = {
        name: fmean(values)
        for name in world.methods
        if (values := world.values(settings, up, name))
    }
    return sorted(means, key=means.__getitem__, reverse=up not in _LOGARITHMIC)


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say who is first, how many are ahead of class means, and who is missing and why."""
    order = best(world, settings, settings.up)
    if not order:
        return "Nobody has both."
    labels = "class numbers" if settings.up in _NUMBERED else settings.labels
    first = order[0]
    means = world.values(settings, settings.up, "class means")
    ahead = order.index("class means") if "class means" in order else 0
    text = (
        f"{settings.data.capitalize()}, {BUDGETS[settings.budget]}, labels: {labels}. First by "
        f"{MEASURES[settings.up]}: {first}"
    )
    text += f", {interval_text(list(world.values(settings, settings.up, first)))}; {ahead} of {len(order)} are ahead of class means"
    text += f" at {interval_text(list(means))}." if means else "."
    for why, names in world.missing(settings).items():
        text += (
            f" Not there: {', '.join(names) if len(names) < 6 else f'{len(names)} of them'}, {why}."
        )
    return text


def flipped(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the chosen method is ahead of class means here and behind by class numbers.

    Both must be beyond chance, in pairs.
    """
    if settings.up in _LOGARITHMIC:
        return False
    usual = settings.replace(labels="class numbers", up="accuracy")
    sides = []
    for compared_settings in (usual, settings):
        sides.append(
            [
                world.values(compared_settings, compared_settings.up, name)
                for name in (settings.method, "class means")
            ]
        )
    limits = []
    for pair in sides:
        limits.append(
            interval([mine - two for mine, two in zip(*pair, strict=True)]) if all(pair) else None
        )
    return None not in limits and limits[0][1] < 0 < limits[1][0]


ArenaLab = Lab(
    "Which method, at what price?",
    World,
    controls=("data", "budget", "labels", "up"),
    folded=("across", "method"),
    labels={"up": "upwards", "across": "to the right"},
    choice_words=lambda world: {"up": MEASURES.__getitem__, "across": MEASURES.__getitem__},
    views=[Strip(strip_data, images), Chart(points_data, points, click=choose)],
    sentence=sentence,
    quest=Quest(
        "Make two change places: choose a method that class means are ahead of by class "
        "numbers, and bring it ahead of them.",
        flipped,
    ),
)
