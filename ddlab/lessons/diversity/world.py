"""What the laboratory of diversity knows: settings, the images they give and what these are worth."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ...core import errors
from ...core.parameters import parameter, with_default
from ...data import ImageData
from ...evaluation import embeddings, measures
from ...evaluation.students import student_accuracy
from ...methods import dwa, recovery, selection
from ...networks import Network
from ...runs import Keep, Run, Runs
from ...runs.process import Inputs
from ...training import supervised
from ..shared.coverage import Map, MappedImages, Place

LABELS = ("hard", "online")
NOW, REAL, BEFORE = "this run", "random real", "run before"
Source = dwa.Config | selection.Config
"""What images come from: a recovery, or a choice of real ones."""
_TWO = "Images made for each class; the distance between images of a class needs two."
_COUPLED = "Coupled: one weight for both gaps, as in SRe2L; moving one slider moves the other."
_LAYER = "What the teacher says of an image that is mapped."


@dataclass(frozen=True, kw_only=True)
class Settings(dwa.Config):
    """DWA's hyper-parameters as a reader moves them, and how the images are looked at."""

    images_per_class: int = parameter(3, symbol=r"\mathrm{ipc}", range=(2, None), explorable=(2, 5), help=_TWO)
    iterations: int = parameter(
        100, symbol="T", range=(1, None), help="Image updates of each batch.", explorable=(10, 200), step=10
    )
    roll_pixels: int = with_default(dwa.Config, "roll_pixels", 2, source="teaching")
    seed: int = parameter(0, range=(0, None), help="Of every draw.", explorable=(0, 9))
    coupled: bool = parameter(False, help=_COUPLED, explorable=True)
    layer: str = parameter("features", choices=embeddings.LAYERS, help=_LAYER, explorable=True)

    @functools.cached_property
    def config(self) -> dwa.Config:
        """What the method is given."""
        return dwa.Config(**_fields(self))

    def settle(self, old: Settings) -> Settings:
        """Where coupled, one weight for both gaps: the one that was moved, and lambda_var when coupling begins."""
        if not self.coupled:
            return self
        weight = self.lambda_mean if self.lambda_mean != old.lambda_mean else self.lambda_var
        return self.replace(lambda_mean=weight, lambda_var=weight)


@dataclass(frozen=True, eq=False)
class Images:
    """Images and what they are worth without students.

    Attributes:
        pixels: uint8 [n, c, h, w], by class. labels: of the points. distances: between the features of a class, [classes].
        places: layer -> their points on its map.
    """

    source: Source
    pixels: np.ndarray
    labels: Tensor
    distances: Tensor
    places: dict[str, Place]


class World:
    """Data, a teacher and where the controls start, whose images are made at once.

    Args:
        data, teacher: what is distilled; the teacher's features are mapped.
        config: where the controls start; default 3 images per class and 100 iterations.
        student: how students are trained; default `supervised.Config.for_data(data)`.
        points: how many real images are on the map, as many of each class as there are.
        at_once: seconds: images that take longer wait for the Run button.

    Attributes:
        mapped: the real points and the maps, fitted to them and to the first random real images.

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
        points: int = 300,
        at_once: float = 1.0,
    ) -> None:
        errors.check_instance("config", config, (dwa.Config, type(None)), "a directed_weight_adjustment Config or None")
        errors.check_instance("student", student, (supervised.Config, type(None)), "a training Config or None")
        self.at_once = errors.check_number("at_once", at_once, 0)
        self.start = Settings() if config is None else Settings(**_fields(config))
        errors.check_instance("teacher", teacher, Network, "a Network")
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        self.inputs = Inputs(data=data, teachers=(teacher,))
        self.teacher = self.inputs.teachers[0]
        self.student = supervised.Config.for_data(data) if student is None else student
        self._runs = Runs(megabytes=100)
        chosen = self.run(real(self.start.config)).advance().result()
        self.mapped = MappedImages(data, self.teacher, {"first": chosen}, points=points)
        self.run(self.start.config).advance()

    def check(self, settings: Settings) -> None:
        """Raise what the method says of more images than a class has."""
        recovery.check_images_per_class(self.data, settings.images_per_class)

    def map(self, layer: str) -> Map:
        """The one map of a layer."""
        return self.mapped.map(layer, embeddings.Config())

    def run(self, source: Source) -> Run:
        """What makes the images of `distill("dwa", ...)`, as far as it has come, or chooses as many random real ones."""
        chosen = isinstance(source, selection.Config)
        return self._runs.get(selection if chosen else dwa, source, self.inputs, Keep(()))

    def seconds(self, config: dwa.Config) -> float:
        """How long the images will still take, by the last run."""
        last = next(run for run in self._runs if run.process is dwa and run.step)
        return self.run(config).left(last.seconds / last.step) or 0.0

    def images(self, source: Source, *, watch: Any = None) -> Images:
        """What a run has made, and what it is worth without students."""
        found = self.run(source).advance().result()
        pixels = found.to_uint8()[found.labels.argsort(stable=True)].numpy()
        places = self.mapped.place(found, embeddings.Config())
        return Images(source, pixels, found.labels, measures.feature_distance(found, self.teacher).cpu(), places)

    def accuracy(self, source: Source, labels: str, *, watch: Callable[[str, float], None]) -> float:
        """The test accuracy of a student; the same seed for every set, so that they are compared in pairs."""
        inputs = Inputs(distilled=self.run(source).advance().result(), teachers=(self.teacher,))
        config = self.student.replace(labels=labels, seed=source.seed)
        words = f"{labels} labels, {REAL if isinstance(source, selection.Config) else NOW}"
        return student_accuracy(config, inputs, self.data, on_step=lambda step: watch(words, step.index / step.total))


def real(config: Source) -> selection.Config:
    """As many real images of each class, drawn by the same seed: the very ones that a real start begins with."""
    return selection.Config(images_per_class=config.images_per_class, seed=config.seed)


def _fields(config: dwa.Config) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(dwa.Config)}
