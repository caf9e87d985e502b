"""Checkpoints: the State of any process in one file.

With it come config, inputs, and the source of the process.

What a State may be made of, field by field: tensors, None, bool, int, float and str, lists, tuples
and dicts of these (keys: str or int), and dataclasses that its annotations name, such as `Network`.
The file says what each part is, so an annotation may be as wide as `Any` or `dict`. Anything else
is refused before the first update, by its name.
"""

import contextlib
import dataclasses
import json
import os
import time
import typing
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.nn import Parameter

from ..core import DDLabError, Parameters, errors, storage
from ..core.source import source, unhashable
from .inputs import Inputs
from .process import Process

if TYPE_CHECKING:
    from .run import Run

_ALLOWED = (
    "made of tensors, None, bool, int, float, str, lists, tuples, dicts with str or int keys, "
    "and dataclasses it names"
)
_PARTS = {"process": str, "config": dict, "inputs": str, "source": str, "step": int, "state": dict}
_PLAIN = (type(None), bool, int, float, str)


def save(
    path: str | os.PathLike[str], process: Process, config: Any, inputs: Inputs, state: Any
) -> Path:
    """Write a State atomically; the file it replaces stays until the new one is whole.

    Raises:
        DDLabError: a State that holds what no file can, or a path that cannot be written to.
    """
    path = storage.checked_path(path)
    _check(process, config, inputs)
    if not dataclasses.is_dataclass(state) or isinstance(state, type):
        errors.fail("state", f"a State of {process.NAME}", state)
    # The step stands outside of the State too, so that a message can name it without reading
    # tensors.
    step = errors.check_integer("state.step", getattr(state, "step", None), 0)
    tensors: dict[str, Tensor] = {}
    description = {
        "process": process.NAME,
        "config": config.to_dict(),
        "inputs": inputs.fingerprint,
        "source": source(process),
        "step": step,
        "state": _to_json(state, "state", tensors, _dataclasses(process.State)),
    }
    storage.save(path, tensors, description, "checkpoint")
    return path


def load(
    path: str | os.PathLike[str],
    process: Process,
    config: Any,
    inputs: Inputs,
    *,
    resume_anyway: bool = False,
) -> Any:
    """Read a State, ready to go on.

    Args:
        resume_anyway: also where the process's source was edited since.

    Raises:
        DDLabError: a missing, damaged or foreign file, or a checkpoint of another process, source,
            config, data or teacher.
    """
    path = storage.checked_path(path)
    _check(process, config, inputs)
    tensors, header = storage.load(path, "checkpoint")
    with storage.made_from(path, "checkpoint"):
        for part, kind in _PARTS.items():
            errors.check_instance(part, header[part], kind, f"a {kind.__name__}")
    # Before any tensor is looked at: a checkpoint of other data would resume without an error and
    # give a wrong result.
    _check_is_of(path, header, process, config, inputs, resume_anyway)
    with storage.made_from(path, "checkpoint"):
        state = _from_json(header["state"], tensors, _dataclasses(process.State), inputs.device)
        errors.check_instance("state", state, process.State, f"a State of {process.NAME}")
        errors.check_integer("state.step", state.step, 0, process.total_steps(config, inputs))
    return state


def remove(path: str | os.PathLike[str]) -> None:
    """Take a checkpoint away, if it is there.

    Raises:
        DDLabError: what is no file, or not ours to take away.
    """
    path = storage.checked_path(path)
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        raise DDLabError(
            f"path must be a file that can be taken away; given {str(path)!r} ({problem.strerror})."
        ) from problem


