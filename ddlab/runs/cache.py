"""Computed things keyed by content: the same process, config, data and teacher give the same result, so it is computed once.

The same where it is computed: a key also holds the source, the device, the version of torch and its threads, which change the last bits.

In memory always (the last `MEMORY` results); on disk too when a folder is given, for results that can be saved.
"""

from __future__ import annotations

import contextlib
import copy
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..core import errors, storage
from ..core.errors import DDLabError
from ..core.source import source
from . import process as driver
from .checkpoint import as_json
from .process import Inputs
from .threads import wanted

MEMORY = 64
_results: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


def remember(
    compute: Callable[[], Any], *parts: Any, device: torch.device | str = "cpu", count: int | None = None
) -> Any:
    """`compute()`, or what it gave before for the same parts (tensors, configs, JSON types).

    Args:
        device: where it computes. count: of its threads, default torch's.
    """
    errors.check_function("compute", compute)
    return _found(_key(compute, device, count, *parts), compute)


def find(code: Any, *parts: Any, device: torch.device | str = "cpu", count: int | None = None) -> Any | None:
    """What `remember` keeps for the same parts, or None.

    Args:
        code: the function that computes it, or another of its package. count: as there.
    """
    errors.check_function("code", code)
    with _lock:
        return copy.deepcopy(_results.get(_key(code, device, count, *parts)))


def _key(code: Any, device: torch.device | str, count: int | None, *parts: Any) -> str:
    return storage.fingerprint(parts, source(code), str(device), torch.__version__, count or torch.get_num_threads())


def _found(key: str, compute: Callable[[], Any]) -> Any:
    """A copy each time: what one reader changes in place is nobody else's."""
    with _lock:
        if key in _results:
            _results.move_to_end(key)
            return copy.deepcopy(_results[key])
    result = compute()
    kept = copy.deepcopy(result)
    with _lock:
        _results[key] = kept
        while len(_results) > MEMORY:
            _results.popitem(last=False)
    return result


def run(
    process: Any,
    config: Any,
    inputs: Inputs,
    *,
    folder: str | os.PathLike[str] | None = None,
    load: Callable[[Path], Any] | None = None,
    **options: Any,
) -> Any:
    """`process.run(...)` through the cache.

    Args:
        folder, load: keep the result in this folder (by its `save`) and read it back by `load`. A broken file, or one that says it is
            of something else, is computed anew; a result that cannot be written is returned, with a warning.
        options: of `ddlab.runs.process.run`.

    An interrupted result (complete is False) is returned and not kept.
    """
    driver.check_call(process, config, inputs)
    errors.check_function("load", load, optional=True)
    folder = None if folder is None else storage.checked_path(folder, "folder", "a folder's path")
    key = _key(process, inputs.device, wanted(config, inputs), process.NAME, config, inputs.fingerprint)

    def compute() -> Any:
        file = None if folder is None else folder / f"{process.NAME}-{key}.safetensors"
        if file is not None and load is not None and file.exists():
            with contextlib.suppress(DDLabError):
                found = load(file)
                if _is_of(found, process, config, inputs):
                    return found
        result = driver.run(process, config, inputs, **options)
        if is_partial(result):
            raise _Partial(result)
        if file is not None:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.unlink(missing_ok=True)  # a broken one
                result.save(file)
            except (DDLabError, OSError) as problem:
                warnings.warn(f"the result is not kept in {str(folder)!r}: {problem}", stacklevel=2)
        return result

    try:
        return _found(key, compute)
    except _Partial as partial:
        return partial.result


def _is_of(result: Any, process: Any, config: Any, inputs: Inputs) -> bool:
    """Whether a file's own account of itself names this run; what it does not say is not asked for."""
    wanted = {"method": process.NAME, "process": process.NAME, "inputs": inputs.fingerprint}
    wanted["config"] = as_json(config)
    said = getattr(result, "provenance", {})
    return not is_partial(result) and all(said.get(name, value) == value for name, value in wanted.items())


def clear() -> None:
    """Forget what is in memory."""
    with _lock:
        _results.clear()


def is_partial(result: Any) -> bool:
    """Whether a result is of an interrupted run."""
    complete = getattr(result, "complete", True) and getattr(result, "provenance", {}).get("complete", True)
    return complete is False


class _Partial(Exception):
    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result
