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
from ...core import Parameters, errors, parameter
from ...core.interval import interval
from ...evaluation import Comparison
from ...evaluation.rows import RANDOM
from ...explorers import Change, Chart, Lab, Named, Quest, Results, Strip, Tabs
from ...figures import Point, encode_grid, finish_figure, scatter, start_figure
from .method_map import method_map

FAMILIES = {
    "nothing learned": ("random", "herding", "nearest to centres", "class means"),
    "a trained network inverted": ("sre2l", "dwa", "fadrm", "rded"),
    "matched": ("dc", "dsa", "dm", "mtt"),
    "learned through training": ("dd", "sldd", "ld", "gtn", "mnemonics"),
    "regression": ("kip", "ls", "krr_st", "boost"),
}
YOURS = "yours"
PLAIN = "nothing learned"
BUDGETS = {
    "1": "one image of each class",
    "10": "ten images of each class",
    "floats": "the floats of ten images of each class",
}
LABELS = {"class labels": "hard", "own": "", "teacher": "online"}  # of the record -> of `compare`
# Of the record -> as a reader calls them.
LABEL_WORDS = {"class labels": "class labels", "own": "their own", "teacher": "a teacher's"}
MEASURES = {
    "accuracy": "accuracy, ConvNet (%)",
    "gain": "gain over random (points)",
    "lenet": "accuracy, LeNet (%)",
    "mlp": "accuracy, MLP (%)",
    "no views": "accuracy, no views (%)",
    "seconds": "CPU-seconds a set",
    "floats": "floats",
}
# The same, short enough for a button.
_SHORT = {
    "accuracy": "ConvNet",
    "gain": "gain",
    "lenet": "LeNet",
    "mlp": "MLP",
    "no views": "no views",
    "seconds": "seconds",
    "floats": "floats",
}
_HEIGHT = 400  # of the plane, in pixels
DATA: dict[str, dict[str, Any]] = {"digits": {}, "shapes": {"size": 16}}
_LOGARITHMIC = ("seconds", "floats")
_NUMBERED = ("lenet", "mlp", "no views")  # with class labels, whatever `labels` says
_LEAST = 0.1  # of a second: what takes no time has a place on a logarithmic axis, too


@dataclass(frozen=True, kw_only=True)
class Settings(Parameters):
    """What is on show."""

    data: str = parameter("digits", choices=tuple(DATA), help="Of 16 pixels.")
    budget: str = parameter("1", choices=tuple(BUDGETS), help="What a set may hold.")
    labels: str = parameter("class labels", choices=tuple(LABELS), help="What students learn from.")
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
        DDLabError: a comparison of other labels than class labels or an online teacher's.
    """

    def __init__(self, compared: Comparison | None = None) -> None:
        table = records.load("arena")
        self.rows = {
            (row["data"], row["budget"], row["training"], row["method"]): row for row in table.rows
        }
        recorded = {row["method"] for row in table.rows}
        self.family = {}
        for family, names in FAMILIES.items():
            self.family |= dict.fromkeys(names, family)
        self.methods = [name for name in self.family if name in recorded]
        if compared is not None:
            errors.check_instance("compared", compared, Comparison)
            by = {kind: labels for labels, kind in LABELS.items()}
            labels = by[
                errors.check_choice("labels of compared", compared.labels, ("hard", "online"))
            ]
            for row in compared.rows:
                if row.accuracies and not row.name.startswith(RANDOM):
                    values = {
                        name: getattr(row, name)
                        for name in ("accuracies", "gains", "seconds", "floats")
                    }
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


def drawn(measure: str, values: Sequence[float]) -> list[float]:
    """Return a measure's values in the unit of its axis: percent or points, where it is a share."""
    scale = 1 if measure in _LOGARITHMIC else 100
    return [scale * value for value in values]


def points_data(world: World, settings: Settings, results: Results) -> Named:
    """Name, x, y, family and interval of every method that has both; the axes; the chosen one."""
    points = []
    for name in world.methods:
        x = drawn(settings.across, world.values(settings, settings.across, name))
        y = drawn(settings.up, world.values(settings, settings.up, name))
        if x and y:
            limits = interval(y) or (None, None)
            points.append((name, fmean(x), fmean(y), world.family[name], *limits))
    return {
        "measured": tuple(points),
        "across": settings.across,
        "up": settings.up,
        "method": settings.method,
    }


