"""The step driver: what a process is, and the loops that drive every process alike.

A process is a module with

    NAME                                    its name
    Config, State, Trace                    frozen dataclasses
    total_steps(config, inputs) -> int      how many updates a whole run has
    init(config, inputs) -> State           the state before the first update
    update(config, inputs, state) -> (State, Trace)
    finish(config, inputs, state) -> result

and, where it needs any of `Inputs`, `NEEDS = ("data", "teacher", "distilled")` or a part of these:
it is checked once, before `init`. `State` is all that is needed to go on and has an int field
`step`. `Trace` is what figures need.
Functions change nothing in place and draw all randomness from `randomness.generator(seed, step,
stream)`, so a run can be replayed, paused, cancelled and resumed bit for bit. A method is a process
whose `finish` returns a `DistilledSet`; training a network is a process whose `finish` returns a
`Network`.
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from ..core import DDLabError, NonFiniteError, errors, exact_float32, randomness
from ..core.source import is_of_the_house
from . import threads
from .inputs import Inputs, check_names, warn_of_other_normalisation


class Counted(Protocol):
    """A State, which knows how many updates it is from the beginning."""

    @property
    def step(self) -> int: ...


ConfigT = TypeVar("ConfigT")
StateT = TypeVar("StateT", bound=Counted)
TraceT = TypeVar("TraceT", covariant=True)
ResultT = TypeVar("ResultT", covariant=True)


@dataclass(frozen=True)
class Step(Generic[StateT, TraceT]):
    """One update of a run: `index` updates of `total` are done.

    `state` is where the run stands, `trace` what happened.
    """

    index: int
    total: int
    state: StateT
    trace: TraceT


class Process(Protocol[ConfigT, StateT, TraceT, ResultT]):
    """What every process has; a module, or any object with these parts, is one.

    Its classes are read from the module, so that an editor knows what `Run(dm, ...).state()` is.
    """

    @property
    def NAME(self) -> str: ...
    @property
    def Config(self) -> type[ConfigT]: ...
    @property
    def State(self) -> type[StateT]: ...
    def total_steps(self, config: ConfigT, inputs: Inputs, /) -> int: ...
    def init(self, config: ConfigT, inputs: Inputs, /) -> StateT: ...
    def update(
        self, config: ConfigT, inputs: Inputs, state: StateT, /
    ) -> tuple[StateT, TraceT]: ...
    def finish(self, config: ConfigT, inputs: Inputs, state: StateT, /) -> ResultT: ...


def steps(
    process: Process[ConfigT, StateT, TraceT, Any],
    config: ConfigT,
    inputs: Inputs,
    state: StateT | None = None,
) -> Iterator[Step[StateT, TraceT]]:
    """Drive a process, one `Step` per update, from `state` (default: the start) to the end.

    Arguments are checked at once, not at the first step. The consumer may stop at any time.
    """
    check_call(process, config, inputs, state)
    return _steps(
        process, config, inputs, start(process, config, inputs) if state is None else state
    )


def start(process: Process[ConfigT, StateT, Any, Any], config: ConfigT, inputs: Inputs) -> StateT:
    """Return the state before the first update, after checking that the config is the process's own."""
    check_call(process, config, inputs)
    exact_float32(inputs.device)
    with repeatable(process, config, inputs):
        return process.init(config, inputs)


def repeatable(
    process: Process, config: Any, inputs: Inputs, step: int = 0
) -> contextlib.AbstractContextManager[None]:
    """Return what stands around each part of a process.

    A reader's own may draw as torch and numpy do, without a generator: the same seed gives the
    same bits all the same.
    """
    if is_of_the_house(process):
        return contextlib.nullcontext()
    return randomness.seeded(getattr(config, "seed", 0), step, process.NAME, inputs.device)


def check_call(
    process: Process, config: Any, inputs: Any, state: Any = None, *, teacher_to_come: bool = False
) -> None:
    """Raise if these do not belong together.

    Args:
        process: what runs.
        config: of the process's own class.
        inputs: with all that the process needs.
        state: of the process's own class, if one is given.
        teacher_to_come: a teacher that the process needs will be trained before it begins.
    """
    check_process("process", process)
    if type(config) is not process.Config:  # not isinstance: a method's Config may extend another's
        errors.fail("config", f"a {process.NAME} Config", config)
    if not isinstance(inputs, Inputs):
        errors.fail("inputs", "an Inputs", inputs)
    check_needs(process, inputs, teacher_to_come)
    # Self-supervised training and bases read no labels, so their data may have any classes.
    reads_labels = not getattr(process, "WITHOUT_LABELS", False)
    if reads_labels:
        source = inputs.data or inputs.distilled
        for teacher in inputs.teachers:
            check_names("teacher", teacher.class_names, source, strict=True)
            warn_of_other_normalisation("teacher", teacher, source)
    if state is not None:
        errors.check_instance("state", state, process.State, f"a State of {process.NAME}")
        errors.check_integer("state.step", state.step, 0)


