"""The memory that counts is the least of the machine's, the container's and the shell's."""

import subprocess
import sys
from pathlib import Path

import pytest

from ddlab.core import memory


@pytest.mark.parametrize(
    ("groups", "name"),
    [
        ("0::/", "memory.max"),
        ("0::/jobs/7", "jobs/7/memory.max"),
        ("0::/jobs/7", "jobs/memory.max"),
        ("4:cpu,memory:/docker/1", "memory/docker/1/memory.limit_in_bytes"),
        ("4:memory:/elsewhere", "memory/memory.limit_in_bytes"),
    ],
)
def test_a_container_has_less_than_its_machine(
    groups: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").write_text(f"9:cpuset:/\n{groups}\n")
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "_CONTROL_GROUPS", tmp_path)
    of_machine = memory.half_of_memory()
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("1500000000\n")
    assert memory.half_of_memory() == 750_000_000 < of_machine
    (tmp_path / name).write_text("max\n")
    assert memory.half_of_memory() == of_machine


def test_a_shell_may_allow_less() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (10**9, -1))\n"
        f"import importlib.util as u; s = u.spec_from_file_location('m', {memory.__file__!r})\n"
        "m = u.module_from_spec(s); s.loader.exec_module(m); print(m.half_of_memory())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(run.stdout) == 500_000_000
