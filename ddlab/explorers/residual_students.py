"""What FADRM's images are worth to students, beside random real images with the same labels. No widgets.

students = Students(data, teacher, config, seeds=3)
students.train(view, watch)                       # what `watch` raises leaves it; students that are done stay known
students.worth(view, "hard")                      # what is known of both sets, and of their difference
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .. import cache, errors, training
from .. import process as driver
from .._interval import interval
from ..data import ImageData
from ..distilled import DistilledSet
from ..evaluation.students import student_accuracy
from ..methods import _recovery as recovery
from ..methods import data_residual_matching as fadrm
from ..methods import selection
from ..networks import Network
from ..process import Inputs, Step
from .residual_view import ResidualView

LABELS = ("hard", "online")
MADE, REAL = "recovered", "random real"
_Key: TypeAlias = tuple[str, fadrm.Config | selection.Config, str, int]  # which images, how made, labels, seed


@dataclass(frozen=True)
class Worth:
    """Test accuracies of students, seed by seed; those of one seed had the same first weights and the same views.

    Attributes:
        made, real: what is known so far, in the order of the seeds.
    """

    made: tuple[float, ...]
    real: tuple[float, ...]

    @property
    def gain(self) -> tuple[float, ...]:
        """What the recovered images give more, for the seeds of which both are known."""
        return tuple(one - other for one, other in zip(self.made, self.real, strict=False))


class Students:
    """Makes the images of all classes and trains students on them and on random real images; everything is computed once.

    Attributes:
        config: how students are trained, but for labels and seed. seeds: how many of each kind.
    """

    def __init__(self, data: ImageData, teacher: Network, config: training.Config | None, seeds: int) -> None:
        errors.check_instance("student", config, (training.Config, type(None)), "a training Config or None")
        self.seeds = errors.check_integer("seeds", seeds, 1, 20)
        self.config = training.Config.for_data(data) if config is None else config
        self.data, self.teacher = data, teacher
        self.inputs = Inputs(data=data, teachers=(teacher,))
        self._accuracies: dict[_Key, float] = {}

    def check(self, view: ResidualView) -> None:
        """Raise if a class has fewer images than the view wants of it."""
        recovery.check_images_per_class(self.data, view.images_per_class)

    def train(self, view: ResidualView, watch: Callable[[str, Step], None]) -> None:
        """Everything that `worth` tells. `watch` is called after each step with what it belongs to; what it raises ends the work."""
        made = self._made(view, watch)
        real = driver.run(selection, _selection(view), self.inputs)
        rounds = [(seed, labels) for seed in range(self.seeds) for labels in LABELS]
        for number, (seed, labels) in enumerate(rounds):
            for part, (kind, distilled) in enumerate(((MADE, made), (REAL, real)), 1):
                words = f"student {2 * number + part} of {2 * len(rounds)}"
                self._learn(
                    self._key(kind, view, labels, seed), distilled, lambda step, words=words: watch(words, step)
                )

    def worth(self, view: ResidualView, labels: str) -> Worth:
        """What is known of this view's students."""
        found = (
            [self._accuracies.get(self._key(kind, view, labels, seed)) for seed in range(self.seeds)]
            for kind in (MADE, REAL)
        )
        made, real = (tuple(value for value in values if value is not None) for values in found)
        return Worth(made, real)

    def finished(self, view: ResidualView) -> bool:
        """Whether all students of a view are known."""
        return all(len(self.worth(view, labels).gain) == self.seeds for labels in LABELS)

    def _made(self, view: ResidualView, watch: Callable[[str, Step], None]) -> DistilledSet:
        made = cache.run(fadrm, view.method(self.data), self.inputs, on_step=lambda step: watch("images", step))
        if not made.complete:
            raise KeyboardInterrupt("the images were still being made")
        return made

    def _key(self, kind: str, view: ResidualView, labels: str, seed: int) -> _Key:
        return kind, view.method(self.data) if kind == MADE else _selection(view), labels, seed

    def _learn(self, key: _Key, distilled: DistilledSet, on_step: Callable[[Step], None]) -> None:
        if key not in self._accuracies:
            _, _, labels, seed = key
            inputs = Inputs(distilled=distilled, teachers=(self.teacher,))
            config = self.config.replace(labels=labels, seed=seed)
            self._accuracies[key] = student_accuracy(config, inputs, self.data, on_step=on_step)


def in_words(values: tuple[float, ...], *, signed: bool = False) -> str:
    """ "41.2% (39.0% to 43.4%)": the mean and its 95% interval over students; "not yet" without any."""
    if not values:
        return "not yet"
    form = "{:+.1%}" if signed else "{:.1%}"
    around = interval(values)
    said = "one seed" if around is None else " to ".join(form.format(end) for end in around)
    return f"{form.format(statistics.fmean(values))} ({said})"


def _selection(view: ResidualView) -> selection.Config:
    return selection.Config(images_per_class=view.images_per_class, seed=view.seed)
