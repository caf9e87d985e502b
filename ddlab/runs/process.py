"""The step driver: what a process is, and the loops that drive every process alike.

A process is a module with

    NAME                                    its name
    Config, State, Trace                    frozen dataclasses
    total_steps(config, inputs) -> int      how many updates a whole run has
    init(config, inputs) -> State           the state before the first update
    update(config, inputs, state) -> (State, Trace)
    finish(config, inputs, state) -> result

`State` is all that is needed to go on and has an int field `step`. `Trace` is what figures need.
Functions change nothing in place and draw all randomness from `randomness.generator(seed, step,
stream)`, so a run can be replayed, paused, cancelled and resumed bit for bit. A method is a process
whose `finish` returns a `DistilledSet`; training a network is a process whose `finish` returns a
`Network`.
"""

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from ..core import devices, errors, storage
from ..core.arithmetic import exact_float32
from ..core.errors import DDLabError, NonFiniteError
from ..data import ImageData
from ..data.images import resident
from ..distilled import DistilledSet
from ..networks import Network

# Deviations between means, and between logarithms of deviations; another split of the same data
# stays far below.
SAME_NORMALISATION = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """Everything that a run is given and never changes.

    Attributes:
        data: the original dataset.
        teachers: trained networks, for methods that need them.
        distilled: a distilled set, for processes that train on one.
        device: "cpu", "cuda", ..., or "auto" (CUDA when there is one).

    Raises:
        DDLabError: a wrong type, a device that is not there, teachers of another shape than the
            data, or of other classes.
    """

    data: ImageData | None = None
    teachers: tuple[Network, ...] = ()
    distilled: DistilledSet | None = None
    device: torch.device | str = "auto"

    def __post_init__(self) -> None:
        for name, kind, words in (
            ("data", ImageData, "an ImageData"),
            ("distilled", DistilledSet, "a DistilledSet"),
        ):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                errors.fail(name, words, value)
        if not isinstance(self.teachers, tuple) or not all(
            isinstance(t, Network) for t in self.teachers
        ):
            errors.fail("teachers", "a tuple of Networks", self.teachers)
        source = self.data or self.distilled
        for teacher in self.teachers:
            spec = teacher.spec
            if source is not None and (spec.channels, spec.classes) != (
                source.channels,
                source.classes,
            ):
                requirement = (
                    f"a network for {source.channels} channels and {source.classes} classes"
                )
                errors.fail(
                    "teacher",
                    requirement,
                    f"{spec.title} for {spec.channels} channels and {spec.classes} classes",
                )
            if source is not None and spec.image_size != tuple(source.image_size):
                errors.fail(
                    "teacher",
                    f"a network for images of {tuple(source.image_size)} pixels",
                    spec.image_size,
                )
            _check_names("teacher", teacher.class_names, source)
        if self.distilled is not None:
            _check_names("distilled", self.distilled.class_names, self.data)
        object.__setattr__(self, "device", devices.checked_device(self.device))
        on_device = tuple(teacher.to(self.device) for teacher in self.teachers)
        object.__setattr__(self, "teachers", on_device)
        if self.data is not None:
            object.__setattr__(self, "data", resident(self.data, self.device))

    @property
    def fingerprint(self) -> str:
        """A hash of data, teachers and distilled set, as they are now (not of the device)."""
        parts = []
        for part in (self.data, self.distilled):
            parts.append(None if part is None else part.fingerprint)
        return storage.fingerprint(parts, [teacher.fingerprint for teacher in self.teachers])


def warn_of_other_normalisation(argument: str, network: Network, source: Any) -> None:
    """Warn where a network gets images that are normalised otherwise than those that it was trained
    on. Whitened images are an example.

    Args:
        source: an ImageData or a DistilledSet; None says nothing.
    """
    if source is None or network.normalisation is None:
        return
    mean, std = (torch.tensor(values) for values in network.normalisation)
    shift = float(((source.mean - mean).abs() / std).max())
    stretch = float((source.std / std).log().abs().max())
    if max(shift, stretch) > SAME_NORMALISATION:
        warnings.warn(
            f"{argument} was trained on images with mean {_numbers(mean)} and deviation "
            f"{_numbers(std)}; these have "
            f"{_numbers(source.mean)} and {_numbers(source.std)}, so it sees other values "
            "than it knows.",
            stacklevel=2,
        )


def _numbers(values: Tensor) -> str:
    return " ".join(f"{value:.3f}" for value in values.tolist())


def _check_names(
    argument: str, names: Sequence[str] | None, source: Any, *, strict: bool = False
) -> None:
    """Raise if the classes are not those that the labels of `source` mean, in the same order.

    Where no class number is read, pictures and features may be of something else altogether: but
    with `strict`.
    """
    data_names = () if source is None else source.class_names
    if names and data_names and (strict or not set(names).isdisjoint(data_names)):
        errors.check_same_classes(argument, names, data_names)


