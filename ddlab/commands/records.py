"""The records: long sweeps whose tables are shipped.

examples:
  ddlab records                                         lists them: rows, CPU-minutes, where they come from
  ddlab records variance_sweep --jobs 2                 computes the missing points, then writes the table
  ddlab records cifar10_small --data folder:PATH        images of your own copy
  ddlab records cifar10_paper --data folder:PATH --device cuda
  ddlab records NAME --dask tcp://HOST:8786             the workers of a dask cluster compute
  ddlab records NAME --smoke                            a few images and steps, to see that all of it runs
  ddlab records --teachers                              trains the teachers that are shipped with the records anew

Finished points stay in the work folder, so an interrupted sweep goes on where it was. A point that fails is reported and the others
are computed; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from . import arguments

WORK = Path(".ddlab-cache") / "records"


def add(commands: Any) -> None:
    """Add the command to `ddlab`."""
    options = arguments.add(commands, "records", __doc__, run)
    options.add_argument("name", nargs="?", metavar="NAME", help="of a sweep (default: list them)")
    arguments.add_workers(options, "of one thread each", default="auto")
    options.add_argument("--data", help="the images, as ddlab.data.load names them: folder:PATH")
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda", "auto"))
    options.add_argument("--limit", type=int, help="compute at most so many points now")
    options.add_argument("--work", type=Path, default=WORK, help=f"where finished points are kept (default {WORK})")
    options.add_argument("--out", type=Path, help="where the table is written; default: among the shipped ones")
    options.add_argument(
        "--partial", action="store_true", help="write the table of what is there, marked as not complete"
    )
    options.add_argument("--teachers", action="store_true", help="train the shipped teachers anew")
    options.add_argument("--smoke", action="store_true", help="a few images and steps through the same code")


def run(options: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    """List the records, make one, or train the shipped teachers."""
    from ..records import self_supervised, setting

    if options.teachers:
        files = [str(file) for file in (*setting.train_shipped(), self_supervised.train_shipped())]
        print("\n".join(f"written: {file}" for file in files))
        return 0, {"written": files}
    if options.name is None:
        return 0, {"records": listing()}
    try:
        return make(options, command_of(options))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the same command goes on from the points that are done") from None


def command_of(options: argparse.Namespace) -> str:
    """The command that makes the same numbers anywhere: a record is read elsewhere, where the folders of this machine say nothing."""
    words = ["ddlab records", options.name, f"--jobs {options.jobs}"]
    if options.data:
        kind, colon, _ = options.data.partition(":")
        words.append(f"--data {kind}:PATH" if colon else f"--data {kind}")
    if options.device != "cpu":
        words.append(f"--device {options.device}")
    return " ".join(words + ["--smoke"] * options.smoke)


def make(options: argparse.Namespace, command: str) -> tuple[int, dict[str, Any]]:
    """Compute the missing points of a sweep and write its table when all are there (or what is there, with --partial)."""
    from ..core import errors
    from ..records import SWEEPS, Place, record, runner

    chosen = SWEEPS[errors.check_choice("NAME", options.name, tuple(SWEEPS))]
    folder = options.work / (f"{chosen.name}-smoke" if options.smoke else chosen.name)
    place = Place(data=options.data, device=options.device, folder=folder, smoke=options.smoke)
    shown = arguments.progress(options)
    found = runner.run(chosen, place, jobs=options.jobs, dask=options.dask, limit=options.limit, progress=shown)
    for number, problem in found.failures.items():
        print(f"{chosen.name}: {chosen.settings[number]} failed: {problem}", file=sys.stderr)
    there, total = len(found.rows), len(chosen.settings)
    print(f"{chosen.name}: {there} of {total} points are there, in {folder}")
    path = None
    if there == total or (options.partial and there):
        # A smoke run's numbers mean nothing: they never become a shipped table.
        path = options.out or (folder if options.smoke else record.TABLES) / f"{chosen.name}.json"
        runner.table(chosen, found, command).save(path)
        print(f"written: {path}{'' if there == total else ' (marked as not complete)'}")
    failures = [{"setting": chosen.settings[number], "problem": problem} for number, problem in found.failures.items()]
    table = None if path is None else str(path)
    return 1 if failures else 0, {
        "name": chosen.name,
        "points": there,
        "of": total,
        "failures": failures,
        "table": table,
    }


def listing() -> list[dict[str, Any]]:
    """The records and sweeps, one a line: name, rows, CPU-minutes, commit, machine; returned as JSON types."""
    from ..records import SWEEPS, record

    listed = []
    for name in sorted({*SWEEPS, *record.names()}):
        if name not in record.names():
            print(f"{name}: not made yet, {len(SWEEPS[name].settings)} points")
            listed.append({"name": name, "rows": 0, "complete": False, "provenance": {}})
            continue
        found = record.load(name)
        made = found.provenance
        listed.append({"name": name, "rows": len(found), "complete": found.complete, "provenance": made})
        print(
            f"{name}: {len(found)} rows{'' if found.complete else ' (not complete)'}, {made.get('cpu_seconds', 0) / 60:.0f} CPU-minutes, "
            f"commit {made.get('commit')}, {made.get('machine')}, {made.get('date')}, torch {made.get('torch')}"
        )
    return listed
