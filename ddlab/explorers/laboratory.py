"""What the laboratory of diversity knows: settings, the images they give, and what those images are worth. No widgets.

lab = Laboratory(data, teacher)
made = lab.images(Settings().config)         # the images of distill("dwa", ...), bit for bit
lab.learn(made, "hard")                      # the test accuracy of a student
lab.real(made.config)                        # as many real images: the very ones that a real start begins with
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from .. import cache, embeddings, errors, measures, training
from .. import process as driver
from ..data import ImageData
from ..distilled import DistilledSet
from ..evaluation.students import student_accuracy
from ..methods import directed_weight_adjustment as dwa
from ..methods import selection
from ..networks import Network
from ..parameters import parameter
from ..process import Inputs, Step
from .mapped import Map, MappedImages, Shown

LABELS = ("hard", "online")
_KEPT = 40  # runs


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
    roll_pixels: int = parameter(2, range=(0, None), unit="px", help="Largest circular shift per axis.")
    seed: int = parameter(0, range=(0, None), help="Of every draw.", explorable=(0, 9))
    coupled: bool = parameter(
        False,
        help="Coupled: one weight for both gaps, as in SRe2L; moving one slider moves the other.",
        explorable=True,
    )
    layer: str = parameter(
        "features", choices=embeddings.LAYERS, help="What the teacher says of an image that is mapped.", explorable=True
    )

    @classmethod
    def of(cls, config: dwa.Config) -> Settings:
        """The settings that give this config."""
        return cls(**_fields(config), coupled=False)

    @property
    def config(self) -> dwa.Config:
        """What the method is given."""
        return dwa.Config(**_fields(self))

    def after(self, old: Settings) -> Settings:
        """Itself, where coupled with one weight for both gaps: the one that was moved, and lambda_var when coupling begins."""
        if not self.coupled:
            return self
        weight = self.lambda_mean if self.lambda_mean != old.lambda_mean else self.lambda_var
        return self.replace(lambda_mean=weight, lambda_var=weight)


@dataclass(frozen=True, eq=False)
class Made:
    """Images under a name of their own: how they were made, and the feature distance inside each class [classes]."""

    name: str
    config: dwa.Config
    distilled: DistilledSet
    distances: Tensor


class Laboratory:
    """Runs DWA and students, keeps what they gave, and places everything on one map that stands still.

    Attributes:
        mapped: the real points, the map and what is covered. student: how students are trained, but for labels and seed.
    """

    def __init__(
        self, data: ImageData, teacher: Network, config: dwa.Config, student: training.Config | None, points: int
    ) -> None:
        """Arguments as of `DiversityLab`; the map is fitted to the real points and the real images of `config`."""
        errors.check_instance("student", student, (training.Config, type(None)), "a training Config or None")
        self.inputs = Inputs(data=data, teachers=(errors.check_instance("teacher", teacher, Network, "a Network"),))
        self.data, self.teacher = errors.check_instance("data", data, ImageData, "an ImageData"), teacher
        self.student = training.Config.for_data(data) if student is None else student
        self._lock = threading.RLock()
        self._made: dict[Any, Made] = {}
        self._accuracies: dict[tuple[str, str], float] = {}
        self._count = 0
        self._seconds_per_update: float | None = None
        chosen = self._chosen(config)
        self.mapped = MappedImages(data, teacher, {"first": chosen}, points=points)
        for layer in embeddings.LAYERS:
            self.map(layer)

    def map(self, layer: str) -> Map:
        """The one map of a layer."""
        return self.mapped.map(layer, embeddings.Config())

    def seconds(self, config: dwa.Config) -> float:
        """How long the images will take, by the last run, or by a few updates where all so far were known; 0 for known ones."""
        if config in self._made:
            return 0.0
        if self._seconds_per_update is None:
            self._seconds_per_update = self._measured(config)
        return dwa.total_steps(config, self.inputs) * self._seconds_per_update

    def finished(self, config: dwa.Config) -> bool:
        """Whether images and all students of these settings are known."""
        parts = [self._made.get(config), self._made.get(_budget(config))]
        return all(made is not None and self.accuracy(made, labels) is not None for made in parts for labels in LABELS)

    def images(self, config: dwa.Config, on_step: Callable[[Step], None] | None = None) -> Made:
        """The images of a run; known ones at once. What `on_step` raises ends the run."""
        if config not in self._made:
            seen: list[float] = []

            def watched(step: Step) -> None:
                seen.append(time.monotonic())
                if on_step is not None:
                    on_step(step)

            distilled = cache.run(dwa, config, self.inputs, on_step=watched)
            if not distilled.complete:
                raise KeyboardInterrupt("the images were still being made")
            if len(seen) > 1:  # not found in the cache; the first update warms up and does not count
                self._seconds_per_update = (seen[-1] - seen[0]) / (len(seen) - 1)
            self._keep(config, config, distilled)
        return self._newest(config)

    def real(self, config: dwa.Config) -> Made:
        """As many real images of each class, drawn by the same seed.

        Raises:
            DDLabError: more images than a class has.
        """
        key = _budget(config)
        if key not in self._made:
            self._keep(key, config, self._chosen(config))
        return self._newest(key)

    def learn(self, made: Made, labels: str, on_step: Callable[[Step], None] | None = None) -> float:
        """The test accuracy of a student; the same seed for every set, so that they are compared in pairs."""
        known = made.name, labels
        if known not in self._accuracies:
            config = self.student.replace(labels=labels, seed=made.config.seed)
            inputs = Inputs(distilled=made.distilled, teachers=(self.teacher,))
            self._accuracies[known] = student_accuracy(config, inputs, self.data, on_step=on_step)
        return self._accuracies[known]

    def accuracy(self, made: Made, labels: str) -> float | None:
        """What `learn` gave, or None."""
        return self._accuracies.get((made.name, labels))

    def coverage(self, made: Made, layer: str) -> float:
        """The share of the real points that these images cover."""
        return self.mapped.coverage(Shown(made.name, layer))

    def chance(self, made: Made, layer: str) -> float:
        """What as many random real images cover, mean of twenty draws."""
        return self.mapped.chance(layer, made.config.images_per_class)

    def _measured(self, config: dwa.Config) -> float:
        """Seconds of an update, without the first, which warms up."""
        begun = 0.0
        for step in driver.steps(dwa, config, self.inputs):
            if step.index == 1:
                begun = time.monotonic()
            elif step.index in (4, step.total):
                return (time.monotonic() - begun) / (step.index - 1)
        raise AssertionError("two images per class are two updates at least")

    def _newest(self, key: Any) -> Made:
        """Known images, which are now the last to be forgotten."""
        with self._lock:
            self._made[key] = self._made.pop(key)
            return self._made[key]

    def _chosen(self, config: dwa.Config) -> DistilledSet:
        chosen = selection.Config(images_per_class=config.images_per_class, seed=config.seed)
        return driver.run(selection, chosen, self.inputs)

    def _keep(self, key: Any, config: dwa.Config, distilled: DistilledSet) -> None:
        distances = measures.feature_distance(distilled, self.teacher).cpu()
        with self._lock:
            self._count += 1
            made = Made(f"{'run' if key is config else 'real'} {self._count}", config, distilled, distances)
            self.mapped.add(made.name, distilled)
            self._made[key] = made
            while len(self._made) > _KEPT:
                self.mapped.drop(self._made.pop(next(iter(self._made))).name)


def _budget(config: dwa.Config) -> tuple[int, int]:
    return config.images_per_class, config.seed


def _fields(config: dwa.Config) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(dwa.Config)}
