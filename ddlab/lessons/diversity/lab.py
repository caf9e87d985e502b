"""The laboratory of diversity: DWA on images, with random real images beside it.

DiversityLab(data, teacher)
DiversityLab(data, teacher, dwa.Config.teaching(images_per_class=2, iterations=50)).run()     # in the foreground

The map is fitted once and stands still, so that runs can be compared on it. A change shows the nearest images there are, recorded for
the lesson's data or made before, at once; the run that was asked for follows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from ... import records
from ...core import errors
from ...core.parameters import describe, parameter, with_default
from ...data import ImageData
from ...data.images import normalise
from ...distilled import DistilledSet
from ...evaluation import embeddings, measures
from ...evaluation.students import student_accuracy
from ...explorers import Chart, Known, Lab, Quest, Strip, Tabs, Value
from ...explorers.ready import Asked, Students
from ...explorers.views import Row
from ...figures import distances_by_class, encode_grid, sets_on_map
from ...methods import distillation, dwa, recovery, selection
from ...networks import Network
from ...runs import Keep, Run, Runs
from ...runs.process import Inputs
from ...training import supervised
from ..shared.coverage import MappedImages, Place

WEIGHTS, RADII = (0.01, 0.03, 0.11, 0.33, 1.0), (0.015, 0.05, 0.15, 0.5)  # stops of the sliders
_HEIGHT = 310  # of a plot, in pixels: the pictures stand above it
NOW, NEAR, REAL, BEFORE = "this run", "nearest so far", "random real", "run before"

Source = dwa.Config | selection.Config
"""What images come from: a recovery, or a choice of real ones."""


@dataclass(frozen=True, kw_only=True)
class Settings(dwa.Config):
    """DWA's hyper-parameters as a reader moves them, and how the images are looked at."""

    images_per_class: int = parameter(
        3, symbol=r"\mathrm{ipc}", range=(2, None), explorable=(2, 5),
        help="Images made for each class; the distance between images of a class needs two.",
    )  # fmt: skip
    iterations: int = parameter(
        100, symbol="T", range=(1, None), help="Image updates of each batch.", explorable=(10, 200), step=10
    )
    roll_pixels: int = with_default(dwa.Config, "roll_pixels", 2, source="teaching")
    seed: int = parameter(0, range=(0, None), help="Of every draw.", explorable=(0, 9))
    layer: str = parameter(
        "features", choices=embeddings.LAYERS, help="What the teacher says of an image that is mapped.", explorable=True
    )

    @functools.cached_property
    def config(self) -> dwa.Config:
        """What the method is given."""
        return self.part(dwa.Config)


def real(config: Source) -> selection.Config:
    """As many real images of each class, drawn by the same seed: the very ones that a real start begins with."""
    return selection.Config(images_per_class=config.images_per_class, seed=config.seed)


def apart(one: dwa.Config, other: dwa.Config) -> tuple[int, float]:
    """How far settings lie from each other: how many fields without a slider in sight differ, then decades of those with one."""
    moved = ("initialisation", "perturbation", "lambda_var", "adjustment_radius")
    others = sum(getattr(one, name) != getattr(other, name) for name in describe(dwa.Config) if name not in moved)
    choices = sum(getattr(one, name) != getattr(other, name) for name in moved[:2])
    decades = sum(abs(math.log10((getattr(one, name) + 1e-3) / (getattr(other, name) + 1e-3))) for name in moved[2:])
    return others, 10 * choices + decades


@dataclass(frozen=True, eq=False)
class Images:
    """Images uint8 [n, c, h, w] by class, the labels of their points, their distances [classes], layer -> their place on its map."""

    source: Source
    pixels: np.ndarray
    labels: Tensor
    distances: Tensor
    places: dict[str, Place]


Shown = tuple[tuple[str, Images], ...]
"""Images under their names, those on show first, then random real ones."""


