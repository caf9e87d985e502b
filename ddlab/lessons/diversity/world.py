"""What the laboratory of diversity knows: its settings, the images of DWA and random real ones, and
what they are worth.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ... import records
from ...core import describe, narrow, parameter, with_default
from ...data import ImageData
from ...data.images import normalise
from ...distilled import DistilledSet
from ...evaluation import embeddings, measures
from ...explorers.ready import MethodWorld, Watch
from ...methods import distillation, dwa, selection
from ...networks import Network
from ...runs import Keep, Run
from ...training import supervised
from .coverage import Map, MappedImages

_NONE = Keep(())
KINDS = {"t-SNE": "t_sne", "UMAP": "umap", "PCA": "pca"}
NO_CLASS = "no class"

Source = dwa.Config | selection.Config
"""What images come from: a recovery, or a choice of real ones."""


@dataclass(frozen=True, kw_only=True)
class Settings(dwa.Config):
    """DWA's hyper-parameters as a reader moves them, and how the images are looked at."""

    images_per_class: int = parameter(
        3,
        symbol=r"\mathrm{ipc}",
        range=(2, None),
        explorable=(2, 5),
        help="Images made for each class; the distance between images of a class needs two.",
    )
    iterations: int = parameter(
        100,
        symbol="T",
        range=(1, None),
        help="Image updates of each batch.",
        explorable=(10, 200),
        step=10,
    )
    roll_pixels: int = with_default(dwa.Config, "roll_pixels", 2, source="teaching")
    seed: int = parameter(0, range=(0, None), help="Of every draw.", explorable=(0, 9))
    layer: str = parameter(
        "features",
        choices=embeddings.LAYERS,
        help="What the teacher says of an image that is mapped.",
        explorable=True,
    )
    map: str = parameter(
        "t-SNE", choices=tuple(KINDS), explorable=True, help="How the points are laid out."
    )
    moves: str = parameter(NO_CLASS, help="The class whose images have a line from start to end.")


@functools.lru_cache(maxsize=64)
def real(config: Source) -> selection.Config:
    """Return settings of as many real images of each class, drawn by the same seed.

    They are the very ones that a real start begins with.
    """
    return selection.Config(images_per_class=config.images_per_class, seed=config.seed)


def settings_distance(first: dwa.Config, second: dwa.Config) -> tuple[int, float]:
    """Return how far two settings lie from each other, as a pair.

    First count the fields without a slider in sight that differ, then decades of those with one.
    """
    # The controls of the page. Whatever else differs weighs more than all of them together.
    moved = ("initialisation", "perturbation", "lambda_var", "adjustment_radius")
    other_changes = sum(
        getattr(first, name) != getattr(second, name)
        for name in describe(dwa.Config)
        if name not in moved
    )
    # A choice weighs as much as ten decades of a slider: another start looks like another method.
    choices = sum(getattr(first, name) != getattr(second, name) for name in moved[:2])
    decades = sum(
        # 1e-3 more, so that a weight of 0 is a finite number of decades away.
        abs(math.log10((getattr(first, name) + 1e-3) / (getattr(second, name) + 1e-3)))
        for name in moved[2:]
    )
    return other_changes, 10 * choices + decades


@dataclass(frozen=True, eq=False)
class Images:
    """Images uint8 [n, c, h, w] by class, the labels of their points, their distances [classes],
    layer -> the teacher's outputs for them [n, d] and the share of the real images that they cover.
    """

    source: Source
    pixels: np.ndarray
    labels: Tensor
    distances: Tensor
    outputs: dict[str, Tensor]
    coverage: dict[str, float]


NamedImages = tuple[tuple[str, Images], ...]
"""Images under their names, those on show first, then random real ones."""


@functools.lru_cache(maxsize=64)
def decisive(config: dwa.Config) -> dwa.Config:
    """Return the settings that decide on the images.

    Where nothing is pushed, steps and length of a push play no part.
    """
    plain = config.perturbation == "none"
    return config.replace(adjustment_steps=1, adjustment_radius=0.0) if plain else config


