"""`Sweep`: the points of a record and how one is measured; `Place`: where."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import errors, storage
from .record import check_plain

Point = dict[str, Any]


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


def checked_point(name: str, point: Any) -> Point:
    """Return `point` if it is a dict of plain values by name."""
    if not isinstance(point, dict) or not point:
        errors.fail(name, "a dict of plain values", point)
    for column, value in point.items():
        check_plain(f"{name}[{errors.check_text(f'a column of {name}', column, empty=False)!r}]", value)
    return point
