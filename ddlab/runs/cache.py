"""Computed things keyed by content: the same process, config, data and teacher give the same result, so it is computed once.

The same where it is computed: a key also holds the source, the device, the version of torch and its threads, which change the last bits.

In memory always (the last `MEMORY` results); on disk too when a folder is given, for results that can be saved.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..core import errors, storage
from ..core.errors import DDLabError
from . import process as driver
from .process import Inputs
from .source import source

MEMORY = 64
_results: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


def remember(compute: Callable[[], Any], *parts: Any, device: torch.device | str = "cpu") -> Any:
    """`compute()`, or what it gave before for the same parts (tensors, configs, JSON types).

    Args:
        device: where it computes.
    """
    errors.check_function("compute", compute)
    return _found(_key(compute, device, *parts), compute)


def _key(code: Any, device: torch.device | str, *parts: Any) -> str:
    return storage.fingerprint(parts, source(code), str(device), torch.__version__, torch.get_num_threads())


def _found(key: str, compute: Callable[[], Any]) -> Any:
    with _lock:
        if key in _results:
            _results.move_to_end(key)
            return _results[key]
    result = compute()
    with _lock:
        _results[key] = result
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
        folder, load: keep the result in this folder (by its `save`) and read it back by `load`. A broken file is computed anew.
        options: of `ddlab.runs.process.run`.

    An interrupted result (complete is False) is returned and not kept.
    """
    driver.check_call(process, config, inputs)
    errors.check_function("load", load, optional=True)
    folder = None if folder is None else storage.checked_path(folder, "folder", "a folder's path")
    key = _key(process, inputs.device, process.NAME, config, inputs.fingerprint)

    def compute() -> Any:
        file = None if folder is None else folder / f"{process.NAME}-{key}.safetensors"
        if file is not None and load is not None and file.exists():
            try:
                return load(file)
            except DDLabError:
                file.unlink()
        result = driver.run(process, config, inputs, **options)
        if is_partial(result):
            raise _Partial(result)
        if file is not None:
            result.save(file)
        return result

    try:
        return _found(key, compute)
    except _Partial as partial:
        return partial.result


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
