"""Checkpoints: the State of any process in one file, with the fingerprint of the config and the inputs it belongs to."""

from __future__ import annotations

import dataclasses
import os
import types
import typing
from pathlib import Path
from typing import Any

from torch import Tensor

from ..core import errors, storage
from ..core.errors import DDLabError
from ..core.parameters import Parameters
from .process import Inputs


def save(path: str | os.PathLike[str], process: Any, config: Any, inputs: Inputs, state: Any) -> Path:
    """Write a State atomically; the file it replaces stays until the new one is whole."""
    _check(process, config, inputs)
    if not dataclasses.is_dataclass(state) or isinstance(state, type):
        errors.fail("state", f"a State of {process.NAME}", state)
    step = errors.check_integer("state.step", getattr(state, "step", None), 0)
    tensors, plain = _flatten(state)
    description = {
        "process": process.NAME,
        "config": config.to_dict(),
        "inputs": inputs.fingerprint,
        "step": step,
        "plain": plain,
    }
    return storage.save(path, tensors, description, "checkpoint")


def load(path: str | os.PathLike[str], process: Any, config: Any, inputs: Inputs) -> Any:
    """Read a State, ready to go on.

    Raises:
        DDLabError: a missing, truncated or foreign file, or a checkpoint of another process, config, data or teacher.
    """
    _check(process, config, inputs)
    tensors, header = storage.load(path, "checkpoint")
    for part in ("process", "config", "inputs", "plain"):
        if part not in header:
            raise DDLabError(f"checkpoint must be whole; given {str(path)!r} without {part}.")
    if header["process"] != process.NAME:
        raise DDLabError(f"checkpoint must be of {process.NAME}; given {str(path)!r} of {header['process']}.")
    given = config.to_dict()
    if header["config"] != _as_json(given):
        kept = header["config"]
        differing = sorted(n for n in {*given, *kept} if kept.get(n) != _as_json(given.get(n)))
        values = ", ".join(f"{name}={kept.get(name)!r}" for name in differing)
        raise DDLabError(f"checkpoint must be of the config given; given {str(path)!r} with {values}.")
    if header["inputs"] != inputs.fingerprint:
        raise DDLabError(
            f"checkpoint must be of the data and teacher given ({inputs.fingerprint}); given {str(path)!r} of others ({header['inputs']})."
        )
    try:
        return _restore(process.State, "", tensors, header["plain"], inputs.device)
    except KeyError as missing:
        raise DDLabError(f"checkpoint must be whole; given {str(path)!r} without {missing}.") from missing


def _check(process: Any, config: Any, inputs: Any) -> None:
    if not (isinstance(getattr(process, "NAME", None), str) and isinstance(getattr(process, "State", None), type)):
        errors.fail("process", "a process module (ddlab.methods.get(name), ddlab.training.supervised)", process)
    errors.check_instance("config", config, Parameters, f"a {process.NAME} Config")
    errors.check_instance("inputs", inputs, Inputs, "an Inputs")


def _as_json(value: Any) -> Any:
    return [_as_json(item) for item in value] if isinstance(value, (tuple, list)) else value


def _flatten(value: Any, name: str = "") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and plain numbers by path; dict keys may hold dots, so "/" separates."""
    if isinstance(value, Tensor):
        return {name: value}, {}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif isinstance(value, dict):
        items = value
    else:
        return {}, {name: value}
    tensors: dict[str, Tensor] = {}
    plain: dict[str, Any] = {}
    for key, item in items.items():
        more_tensors, more_plain = _flatten(item, f"{name}/{key}" if name else key)
        tensors |= more_tensors
        plain |= more_plain
    return tensors, plain


def _restore(kind: Any, name: str, tensors: dict[str, Tensor], plain: dict[str, Any], device: Any) -> Any:
    if isinstance(kind, types.UnionType):
        if name in plain and plain[name] is None:
            return None
        parts = [part for part in typing.get_args(kind) if part is not type(None)]
        kind = next((part for part in parts if _fits(part, name, tensors, plain)), None)
        if kind is None:
            raise KeyError(name)
    if kind is Tensor:
        return tensors[name].to(device)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        path = f"{name}/" if name else ""
        return kind(
            **{  # type: ignore[operator]
                field.name: _restore(hints[field.name], path + field.name, tensors, plain, device)
                for field in dataclasses.fields(kind)
            }
        )
    if typing.get_origin(kind) is dict:
        prefix = f"{name}/"
        return {key.removeprefix(prefix): value.to(device) for key, value in tensors.items() if key.startswith(prefix)}
    return plain[name]


def _fits(kind: Any, name: str, tensors: dict[str, Tensor], plain: dict[str, Any]) -> bool:
    """Whether the stored paths under `name` are those of the dataclass `kind` (for a State that holds one of several kinds)."""
    if not dataclasses.is_dataclass(kind):
        return True
    found = {path.removeprefix(f"{name}/").split("/")[0] for path in (*tensors, *plain) if path.startswith(f"{name}/")}
    return found <= {field.name for field in dataclasses.fields(kind)}
