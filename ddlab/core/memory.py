"""How much memory this process may take, asked before the work."""

import contextlib
import os
from pathlib import Path, PurePosixPath

_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def half_of_memory() -> float:
    """Return half of the bytes that this process may take, or no bound where nobody says.

    The least counts of the machine's memory, of what a container or a cluster's job is given, and
    of what the shell allows (`ulimit -v`).
    """
    return min(_of_the_machine(), _of_the_shell(), *_of_control_groups()) / 2


def _of_the_machine() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return float("inf")


def _of_the_shell() -> float:
    try:
        import resource
    except ImportError:  # not on Windows
        return float("inf")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def _of_control_groups() -> list[float]:
    """Return the limits of Linux's control groups, of both versions, from the root to this process."""
    try:
        lines = _OWN_GROUPS.read_text().splitlines()
    except OSError:
        lines = []
    # A container sees its own group as the root, whatever its path is called.
    folders = [_CONTROL_GROUPS, _CONTROL_GROUPS / "memory"]
    for line in lines:
        _, kinds, path = line.split(":", 2)
        root = _CONTROL_GROUPS / ("memory" if "memory" in kinds.split(",") else "")
        for group in (PurePosixPath(path), *PurePosixPath(path).parents):
            folders.append(root / group.relative_to("/"))
    limits = []
    for folder in folders:
        for name in ("memory.max", "memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError):  # not there, or "max"
                limits.append(float((folder / name).read_text()))
    return limits
