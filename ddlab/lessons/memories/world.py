"""What lesson 75's laboratories look at: a network that learns classes in phases, beside a memory
that the reader chooses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ...core import errors, narrow, parameter
from ...data import ImageData
from ...distilled import DistilledSet
from ...evaluation.incremental import Matrix, class_accuracies
from ...explorers.ready import MethodWorld, SteppedSettings, Watch
from ...methods import mnemonics
from ...runs import Inputs, Keep, Run
from ...training.phases import class_ends

NONE = "none"
HERDING = "herding"
NEAREST = "nearest to centres"
CENTRES = "k-means centres"
MATCHED = "DM"
LEARNED = "learned"
BY_HAND = "by hand"
MEMORIES = (NONE, "random", HERDING, NEAREST, CENTRES, MATCHED, LEARNED)
_KINDS = {NEAREST: "k_means", CENTRES: "centres"}  # as `selection` calls them
_MADE_BEFORE = (*_KINDS, MATCHED, BY_HAND)  # sets that are made before the run
_MOMENTS = {"model": 6, "exemplars": 3, "tuning": 1}  # of each part of a phase

Weights = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Settings(SteppedSettings, mnemonics.Config):
    """The method's hyper-parameters as a reader moves them, and which memory is spent."""

    memory: str = parameter(
        NONE, choices=MEMORIES, explorable=True, help="Where exemplars come from."
    )
    images_per_class: int = parameter(
        1, symbol="m", range=(1, None), explorable=(1, 5), help="Exemplars of a class."
    )


@dataclass(frozen=True, eq=False)
class Moment:
    """A frame: the phase and what moved; accuracies of the classes seen, in order of arrival; all
    exemplars, 0 where there are none.
    """

    phase: int
    part: str
    accuracies: tuple[float, ...]
    exemplars: Tensor
    weights: Weights


def moment(
    config: Any, inputs: Inputs, state: mnemonics.State, trace: mnemonics.Trace | None
) -> Moment:
    """Return what is kept of a step."""
    phase, part = (0, "model") if trace is None else (trace.phase, trace.part)
    classes_met = class_ends(config, inputs.data.classes)[phase]
    return Moment(
        phase,
        part,
        class_accuracies(config, inputs, state.weights, classes_met),
        state.exemplars.cpu(),
        state.weights,
    )


LEARNING = ("exemplar_updates", "exemplar_learning_rate", "temporary_steps")


class World(MethodWorld):
    """Data whose classes come in phases, and where the controls start.

    Args:
        data: it is learned.
        matched: exemplars of a class -> a set with as many images of each class, which serves as
            the memory "DM".
        config: where the controls start; default Mnemonics' teaching preset, with one exemplar.
        device: of the runs.

    Raises:
        DDLabError: settings that the method refuses.
    """

    method = mnemonics
    settings = Settings
    first = mnemonics.Config.teaching(images_per_class=1)
    choices: tuple[str, ...] = MEMORIES

    def __init__(
        self,
        data: ImageData,
        matched: Mapping[int, DistilledSet] | None = None,
        config: mnemonics.Config | None = None,
        *,
        device: torch.device | str = "auto",
    ) -> None:
        self.matched = dict(matched or {})
        self.memories = tuple(
            memory for memory in self.choices if memory != MATCHED or self.matched
        )
        super().__init__(data, config, device=device)

    def started(self, config: mnemonics.Config) -> Settings:
        """Return the settings with the memories and the numbers of tasks that there are."""
        counts = {
            count for count in range(2, self.data.classes + 1) if self.data.classes % count == 0
        }
        tasks = tuple(sorted(counts | {config.tasks}))
        return narrow(self.settings, memory=self.memories, tasks=tasks)(**vars(config))

    def config(self, settings: Settings) -> mnemonics.Config:
        """Return the config of a run.

        What plays no part with this memory is as at first, so that such runs are one.
        """
        changes: dict[str, Any] = {}
        if settings.memory != LEARNED:
            first = {name: getattr(self.first, name) for name in (*LEARNING, "adjust_old")}
            changes |= first | {"exemplar_step": "none"}
        if settings.memory == NONE:
            changes["images_per_class"] = 1
        starts = dict.fromkeys(_MADE_BEFORE, "given")
        changes["start"] = (starts | {LEARNED: HERDING}).get(settings.memory, settings.memory)
        return super().config(settings).replace(**changes)

    def run(self, settings: Settings) -> Run:
        """Return the run of all phases, as far as it has come."""
        return self.with_memory(settings.memory, self.config(settings))

    def with_memory(self, memory: str, config: mnemonics.Config) -> Run:
        """Return the run with this memory."""
        count = config.images_per_class
        inputs = self.inputs
        if memory == MATCHED and count not in self.matched:
            errors.fail(
                "images_per_class", f"one for which there is a set: {sorted(self.matched)}", count
            )
        if memory in _MADE_BEFORE:
            exemplars = (
                self.matched[count]
                if memory == MATCHED
                else self.chosen(_KINDS[memory], count, config.seed)
            )
            inputs = replace(inputs, distilled=exemplars)
        return self.of(config, inputs)

    def keep(self, config: mnemonics.Config) -> Keep:
        """Return some moments of each part of a phase, which are kept."""
        kept_steps = {0}
        part_start = 0
        for _, part, steps in mnemonics.parts(config, self.inputs):
            kept_steps |= {
                part_start + round(steps * share / _MOMENTS[part])
                for share in range(1, _MOMENTS[part] + 1)
            }
            part_start += steps
        return Keep(tuple(sorted(kept_steps)), moment)

    def task_ends(self, config: mnemonics.Config) -> list[int]:
        """Return the step at which each phase ends."""
        parts = mnemonics.parts(config, self.inputs)
        last_steps = []
        for last in range(config.tasks):
            last_steps.append(sum(steps for phase, _, steps in parts if phase <= last))
        return last_steps

    def remembered(self, config: mnemonics.Config, memory: str, *, watch: Watch) -> Matrix:
        """Return the accuracy of each class seen by the end of each phase."""
        task_ends = self.task_ends(config)
        run = self.with_memory(memory, config).advance(
            watch=lambda run: watch(f"memory: {memory}", run.step / task_ends[-1])
        )
        return matrix(run, task_ends)


def matrix(run: Run, task_ends: Sequence[int]) -> Matrix:
    """Return the accuracies of the classes seen, by the phases whose end was kept by now."""
    frames = [run.at(end) for end in task_ends]
    matrix_rows = [
        frame.content.accuracies
        for frame, end in zip(frames, task_ends, strict=True)
        if frame and frame.step == end
    ]
    return tuple(matrix_rows)
