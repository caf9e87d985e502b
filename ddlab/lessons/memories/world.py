"""What lesson 75's laboratories look at: a network that learns classes in phases, beside a memory that the reader chooses."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ...core import errors
from ...core.parameters import narrowed, parameter
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation.incremental import Matrix, class_accuracies
from ...methods import mnemonics, selection
from ...runs import Keep, Run, Runs
from ...runs.process import Inputs, require_data
from ...training.phases import class_ends

NONE, HERDING, CENTRES, MATCHED, LEARNED = "none", "herding", "k-means", "DM", "learned"
MEMORIES = (NONE, "random", HERDING, CENTRES, MATCHED, LEARNED)
_GIVEN = (CENTRES, MATCHED)  # sets that are made before the run
_FRAMES = {"model": 6, "exemplars": 3, "tuning": 1}  # of each part of a phase

Watch = Callable[[str, float], None]
Weights = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Settings(mnemonics.Config):
    """The method's hyper-parameters as a reader moves them, and which memory is spent."""

    memory: str = parameter(NONE, choices=MEMORIES, explorable=True, help="Where exemplars come from.")
    images_per_class: int = parameter(1, symbol="m", range=(1, None), explorable=(1, 5), help="Exemplars of a class.")
    step: int | None = parameter(None, range=(0, None), help="Where in the run; None is its end.")


@dataclass(frozen=True, eq=False)
class Moment:
    """A frame: the phase and what moved; accuracies of the classes seen, in order of arrival; all exemplars, 0 where there are none."""

    phase: int
    part: str
    accuracies: tuple[float, ...]
    exemplars: Tensor
    weights: Weights


def moment(config: Any, inputs: Inputs, state: mnemonics.State, trace: mnemonics.Trace | None) -> Moment:
    """What is kept of a step."""
    phase, part = (0, "model") if trace is None else (trace.phase, trace.part)
    seen = class_ends(config, require_data(mnemonics.NAME, inputs).classes)[phase]
    return Moment(
        phase, part, class_accuracies(config, inputs, state.weights, seen), state.exemplars.cpu(), state.weights
    )


LEARNING = ("exemplar_updates", "exemplar_rate", "temporary_steps")


@functools.lru_cache(256)  # every view asks at every drawing
def config_of(settings: Settings) -> mnemonics.Config:
    """What the method is given; what plays no part with this memory is as at first, so that such runs are one."""
    asked: dict[str, Any] = {}
    if settings.memory != LEARNED:
        asked |= {name: getattr(mnemonics.Config.teaching(), name) for name in LEARNING} | {"exemplar_step": "none"}
    if settings.memory == NONE:
        asked["images_per_class"] = 1
    asked["start"] = {LEARNED: HERDING, CENTRES: "given", MATCHED: "given"}.get(settings.memory, settings.memory)
    return settings.part(mnemonics.Config).replace(**asked)


class World:
    """Data whose classes come in phases, and where the controls start.

    Args:
        data: it is learned. matched: exemplars of a class -> a set with as many images of each class, which serves as the memory "DM".
            config: where the controls start; default Mnemonics' teaching preset, with one exemplar. device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    def __init__(
        self,
        data: ImageData,
        matched: Mapping[int, DistilledSet] | None = None,
        config: mnemonics.Config | None = None,
        *,
        device: torch.device | str = "auto",
    ) -> None:
        self.data = errors.check_instance("data", data, ImageData, "an ImageData")
        first = mnemonics.Config.teaching(images_per_class=1) if config is None else config
        errors.check_instance("config", first, mnemonics.Config, "a mnemonics Config or None")
        self.matched, self.inputs, self._runs = dict(matched or {}), Inputs(data=data, device=device), Runs()
        self.memories = tuple(each for each in MEMORIES if each != MATCHED or self.matched)
        started: dict[str, Any] = vars(first)
        self.start = narrowed(Settings, memory=self.memories)(**started)
        self._given = functools.lru_cache(64)(self._made)

    def _made(self, memory: str, count: int, seed: int) -> Inputs:
        if memory == CENTRES:
            chosen = selection.Config(kind="k_means", images_per_class=count, seed=seed)
            return replace(self.inputs, distilled=Run(selection, chosen, self.inputs).advance().result())
        if count not in self.matched:
            errors.fail("images_per_class", f"one for which there is a set: {sorted(self.matched)}", count)
        return replace(self.inputs, distilled=self.matched[count])

    def run(self, settings: Settings) -> Run:
        """The run of all phases, as far as it has come."""
        return self.of(settings.memory, config_of(settings))

    def of(self, memory: str, config: mnemonics.Config) -> Run:
        """The run with this memory."""
        given = memory in _GIVEN
        inputs = self._given(memory, config.images_per_class, config.seed) if given else self.inputs
        return self._runs.get(mnemonics, config, inputs, Keep(_kept(tuple(mnemonics.parts(config, inputs))), moment))

    def ends(self, memory: str, config: mnemonics.Config) -> list[int]:
        """The step at which each phase ends."""
        parts = mnemonics.parts(config, self.of(memory, config).inputs)
        return [sum(steps for phase, _, steps in parts if phase <= last) for last in range(config.tasks)]

    def remembered(self, memory: str, config: mnemonics.Config, *, watch: Watch) -> Matrix:
        """Phase -> accuracy of each class seen by its end."""
        ends = self.ends(memory, config)
        run = self.of(memory, config).advance(watch=lambda run: watch(f"memory: {memory}", run.step / ends[-1]))
        return matrix(run, ends)


def matrix(run: Run, ends: Sequence[int]) -> Matrix:
    """Phase -> accuracy of each class seen, of the phases whose end was kept by now."""
    frames = [run.at(end) for end in ends]
    return tuple(
        frame.content.accuracies for frame, end in zip(frames, ends, strict=True) if frame and frame.step == end
    )


@functools.lru_cache(64)
def _kept(parts: tuple[tuple[int, str, int], ...]) -> tuple[int, ...]:
    found, begun = {0}, 0
    for _, part, steps in parts:
        found |= {begun + round(steps * share / _FRAMES[part]) for share in range(1, _FRAMES[part] + 1)}
        begun += steps
    return tuple(sorted(found))