def check_needs(process: Process, inputs: Inputs, teacher_to_come: bool = False) -> None:
    """Raise if `inputs` lack what the process says it needs, so that its equations need not ask.

    A process says it as `NEEDS`, a tuple of "data", "teacher" and "distilled".
    """
    for need in getattr(process, "NEEDS", ()):
        # `distill` trains one where none is given.
        if need == "teacher" and teacher_to_come:
            continue
        needed_input = inputs.teachers if need == "teacher" else getattr(inputs, need)
        if needed_input is None or needed_input == ():
            raise DDLabError(f"{need} must be given to {process.NAME}; given none.")


def needs_teacher(process: Any) -> bool:
    """Return whether a process says that it cannot run without a trained network."""
    return "teacher" in getattr(process, "NEEDS", ())


def check_process(argument: str, process: Any) -> Process:
    """Return `process` if it has what every process has; the error names what is missing."""
    parts = ("NAME", "Config", "State", "total_steps", "init", "update", "finish")
    # All missing parts in one sentence: whoever writes a method would otherwise meet them one by
    # one.
    missing = [name for name in parts if not hasattr(process, name)]
    if missing:
        beside = "" if len(missing) == len(parts) else f", with {', '.join(missing)} as well"
        errors.fail(
            argument,
            "a process module (ddlab.methods.get(name), ddlab.training.supervised, your "
            f"own){beside}",
            process,
        )
    # A class with annotations and without its decorator looks right and has no fields, so that
    # every config would equal every other.
    for name in ("Config", "State", "Trace"):
        kind = getattr(process, name, None)
        namespace = vars(kind) if isinstance(kind, type) else {}
        if namespace.get("__annotations__") and "__dataclass_fields__" not in namespace:
            errors.fail(
                f"{argument}.{name}",
                "a dataclass (without @dataclass above it, it has no fields)",
                kind,
            )
        if (
            name == "State"
            and "__dataclass_fields__" in namespace
            and "step" not in namespace["__dataclass_fields__"]
        ):
            errors.fail(
                f"{argument}.State",
                "a dataclass with a field `step`, the number of updates done",
                kind,
            )
    return process


def check_goes_on(process: Process, before: int, state: Any) -> None:
    """Raise if an update did not count itself: the run would never end."""
    if state.step <= before:
        requirement = f"one more after each update of {process.NAME} than before it ({before})"
        errors.fail("State.step", requirement, state.step)


def _steps(
    process: Process[ConfigT, StateT, TraceT, Any], config: ConfigT, inputs: Inputs, state: Any
) -> Iterator[Step[StateT, TraceT]]:
    exact_float32(inputs.device)
    total = process.total_steps(config, inputs)
    count = threads.thread_count(config, inputs)
    while state.step < total:
        before = state.step
        # Around the update alone: between two steps the consumer computes with its own number of
        # threads.
        with threads.limit_threads(count), repeatable(process, config, inputs, state.step):
            state, trace = process.update(config, inputs, state)
        check_goes_on(process, before, state)
        yield Step(state.step, total, state, trace)


def every(run: Iterator[Step], k: int) -> Iterator[Step]:
    """Yield each k-th step of a run, and the last."""
    errors.check_instance("run", run, Iterable, "the steps of a run")
    k = errors.check_integer("k", k, 1)
    checked_steps = (errors.check_instance("run", step, Step, "the steps of a run") for step in run)
    return (step for step in checked_steps if step.index % k == 0 or step.index == step.total)


def check_finite(name: str, step: int, *parts: Any) -> None:
    """Raise `NonFiniteError` if a tensor inside these dataclasses is not finite.

    The error names the step and the term.

    Called at frames, checkpoints and the end, never in the inner loop: it waits for the device.
    """
    for part in parts:
        for term, value in _tensors(part):
            if value.is_floating_point() and not bool(torch.isfinite(value).all()):
                if value.ndim == 1:  # of each class, say: which one
                    term += f"[{int(torch.isfinite(value).logical_not().nonzero()[0])}]"
                raise NonFiniteError(
                    f"{name} must stay finite; given NaN or infinity in {term} at step {step}."
                )


def _tensors(part: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    if isinstance(part, Tensor):
        yield name, part
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _tensors(value, f"{name}.{key}" if name else str(key))
    elif isinstance(part, (list, tuple)):
        for place, value in enumerate(part):
            yield from _tensors(value, f"{name}[{place}]")
    elif dataclasses.is_dataclass(part) and not isinstance(part, type):
        for field in dataclasses.fields(part):
            yield from _tensors(
                getattr(part, field.name), f"{name}.{field.name}" if name else field.name
            )