class World:
    """Data, a teacher and where the controls start, whose images are made at once.

    Args:
        data, teacher: what is distilled; the teacher's features are mapped.
        config: where the controls start; default 3 images per class and 100 iterations.
        student: how students are trained; default `supervised.Config.for_data(data)`. seeds: how many of each kind.
        points: how many real images are on the map, as many of each class as there are.

    Attributes:
        mapped: the real points and the maps, fitted to them and to the first random real images.
        film: settings -> recorded images, uint8 [n, c, h, w] by class; of the lesson's data, else none.

    Raises:
        DDLabError: a config with less than two images per class or with more than a class has, or points below three per class.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        config: dwa.Config | None = None,
        *,
        student: supervised.Config | None = None,
        seeds: int = 3,
        points: int = 300,
    ) -> None:
        errors.check_instance("config", config, (dwa.Config, type(None)), "a directed_weight_adjustment Config or None")
        errors.check_instance("student", student, (supervised.Config, type(None)), "a training Config or None")
        self.seeds = range(errors.check_integer("seeds", seeds, 1, 20))
        self.start = Settings() if config is None else Settings(**vars(config))
        errors.check_instance("teacher", teacher, Network, "a Network")
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        self.inputs = Inputs(data=data, teachers=(teacher,))
        self.teacher = self.inputs.teachers[0]
        self.student = supervised.Config.for_data(data) if student is None else student
        self._runs = Runs(megabytes=100)
        chosen = self.run(real(self.start.config)).advance().result()
        self.mapped = MappedImages(data, self.teacher, {"first": chosen}, points=points)
        self.film = {dwa.Config.teaching(**one): shot for one, shot in records.film("diversity", data)}
        self.run(self.start.config).advance()

    def run(self, source: Source) -> Run:
        """What makes the images of `distill("dwa", ...)`, as far as it has come, or chooses as many random real ones."""
        chosen = isinstance(source, selection.Config)
        return self._runs.get(selection if chosen else dwa, source, self.inputs, Keep(()))

    def images(self, source: Source) -> Images:
        """What a run has made, and what it is worth without students."""
        return self._worth(source, self.run(source).advance().result())

    def recorded(self, config: dwa.Config) -> Images:
        """The same of images that are recorded, seen by this teacher."""
        labels = torch.arange(self.data.classes).repeat_interleave(config.images_per_class)
        pixels = normalise(self.film[config], self.data.mean, self.data.std)
        return self._worth(config, distillation.from_images(pixels, labels, self.data))

    def _worth(self, source: Source, found: DistilledSet) -> Images:
        pixels = found.to_uint8()[found.labels.argsort(stable=True)].numpy()
        distances = measures.feature_distance(found, self.teacher).cpu()
        return Images(source, pixels, found.labels, distances, self.mapped.place(found, embeddings.Config()))

    def accuracy(self, source: Source, labels: str, seed: int, *, watch: Callable[[str, float], None]) -> float:
        """The test accuracy of a student; those of one seed share first weights and views."""
        inputs = Inputs(distilled=self.run(source).advance().result(), teachers=(self.teacher,))
        words, config = f"student {seed + 1}, {labels} labels", self.student.replace(labels=labels, seed=seed)
        return student_accuracy(config, inputs, self.data, on_step=lambda step: watch(words, step.index / step.total))


def made(world: World, settings: Settings, known: Known) -> dict[dwa.Config, Images]:
    """The images there are of settings that were on show, the newest first."""
    if world.run(settings.config).complete:
        known.now(world.images, settings.config)
    found = {past.config: known(Value(world.images, past.config)) for past in known.past}
    return {config: images for config, images in found.items() if images is not None}


def compared(world: World, settings: Settings, known: Known) -> dict[str, Images]:
    """What is compared: this run or the nearest images there are, as many random real ones, and the run before if there is one."""
    others = made(world, settings, known)
    name, now = NOW, others.pop(settings.config, None)
    if now is None:
        near = min([*others, *world.film, world.start.config], key=lambda one: apart(one, settings.config))
        name, now = NEAR, others.get(near) or known.now(world.recorded if near in world.film else world.images, near)
    shown = {name: now, REAL: known.now(world.images, real(now.source))}
    return shown | ({BEFORE: next(iter(others.values()))} if others else {})


# -- what is drawn of them


def map_data(world: World, settings: Settings, known: Known) -> tuple:
    """What is compared, and the plane that holds all that was ever placed on the map."""
    layer = settings.layer
    placed = [images.places[layer] for compute in (world.images, world.recorded) for _, images in known.every(compute)]
    x, y = zip(*(one.extent for one in [world.mapped.map(layer, embeddings.Config()), *placed]), strict=True)
    extent = tuple((min(low for low, _ in ends), max(high for _, high in ends)) for ends in (x, y))
    return *drawn(world, settings, known), layer, extent


def map_figure(world: World, shown: Shown, layer: str, extent: Any) -> go.Figure:
    """All compared images on the one map of a layer; the title has the coverage of those on show."""
    classes, on = world.data.class_names, world.mapped.map(layer, embeddings.Config())
    figure = sets_on_map(
        on.real,
        {name: images.places[layer].points for name, images in shown},
        set_classes={name: [classes[label] for label in images.labels.tolist()] for name, images in shown},
        density=(on.density.x, on.density.y, on.density.rank),
        extent=extent,
        title=f"PCA of {layer}: {shown[0][1].places[layer].coverage:.1%} covered",
        height=_HEIGHT,
    )
    figure.layout.uirevision = layer  # a reader's zoom is kept on the same map
    return figure


def drawn(world: World, settings: Settings, known: Known) -> tuple[World, Shown]:
    """What is compared, in turn."""
    return world, tuple(compared(world, settings, known).items())


def pictures(world: World, shown: Shown) -> tuple[bytes, str]:
    """Those on show and the real ones, a column for each class, and the words for who does not see them."""
    data, rows, names = world.data, list[np.ndarray](), list[str]()
    for name, images in shown[:2]:
        each = images.source.images_per_class
        rows += [images.pixels[place::each] for place in range(each)]
        names += [name, *[""] * (each - 1)]
    scale = max(1, round(32 / data.image_size[1]))
    alt = f"{shown[0][0]}, then {shown[1][0]}: {each} images of each class, a column for each of {', '.join(data.class_names)}."
    return encode_grid(np.concatenate(rows), data.classes, scale, row_labels=names), alt


def distance_figure(world: World, shown: Shown) -> go.Figure:
    """The feature distance inside each class."""
    distances = {name: images.distances for name, images in shown}
    return distances_by_class(world.data.class_names, distances, height=_HEIGHT)


def in_words(source: Source) -> str:
    """The settings that made images."""
    each = f"{source.images_per_class} per class, seed {source.seed}"
    if isinstance(source, selection.Config):
        return each
    start = "real images" if source.initialisation == "real" else "noise"
    push = f"{source.perturbation} push, K = {source.adjustment_steps}, ρ = {source.adjustment_radius:g}"
    return (
        f"from {start}, λ_mean = {source.lambda_mean:g}, λ_var = {source.lambda_var:g}, "
        f"{'no push' if source.perturbation == 'none' else push}, {each}, {source.iterations} updates"
    )


def farther_than_real(world: World, settings: Settings, known: Known) -> bool:
    """Whether the images of this run lie farther apart than as many random real ones: a choice that learns nothing."""
    shown = compared(world, settings, known)
    return NOW in shown and bool(shown[NOW].distances.mean() > shown[REAL].distances.mean())


def sentence(world: World, settings: Settings, known: Known) -> str:
    """What the images on show are worth, beside random real ones."""
    (name, now), (_, chosen), *_ = compared(world, settings, known).items()
    coming = "" if name == NOW else "Your images are being made; the nearest there are: "
    chance = world.mapped.chance(settings.layer, now.source.images_per_class)
    return (
        f"{coming}{in_words(now.source)}: feature distance {float(now.distances.mean()):.3f} (random real "
        f"{float(chosen.distances.mean()):.3f}), coverage {now.places[settings.layer].coverage:.1%} "
        f"(random real {chance:.1%} on average)."
    )


def asked(world: World, settings: Settings, known: Known) -> Asked:
    """Students of this run and of random real images, with class numbers and with the teacher's labels."""
    sources: dict[str, Source] = {"these images": settings.config, "random real images": real(settings.config)}
    return {
        name: {
            labels: [Value(world.accuracy, source, labels, seed) for seed in world.seeds]
            for labels in ("hard", "online")
        }
        for name, source in sources.items()
    }


