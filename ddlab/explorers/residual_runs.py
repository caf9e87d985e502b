"""What the explorer of the merge ratio knows: FADRM's images along a run, for one ratio and those beside it. No widgets.

runs = ResidualRuns(data, teacher)
run = runs.recovery(runs.config(view, 0.5))
runs.go_on(run)                                   # to the end; what `watch` raises leaves it where it is
run.frame(40).measured["feature entropy"]         # [classes]

Up to the first merge the runs of all ratios are one and the same, so that this part is computed once.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import entropy, errors, networks
from .. import process as driver
from ..data import ImageData
from ..data.images import normalise
from ..methods import data_residual_matching as fadrm
from ..networks import Network
from ..process import Inputs
from .residual_view import DISTANCE, FEATURES, LOSS, PIXELS, ResidualView, kept_steps, merge_steps

_KEPT = 40  # runs: about 100 MB at 64 pixels and ten classes
_REFERENCES = 8  # images of each class and kind


@dataclass(frozen=True, eq=False)
class Frame:
    """A moment of a run: images uint8 [classes, c, h, w], of full size; measured: name -> float64 [classes]."""

    step: int
    images: Tensor
    measured: dict[str, Tensor]


class Recovery:
    """A run, or the first part of one, as far as it has come.

    Attributes:
        config: of the run. last: the step it ends on. before: the part it goes on from. state: the newest, or None.
    """

    def __init__(self, config: fadrm.Config, last: int, before: Recovery | None = None) -> None:
        self.config, self.last, self.before = config, last, before
        self.wanted = frozenset(kept_steps(config.iterations, config.merges))
        self.state: fadrm.State | None = None
        self._own: list[Frame] = []

    @property
    def frames(self) -> list[Frame]:
        """In the order of their steps."""
        return [*([] if self.before is None else self.before.frames), *self._own]

    @property
    def step(self) -> int:
        """How many steps are done."""
        if self.state is not None:
            return self.state.step
        return 0 if self.before is None else self.before.step

    @property
    def first(self) -> int:
        """The step it begins at."""
        return 0 if self.before is None else self.before.last

    @property
    def complete(self) -> bool:
        """Whether it has come to its end."""
        return self.step >= self.last

    def add(self, frame: Frame) -> None:
        """Keep a frame."""
        self._own.append(frame)

    def frame(self, step: int) -> Frame | None:
        """The frame of a step, if it is there yet."""
        return next((frame for frame in reversed(self.frames) if frame.step == step), None)


@dataclass(frozen=True, eq=False)
class Ground:
    """What runs with the same patches are measured against.

    Attributes:
        patches: uint8 [classes, c, h, w]. patch: name of a measure -> float64 [classes].
        levels: kind of reference image ("real", "noise", "constant") -> name of a measure -> mean over those of each class [classes].
    """

    patches: Tensor
    patch: dict[str, Tensor]
    levels: dict[str, dict[str, Tensor]]


class ResidualRuns:
    """Runs FADRM with one image per class, measures what it makes, and remembers the last runs.

    Attributes:
        edges: of the bins between the features of real images, in which all feature entropies are counted.

    `go_on` and `ground` compute, in one thread at a time; all else answers at once, in any. So does `begin` where the ground is known.
    """

    def __init__(self, data: ImageData, teacher: Network) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        self.teacher = errors.check_instance("teacher", teacher, Network, "a Network")
        self.inputs = Inputs(data=data, teachers=(teacher,))
        fewest = int(torch.bincount(data.train_labels, minlength=data.classes).min())
        found = entropy.reference_images(data, min(_REFERENCES, fewest) * data.classes)
        self._references = {kind: found[kind] for kind in ("real", "noise", "constant")}
        self.edges = entropy.feature_edges(networks.predict(teacher, self._normalised(found["real"])).last_conv)
        self._lock, self._beginning = threading.RLock(), threading.Lock()
        self._runs: dict[fadrm.Config, Recovery] = {}
        self._grounds: dict[fadrm.Config, Ground] = {}
        self._spent, self._pixels = 0.0, 0

    def config(self, view: ResidualView, alpha: float | None = None) -> fadrm.Config:
        """What the method is given: one image per class, and this ratio in the place of the view's; without merges they are all 1."""
        alpha = view.merge_ratio if alpha is None else alpha
        return view.method(self.data).replace(images_per_class=1, merge_ratio=alpha if view.merges else 1.0)

    def check(self, config: fadrm.Config) -> None:
        """Raise what the method says of settings that this teacher or these images do not allow; crops and mosaics are not chosen."""
        fadrm.init(config.replace(patches="real"), self.inputs)

    def recovery(self, config: fadrm.Config) -> Recovery:
        """The run of a config, as far as it has come."""
        with self._lock:
            if config not in self._runs:
                self._runs[config] = Recovery(config, config.iterations, self._first_part(config))
            self._runs[config] = self._runs.pop(config)  # now the last to be forgotten
            if len(self._runs) > _KEPT:
                # One that nothing was computed of, else the one that was not seen for longest.
                empty = (other for other, run in self._runs.items() if run.state is None and other != config)
                del self._runs[next(empty, next(iter(self._runs)))]
            return self._runs[config]

    def begin(self, config: fadrm.Config) -> None:
        """Make the first frame of a run and what it is measured against; crops and mosaics take seconds."""
        self.ground(config)
        run = self.recovery(config)
        self._take_up(run if run.before is None else run.before)

    def go_on(self, run: Recovery, watch: Callable[[int], None] = lambda step: None) -> None:
        """Take a run to its end. `watch` is called with the number of each step; what it raises leaves the run where it is.

        Raises:
            NonFiniteError: images that are not finite.
        """
        if run.before is not None:
            self.go_on(run.before, watch)
        if run.state is None:
            self._take_up(run)
            watch(run.step)
        begun = time.monotonic()
        while not run.complete:
            assert run.state is not None
            before = self._pixels_of(run.config, run.step)
            state, trace = fadrm.update(run.config, self.inputs, run.state)
            run.state = state
            if run.step in run.wanted:
                driver.check_finite("the run", run.step, trace, state)
                run.add(self._frame(run, state))
            spent = time.monotonic() - begun
            self._spent, self._pixels = (
                self._spent + spent,
                self._pixels + self._pixels_of(run.config, run.step) - before,
            )
            watch(run.step)
            begun = time.monotonic()

    def seconds(self, configs: Sequence[fadrm.Config]) -> float | None:
        """How long these runs will still take, by the time that all steps so far took; None before the first."""
        parts = {id(part): part for config in configs for part in self._parts(config) if not part.complete}
        # What a run does not do itself, the part before it does, which is counted once.
        pixels = sum(
            self._pixels_of(run.config, run.last) - self._pixels_of(run.config, run.step if run.state else run.first)
            for run in parts.values()
        )
        if not pixels:
            return 0.0
        return self._spent / self._pixels * pixels if self._pixels else None

    def ground(self, config: fadrm.Config) -> Ground:
        """The patches of a config and what images are compared with."""
        key = _patches_of(config)
        known = self._grounds.get(key)
        if known is None:
            # A run from real images of full size begins with them.
            patches = self.data.to_uint8(fadrm.init(key, self.inputs).images).cpu()
            levels = {}
            for kind, images in self._references.items():
                measured = self._measured(images, patches.repeat(len(images) // len(patches), 1, 1, 1))
                levels[kind] = {name: values.view(-1, self.data.classes).mean(0) for name, values in measured.items()}
            known = self._grounds[key] = Ground(patches, self._measured(patches, patches), levels)
        return known

    def known_ground(self, config: fadrm.Config) -> Ground | None:
        """`ground` if it has been computed."""
        return self._grounds.get(_patches_of(config))

    def _parts(self, config: fadrm.Config) -> list[Recovery]:
        run = self.recovery(config)
        return [run] if run.before is None else [run.before, run]

    def _first_part(self, config: fadrm.Config) -> Recovery:
        """Up to the step before the first merge: the same for all ratios."""
        shared = config.replace(merge_ratio=1.0)
        for run in self._runs.values():
            if run.before is not None and run.before.config == shared:
                return run.before
        last = min(merge_steps(config.iterations, config.merges), default=config.iterations) - 1
        return Recovery(shared, last)

    def _take_up(self, run: Recovery) -> None:
        """Give a run its first state: the last one of the part before it, or the method's with its frame."""
        with self._beginning:
            if run.state is not None:
                return
            if run.before is not None:
                run.state = run.before.state
                return
            state = fadrm.init(run.config, self.inputs)
            run.add(self._frame(run, state))
            run.state = state

    def _frame(self, run: Recovery, state: fadrm.State) -> Frame:
        images = self.data.to_uint8(fadrm.resampled(state.images, self.data.image_size)).cpu()
        return Frame(state.step, images, self._measured(images, self.ground(run.config).patches))

    def _measured(self, images: Tensor, patches: Tensor) -> dict[str, Tensor]:
        """All measures of uint8 images [n, c, h, w]; image i is of class i modulo the number of classes."""
        seen = networks.predict(self.teacher, self._normalised(images))
        labels = torch.arange(len(images)) % self.data.classes
        return {
            FEATURES: entropy.feature_entropy(seen.last_conv, self.edges),
            PIXELS: entropy.pixel_entropy(images),
            DISTANCE: entropy.distance_to(images, patches),
            LOSS: F.cross_entropy(seen.logits, labels, reduction="none").double(),
        }

    def _normalised(self, images: Tensor) -> Tensor:
        return normalise(images, self.data.mean, self.data.std)

    def _pixels_of(self, config: fadrm.Config, steps: int) -> int:
        """What the first steps of a run cost, in pixels of one image."""
        return _costs(config.iterations, config.merges, config.small_size, self.data.image_size)[steps]


@lru_cache(maxsize=256)
def _costs(iterations: int, merges: int, small_size: int | None, image_size: tuple[int, int]) -> tuple[int, ...]:
    """The pixels that an image has in all steps before each, and at the end."""
    stages = [fadrm.stage_of(step, iterations=iterations, merges=merges) for step in range(iterations)]
    sizes = [fadrm.stage_size(stage, image_size=image_size, small_size=small_size) for stage in range(1, merges + 2)]
    return tuple(itertools.accumulate((math.prod(sizes[stage - 1]) for stage in stages), initial=0))


def _patches_of(config: fadrm.Config) -> fadrm.Config:
    """The simplest config that has the same patches."""
    shared = {name: getattr(config, name) for name in ("patches", "candidates_per_class", "seed")}
    return fadrm.Config(images_per_class=1, roll_pixels=0, **shared)
