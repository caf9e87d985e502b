"""How much memory is free, where a run would take it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import torch

_MACHINE = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")  # of the container or job that this is in: its limit counts, not the machine's
_FILES = (  # in it, of both versions of Linux' control groups: the limit, what is used, and of that the files
    ("memory.max", "memory.current", "memory.stat", "file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_cache"),
)


def free_bytes(device: torch.device | str = "cpu") -> int:
    """What can still be taken on a device, in bytes: of the CPU's memory with what the system gives back when asked."""
    if torch.device(device).type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # by torch, for later tensors
        return torch.cuda.mem_get_info(device)[0] + unused
    if _MACHINE.exists():
        free = _numbers(_MACHINE)["MemAvailable:"] * 1024
    else:  # a system that does not say it: half of what is built in
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    for most, now, parts, files in _FILES:
        try:
            limit, used = (int((_GROUP / name).read_text()) for name in (most, now))
            free = min(free, limit - used + _numbers(_GROUP / parts)[files])
        except (OSError, ValueError, KeyError):  # no group, or "max": none of its own
            pass
    return max(free, 0)


def give_back() -> None:
    """Return to the system what was freed but is still held for the next request: 100 MB in a lesson. Only glibc can do so."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _numbers(file: Path) -> dict[str, int]:
    rows = (line.split() for line in file.read_text().splitlines())
    return {name: int(number) for name, number, *_ in rows}


def text(count: float) -> str:
    """A number of bytes for a reader.

    >>> text(3_400_000), text(2.5e9)
    ('3 MB', '2.5 GB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(count / 1e6, 1):.0f} MB"
