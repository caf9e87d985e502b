"""The runner of a sweep: it keeps each finished point at once, and makes the table of all.

Points are independent, so they are spread over the cores or GPUs of a machine, or with dask over machines (`runs.workers`). Every worker
computes with one thread: a point gives the same numbers whoever computes it and whatever runs beside it.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..core import errors, storage
from ..core.errors import DDLabError
from ..core.progress import Progress
from ..runs import cache, parallel, workers
from .provenance import of_machine, summary
from .record import Record, read_json
from .sweep import Place, Point, Sweep, checked_point


@dataclass(frozen=True)
class Outcome:
    """Of a run: the points that are there by their number in `settings`, the points that failed, with why."""

    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)


def key(sweep: Sweep, point: Point, place: Place) -> str:
    """Names the file of a point: whatever could change its numbers."""
    return storage.fingerprint(sweep.name, sweep.version, point, place.data, place.device, place.smoke)


def run(
    sweep: Sweep,
    place: Place,
    *,
    jobs: int | str = 1,
    dask: str | None = None,
    limit: int | None = None,
    progress: bool = False,
) -> Outcome:
    """Compute the points that are not in `place.folder` yet; each is kept there as soon as it is done.

    Args:
        place: its folder is needed. Over several machines it should be one that all of them see: else each makes its own teacher.
        jobs: processes on this machine, -1 for one per core or GPU: on CUDA each has a GPU of its own. "auto": as many as there are
            cores, with 4 GB free; on CUDA one.
        dask: address of a dask scheduler ("tcp://HOST:8786"), whose workers (of one thread each) compute instead. jobs is then unused.
        limit: compute at most so many points now.

    Returns:
        An `Outcome`: a point that fails does not stop the others; one whose worker is lost is computed again, a few times.

    Raises:
        DDLabError: no folder, no such scheduler, more jobs than GPUs.
        KeyboardInterrupt: points that were done are kept; a second call goes on from them.
    """
    errors.check_instance("sweep", sweep, Sweep, "a Sweep")
    folder = errors.check_instance("place", place, Place, "a Place").folder
    if folder is None:
        raise DDLabError("place must have a folder to keep the points in; given one without.")
    jobs = jobs if jobs == -1 else parallel.checked_jobs("jobs", jobs)
    limit = None if limit is None else errors.check_integer("limit", limit, 0)
    files = [folder / "points" / f"{key(sweep, point, place)}.json" for point in sweep.settings]
    outcome = Outcome(
        {number: kept(file, sweep.settings[number]) for number, file in enumerate(files) if file.exists()}
    )
    missing = [number for number in range(len(files)) if number not in outcome.rows][:limit]
    if progress and outcome.rows:
        print(f"{sweep.name}: {len(outcome.rows)} of {len(files)} points are there already", flush=True)
    if not missing:
        return outcome
    line = Progress(sweep.name, len(missing), progress)
    with _one_thread():
        found = workers.spread(
            _computed,
            (sweep, place.absolute()),
            missing,
            jobs=_processes(jobs, len(missing), place.device),
            dask=dask,
            device=place.device,
        )
        cache.clear()  # What is in memory alone is not in the folder, where workers look.
        if sweep.prepare is not None:
            sweep.prepare(place.absolute())
        for done, (number, computed) in enumerate(found, start=1):
            row, problem = computed or (None, f"its worker was lost {workers.LOST} times (killed, or out of memory)")
            if row is None:
                outcome.failures[number] = problem
            else:
                storage.write_atomically(files[number], json.dumps(row, allow_nan=False).encode())
                outcome.rows[number] = row
            line.show(done)
    line.close(False, len(missing))
    return outcome


def table(sweep: Sweep, outcome: Outcome, command: str) -> Record:
    """The record of the points that are there, in the order of the sweep; `complete` says whether these are all.

    Raises:
        DDLabError: there are none, or points that measured different things.
    """
    errors.check_instance("sweep", sweep, Sweep, "a Sweep")
    errors.check_text("command", command)
    found = errors.check_instance("outcome", outcome, Outcome, "an Outcome").rows
    rows = [found[number] for number in sorted(found)]
    if not rows:
        raise DDLabError(f"outcome must hold at least one point of {sweep.name}; given none.")
    lines = tuple({**row["point"], **row["measured"], "cpu_seconds": row["cpu_seconds"]} for row in rows)
    provenance = {"command": command, **summary([row["made"] for row in rows])}
    provenance["cpu_seconds"] = round(sum(row["cpu_seconds"] for row in rows), 1)
    return Record(
        name=sweep.name,
        description=sweep.description,
        columns=tuple(lines[0]),
        rows=lines,
        provenance=provenance,
        complete=len(rows) == len(sweep.settings),
    )


def kept(file: Path, point: Point) -> dict[str, Any]:
    """The row of a finished point from its file.

    Raises:
        DDLabError: the file is damaged, or of another point.
    """
    row = read_json(file, "a finished point")
    try:
        if row["point"] != point or set(row) != {"point", "measured", "cpu_seconds", "made"}:
            raise ValueError("another point")
        checked_point("measured", row["measured"])
        errors.check_number("cpu_seconds", row["cpu_seconds"], 0)
        summary([row["made"]])
    except (TypeError, ValueError, KeyError) as problem:  # DDLabError is a ValueError
        raise DDLabError(
            f"path must be a finished point of the sweep; given {str(file)!r} (delete it to compute it again)."
        ) from problem
    return row


def _computed(shared: tuple[Sweep, Place], number: int) -> tuple[dict[str, Any] | None, str]:
    """One point in a worker: (its row, "") or (None, what went wrong)."""
    sweep, place = shared
    cache.clear()  # A point pays for what it needs, whichever points this worker had before.
    start, point = time.process_time(), dict(sweep.settings[number])
    try:
        with parallel.alone():  # the other cores have other points
            measured = sweep.measure(point, place)
    except Exception as problem:  # whatever it is: hours of other points must not be lost with it
        return None, f"{type(problem).__name__}: {problem}"
    spent = round(time.process_time() - start, 2)
    return {"point": point, "measured": measured, "cpu_seconds": spent, "made": of_machine(place.device)}, ""


def _processes(jobs: int | str, points: int, device: torch.device | str) -> int:
    alone = "on a GPU" if errors.checked_device(device).type == "cuda" else ""
    return int(jobs) if jobs != "auto" else 1 + parallel.processes_beside(jobs, points, alone=alone)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