students = Students(
    asked,
    lambda settings: f"Students' test accuracy, {settings.images_per_class} images per class: mean (95% interval)",
    first=lambda world, settings: [world.run(settings.config)],
)

DiversityLab = Lab(
    "What makes recovered images differ?",
    World,
    controls=("initialisation", "lambda_var", "perturbation", "adjustment_radius"),
    more=("lambda_mean", "adjustment_steps", "images_per_class", "iterations", "seed", "layer"),
    labels={"layer": "map of teacher's"},
    stops=lambda world: {
        "lambda_var": {weight: f"{weight:g}" for weight in WEIGHTS},
        "adjustment_radius": {radius: f"{radius:g}" for radius in RADII},
    },
    check=lambda world, settings: recovery.check_images_per_class(world.data, settings.images_per_class),
    unused=lambda world, settings: ("adjustment_steps", "adjustment_radius") if settings.perturbation == "none" else (),
    wanted=lambda world, settings: [world.run(settings.config)],
    job_words=lambda world, run: "images",
    buttons=[students.button],
    views=[
        Row(
            Strip(drawn, pictures),
            Tabs(
                ("Map", Chart(map_data, map_figure)),
                ("Distances", Chart(drawn, distance_figure)),
                ("Students", students.view),
            ),
        ),
    ],
    sentence=sentence,
    quest=Quest(
        "Pull the images of a class farther apart than real ones are. Then look at the coverage.", farther_than_real
    ),
)
