"""What the laboratory of the merge ratio knows: its settings, FADRM's run for every ratio with what is measured of it, and students."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks, theory
from ...core import errors
from ...core.parameters import narrowed, parameter, with_default
from ...data import ImageData
from ...data.images import normalise
from ...distilled import DistilledSet
from ...evaluation import entropy
from ...evaluation.students import student_accuracy
from ...methods import fadrm, recovery, selection
from ...networks import Network
from ...runs import Keep, Run, Runs
from ...runs import process as driver
from ...runs.process import Inputs
from ...training import supervised

ALPHAS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)  # Figure 4
FEATURES, PIXELS, DISTANCE, LOSS = "feature entropy", "pixel entropy", "distance to the patch", "teacher's loss"
UNITS = {FEATURES: "bits", PIXELS: "bits", DISTANCE: "pixel values", LOSS: "nats"}
LABELS = ("hard", "online")
RECOVERED, REAL = "recovered", "random real"
_EVEN = 16  # frames of a run, those around the merges not counted
_REFERENCES = 8  # images of each class and kind
_TEACHING = "teaching; the paper has 2000"


@dataclass(frozen=True, kw_only=True)
class Settings(fadrm.Config):
    """FADRM's hyper-parameters as a reader moves them, and what is looked at."""

    images_per_class: int = with_default(fadrm.Config, "images_per_class", 5, source="for the students alone")
    iterations: int = parameter(
        100, symbol="B", range=(1, None), help="Steps of a run.", explorable=(20, 400), step=20, source=_TEACHING
    )
    class_name: str = parameter("", help="The class whose image is watched.")
    measure: str = parameter(
        DISTANCE, choices=tuple(UNITS), explorable=True, help="What the curves show, mean over classes."
    )
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")
    candidates_per_class: int = with_default(
        fadrm.Config, "candidates_per_class", 40, source="teaching: crops and mosaics are chosen in seconds"
    )

    def config(self, image_size: tuple[int, int], **changes: Any) -> fadrm.Config:
        """What the method is given; the full size as a small one, which buttons need, is none."""
        fields: dict[str, Any] = {field.name: getattr(self, field.name) for field in dataclasses.fields(fadrm.Config)}
        if self.small_size == min(image_size):
            fields["small_size"] = None
        return fadrm.Config(**fields | changes)


@dataclass(frozen=True, eq=False)
class Moment:
    """What is kept of a step: images uint8 [classes, c, h, w], of full size; measured: name -> float64 [classes]."""

    images: Tensor
    measured: dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Reference:
    """What runs with the same patches are measured against.

    Attributes:
        patches: uint8 [classes, c, h, w]. patch: name of a measure -> float64 [classes].
        levels: kind of reference image ("real", "noise", "constant") -> name of a measure -> mean over those of each class [classes].
    """

    patches: Tensor
    patch: dict[str, Tensor]
    levels: dict[str, dict[str, Tensor]]


