"""Runs every claim that two cores can try, with more pairs than a lesson has time for, and writes `verdicts.json` and the pages' tables.

python -m ddlab.lessons.record                       all claims
python -m ddlab.lessons.record --lesson 00_start     those of one lesson; the others stay as they are
python -m ddlab.lessons.record --table               only write the tables of CLAIMS.md and README.md, from the record and the catalogue
"""

from __future__ import annotations

import argparse
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from . import (
    bases,
    bases_claims,
    claims,
    contents,
    diversity,
    diversity_claims,
    ideal_data,
    ideal_data_claims,
    inverting_a_network,
    residuals,
    residuals_claims,
    start_page,
    theory_claims,
)
from .readme import with_part

ROOT = Path(__file__).parents[2]
PAIRS = 10
# Page -> the tables between its marks.
TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "CLAIMS.md": {"claims": claims.table},
    "README.md": {"lessons": lambda: contents.index("notebooks/"), "methods": contents.method_index},
}


def run_start_page(pairs: int = PAIRS) -> list[claims.Verdict]:
    """The claims of the start page."""
    data, teacher = start_page.trained_on_shapes()
    conditions = [("random", "hard"), ("random", "online"), ("SRe2L", "online")]
    found = start_page.accuracies(data, teacher, pairs=pairs, conditions=conditions)
    return [
        claims.judge("X1 shapes labels", start_page.labels_effect(found), setting=start_page.SETTING),
        claims.judge("X1 shapes images", start_page.images_effect(found), setting=start_page.SETTING),
    ]


def run_lesson_20(pairs: int = PAIRS) -> list[claims.Verdict]:
    """The claims of lesson 20."""
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


RUNS: dict[str, Callable[[int], list[claims.Verdict]]] = {
    start_page.NAME: run_start_page,
    ideal_data.NAME: ideal_data_claims.verdicts,
    inverting_a_network.NAME: run_lesson_20,
    diversity.NAME: diversity_claims.verdicts,
    residuals.NAME: residuals_claims.verdicts,
    bases.NAME: bases_claims.verdicts,
    theory_claims.NAME: theory_claims.verdicts,
}


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


def with_tables(page: str, text: str) -> str:
    """The text of a page of `TABLES` with the tables between their marks replaced."""
    for name, table in TABLES[page].items():
        text = with_part(text, name, f"\n{table()}\n")
    return text


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--lesson", choices=tuple(RUNS), help="only the claims of this lesson")
    options.add_argument("--table", action="store_true", help="only write the tables of CLAIMS.md and README.md")
    options.add_argument("--pairs", type=int, default=PAIRS)
    chosen = options.parse_args()
    if not chosen.table:
        for name in [chosen.lesson] if chosen.lesson else RUNS:
            verdicts = RUNS[name](chosen.pairs)
            claims.save(verdicts, provenance())
            for verdict in verdicts:
                print(verdict)
    for page in TABLES:
        (ROOT / page).write_text(with_tables(page, (ROOT / page).read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
