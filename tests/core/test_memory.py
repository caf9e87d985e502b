"""How much memory is free: of the machine, or of the group that a job is in."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from ddlab.core import memory


def test_the_smaller_of_machine_and_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = tmp_path / "meminfo"
    machine.write_text("MemTotal:       9000 kB\nMemAvailable:   5000 kB\nHugePages_Total:       0\n")
    monkeypatch.setattr(memory, "_MACHINE", machine)
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    assert memory.free_bytes() == 5000 * 1024
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 300000\nfile 400000\n")  # files are given back when asked
    for limit, free in (("max", 5000 * 1024), ("1000000", 700_000), ("200000", 0)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        assert memory.free_bytes() == free
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory").mkdir()  # the older control groups
    for name, content in (("limit_in_bytes", "900000"), ("usage_in_bytes", "500000"), ("stat", "total_cache 1000\n")):
        (tmp_path / "memory" / f"memory.{name}").write_text(content)
    assert memory.free_bytes() == 401_000
    machine.unlink()  # a system that says nothing of itself
    (tmp_path / "memory" / "memory.stat").unlink()
    assert memory.free_bytes() > 2**28


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs glibc")
def test_what_was_freed_goes_back() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    kept = [
        bytearray(60_000) for _ in range(2000)
    ]  # small enough for the heap; the last one keeps the rest from being cut off
    del kept[:-1]
    held = resident()
    memory.give_back()
    assert held - resident() > 80e6, kept