class World:
    """Data, a teacher and where the controls start.

    Args:
        data, teacher: whose images are recovered. All classes are recovered together, one image of each.
        config: where the controls start; default 100 steps, with the first of the small sizes.
        small_sizes: of the odd stages, in pixels of the shorter side; default three quarters and half, where the teacher takes them.
        student: how students are trained; default `supervised.Config.for_data(data)`. seeds: how many of each kind.
        device: of the runs.

    Attributes:
        edges: of the bins between the features of real images, in which all feature entropies are counted.

    Raises:
        DDLabError: a small size that the teacher cannot take, or settings that the method refuses.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        config: fadrm.Config | None = None,
        *,
        small_sizes: tuple[int, ...] | None = None,
        student: supervised.Config | None = None,
        seeds: int = 3,
        device: torch.device | str = "auto",
    ) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        errors.check_instance("teacher", teacher, Network, "a Network")
        errors.check_instance("config", config, (fadrm.Config, type(None)), "a data_residual_matching Config or None")
        errors.check_instance("student", student, (supervised.Config, type(None)), "a training Config or None")
        self.inputs = Inputs(data=data, teachers=(teacher,), device=device)
        self.seeds = range(errors.check_integer("seeds", seeds, 1, 20))
        self.learning = supervised.Config.for_data(data) if student is None else student
        self.start = first_settings(data, allowed_sizes(data, teacher, small_sizes), config)
        fewest = int(torch.bincount(data.train_labels, minlength=data.classes).min())
        found = entropy.reference_images(data, min(_REFERENCES, fewest) * data.classes)
        self._reference_images = {kind: found[kind] for kind in ("real", "noise", "constant")}
        self.edges = entropy.feature_edges(self._seen(found["real"]).last_conv)
        self._references: dict[fadrm.Config, Reference] = {}
        self._runs = Runs()
        # Every view asks for them at every drawing.
        self._checked = functools.lru_cache(self._check)
        self.config = functools.lru_cache(512)(self._config)
        self.whole_config = functools.lru_cache(64)(self._whole_config)

    def _config(self, settings: Settings, alpha: float | None = None) -> fadrm.Config:
        """What is watched: one image per class, and this ratio instead of that of the settings; without merges it is 1."""
        alpha = settings.merge_ratio if alpha is None else alpha
        ratio = alpha if settings.merges else 1.0
        return settings.config(self.data.image_size, images_per_class=1, merge_ratio=ratio)

    def _whole_config(self, settings: Settings) -> fadrm.Config:
        """What students learn from: all images of each class."""
        return settings.config(self.data.image_size)

    def size_in_words(self, size: int) -> str:
        """ "48 px", or "full size"."""
        return "full size" if size == min(self.data.image_size) else f"{size} px"

    def check(self, settings: Settings) -> None:
        """Raise what the method says of settings that this teacher or these images do not allow; crops are not chosen."""
        self._checked(self.config(settings).replace(patches="real", merge_ratio=1.0), settings.images_per_class)

    def _check(self, config: fadrm.Config, images_per_class: int) -> None:
        fadrm.init(config, self.inputs)
        recovery.check_images_per_class(self.data, images_per_class)

    def run(self, settings: Settings, alpha: float | None = None) -> Run:
        """The run of a ratio, as far as it has come."""
        return self.run_of(self.config(settings, alpha))

    def run_of(self, config: fadrm.Config) -> Run:
        """The run of a config with one image per class, as far as it has come."""
        return self._runs.get(
            fadrm, config, self.inputs, Keep(kept_steps(config.iterations, config.merges), self._moment)
        )

    def known_reference(self, settings: Settings) -> Reference | None:
        """What these settings are measured against, where it has been computed."""
        return self._references.get(_patches_of(self.config(settings)))

    def reference(self, config: fadrm.Config) -> Reference:
        """The patches of a config and what images are compared with; crops and mosaics take seconds."""
        key = _patches_of(config)
        if key not in self._references:
            # A run from real images of full size begins with them.
            patches = self.data.to_uint8(fadrm.init(key, self.inputs).images).cpu()
            levels = {}
            for kind, images in self._reference_images.items():
                measured = self._measured(images, patches.repeat(len(images) // len(patches), 1, 1, 1))
                levels[kind] = {name: values.view(-1, self.data.classes).mean(0) for name, values in measured.items()}
            self._references[key] = Reference(patches, self._measured(patches, patches), levels)
        return self._references[key]

    # -- students

    def recovery(self, settings: Settings) -> Run:
        """The run that makes the images of all classes for students."""
        return self._runs.get(fadrm, self.whole_config(settings), self.inputs, Keep(1))

    def student(
        self, made: str, config: fadrm.Config, labels: str, seed: int, *, watch: Callable[[str, float], None]
    ) -> float:
        """Test accuracy of one student; those of one seed have the same first weights and the same views.

        Args:
            made: RECOVERED or REAL, as many. config: of the recovery, whose run is complete. labels: one of LABELS.
        """
        inputs = dataclasses.replace(self.inputs, data=None, distilled=self._images(made, config))
        learning = self.learning.replace(labels=labels, seed=seed)
        words = f"student {seed + 1} on {made}, {labels} labels"
        return student_accuracy(learning, inputs, self.data, on_step=lambda step: watch(words, step.index / step.total))

    def _images(self, made: str, config: fadrm.Config) -> DistilledSet:
        if made == RECOVERED:
            return self._runs.get(fadrm, config, self.inputs, Keep(1)).result()
        chosen = selection.Config(images_per_class=config.images_per_class, seed=config.seed)
        return driver.run(selection, chosen, self.inputs)

    # -- what is kept and measured

    def _moment(self, config: fadrm.Config, inputs: Inputs, state: fadrm.State, trace: Any) -> Moment:
        images = self.data.to_uint8(fadrm.resampled(state.images, self.data.image_size)).cpu()
        return Moment(images, self._measured(images, self.reference(config).patches))

    def _measured(self, images: Tensor, patches: Tensor) -> dict[str, Tensor]:
        """All measures of uint8 images [n, c, h, w]; image i is of class i modulo the number of classes."""
        seen = self._seen(images)
        labels = torch.arange(len(images)) % self.data.classes
        return {
            FEATURES: entropy.feature_entropy(seen.last_conv, self.edges),
            PIXELS: entropy.pixel_entropy(images),
            DISTANCE: entropy.distance_to(images, patches),
            LOSS: F.cross_entropy(seen.logits, labels, reduction="none").double(),
        }

    def _seen(self, images: Tensor) -> Any:
        return networks.predict(self.inputs.teachers[0], normalise(images, self.data.mean, self.data.std))


def first_settings(data: ImageData, small_sizes: tuple[int, ...], config: fadrm.Config | None) -> Settings:
    """The settings that a config gives, or those of a reader who has none."""
    full = min(data.image_size)
    if config is None:
        sizes = (full, *small_sizes)
        roll = min(4, min(small_sizes or data.image_size) - 1)
        first: dict[str, Any] = {"small_size": (*small_sizes, full)[0], "roll_pixels": roll}
    else:
        fadrm.stage_size(1, image_size=data.image_size, small_size=config.small_size)  # refuses what is not small
        first = {field.name: getattr(config, field.name) for field in dataclasses.fields(fadrm.Config)}
        first["small_size"] = config.small_size or full
        sizes = (full, *sorted({*small_sizes, first["small_size"]} - {full}, reverse=True))
    return narrowed(Settings, small_size=sizes, class_name=data.class_names)(**first)


def allowed_sizes(data: ImageData, teacher: Network, given: Any) -> tuple[int, ...]:
    """The sizes a reader may choose for the small stages, by default three quarters and half of the shorter side where they can be.

    Raises:
        DDLabError: a size that is not below the images', or that the teacher cannot take; it is named.
    """
    shorter = min(data.image_size)
    if given is not None and not isinstance(given, (tuple, list)):
        errors.fail("small_sizes", f"a tuple of sizes below {shorter} px", given)
    asked = {shorter * 3 // 4, shorter // 2} - {0, shorter} if given is None else given
    fitting = []
    for size in asked:
        errors.check_integer("small_sizes", size, 1, shorter - 1)
        if networks.takes_size(teacher.spec, fadrm.stage_size(1, image_size=data.image_size, small_size=size)):
            fitting.append(size)
        elif given is not None:
            allowed = f"sizes that the teacher takes; {teacher.spec.title} does not take {size} px"
            errors.fail("small_sizes", allowed, given)
    return tuple(sorted(fitting, reverse=True))


@functools.cache
def merge_steps(iterations: int, merges: int) -> tuple[int, ...]:
    """The steps after which patches are mixed in.

    >>> merge_steps(100, 3)
    (25, 50, 75)
    """
    lengths = [stage.steps for stage in theory.resolution_stages(budget=iterations, merges=merges)]
    return tuple(itertools.accumulate(lengths[:-1]))


@functools.cache
def kept_steps(iterations: int, merges: int) -> tuple[int, ...]:
    """The steps whose images are kept: the first, the last, some between them, and each merge with the step before it."""
    even = {round(iterations * part / _EVEN) for part in range(_EVEN + 1)}
    around = {near for step in merge_steps(iterations, merges) for near in (step - 1, step)}
    return tuple(sorted(even | around))


def by_nearness(chosen: float) -> list[float]:
    """The ratios that are shown, in the order in which they are computed: the chosen one, 1 to compare with, then the nearest."""
    others = sorted({*ALPHAS} - {chosen, 1.0}, key=lambda alpha: abs(alpha - chosen))
    return list(dict.fromkeys([chosen, 1.0, *others]))


def _patches_of(config: fadrm.Config) -> fadrm.Config:
    """The simplest config that has the same patches."""
    shared = {name: getattr(config, name) for name in ("patches", "candidates_per_class", "seed")}
    return fadrm.Config(images_per_class=1, roll_pixels=0, **shared)
