"""Runs every claim that two cores can try, with more pairs than a lesson has time for, and writes `verdicts.json` and the README's table.

python -m ddlab.lessons.record             all claims
python -m ddlab.lessons.record --table     only write the README's table from the record
"""

from __future__ import annotations

import argparse
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

from . import claims, inverting_a_network
from .readme import with_part

README = Path(__file__).parents[2] / "README.md"
PAIRS = 10


def run_all(pairs: int = PAIRS) -> list[claims.Verdict]:
    """All small claims, on the settings that their lessons state."""
    data, teacher = inverting_a_network.trained_on_digits()
    found = inverting_a_network.labels_and_images(data, teacher, pairs=pairs)
    labels = [a - b for a, b in zip(found["real, online"], found["real, hard"], strict=True)]
    images = [a - b for a, b in zip(found["recovered, online"], found["real, online"], strict=True)]
    lost = inverting_a_network.lost_diversity(data, teacher, pairs=pairs)
    setting = inverting_a_network.SETTING
    return [
        claims.judge(
            "D1", lost, setting="digits 16 px, ConvNet-3 of width 64, 3 images per class, 100 iterations, noise start"
        ),
        claims.judge("X1 labels", labels, setting=setting),
        claims.judge("X1 images", images, setting=setting),
    ]


def provenance() -> dict[str, Any]:
    """Commit, machine and versions."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "command": "python -m ddlab.lessons.record",
        "commit": commit or "unknown",
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def readme_with_table(text: str) -> str:
    """The README with the table between its two marks replaced."""
    return with_part(text, "claims", f"\n{claims.table()}\n")


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--table", action="store_true", help="only write the README's table from the record")
    options.add_argument("--pairs", type=int, default=PAIRS)
    chosen = options.parse_args()
    if not chosen.table:
        verdicts = run_all(chosen.pairs)
        claims.save(verdicts, provenance())
        for verdict in verdicts:
            print(verdict)
    README.write_text(readme_with_table(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
