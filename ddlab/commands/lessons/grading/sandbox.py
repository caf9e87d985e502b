"""What a submission's process may reach and use up; `watching` holds it from outside.

`confine` is the first thing that the student's process does, before it imports anything of weight: limits, Landlock (Linux 5.13 and later:
it reads Python's own folders, writes into its own, and reaches no other process and no TCP port), and, of root, another user. Where
bubblewrap works, the process starts inside it and has its own processes and no network besides. `isolation` says what a machine has.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[4]
_INSIDE = "DDLAB_IN_BUBBLEWRAP"
LIBC = ctypes.CDLL(None, use_errno=True)
_PARENT_DEATH, _KEEP_CAPABILITIES, _NO_NEW_PRIVILEGES = 1, 8, 38  # of prctl(2)
_RULESET, _RULE, _RESTRICT = 444, 445, 446  # Landlock's system calls
_READ = 0b1101  # of Landlock's rights: execute, read files, list folders
_FOR_FILES = 0b1100000000000111  # those of Landlock's rights that a file can have
_READ_ANYTHING = 1 << 2  # CAP_DAC_READ_SEARCH; what may be read is Landlock's


@dataclass(frozen=True)
class Limits:
    """What a submission may use. Memory, processes and files are those of all its processes together."""

    seconds_per_cell: float = 600
    seconds: float = 3600
    megabytes: int = 4096
    processes: int = 64
    output_megabytes: int = 64
    file_megabytes: int = 256
    files: int = 2000
    answer_megabytes: int = 64


def command(module: str, *arguments: str) -> list[str]:
    """A Python that runs `module` of this package's `main`: no current folder, no PYTHONPATH and no user's packages on its path.

    The package is the one that runs now, be it installed or a working tree.
    """
    start = f"import sys; root = {str(ROOT)!r}; root in sys.path or sys.path.insert(0, root); "
    start += f"from {__package__} import {module}; {module}.main()"
    return [sys.executable, "-I", "-P", "-B", "-c", start, *arguments]


def environment(folder: Path) -> dict[str, str]:
    """Variables for a process whose home is `folder`: of ours only how many threads there are and how they wait."""
    kept = ("OMP_", "MKL_", "OPENBLAS_", "NUMBA_NUM_THREADS", "LANG", "LC_")
    found = {name: value for name, value in os.environ.items() if name.startswith(kept)}
    home = dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), str(folder))
    # What is compared must be computed on the same device, and a graphics card is not among what is confined.
    return found | home | {"PATH": os.defpath, "USER": "student", "LOGNAME": "student", "CUDA_VISIBLE_DEVICES": ""}


@functools.cache
def readable() -> tuple[Path, ...]:
    """What a submission may read beside its own folder: Python, its packages, ddlab, the system's programs and libraries."""
    prefixes = {Path(prefix) for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)}
    paths = sysconfig.get_paths()
    found = {prefix / part for prefix in prefixes for part in ("bin", "lib", "lib64", "share", "pyvenv.cfg")}
    found |= {Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {Path(__file__).parents[3], Path(sys.executable).resolve()}
    found |= {Path(place) for place in ("/usr", "/bin", "/lib", "/lib64", "/etc", "/nix/store", "/sys/devices/system")}
    return tuple(sorted(place for place in found if place.exists()))


_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_ABOUT_THE_MACHINE = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory")


def confine(folder: Path, limits: Limits) -> None:
    """Take from this process, for good, whatever a submission does not need. It must have one thread.

    Raises:
        OSError: the machine has a means and refuses it: better no points than points of an open door.
    """
    sizes = {resource.RLIMIT_DATA: limits.megabytes * 2**20, resource.RLIMIT_FSIZE: limits.file_megabytes * 2**20}
    for what, most in {**sizes, resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: 256}.items():
        resource.setrlimit(what, (most, most))
    landlock = _landlock_version()
    if os.geteuid() == 0 and landlock and _INSIDE not in os.environ:
        _become(os.stat(folder).st_uid)
    # Threads count as processes. What this user runs elsewhere counts too, except inside bubblewrap.
    allowed = limits.processes + 4 * (os.cpu_count() or 1) + _tasks(os.getuid())
    resource.setrlimit(resource.RLIMIT_NPROC, (allowed, allowed))
    if sys.platform == "linux":
        LIBC.prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
        _checked(LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if landlock:
        _restrict(landlock, folder)


def _become(user: int) -> None:
    """From root to `user`, who may read what root may (Python may lie in root's home) and nothing else that root may."""
    _checked(LIBC.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0))
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    data = struct.pack("=6I", _READ_ANYTHING, _READ_ANYTHING, 0, 0, 0, 0)
    _checked(LIBC.capset(struct.pack("=Ii", 0x20080522, 0), data))


def _restrict(version: int, folder: Path) -> None:
    rights = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    # Since version 4: no TCP port is opened or asked; since 6: no signal and no abstract socket to anything outside.
    handled = struct.pack("=QQQ", rights, 0b11, 0b11)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = _checked(LIBC.syscall(_RULESET, handled, ctypes.c_size_t(len(handled)), 0))
    allowed: list[tuple[Path | str, int]] = [(folder, rights), *((place, _READ) for place in readable())]
    allowed += [(place, 0b110) for place in _DEVICES] + [(place, _READ) for place in _ABOUT_THE_MACHINE]
    for place, wanted in allowed:
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(place, os.O_PATH | os.O_CLOEXEC)
            given = wanted & rights if os.path.isdir(place) else wanted & rights & _FOR_FILES
            _checked(LIBC.syscall(_RULE, rules, 1, struct.pack("=Qi", given, handle), 0))
            os.close(handle)
    _checked(LIBC.syscall(_RESTRICT, rules, 0))
    os.close(rules)


def _checked(returned: int) -> int:
    if returned < 0:
        raise OSError(ctypes.get_errno(), "this machine refuses to confine a submission")
    return returned


@functools.cache
def _landlock_version() -> int:
    """0 where there is none."""
    return max(LIBC.syscall(_RULESET, None, ctypes.c_size_t(0), 1), 0) if sys.platform == "linux" else 0


def _tasks(user: int) -> int:
    """How many threads this user runs."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found += len(os.listdir(process / "task")) if process.stat().st_uid == user else 0
    return found


def confines_signals() -> bool:
    """Whether a submission can end no process but its own."""
    return bubblewrap_works() or _landlock_version() >= 6


def isolation() -> str:
    """What keeps a submission from the rest of this machine, in one sentence."""
    landlock, bubble = _landlock_version(), bubblewrap_works()
    if bubble:
        return "submissions run in bubblewrap: they see no file, process or network of this machine"
    if landlock:
        words = "submissions run behind Landlock: they reach no file and no process of yours"
        return f"{words}; without bubblewrap (bwrap) they see which programs run, and the network is {_NETWORK[landlock >= 4]}"
    words = "there is neither bubblewrap (bwrap) nor Landlock here: a submission can read what you can read, hidden tests too"
    return f"{words}; grade with an account or in a container that holds nothing else"


_NETWORK = {False: "open", True: "closed for TCP only"}


@functools.cache
def bubblewrap_works() -> bool:
    """Many containers have the program and forbid what it does."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return not subprocess.run([*bubblewrap(Path("/var/empty")), "true"], capture_output=True, timeout=10).returncode
    return False


def bubblewrap(folder: Path) -> list[str]:
    """What stands before a command so that it runs in a world of its own, with `folder` for its home."""
    words = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    words += ["--cap-drop", "ALL"]
    for place in readable():
        words += ["--ro-bind", str(place), str(place)]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--setenv", _INSIDE, "1"]
    return [*words, "--bind-try", str(folder), str(folder), "--chdir", str(folder) if folder.exists() else "/"]
