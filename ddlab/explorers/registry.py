"""The explorers of a kernel by name, so that a cell that runs again closes what it replaces."""

from __future__ import annotations

import threading
from typing import Protocol, TypeVar

from ..core.errors import check_function, fail


class Closable(Protocol):
    """Anything with `close()`."""

    def close(self) -> None:
        """End all threads and widgets."""
        ...


Kept = TypeVar("Kept", bound=Closable)

_kept: dict[str, Closable] = {}
_lock = threading.Lock()


def replace(key: str, explorer: Kept) -> Kept:
    """Keep `explorer` under `key` and close the one that was there before; returns `explorer`."""
    if not isinstance(key, str) or not key:
        fail("key", "a text that is not empty", key)
    check_function("explorer.close", getattr(explorer, "close", None))
    with _lock:
        before = _kept.get(key)
        _kept[key] = explorer
    if before is not None and before is not explorer:
        before.close()
    return explorer


def close_all() -> None:
    """Close every explorer that is kept, as at the end of a lesson."""
    with _lock:
        before = list(_kept.values())
        _kept.clear()
    for explorer in before:
        explorer.close()
