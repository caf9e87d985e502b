"""Scripts of the studies that others run."""

import subprocess
import sys
from pathlib import Path

import pytest

from ddlab.lessons.build import NOTEBOOKS

ROWS = ("dc", "dd", "dm", "kip", "ld", "sldd")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_printed_numbers_are_made_on_a_cluster_and_stay(tmp_path: Path) -> None:
    command = [sys.executable, NOTEBOOKS / "studies" / "cluster.py", tmp_path]

    def made() -> list[str]:
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return sorted(line for line in run.stdout.splitlines() if "(printed:" in line)

    first = made()
    assert [line.split(":")[0] for line in first] == list(ROWS)
    times = {file: file.stat().st_mtime for file in tmp_path.rglob("*.safetensors")}
    assert made() == first
    assert times == {file: file.stat().st_mtime for file in tmp_path.rglob("*.safetensors")}