def _check_is_of(
    path: Path,
    header: dict[str, Any],
    process: Process,
    config: Any,
    inputs: Inputs,
    resume_anyway: bool,
) -> None:
    """Raise if a file's header names another process, config, inputs or source."""
    if header["process"] != process.NAME:
        raise DDLabError(
            f"checkpoint must be of {process.NAME}; given {str(path)!r} of {header['process']}."
        )
    # Compared as JSON, where a tuple is a list.
    config_fields = as_json(config)
    if header["config"] != config_fields:
        file_fields = header["config"]
        # Fields of either side: a config that has gained a field since is another one.
        differing_fields = [
            n for n in {*config_fields, *file_fields} if file_fields.get(n) != config_fields.get(n)
        ]
        differing = sorted(differing_fields)
        values = ", ".join(f"{name}={file_fields.get(name)!r}" for name in differing)
        raise DDLabError(
            f"checkpoint must be of the config given; given {str(path)!r} with {values}."
        )
    if header["inputs"] != inputs.fingerprint:
        raise DDLabError(
            f"checkpoint must be of the data and teacher given ({inputs.fingerprint}); given "
            f"{str(path)!r} of others ({header['inputs']})."
        )
    if header["source"] != source(process) and not errors.check_boolean(
        "resume_anyway", resume_anyway
    ):
        # Two reasons that read alike: the code was edited, or it holds something that nobody can
        # compare.
        names = ", ".join(map(repr, unhashable(process)))
        reason = (
            f"and {names}, which cannot be compared with what it was"
            if names
            else "of another source"
        )
        raise DDLabError(
            f"checkpoint must be of {process.NAME} as it is now; given {str(path)!r} {reason}: "
            "resume_anyway=True goes on from it."
        )


def check_comes_back(
    path: str | os.PathLike[str], process: Process, config: Any, inputs: Inputs, state: Any
) -> None:
    """Read the file back and compare.

    A field that its dataclass changes when it is made would come back as another.

    Raises:
        DDLabError: a field is not what it was.
    """
    kinds_by_name = _dataclasses(process.State)
    # Once, before the first update: a dataclass whose `__post_init__` rounds a number would resume
    # from another State than the one that was left.
    read = load(path, process, config, inputs)
    for field in dataclasses.fields(state):
        before = _identity(getattr(state, field.name), kinds_by_name)
        after = _identity(getattr(read, field.name), kinds_by_name)
        if before != after:
            errors.fail(
                f"State.{field.name}",
                "what comes back from a file as it was",
                getattr(state, field.name),
            )


def _check(process: Process, config: Any, inputs: Any) -> None:
    if not (
        isinstance(getattr(process, "NAME", None), str)
        and isinstance(getattr(process, "State", None), type)
    ):
        errors.fail(
            "process",
            "a process module (ddlab.methods.get(name), ddlab.training.supervised)",
            process,
        )
    errors.check_instance("config", config, Parameters, f"a {process.NAME} Config")
    errors.check_instance("inputs", inputs, Inputs)


def as_json(config: Parameters) -> dict[str, Any]:
    """Return a config as it comes back from a file, to be compared with one."""
    return json.loads(json.dumps(config.to_dict()))


def _dataclasses(state: type) -> dict[str, type]:
    """Return the dataclasses that a State's annotations name, by name.

    Its own class, and those of their fields, are among them.
    """
    kinds_by_name: dict[str, type] = {}
    # A list of what is still to be looked at instead of recursion: two dataclasses may name each
    # other.
    waiting: list[Any] = [state]
    while waiting:
        kind = waiting.pop()
        waiting += typing.get_args(kind)
        if (
            isinstance(kind, type)
            and dataclasses.is_dataclass(kind)
            and kind not in kinds_by_name.values()
        ):
            name = kind.__qualname__
            # Two modules may both have a `State`; the first keeps the short name.
            kinds_by_name[f"{kind.__module__}.{name}" if name in kinds_by_name else name] = kind
            try:
                waiting += typing.get_type_hints(kind).values()
            except (NameError, TypeError) as problem:
                raise DDLabError(
                    f"{kind.__qualname__} must have annotations that can be read; given {problem}."
                ) from problem
    return kinds_by_name


def _to_json(
    value: Any, name: str, tensors: dict[str, Tensor], kinds_by_name: dict[str, type]
) -> Any:
    """Return `value` as JSON types; its tensors go to `tensors`.

    Anything but a number or a text becomes {kind: content}.
    """

    def parts(items: Iterable[tuple[Any, Any]]) -> list[Any]:
        return [_to_json(item, f"{name}.{key}", tensors, kinds_by_name) for key, item in items]

    kind = type(value)
    if kind in _PLAIN:
        return value
    if issubclass(kind, Tensor) and kind is not Parameter:
        # Numbered, because names of fields need not be unique once dicts are nested.
        key = f"{len(tensors)} {name}"
        tensors[key] = value
        return {"tensor": key, "requires_grad": value.requires_grad}
    # `kind in` and no isinstance: a NamedTuple would come back as a plain tuple, without its names.
    if kind in (list, tuple):
        return {kind.__name__: parts(enumerate(value))}
    if kind is dict and all(type(key) in (str, int) for key in value):
        return {"dict": [list(value), parts(value.items())]}
    kind_name = next((item for item in kinds_by_name if kinds_by_name[item] is kind), None)
    if kind_name is not None:
        # A config or a spec knows its own form; the fields of these classes may be classes in turn.
        if hasattr(kind, "from_dict"):
            return {"made": kind_name, "from": value.to_dict()}
        names = [field.name for field in dataclasses.fields(value)]
        return {
            "made": kind_name,
            "of": [names, parts((field_name, getattr(value, field_name)) for field_name in names)],
        }
    # "State.momentum", as its author has written it.
    return errors.fail(name.replace("state", "State", 1), _ALLOWED, value)


