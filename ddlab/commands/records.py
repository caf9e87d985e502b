"""Makes the records: long sweeps whose tables are shipped.

python -m ddlab.records                                         lists them: rows, CPU-minutes, where they come from
python -m ddlab.records variance_sweep --jobs 2                 computes the missing points, then writes the table
python -m ddlab.records cifar10_small --data folder:PATH        images of your own copy
python -m ddlab.records cifar10_paper --data folder:PATH --device cuda
python -m ddlab.records NAME --dask tcp://HOST:8786             the workers of a dask cluster compute
python -m ddlab.records NAME --smoke                            a few images and steps, to see that all of it runs
python -m ddlab.records --teachers                              trains the teachers that are shipped with the records anew

Finished points stay in the work folder, so an interrupted sweep goes on where it was. A point that fails is reported and the others
are computed; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import DDLabError
from . import record, runner, self_supervised, setting
from .catalogue import SWEEPS
from .sweep import Place

WORK = Path(".ddlab-cache") / "records"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = _options().parse_args(given)
    if options.name is None and not options.teachers:
        print(listing())
        return 0
    try:
        if options.teachers:
            for file in (*setting.train_shipped(), self_supervised.train_shipped()):
                print(f"written: {file}")
            return 0
        return make(options, command_of(options))
    except DDLabError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from the points that are done", file=sys.stderr)
        return 130


def command_of(options: argparse.Namespace) -> str:
    """The command that makes the same numbers anywhere: a record is read elsewhere, where the folders of this machine say nothing."""
    words = ["python -m ddlab.records", options.name, f"--jobs {options.jobs}"]
    if options.data:
        kind, colon, _ = options.data.partition(":")
        words.append(f"--data {kind}:PATH" if colon else f"--data {kind}")
    if options.device != "cpu":
        words.append(f"--device {options.device}")
    return " ".join(words + ["--smoke"] * options.smoke)


def make(options: argparse.Namespace, command: str) -> int:
    """Compute the missing points of a sweep and write its table when all are there (or what is there, with --partial)."""
    chosen = SWEEPS[options.name]
    folder = options.work / (f"{chosen.name}-smoke" if options.smoke else chosen.name)
    place = Place(data=options.data, device=options.device, folder=folder, smoke=options.smoke)
    found = runner.run(chosen, place, jobs=options.jobs, dask=options.dask, limit=options.limit, progress=True)
    for number, problem in found.failures.items():
        print(f"{chosen.name}: {chosen.settings[number]} failed: {problem}", file=sys.stderr)
    there, total = len(found.rows), len(chosen.settings)
    print(f"{chosen.name}: {there} of {total} points are there, in {folder}")
    if there == total or (options.partial and there):
        # A smoke run's numbers mean nothing: they never become a shipped table.
        path = options.out or (folder if options.smoke else record.TABLES) / f"{chosen.name}.json"
        runner.table(chosen, found, command).save(path)
        print(f"written: {path}{'' if there == total else ' (marked as not complete)'}")
    return 1 if found.failures else 0


def listing() -> str:
    """The records and sweeps as text: name, rows, CPU-minutes, commit, machine."""
    lines = []
    for name in sorted({*SWEEPS, *record.names()}):
        if name not in record.names():
            lines.append(f"{name}: not made yet, {len(SWEEPS[name].settings)} points")
            continue
        found = record.load(name)
        made = found.provenance
        lines.append(
            f"{name}: {len(found)} rows{'' if found.complete else ' (not complete)'}, {made.get('cpu_seconds', 0) / 60:.0f} CPU-minutes, "
            f"commit {made.get('commit')}, {made.get('machine')}, {made.get('date')}, torch {made.get('torch')}"
        )
    return "\n".join(lines)


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m ddlab.records", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("name", nargs="?", choices=tuple(SWEEPS))
    options.add_argument(
        "--jobs", type=int, default=1, help="processes on this machine, one thread each; -1: one per core"
    )
    options.add_argument(
        "--dask", metavar="ADDRESS", help="a dask scheduler whose workers compute, with one thread each"
    )
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
    return options


if __name__ == "__main__":
    sys.exit(main())
