"""The claims: what was declared before any run, what was found, and the runs that find it.

examples:
  ddlab claims                           all claims with their verdicts, one a line
  ddlab claims show D14                  one of them: statement, source, declared effect, numbers
  ddlab claims run                       every claim that two cores can try, with ten pairs: more than a lesson has time for
  ddlab claims run --lesson 00_start     those of one lesson; the others stay as they are
  ddlab claims run --table               only write the tables of CLAIMS.md and README.md

A run writes the record `lessons/verdicts.json` and the tables of CLAIMS.md and README.md.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import arguments

ROOT = Path(__file__).parents[2]
PAIRS = 10


def add(commands: Any) -> None:
    """Add the command to `ddlab`."""
    parser = arguments.add(commands, "claims", __doc__, run)
    parser.add_argument("action", nargs="?", default="list", choices=("list", "show", "run"))
    parser.add_argument("id", nargs="?", metavar="ID", help="show: the claim")
    parser.add_argument("--lesson", metavar="NAME", help="list, run: only the claims of this lesson")
    parser.add_argument("--table", action="store_true", help="run: only write the tables of CLAIMS.md and README.md")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"run: so many for each claim (default {PAIRS})")


def run(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """List, show or run."""
    from ..core import errors
    from ..lessons.claims import CLAIMS, EFFECTS

    if options.lesson:
        errors.check_choice("--lesson", options.lesson, tuple(EFFECTS))
    if options.action == "run":
        found = [] if options.table else measure([options.lesson] if options.lesson else list(EFFECTS), options.pairs)
        for page in tables():
            (ROOT / page).write_text(with_tables(page, (ROOT / page).read_text(encoding="utf-8")), encoding="utf-8")
        return 0, {"claims": [described(each) for each in found]}
    if options.action == "show":
        found = described(options.id)
        print("\n".join(f"{name}: {value}" for name, value in found.items() if value is not None))
        return 0, found
    listed = [described(claim.id) for claim in CLAIMS.values() if options.lesson in (None, claim.lesson)]
    for each in listed:
        print(f"{each['id']} ({each['lesson']}): {each['verdict']}")
    return 0, {"claims": listed}


def described(claim_id: str) -> dict[str, Any]:
    """A claim and its recorded verdict, as JSON types.

    Raises:
        DDLabError: an unknown claim; the nearest are named.
    """
    from ..lessons import claims

    known = claims.is_recorded(claim_id)
    claim = claims.CLAIMS[claim_id]
    words = {"id": claim.id, "lesson": claim.lesson, "statement": claim.statement, "source": claim.source}
    words["declared"] = claims.declared(claim)
    if not known:
        return words | {"verdict": "not run", "found": None, "setting": None}
    found = claims.recorded(claim.id)
    return words | {
        "verdict": claims.in_words(found),
        "found": found.numbers.text(claim.every),
        "setting": found.setting,
    }


def measure(lessons: list[str], pairs: int) -> list[str]:
    """Run the claims of these lessons and record the verdicts; returns the claims' ids."""
    from ..lessons import claims

    found = []
    for name in lessons:
        verdicts = claims.verdicts(name, pairs)
        claims.save(verdicts, provenance())
        found += [verdict.claim for verdict in verdicts]
        for verdict in verdicts:
            print(verdict, flush=True)
    return found


def provenance() -> dict[str, Any]:
    """Commit, machine and versions."""
    import torch

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "command": "ddlab claims run",
        "commit": commit or "unknown",
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def tables() -> dict[str, dict[str, Callable[[], str]]]:
    """Page -> name of a part -> what writes it."""
    from ..lessons import claims, contents

    return {
        "CLAIMS.md": {"claims": claims.table},
        "README.md": {"lessons": lambda: contents.index("notebooks/"), "methods": contents.method_index},
    }


def with_tables(page: str, text: str) -> str:
    """The text of a page of `tables` with the parts between their marks replaced."""
    for name, table in tables()[page].items():
        text = with_part(text, name, f"\n{table()}\n")
    return text


def with_part(text: str, name: str, content: str) -> str:
    """A page with `content` in the part that a command writes: between <!-- NAME: begin --> and <!-- NAME: end -->.

    Raises:
        DDLabError: the marks are missing, or stand in the wrong order.
    """
    from ..core.errors import DDLabError

    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise DDLabError(f"the page must have the marks {begin!r} and {end!r}; given one without them.")
    return f"{before}{begin}{content}{end}{after}"
