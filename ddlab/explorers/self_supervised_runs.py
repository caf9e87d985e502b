"""What the laboratory of self-supervised distillation knows: runs of KRR-ST and Boost by their settings, frame by frame. No widgets.

runs = SelfSupervisedRuns(data, teacher)
run = runs.begun(view.config)                     # before any step; refuses what the method refuses
runs.go_on(run)                                   # to the end; what `watch` raises leaves it where it is
run.frame(None).step, runs.shown(run, run.frame(None)).images
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from .. import embeddings, errors, networks, randomness
from .. import process as driver
from ..data import ImageData
from ..distilled import DistilledSet
from ..methods import kernel_ridge_self_supervised as krr
from ..methods import parameterised_self_supervised as boost
from ..networks import Network
from ..predefined_views import NAMES
from ..process import Inputs
from .self_supervised_view import KRR_ST, PCA, kept_iterations, name_of, process_of

_KEPT = 12  # runs: of 100 images of 32 px about 40 MB each, at 16 px 3 MB
_KEPT_FRAMES = 40  # as they are shown: of 100 images of 32 px with four views 4 MB each
_ON_MAP = 400  # real images


@dataclass(frozen=True, eq=False)
class Frame:
    """A moment of a run: what is distilled after `step` outer steps."""

    step: int
    parameters: dict[str, Tensor]


class Shown:
    """What a frame looks like.

    Attributes:
        images: uint8 [A + 1, m, c, h, w], the images themselves first. targets: float32 [A + 1, m, d].
    """

    def __init__(self, images: Tensor, targets: Tensor, normalised: Tensor, teacher: Network) -> None:
        self.images, self.targets, self._normalised, self._teacher = images, targets, normalised, teacher

    @cached_property
    def said(self) -> Tensor:
        """What the teacher says of the images as they are now, float32 [m, d]. Asked for after the images have been shown."""
        return networks.predict(self._teacher, self._normalised).features


class Run:
    """A run as far as it has come.

    Attributes:
        config: of the method. number: which run it was, from 1; 0 before it was gone on with. frames: in the order of their steps.
        outer: the outer loss of each outer step, before it. pool: of each network the inner loss of each step that filled the pool.
        state: the newest.
    """

    def __init__(self, config: krr.Config, total: int, state: krr.State) -> None:
        self.config, self.total, self.state = config, total, state
        self.filling = total - config.iterations
        self.wanted = frozenset(kept_iterations(config.iterations))
        self.number, self.seconds = 0, 0.0
        self.frames = [Frame(0, state.parameters)]
        self.outer: list[float] = []
        self.pool: list[list[float]] = [[] for _ in range(config.pool_size)]

    @property
    def iteration(self) -> int:
        """Outer steps that are done."""
        return max(self.state.step - self.filling, 0)

    @property
    def complete(self) -> bool:
        """Whether it has come to its end."""
        return self.state.step >= self.total

    @property
    def pairs(self) -> int:
        """m."""
        return len(self.frames[0].parameters["images" if name_of(self.config) == KRR_ST else "image_coefficients"])

    def frame(self, step: int | None) -> Frame:
        """The newest frame, or the last one that is not after `step`."""
        frames = list(self.frames)
        return frames[-1] if step is None else max((f for f in frames if f.step <= step), key=lambda f: f.step)

    def take(self, state: krr.State, trace: krr.Trace) -> None:
        """One step."""
        losses = self.pool[trace.network] if trace.phase == "pool" else self.outer
        losses.append(float(trace.loss))
        self.state = state
        if trace.phase == "outer" and self.iteration in self.wanted:
            self.frames.append(Frame(self.iteration, state.parameters))

    def keep_last(self) -> None:
        """Make a frame of where it stands, so that what Stop leaves can be looked at."""
        if self.frames[-1].step < self.iteration:
            self.frames.append(Frame(self.iteration, self.state.parameters))


class SelfSupervisedRuns:
    """Runs both methods and remembers the last runs.

    Attributes:
        features: float32 [n, d], what the teacher says of the training images. sample: which of them are on the map.

    `go_on`, and `positions` on another map than PCA, take long, each in one thread at a time; all else answers at once, in any.
    """

    def __init__(self, data: ImageData, teacher: Network) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        self.teacher = errors.check_instance("teacher", teacher, Network, "a Network")
        self.inputs = Inputs(data=data, teachers=(teacher,))
        self.features = krr.teacher_features(self.inputs)
        draw = randomness.generator(0, 0, "real images on the map")
        self.sample = torch.randperm(len(self.features), generator=draw)[:_ON_MAP]
        self._lock = threading.RLock()
        self._runs: dict[krr.Config, Run] = {}
        self._shown: dict[tuple[int, int], tuple[Run, Shown]] = {}
        self._numbered = 0
        self._maps: dict[str, embeddings.Embedding] = {}
        self._placed: dict[tuple[int, int, str], tuple[Run, dict[str, Tensor]]] = {}

    def begun(self, config: krr.Config) -> Run:
        """The run of a config, as far as it has come, or before its first step.

        Raises:
            DDLabError: what the method refuses.
        """
        with self._lock:
            if config not in self._runs:
                process = process_of(config)
                state = process.init(config, self.inputs)
                self._runs[config] = Run(config, process.total_steps(config, self.inputs), state)
            self._runs[config] = self._runs.pop(config)  # now the last to be forgotten
            if len(self._runs) > _KEPT:
                # One that no step was done of, else the one that was not seen for longest.
                idle = (one for one, run in self._runs.items() if run.state.step == 0 and one != config)
                del self._runs[next(idle, next(iter(self._runs)))]
            return self._runs[config]

    def finished(self) -> list[Run]:
        """The runs that steps were done of, the newest first."""
        with self._lock:
            return sorted((run for run in self._runs.values() if run.number), key=lambda run: -run.number)

    def go_on(self, run: Run, watch: Callable[[Run], None] = lambda run: None) -> None:
        """Take a run to its end. `watch` is called after each step; what it raises leaves the run where it is, with a last frame.

        Raises:
            NonFiniteError: a loss, images or representations that are not finite; the run stays as it was before that step.
        """
        process = process_of(run.config)
        if not run.number:
            self._numbered += 1
            run.number = self._numbered
        try:
            while not run.complete:
                begun = time.monotonic()
                state, trace = process.update(run.config, self.inputs, run.state)
                driver.check_finite("the run", state.step, trace, state.parameters)
                run.take(state, trace)
                run.seconds += time.monotonic() - begun
                watch(run)
        finally:
            run.keep_last()

    def distilled(self, run: Run, frame: Frame) -> DistilledSet:
        """The set of a frame, as the method finishes it: with the model of the shifts, whose networks take a second."""
        config, state = run.config, run.state
        state = dataclasses.replace(state, step=run.filling + frame.step, parameters=frame.parameters)
        return process_of(config).finish(config, self.inputs, state)

    def shown(self, run: Run, frame: Frame) -> Shown:
        """What a frame looks like."""
        known = self._shown.get((id(run), frame.step))
        if known is None:
            views = 1 if name_of(run.config) == KRR_ST else len(NAMES[run.config.augmentation])  # type: ignore[attr-defined]
            with torch.no_grad():
                images, targets = self._pairs(run.config, frame.parameters)
                images, targets = images.unflatten(0, (views, -1)), targets.unflatten(0, (views, -1))
            pixels = self.data.to_uint8(images.flatten(0, 1)).cpu().unflatten(0, (views, -1))
            found = Shown(pixels, targets, images[0].clone(), self.teacher)
            known = self._kept(self._shown, (id(run), frame.step), (run, found))
        return known[1]

    def real(self, run: Run) -> Tensor:
        """uint8 [m, c, h, w]: the real images that images or coefficients began as."""
        return self.data.train_images[krr.real_indices(len(self.features), run.pairs, seed=run.config.seed)]

    def positions(self, run: Run, frame: Frame, layout: str) -> dict[str, Tensor]:
        """Where representations lie on the map of the real ones: what -> float32 [n, 2]; "real" first."""
        known = self._placed.get((id(run), frame.step, layout))
        if known is None:
            embedding, shown = self._map(layout), self.shown(run, frame)
            groups = {
                "targets": shown.targets[0],
                "targets of views": shown.targets[1:].flatten(0, 1),
                "said": shown.said,
            }
            placed = embedding.transform(torch.cat(list(groups.values()))).split(
                [len(group) for group in groups.values()]
            )
            found = {"real": embedding.positions["real"], **dict(zip(groups, placed, strict=True))}
            known = self._kept(self._placed, (id(run), frame.step, layout), (run, found))
        return known[1]

    def placed(self, run: Run, frame: Frame, layout: str) -> bool:
        """Whether `positions` answers at once."""
        return layout == PCA or (id(run), frame.step, layout) in self._placed

    def _map(self, layout: str) -> embeddings.Embedding:
        if layout not in self._maps:
            config = embeddings.Config(
                kind="pca" if layout == PCA else "umap", neighbours=min(15, len(self.sample) - 1)
            )
            self._maps[layout] = embeddings.fit({"real": self.features[self.sample]}, config, announce=None)
        return self._maps[layout]

    def _pairs(self, config: krr.Config, parameters: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        return boost.pairs(config, parameters) if isinstance(config, boost.Config) else krr.pairs(parameters)

    def _kept(self, known: dict[Any, Any], key: Any, value: Any) -> Any:
        """Remember, and forget the oldest. The run stands in the value, so that its id is not given to another meanwhile."""
        with self._lock:
            known[key] = value
            while len(known) > _KEPT_FRAMES:
                del known[next(iter(known))]
        return value