@dataclass(frozen=True)
class Step:
    """One update of a run: `index` updates of `total` are done.

    `state` is where the run stands, `trace` what happened.
    """

    index: int
    total: int
    state: Any
    trace: Any


class Process(Protocol):
    """What every process has; a module, or any object with these parts, is one."""

    @property
    def NAME(self) -> str: ...
    @property
    def Config(self) -> Any: ...
    @property
    def State(self) -> Any: ...
    def total_steps(self, config: Any, inputs: Inputs, /) -> int: ...
    def init(self, config: Any, inputs: Inputs, /) -> Any: ...
    def update(self, config: Any, inputs: Inputs, state: Any, /) -> tuple[Any, Any]: ...
    def finish(self, config: Any, inputs: Inputs, state: Any, /) -> Any: ...


def steps(process: Process, config: Any, inputs: Inputs, state: Any = None) -> Iterator[Step]:
    """Drive a process, one `Step` per update, from `state` (default: the start) to the end.

    Arguments are checked at once, not at the first step. The consumer may stop at any time.
    """
    check_call(process, config, inputs, state)
    return _steps(
        process, config, inputs, start(process, config, inputs) if state is None else state
    )


def start(process: Process, config: Any, inputs: Inputs) -> Any:
    """Return the state before the first update, after checking that the config is the process's own."""
    check_call(process, config, inputs)
    exact_float32(inputs.device)
    return process.init(config, inputs)


def check_call(process: Process, config: Any, inputs: Any, state: Any = None) -> None:
    """Raise if these do not belong together.

    A process, a config of its own, inputs, and a state of its own if one is given.
    """
    check_process("process", process)
    if type(config) is not process.Config:  # not isinstance: a method's Config may extend another's
        errors.fail("config", f"a {process.NAME} Config", config)
    if not isinstance(inputs, Inputs):
        errors.fail("inputs", "an Inputs", inputs)
    reads_labels = not getattr(process, "WITHOUT_LABELS", False)
    if reads_labels:
        source = inputs.data or inputs.distilled
        for teacher in inputs.teachers:
            _check_names("teacher", teacher.class_names, source, strict=True)
            warn_of_other_normalisation("teacher", teacher, source)
    if state is not None:
        errors.check_instance("state", state, process.State, f"a State of {process.NAME}")
        errors.check_integer("state.step", state.step, 0)


def check_process(argument: str, process: Any) -> Process:
    """Return `process` if it has what every process has; the error names what is missing."""
    parts = ("NAME", "Config", "State", "total_steps", "init", "update", "finish")
    missing = []
    for name in parts:
        if not hasattr(process, name):
            missing.append(name)
    if missing:
        beside = "" if len(missing) == len(parts) else f", with {', '.join(missing)} as well"
        errors.fail(
            argument,
            "a process module (ddlab.methods.get(name), ddlab.training.supervised, your "
            f"own){beside}",
            process,
        )
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


def _steps(process: Process, config: Any, inputs: Inputs, state: Any) -> Iterator[Step]:
    from . import threads

    exact_float32(inputs.device)
    total = process.total_steps(config, inputs)
    count = threads.thread_count(config, inputs)
    while state.step < total:
        before = state.step
        with threads.limit_threads(count):
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


def run(
    process: Process,
    config: Any,
    inputs: Inputs,
    *,
    state: Any = None,
    on_step: Callable[[Step], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 30.0,
    resume_anyway: bool = False,
    keep_checkpoint: bool = False,
    progress: bool = False,
) -> Any:
    """Drive a process to its end and return what `finish` makes of it.

    Args:
        state: where to start; default the checkpoint if it exists, else the beginning.
        on_step: called after every update.
        checkpoint: file that is written every `checkpoint_seconds` and on interrupt; when it exists
            the run goes on there. It is taken away when the run is complete, unless
            `keep_checkpoint`.
        resume_anyway: also where the process's source was edited since.
        progress: write one line of progress to standard output.

    On a keyboard interrupt the run stops after the last whole update, the checkpoint is written and
    `finish` returns what there is, marked as not complete; a line on standard output says so.
    """
    from . import Keep, Run

    run = Run(process, config, inputs, state=state, keep=Keep(()), states=0)
    options: dict[str, Any] = {
        "checkpoint_seconds": checkpoint_seconds,
        "resume_anyway": resume_anyway,
    }
    options["keep_checkpoint"] = keep_checkpoint
    return run.to_end(checkpoint=checkpoint, progress=progress, on_step=on_step, **options)


def require_data(name: str, inputs: Inputs) -> ImageData:
    """Return the data of `inputs`, or the error that it is missing."""
    errors.check_instance("inputs", inputs, Inputs)
    if inputs.data is None:
        raise DDLabError(f"data must be given to {name}; given None.")
    return inputs.data


def require_teacher(name: str, inputs: Inputs) -> Network:
    """Return the first teacher of `inputs`, or the error that it is missing."""
    errors.check_instance("inputs", inputs, Inputs)
    if not inputs.teachers:
        raise DDLabError(f"teacher must be given to {name}; given none.")
    return inputs.teachers[0]