def points(measured: tuple, across: str, up: str, method: str) -> go.Figure:
    """Return the plane."""
    if not measured:
        empty = start_figure(
            title="No method has both",
            x_label=MEASURES[across],
            y_label=MEASURES[up],
            height=_HEIGHT,
        )
        return finish_figure(empty, alt="No method has a number on both axes.")
    placed = {
        name: Point(x=x, y=y, family=family, low=low, high=high)
        for name, x, y, family, low, high in measured
    }
    figure = scatter(
        placed,
        title=MEASURES[up][0].upper() + MEASURES[up][1:],
        x_label=MEASURES[across],
        y_label=MEASURES[up],
        logarithmic=across in _LOGARITHMIC,
        chosen=method,
        first=("class means", "random"),
        height=_HEIGHT,
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


def set_on_show(world: World, settings: Settings, results: Results) -> Named:
    """Name the data, the images of each class and the method of the set that is shown."""
    return {
        "data": settings.data,
        "budget": "1" if settings.budget == "1" else "10",
        "method": settings.method,
    }


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


def drawn_map(data: str, budget: str, method: str) -> go.Figure:
    """Return the images of all methods among the real ones, those of the chosen one ringed."""
    return method_map(FAMILIES, data, budget, method, _HEIGHT)


def best(world: World, settings: Settings, up: str) -> list[str]:
    """Return the methods by a measure, the best first. Of seconds and floats the least is best."""
    means = {
        name: fmean(values)
        for name in world.methods
        if (values := world.values(settings, up, name))
    }
    return sorted(means, key=means.__getitem__, reverse=up not in _LOGARITHMIC)


def strongest(world: World, settings: Settings) -> str:
    """Return the strongest method that involves no learning, by the measure that points upwards."""
    plain = [name for name in best(world, settings, settings.up) if name in FAMILIES[PLAIN]]
    return plain[0]


def paired(world: World, settings: Settings, method: str, rival: str) -> list[float]:
    """Return the differences of two methods, seed by seed; empty where one has no accuracies."""
    values = (world.values(settings, settings.up, name) for name in (method, rival))
    first, second = values
    return [a - b for a, b in zip(first, second, strict=True)] if first and second else []


def sentence(world: World, settings: Settings, results: Results) -> str:
    """Say how many are ahead of the strongest plain rival, and by how much the chosen one is."""
    order = best(world, settings, settings.up)
    if not order:
        reasons = "; ".join(world.missing(settings))
        return f"No method has a number here{f' ({reasons})' if reasons else ''}."
    if settings.up in _LOGARITHMIC:
        return f"{order[0]} has the fewest {_SHORT[settings.up]}."
    rival = strongest(world, settings)
    higher, certain = 0, 0
    for name in order:
        differences = paired(world, settings, name, rival)
        limits = interval(differences)
        higher += bool(differences) and fmean(differences) > 0
        certain += limits is not None and limits[0] > 0
    text = (
        f"The strongest baseline: {rival}, {fmean(world.values(settings, settings.up, rival)):.1%}. "
        f"{higher or 'None'} of {len(order)} methods {'has' if higher == 1 else 'have'} a higher mean; "
        f"for {certain or 'none'}, the interval excludes zero."
    )
    own_gains = paired(world, settings, settings.method, rival)
    if own_gains and settings.method != rival:
        low, high = interval(own_gains) or (fmean(own_gains),) * 2
        text += (
            f" {settings.method} minus {rival}: {100 * fmean(own_gains):+.1f} points "
            f"({100 * low:+.1f} to {100 * high:+.1f})."
        )
    for why, names in world.missing(settings).items():
        missing = ", ".join(names) if len(names) < 6 else f"{len(names)} methods"
        text += f" Missing: {missing} ({why})."
    return text


def flipped(world: World, settings: Settings, results: Results) -> bool:
    """Return whether the chosen method is ahead of class means here and behind by class labels.

    Both must be beyond chance, in pairs.
    """
    if settings.up in _LOGARITHMIC:
        return False
    usual = settings.replace(labels="class labels", up="accuracy")
    limits = []
    for compared_settings in (usual, settings):
        own_values = world.values(compared_settings, compared_settings.up, settings.method)
        means = world.values(compared_settings, compared_settings.up, "class means")
        if not own_values or not means:
            return False
        limits.append(interval([one - two for one, two in zip(own_values, means, strict=True)]))
    return limits[0][1] < 0 < limits[1][0]


def unused(world: World, settings: Settings) -> list[str]:
    """Return the controls that do nothing: other networks and plain views have class labels."""
    return ["labels"] if settings.up in _NUMBERED else []


_NUMBERS = Chart(points_data, points, click=choose, ghosts=False)
DECLARED: dict[str, Any] = {
    "controls": ("labels", "up", "data", "budget"),
    "folded": ("across", "method"),
    "opens": {"labels": _NUMBERS, "up": _NUMBERS, "across": _NUMBERS},
    "labels": {"up": "vertical axis", "across": "horizontal axis"},
    "choice_words": lambda world: {
        "up": _SHORT.__getitem__,
        "across": _SHORT.__getitem__,
        "labels": LABEL_WORDS.__getitem__,
    },
    "views": [
        Strip(set_on_show, images),
        Tabs(
            ("Numbers", _NUMBERS),
            ("Map", Chart(set_on_show, drawn_map, click=choose, ghosts=False)),
        ),
    ],
    "sentence": sentence,
    "unused": unused,
    "pairs": [("labels", "method"), ("labels", "data"), ("labels", "budget"), ("data", "budget")],
}
ArenaLab = Lab(
    "Which method, at what price?",
    World,
    quest=Quest(
        "Choose a method that class means are ahead of with class labels, and bring it ahead of "
        "them.",
        flipped,
        solution=[("labels", "own"), ("method", "dd")],
    ),
    **DECLARED,
)

# What a reader wants -> the state of the arena that answers.
PURPOSES: dict[str, dict[str, str]] = {
    "one known network": {"labels": "own", "method": "dd"},
    "unknown networks": {"up": "lenet", "method": "dsa"},
    "few floats": {"budget": "floats", "method": "nearest to centres"},
    "a teacher at hand": {"labels": "teacher", "method": "herding"},
    "varied classes": {"data": "shapes", "budget": "10", "method": "herding"},
    "teacher, varied classes": {
        "data": "shapes",
        "budget": "10",
        "labels": "teacher",
        "method": "mtt",
    },
}


def purpose_buttons(world: World) -> list[Change]:
    """Return a button for each purpose."""
    return [
        Change(
            words,
            lambda _, state=state: world.start.replace(**state),
            "arrow-right",
            "Show the numbers for this purpose",
        )
        for words, state in PURPOSES.items()
    ]


ChoiceLab = Lab(
    "Which one, when?",
    World,
    buttons=purpose_buttons,
    **dict(
        DECLARED,
        controls=("labels", "data", "budget"),
        folded=("up", "across", "method"),
    ),
)
