"""Where a number comes from: commit, machine, versions, date."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch


def of_machine(device: str = "cpu") -> dict[str, Any]:
    """What this process computes on; `device` is "cpu" or "cuda"."""
    return {
        "commit": _commit(),
        "machine": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if device != "cpu" and torch.cuda.is_available() else "cpu",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def summary(made: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One entry for many points: what they share as it is, what differs joined in words."""
    joined = {}
    for name in of_machine():
        different = list(dict.fromkeys(one[name] for one in made))
        joined[name] = different[0] if len(different) == 1 else ", ".join(map(str, different))
    return joined


@functools.cache
def _commit() -> str:
    """The commit of the source, with "+" when it was changed since; "unknown" where it stands in no repository."""
    here = Path(__file__).parent
    with_changes = ["git", "-C", str(here), "describe", "--always", "--abbrev=7", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(with_changes, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return "unknown"
    return found or "unknown"


@functools.cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
