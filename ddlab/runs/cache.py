"""Remember results by content.

The same process, config, data and teacher give the same result, so it is computed once.

A key also holds the source code, the device, the version of torch and the number of threads,
because they change the last bits. What depends on a value that cannot be hashed, such as a random
generator, is computed each time.

In memory: the last `MEMORY` results.
"""

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from ..core import errors, storage
from ..core.source import source, unhashable
from .inputs import Inputs
from .process import Process
from .run import NOTHING, Run
from .threads import thread_count

# Results; the oldest go first.
MEMORY = 64
_results: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


def remember(
    compute: Callable[[], Any],
    *parts: Any,
    device: torch.device | str = "cpu",
    count: int | None = None,
) -> Any:
    """Return `compute()`, or its earlier result for the same parts (tensors, configs, JSON types).

    Args:
        device: where it computes.
        count: of its threads, default torch's.
    """
    errors.check_function("compute", compute)
    # A random generator in a closure, say: its next numbers depend on how often it was asked
    # before.
    if unhashable(compute):
        return compute()
    return _look_up(_key(compute, device, count, *parts), compute)


def find(
    code: Any, *parts: Any, device: torch.device | str = "cpu", count: int | None = None
) -> Any | None:
    """Return what `remember` keeps for the same parts, or None.

    Args:
        code: the function that computes it, or another of its package.
        count: as there.
    """
    errors.check_function("code", code)
    if unhashable(code):
        return None
    with _lock:
        return copy.deepcopy(_results.get(_key(code, device, count, *parts)))


def _key(code: Any, device: torch.device | str, count: int | None, *parts: Any) -> str:
    return storage.fingerprint(
        parts, source(code), str(device), torch.__version__, count or torch.get_num_threads()
    )


def _look_up(key: str, compute: Callable[[], Any]) -> Any:
    """Return the remembered result, or compute it.

    Each reader gets a copy: what one changes in place is nobody else's.
    """
    with _lock:
        if key in _results:
            _results.move_to_end(key)
            return copy.deepcopy(_results[key])
    # Outside the lock: two threads may compute the same thing, but none waits minutes for another's
    # result.
    result = compute()
    # Copied before anybody gets hold of it; the caller may write into what it receives.
    stored = copy.deepcopy(result)
    with _lock:
        _results[key] = stored
        while len(_results) > MEMORY:
            _results.popitem(last=False)
    return result


def run(process: Process, config: Any, inputs: Inputs, **options: Any) -> Any:
    """Return the result of a whole run through the cache. A run that was interrupted raises.

    Args:
        options: of `ddlab.runs.Run.to_end`.

    Raises:
        KeyboardInterrupt: the run was interrupted: it is one of several, and the next one is not
            wanted either.
    """
    # Also where the result is remembered: a wrong argument is an error the second time too.
    pending = Run(process, config, inputs, keep=NOTHING)
    if unhashable(process):
        return whole(pending.to_end(**options))
    key = _key(
        process,
        inputs.device,
        thread_count(config, inputs),
        process.NAME,
        config,
        inputs.fingerprint,
    )
    return _look_up(key, lambda: whole(pending.to_end(**options)))


def clear() -> None:
    """Forget what is in memory."""
    with _lock:
        _results.clear()


def is_partial(result: Any) -> bool:
    """Return whether a result comes from an interrupted run."""
    # A distilled set says it itself, a network in its provenance.
    complete = getattr(result, "complete", True) and getattr(result, "provenance", {}).get(
        "complete", True
    )
    return complete is False


def whole(result: Any) -> Any:
    """Return the result of a run that came to its end.

    Whoever does several runs calls this on each.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    if is_partial(result):
        raise KeyboardInterrupt("a run was interrupted before its end")
    return result
