"""What the laboratory of learned images knows: its settings, DM's run for them, and students on learned and on real images."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ... import networks
from ...core import errors
from ...core.parameters import parameter, with_default
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation.students import student_accuracy
from ...methods import dm, selection
from ...methods.distillation import from_images
from ...runs import Frame, Keep, Run, Runs, cache
from ...runs.process import Inputs
from ...training import supervised

LEARNED = "learned"
REAL = {"random": "random real images", "k_means": "typical real images", "centres": "k-means centres"}
"""Kind of selection -> what a reader sees it called; with one image per class the centre is the class mean."""
_FRAMES = 40


@dataclass(frozen=True, kw_only=True)
class Settings(dm.Config):
    """DM's hyper-parameters as a reader moves them, and the step on show."""

    iterations: int = with_default(dm.Config, "iterations", 50, source="teaching; the paper has 20,000")
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")

    @property
    def config(self) -> dm.Config:
        """What the method is given."""
        return self.part(dm.Config)


def student_config(data: ImageData, **changes: Any) -> supervised.Config:
    """How students learn in this lesson: class numbers, single views, a ConvNet with instance norm of width 32."""
    network = networks.spec("convnet", width=32, norm="instance")
    return supervised.Config.for_data(data, **{"network": network, "mixup_alpha": 0.0} | changes)


class World:
    """Data, and where the controls start.

    Args:
        data: what is distilled. config: where the controls start; default DM's teaching preset.
        student: how students learn; default `student_config(data)`. seeds: how many of each kind.
        device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    def __init__(
        self,
        data: ImageData,
        config: dm.Config | None = None,
        *,
        student: supervised.Config | None = None,
        seeds: int = 3,
        device: torch.device | str = "auto",
    ) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        errors.check_instance("config", config, (dm.Config, type(None)), "a distribution_matching Config or None")
        errors.check_instance("student", student, (supervised.Config, type(None)), "a training Config or None")
        self.inputs = Inputs(data=data, device=device)
        self.seeds = range(errors.check_integer("seeds", seeds, 1, 20))
        self.learning = student_config(data) if student is None else student
        first = dm.Config.teaching() if config is None else config
        self.start = Settings(**vars(first))
        self._runs = Runs()

    def run(self, settings: Settings) -> Run:
        """DM's run with these settings, as far as it has come."""
        return self._runs.get(dm, settings.config, self.inputs, _kept(settings.iterations))

    def check(self, settings: Settings) -> None:
        """Make the images and update them, which refuses what the method refuses, and says how far apart the means are.

        Twice: of a single update momentum changes nothing.
        """
        self.run(settings).advance(until=min(2, settings.iterations))

    def learned(self, run: Run, frame: Frame, seed: int, *, watch: Callable[[str, float], None]) -> float:
        """Test accuracy of a student on the images of a frame."""
        made = from_images(frame.content.images, frame.content.labels, self.data)
        return self._taught(made, seed, f"a student on the images after update {frame.step}", watch)

    def real(self, kind: str, images_per_class: int, seed: int, *, watch: Callable[[str, float], None]) -> float:
        """The same for as many real images by a rule of `selection`, or what it makes of them."""
        config = selection.Config(kind=kind, images_per_class=images_per_class, seed=seed)
        made = cache.run(selection, config, self.inputs)
        return self._taught(made, seed, f"a student on {REAL[kind]}", watch)

    def _taught(self, made: DistilledSet, seed: int, words: str, watch: Callable[[str, float], None]) -> float:
        inputs = Inputs(distilled=made, device=self.inputs.device)
        on_step = lambda step: watch(words, step.index / step.total)  # noqa: E731
        return student_accuracy(self.learning.replace(seed=seed), inputs, self.data, on_step=on_step)


@functools.lru_cache(64)  # every view asks at every drawing
def _kept(iterations: int) -> Keep:
    return Keep(
        tuple(sorted({1, min(2, iterations), *(round(iterations * part / _FRAMES) for part in range(_FRAMES + 1))}))
    )