class World(MethodWorld):
    """Data, a teacher and where the controls start, whose images are made at once.

    Args:
        data, teacher: what is distilled; the teacher's features are mapped.
        config: where the controls start; default 3 images per class and 100 iterations.
        student: how students are trained; default `supervised.Config.quick(data)`.
        seeds: how many of each kind.
        points: how many real images are on the map, as many of each class as there are.

    Attributes:
        mapped: the real points and the maps, fitted to them and to the first random real images.
        film: settings -> recorded images, uint8 [n, c, h, w] by class; of the lesson's data, else
            none.
        recorded_as: what is `decisive` -> the settings of the film.

    Raises:
        DDLabError: a config with less than two images per class or with more than a class has, or
            points below three per class.
    """

    method = dwa
    settings = Settings
    first = dwa.Config(images_per_class=3, iterations=100, roll_pixels=2)

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
        super().__init__(data, config, teacher=teacher, student=student, seeds=seeds)
        self.teacher = self.inputs.teachers[0]
        first_config = self.config(self.start)
        # The map is fitted to real points and these images, so it stays where it is when controls
        # move.
        chosen = self.of(real(first_config)).advance().result()
        self.mapped = MappedImages(data, self.teacher, chosen, points)
        self.film = {
            dwa.Config.teaching(**setting): shot
            for setting, shot in records.film("diversity", data)
        }
        # Settings that cannot matter are set to one value, so a slider without effect finds the
        # film.
        self.recorded_as = {decisive(setting): setting for setting in self.film}
        # Before the page is shown, so that it opens with images.
        self.of(first_config).advance()

    def started(self, config: dwa.Config) -> Settings:
        """Return the settings with the classes of the data."""
        return narrow(Settings, moves=(NO_CLASS, *self.data.class_names))(**vars(config))

    def of(self, config: Source, inputs: Any = None) -> Run:
        """Return the run of `distill("dwa", ...)`, as far as it has come, or the choice of random
        real images.
        """
        process = selection if isinstance(config, selection.Config) else dwa
        return self._runs.get(process, config, self.inputs, _NONE)

    def images(self, source: Source) -> Images:
        """Return the images that a run has made, and what they are worth without students."""
        return self._measure(source, self.of(source).advance().result())

    def recorded(self, config: dwa.Config) -> Images:
        """Return the same of images that are recorded, seen by this teacher."""
        labels = torch.arange(self.data.classes).repeat_interleave(config.images_per_class)
        pixels = normalise(self.film[config], self.data.mean, self.data.std)
        return self._measure(config, distillation.from_images(pixels, labels, self.data))

    def _measure(self, source: Source, distilled: DistilledSet) -> Images:
        # Runs store batch by batch, one image of each class; the page shows class by class.
        pixels = distilled.to_uint8()[distilled.labels.argsort(stable=True)].numpy()
        distances = measures.feature_distance(distilled, self.teacher).cpu()
        outputs = self.mapped.outputs(distilled)
        coverage = {
            layer: self.mapped.share_covered(layer, points) for layer, points in outputs.items()
        }
        return Images(source, pixels, distilled.labels, distances, outputs, coverage)

    def fitted(self, kind: str, layer: str, *, watch: Watch = lambda words, share: None) -> Map:
        """Return the map of a kind: of the real points and of the first random real images."""
        # UMAP compiles itself at its first map; the others take a second.
        watch("UMAP, 10 to 30 s the first time" if kind == "umap" else "the map", 0.0)
        # A few dozen points have no thirty neighbours each.
        most = max(2, (len(self.mapped.pool) - 1) // 3)
        config = embeddings.Config(kind=kind, perplexity=min(30, most), neighbours=min(15, most))
        return self.mapped.map(layer, config)

    def accuracy(self, source: Source, labels: str, seed: int, *, watch: Watch) -> float:
        """Return the test accuracy of a student; those of one seed share first weights and views."""
        distilled = self.of(source).advance().result()
        return self.taught(distilled, [self.learning.replace(labels=labels, seed=seed)], watch)[0]
