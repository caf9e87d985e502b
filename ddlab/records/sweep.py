"""`Sweep`: the points of a record and how one is measured; and the runner, which keeps each finished point at once.

Points are independent, so joblib spreads them over the cores of a machine, or with dask over machines. Every worker computes with one
thread: a point gives the same numbers whoever computes it and whatever runs beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from .. import cache, errors, storage
from ..errors import DDLabError
from ..process import Progress
from .provenance import of_machine, summary
from .record import Record, check_plain, read_json

Point = dict[str, Any]
_DASK_SECONDS = 30  # to wait for a scheduler


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where points are computed.

    Attributes:
        data: the images, as `data.load` names them ("folder:PATH"); None for the sweep's own.
        device: "cpu", "cuda" or "auto". folder: where teachers and images are kept for the next point; None keeps them in memory.
        smoke: a few images and steps through the same code, to see that it runs; the numbers mean nothing.
    """

    data: str | None = None
    device: str = "cpu"
    folder: Path | None = None
    smoke: bool = False

    def __post_init__(self) -> None:
        if self.data is not None:
            errors.check_text("data", self.data, empty=False)
        errors.checked_device(self.device)
        if self.folder is not None:
            object.__setattr__(self, "folder", storage.checked_path(self.folder, "folder", "a folder's path"))
        errors.check_boolean("smoke", self.smoke)

    def absolute(self) -> Place:
        """The same for a worker, whose working directory may be another one."""
        data, folder = self.data, self.folder
        if data is not None and data.startswith("folder:"):
            data = "folder:" + os.path.abspath(os.path.expanduser(data.removeprefix("folder:")))
        return replace(self, data=data, folder=None if folder is None else folder.absolute())


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What a record is made of.

    Attributes:
        name: of the sweep and its record. description: what is run, and what all points share.
        settings: the points, column -> number, text or None; all with the same columns.
        run: (point, place) -> column -> number, what was measured. It draws from the point's seed alone.
        prepare: called once with the place before the points: what they share (a teacher) is made and kept in `place.folder`.
        version: raised when `run` changes its meaning, so that kept points of the old one are not used.

    Raises:
        DDLabError: points that differ in their columns, are given twice or hold other values.
    """

    name: str
    description: str
    settings: Sequence[Point]
    run: Callable[[Point, Place], dict[str, float]]
    prepare: Callable[[Place], Any] | None = None
    version: int = 1

    def __post_init__(self) -> None:
        errors.check_text("name", self.name, empty=False)
        storage.checked_path(self.name, "name", "a file's name")
        errors.check_text("description", self.description)
        errors.check_function("run", self.run)
        errors.check_function("prepare", self.prepare, optional=True)
        errors.check_integer("version", self.version, 1)
        if not isinstance(self.settings, (list, tuple)) or not self.settings:
            errors.fail("settings", "a list of at least one point", self.settings)
        seen = set()
        for number, point in enumerate(self.settings):
            seen.add(storage.fingerprint(checked_point(f"settings[{number}]", point)))
            if tuple(point) != tuple(self.settings[0]):
                errors.fail(f"settings[{number}]", f"a point of {', '.join(self.settings[0])}, in this order", point)
        if len(seen) != len(self.settings):
            errors.fail("settings", f"{len(self.settings)} points that all differ", f"{len(seen)} different ones")

    def measure(self, point: Point, place: Place | None = None) -> dict[str, float]:
        """One point, computed here and now: what a lesson repeats of a record.

        Raises:
            DDLabError: a point with other columns, or what `run` finds wrong.
        """
        checked_point("point", point)
        if tuple(point) != tuple(self.settings[0]):
            errors.fail("point", f"a dict of {', '.join(self.settings[0])}, in this order", point)
        place = errors.check_instance("place", Place() if place is None else place, Place, "a Place")
        found = self.run(dict(point), place)
        if not isinstance(found, dict) or not found or set(found) & {*point, "cpu_seconds"}:
            errors.fail(f"what {self.name} measures", "a dict of new columns", found)
        return {column: errors.check_number(column, value) for column, value in found.items()}


@dataclass(frozen=True)
class Outcome:
    """Of a run: the points that are there by their number in `settings`, the points that failed, with why."""

    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)


def checked_point(name: str, point: Any) -> Point:
    """Return `point` if it is a dict of plain values by name."""
    if not isinstance(point, dict) or not point:
        errors.fail(name, "a dict of plain values", point)
    for column, value in point.items():
        check_plain(f"{name}[{errors.check_text(f'a column of {name}', column, empty=False)!r}]", value)
    return point


def key(sweep: Sweep, point: Point, place: Place) -> str:
    """Names the file of a point: whatever could change its numbers."""
    return storage.fingerprint(sweep.name, sweep.version, point, place.data, place.device, place.smoke)


def run(
    sweep: Sweep,
    place: Place,
    *,
    jobs: int = 1,
    dask: str | None = None,
    limit: int | None = None,
    progress: bool = False,
) -> Outcome:
    """Compute the points that are not in `place.folder` yet; each is kept there as soon as it is done.

    Args:
        place: its folder is needed. Over several machines it should be one that all of them see: else each makes its own teacher.
        jobs: processes on this machine, -1 for one per core.
        dask: address of a dask scheduler ("tcp://HOST:8786"), whose workers (of one thread each) compute instead. jobs is then unused.
        limit: compute at most so many points now.

    Returns:
        An `Outcome`: a point that fails does not stop the others.

    Raises:
        DDLabError: no folder, no such scheduler.
        KeyboardInterrupt: points that were done are kept; a second call goes on from them.
    """
    errors.check_instance("sweep", sweep, Sweep, "a Sweep")
    folder = errors.check_instance("place", place, Place, "a Place").folder
    if folder is None:
        raise DDLabError("place must have a folder to keep the points in; given one without.")
    if jobs != -1:
        errors.check_integer("jobs", jobs, 1)
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
    with _one_thread(), _workers(jobs, dask) as parallel:
        cache.clear()  # What is in memory alone is not in the folder, where workers look.
        if sweep.prepare is not None:
            sweep.prepare(place.absolute())
        for done, (number, row, problem) in enumerate(parallel(sweep, missing, place.absolute()), start=1):
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


def _computed(sweep: Sweep, number: int, place: Place) -> tuple[int, dict[str, Any] | None, str]:
    """One point in a worker: (its number, its row, "") or (its number, None, what went wrong)."""
    torch.set_num_threads(1)
    cache.clear()  # A point pays for what it needs, whichever points this worker had before.
    start, point = time.process_time(), dict(sweep.settings[number])
    try:
        measured = sweep.measure(point, place)
    except Exception as problem:  # whatever it is: hours of other points must not be lost with it
        return number, None, f"{type(problem).__name__}: {problem}"
    spent = round(time.process_time() - start, 2)
    return number, {"point": point, "measured": measured, "cpu_seconds": spent, "made": of_machine(place.device)}, ""


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _workers(jobs: int, dask: str | None) -> Iterator[Callable[[Sweep, list[int], Place], Iterator[Any]]]:
    """What computes points, in the order in which they are done."""
    import joblib

    def parallel(sweep: Sweep, numbers: list[int], place: Place) -> Iterator[Any]:
        # One point at a time: a batch would be kept only as a whole.
        pool = joblib.Parallel(n_jobs=-1 if dask else jobs, batch_size=1, return_as="generator_unordered")
        return pool(joblib.delayed(_computed)(sweep, number, place) for number in numbers)

    if dask is None:
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            yield parallel
        return
    with _client(dask), joblib.parallel_config("dask"):
        yield parallel


def _client(address: str) -> Any:
    errors.check_text("dask", address, empty=False)
    try:
        from dask.distributed import Client
    except ImportError:
        errors.fail("dask", "left out where dask.distributed is not installed (pip install ddlab[machines])", address)
    try:
        return Client(address, timeout=_DASK_SECONDS)
    except (OSError, ValueError) as problem:
        raise DDLabError(
            f"dask must be the address of a running scheduler; given {address!r} ({problem})."
        ) from problem