def _from_json(
    written: Any, tensors: dict[str, Tensor], kinds_by_name: dict[str, type], device: Any
) -> Any:
    """Return the inverse of `_to_json`."""

    def parts(items: Iterable[Any]) -> list[Any]:
        return [_from_json(item, tensors, kinds_by_name, device) for item in items]

    if not isinstance(written, dict):
        return written
    if "tensor" in written:
        return tensors[written["tensor"]].to(device).requires_grad_(written["requires_grad"])
    if "dict" in written:
        keys, values = written["dict"]
        return dict(zip(keys, parts(values), strict=True))
    if "made" in written:
        kind: Any = kinds_by_name[written["made"]]
        if "from" in written:
            return kind.from_dict(written["from"])
        names, values = written["of"]
        return kind(**dict(zip(names, parts(values), strict=True)))
    return tuple(parts(written["tuple"])) if "tuple" in written else parts(written["list"])


def _identity(value: Any, kinds_by_name: dict[str, type]) -> str:
    """Return a hash of a field's value, tensors included."""
    tensors: dict[str, Tensor] = {}
    written = _to_json(value, "", tensors, kinds_by_name)
    return storage.fingerprint(written, tensors)


class Autosave:
    """The file of a run under way, for `Run.to_end`; without a path it does nothing.

    Args:
        seconds: between two writings.
    """

    def __init__(self, run: "Run", path: Path | None, seconds: float) -> None:
        self._run = run
        self._path = path
        self._seconds = seconds
        self._parts = (run.process, run.config, run.inputs)
        self._written = time.monotonic()
        self._step = 0
        self._warned = False

    @property
    def exists(self) -> bool:
        """True if there is a file to go on from."""
        return self._path is not None and self._path.exists()

    def load(self, resume_anyway: bool) -> Any:
        """Return the State in the file."""
        assert self._path is not None
        return load(self._path, *self._parts, resume_anyway=resume_anyway)

    def begin(self) -> None:
        """Write the first file.

        What cannot be written or read back is known before the work, not after it.
        """
        if self._path is not None:
            self._run.check_finite()
            save(self._path, *self._parts, self._run.state())
            check_comes_back(self._path, *self._parts, self._run.state())
            self._step = self._run.step

    def save_when_due(self) -> None:
        """Write the file if enough time has passed."""
        # By time and not by steps: a step takes a millisecond in one method and a minute in
        # another.
        if time.monotonic() - self._written > self._seconds:
            self.save()
            self._written = time.monotonic()

    def save(self, at_end: bool = False) -> None:
        """Write the file.

        Where that fails a warning says so, because the run is worth more than its copy.
        """
        if self._path is None:
            return
        # A checkpoint that holds NaN would end every run that goes on from it.
        self._run.check_finite()
        try:
            save(self._path, *self._parts, self._run.state())
            self._step = self._run.step
        # A second Ctrl+C while the last file is written: the old file is whole, so the result is
        # worth more than this one.
        except KeyboardInterrupt:
            if not at_end:
                raise
            self._warn("interrupted")
        except DDLabError as problem:
            # Once while it runs: on a full disk every half minute would repeat the sentence.
            if at_end or not self._warned:
                self._warn(str(problem).rstrip("."))

    def remove(self) -> None:
        """Remove the file of a run that is complete."""
        if self._path is not None:
            with contextlib.suppress(DDLabError):
                remove(self._path)

    def _warn(self, reason: str) -> None:
        state_of_file = f"checkpoint {str(self._path)!r} is still of step {self._step}"
        warnings.warn(
            f"{state_of_file}: step {self._run.step} could not be written ({reason}).", stacklevel=4
        )
        self._warned = True
