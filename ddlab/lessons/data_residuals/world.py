"""What the laboratory of the merge ratio knows: its settings, FADRM's run for each ratio, and how
much is left of an image.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks
from ...core import narrow, parameter, with_default
from ...data import ImageData
from ...data.images import normalise
from ...explorers.ready import MethodWorld, SteppedSettings, Watch
from ...methods import fadrm, selection
from ...methods.shared import descent
from ...networks import Network
from ...runs import Frame, Inputs, Keep, Run
from ...training import supervised
from ..shared.image_landscape import Surface, surface
from . import entropy

ALPHAS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)  # Figure 4
DISTANCE = "distance to the patch"
FEATURES = "feature entropy"
PIXELS = "pixel entropy"
LOSS = "teacher's loss"
UNITS = {DISTANCE: "pixel values", FEATURES: "bits", PIXELS: "bits", LOSS: "nats"}
# Frames of a run beside those around the merges; images of each class and kind.
_EVEN = 16
# Students need the finished set alone.
_LAST = Keep(1)
_REFERENCES = 8


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, fadrm.Config):
    """FADRM's hyper-parameters as a reader moves them, and what is looked at."""

    images_per_class: int = with_default(
        fadrm.Config, "images_per_class", 5, source="for the students alone"
    )
    iterations: int = parameter(
        100, symbol="B", range=(1, None), help="Steps of a run.", explorable=(20, 400), step=20
    )
    class_name: str = parameter("", help="The class whose image is watched.")
    measure: str = parameter(
        DISTANCE, choices=tuple(UNITS), explorable=True, help="What the curves show."
    )


def merge_steps(config: fadrm.Config) -> tuple[int, ...]:
    """Return the steps after which patches are mixed in."""
    steps = [
        config.iterations // (config.merges + 1) * stage for stage in range(1, config.merges + 1)
    ]
    return tuple(steps)


def kept_steps(config: fadrm.Config) -> tuple[int, ...]:
    """Return the steps whose images are kept.

    They are the first, the last, some between them, and each merge with the step before it.
    """
    # Merges change an image at once, so a film needs both sides of each.
    even = {round(config.iterations * part / _EVEN) for part in range(_EVEN + 1)}
    return tuple(
        sorted(even | {kept_step for step in merge_steps(config) for kept_step in (step - 1, step)})
    )


@functools.lru_cache(maxsize=256)
def _with_ratio(config: fadrm.Config, alpha: float) -> fadrm.Config:
    return config.replace(merge_ratio=alpha)


def by_nearness(chosen: float) -> list[float]:
    """Return the ratios that are shown, in the order in which they are computed.

    The chosen one comes first, then 1 to compare with, then the nearest.
    """
    return list(
        dict.fromkeys([chosen, 1.0, *sorted(ALPHAS, key=lambda alpha: abs(alpha - chosen))])
    )


@dataclass(frozen=True, eq=False)
class Moment:
    """What is kept of a step: images uint8 [classes, c, h, w]; measured: name -> float64 [classes]."""

    images: Tensor
    measured: dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class MixedIn:
    """Patches uint8 [classes, c, h, w], and measure -> whose ("patch", "real", "noise", "constant")
    -> mean.
    """

    patches: Tensor
    levels: dict[str, dict[str, float]]


class World(MethodWorld):
    """Data, and a teacher whose images are recovered, one of each class at a time.

    Args:
        config: where the controls start.
        student: how students are trained; default `supervised.Config.quick(data)`.
        seeds: how many students of each set.
        device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    method = fadrm
    settings = Settings
    first = fadrm.Config(images_per_class=5, iterations=100)

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        config: fadrm.Config | None = None,
        *,
        student: supervised.Config | None = None,
        seeds: int = 3,
        device: torch.device | str = "auto",
    ) -> None:
        super().__init__(data, config, teacher=teacher, student=student, seeds=seeds, device=device)
        few = min(_REFERENCES, int(data.train_labels.bincount().min()))
        references = entropy.reference_images(data, few * data.classes)
        self._keeps: dict[tuple[int, ...], Keep] = {}
        self._kinds = {kind: references[kind] for kind in ("real", "noise", "constant")}
        self.edges = entropy.feature_edges(self._outputs(references["real"]).last_conv)

    def started(self, config: fadrm.Config) -> Settings:
        """Return the settings with the classes of the data, and the sizes that the teacher takes."""
        size = self.data.image_size
        spec = self.inputs.teachers[0].spec
        sides = [
            side
            for side in (min(size) // 2, min(size) * 3 // 4)
            if networks.takes_size(spec, fadrm.stage_size(1, image_size=size, small_size=side))
        ]
        choices = {"class_name": self.data.class_names, "small_size": (None, *sides)}
        return narrow(Settings, **choices)(**vars(config))

    def check(self, settings: Settings) -> None:
        """Raise if there are fewer images of a class than students would get."""
        descent.check_images_per_class(self.data, settings.images_per_class)

    def run(self, settings: Settings) -> Run:
        """Return the run that is watched: of one image per class."""
        config = self.config(settings).replace(images_per_class=1)
        return self.with_ratio(config, config.merge_ratio)

    def with_ratio(self, config: fadrm.Config, alpha: float) -> Run:
        """Return the same with another ratio; without merges it is 1."""
        return self.of(_with_ratio(config, alpha if config.merges else 1.0))

    def keep(self, config: fadrm.Config) -> Keep:
        """Return the steps around the merges, too; each frame is a `Moment`."""
        steps = kept_steps(config)
        if steps not in self._keeps:
            self._keeps[steps] = Keep(steps, self.frame)
        return self._keeps[steps]

    def mixed_in(self, patches: str, candidates_per_class: int, seed: int) -> MixedIn:
        """Return the patches of such settings, and what they and other images have of each measure."""
        config = fadrm.Config(
            images_per_class=1,
            patches=patches,
            candidates_per_class=candidates_per_class,
            seed=seed,
        )
        mixed = self.patches(config)
        measures_by_kind: dict[str, dict[str, Tensor]] = {
            kind: self.measure(images, mixed.repeat(len(images) // len(mixed), 1, 1, 1))
            for kind, images in {"patch": mixed, **self._kinds}.items()
        }
        levels = {}
        for name in UNITS:
            levels[name] = {
                kind: float(values[name].mean()) for kind, values in measures_by_kind.items()
            }
        return MixedIn(mixed, levels)

    def surface(self, config: fadrm.Config, cells: int, *, watch: Watch) -> Surface:
        """Return the loss over the plane of the patches, the images before the first merge and
        those at the end of a run without residual, which is finished first.
        """
        run = self.with_ratio(config, 1.0).advance(
            watch=lambda run: watch("without residual", run.step / run.total)
        )
        moments = [
            run.at(step) for step in (0, (*merge_steps(config), run.total // 2)[0], run.total)
        ]
        patches, before_merge, end = (self.pixels([frame])[0] for frame in moments if frame)
        labels = torch.arange(len(patches), device=self.inputs.device)
        corners = (patches, end, before_merge)
        return surface(self.inputs.teachers[0], labels, corners, cells, watch=watch)

    def pixels(self, frames: Sequence[Frame]) -> Tensor:
        """Return the images of frames [frames, classes, c, h, w], normalised, on the world's device."""
        images = [
            normalise(frame.content.images, self.data.mean, self.data.std) for frame in frames
        ]
        return torch.stack(images).to(self.inputs.device)

    def _outputs(self, images: Tensor) -> Any:
        return networks.predict(
            self.inputs.teachers[0], normalise(images, self.data.mean, self.data.std)
        )

    def patches(self, config: fadrm.Config) -> Tensor:
        """Return the patches that are mixed in, uint8 [classes, c, h, w]."""
        return self.data.to_uint8(fadrm.patches(config, self.inputs)).cpu()

    def measure(self, images: Tensor, patches: Tensor) -> dict[str, Tensor]:
        """Return all measures of uint8 images [n, c, h, w].

        Image i is of class i modulo the number of classes.
        """
        labels = torch.arange(len(images)) % self.data.classes
        output = self._outputs(images)
        return {
            DISTANCE: entropy.distance_to(images, patches),
            FEATURES: entropy.feature_entropy(output.last_conv, self.edges),
            PIXELS: entropy.pixel_entropy(images),
            LOSS: F.cross_entropy(output.logits, labels, reduction="none").double(),
        }

    def frame(self, config: fadrm.Config, inputs: Inputs, state: fadrm.State, trace: Any) -> Moment:
        """Return the images, and all measures of them."""
        images = self.data.to_uint8(fadrm.resample(state.images, self.data.image_size)).cpu()
        return Moment(images, self.measure(images, self.patches(config)))

    def distilled_run(self, config: fadrm.Config | selection.Config) -> Run:
        """Return the run that makes a whole set, or chooses one, for students."""
        process = selection if isinstance(config, selection.Config) else fadrm
        return self._runs.get(process, config, self.inputs, _LAST)

    def student(self, config: Any, seed: int, *, watch: Watch) -> float:
        """Return the test accuracy of one student of such a set, by the teacher's labels.

        Those of one seed share first weights and views.
        """
        return self.taught(
            self.distilled_run(config).result(),
            [self.learning.replace(labels="online", seed=seed)],
            watch,
        )[0]
