"""`Record`: the table of a long run that is shipped with ddlab, with its provenance, and the one JSON file that it is kept in."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from ..core import errors, storage
from ..core.errors import DDLabError

TABLES = Path(__file__).parent / "tables"
PROVENANCE = ("command", "commit", "machine", "cores", "threads", "device", "python", "torch", "date", "cpu_seconds")
_PARTS = ("name", "description", "columns", "rows", "provenance", "complete")

Value = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True)
class Record:
    """A table: one row per point of a sweep.

    Attributes:
        name: of the record; its file is NAME.json.
        description: what was run, and what all rows share.
        columns: the names of what each row holds: first the setting, then what was measured.
        rows: column -> number, text, True, False, or None where a column does not apply. Numbers are finite.
        provenance: command, commit, machine, cores, threads (of one worker), device, python, torch, date, cpu_seconds (of all points).
        complete: False for the part of a sweep that was there when it was written.

    Raises:
        DDLabError: rows with other columns, or values that are not plain and finite.
    """

    name: str
    description: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Value], ...]
    provenance: dict[str, Any] = field(default_factory=dict)
    complete: bool = True

    def __post_init__(self) -> None:
        errors.check_text("name", self.name, empty=False)
        errors.check_text("description", self.description)
        for part in ("columns", "rows"):
            errors.check_instance(part, getattr(self, part), tuple, "a tuple")
        for column in self.columns:
            errors.check_text("columns", column, empty=False)
        if len(set(self.columns)) != len(self.columns):
            errors.fail("columns", "names that all differ", list(self.columns))
        for number, row in enumerate(self.rows):
            if not isinstance(row, dict) or tuple(row) != self.columns:
                errors.fail(f"rows[{number}]", f"a dict of {', '.join(self.columns)}, in this order", row)
            for column, value in row.items():
                check_plain(f"{column} of row {number}", value)
        errors.check_instance("provenance", self.provenance, dict, "a dict of JSON types")
        errors.check_boolean("complete", self.complete)

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, **wanted: Any) -> Record:
        """The rows in which each of these columns has this value.

        Raises:
            DDLabError: an unknown column, or a value that no row has.
        """
        rows = self.rows
        for column, value in wanted.items():
            known = [row[self._known(column)] for row in self.rows]
            errors.check_choice(f"{column} in where", value, list(dict.fromkeys(known)))
            rows = tuple(row for row in rows if row[column] == value)
        return replace(self, rows=rows)

    def values(self, column: str, **wanted: Any) -> list[Any]:
        """One column of the rows that fit, in the order of their seeds (without a column `seed`, in their own)."""
        rows = self.where(**wanted).rows
        self._known(column)
        if "seed" in self.columns:
            rows = tuple(sorted(rows, key=lambda row: row["seed"]))  # type: ignore[arg-type,return-value]
        return [row[column] for row in rows]

    def by_seed(self, column: str, **wanted: Any) -> dict[int, Any]:
        """seed -> value of one column, of the rows that fit.

        Raises:
            DDLabError: several rows of one seed fit.
        """
        self._known("seed")
        seeds = self.values("seed", **wanted)
        if len(set(seeds)) != len(seeds):
            raise DDLabError(
                f"where must leave one row for each seed; given {wanted!r:.200}, which leaves {len(seeds)} rows of "
                f"{len(set(seeds))} seeds."
            )
        return dict(zip(seeds, self.values(column, **wanted), strict=True))

    def _known(self, column: str) -> str:
        return errors.check_choice("column", column, self.columns)

    def to_json(self) -> str:
        """The text of its file: a row on a line, and a fingerprint of the content, by which damage is seen."""
        content = self._content()
        head = {name: content[name] for name in _PARTS if name != "rows"}
        head["fingerprint"] = storage.fingerprint(content)
        rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False, allow_nan=False) for row in content["rows"])
        text = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False)
        return f'{text[:-2]},\n "rows": [\n{rows}\n ]\n}}\n'

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to one JSON file, whole or not at all."""
        path = storage.checked_path(path)
        try:
            content = self.to_json().encode()
        except (TypeError, ValueError, RecursionError) as problem:
            raise DDLabError(f"provenance must be made of JSON types; given something else ({problem}).") from problem
        storage.write_atomically(path, content)
        return path

    def _content(self) -> dict[str, Any]:
        content = {name: getattr(self, name) for name in _PARTS}
        rows = [list(row.values()) for row in self.rows]
        return content | {"columns": list(self.columns), "rows": rows}


def names() -> list[str]:
    """The names of the records that are shipped."""
    return sorted(file.stem for file in TABLES.glob("*.json"))


def load(name: str) -> Record:
    """A shipped record by its name.

    Raises:
        DDLabError: an unknown name.
    """
    return read(TABLES / f"{errors.check_choice('name', name, names())}.json")


def read(path: str | os.PathLike[str]) -> Record:
    """A record from its file.

    Raises:
        DDLabError: no such file, or one that is cut short, changed, or something else.
    """
    path = storage.checked_path(path)
    found = read_json(path, "a record")
    if not isinstance(found, dict) or found.keys() != {*_PARTS, "fingerprint"}:
        errors.fail("path", "a ddlab record", str(path))
    content = {name: found[name] for name in _PARTS}
    try:
        whole = storage.fingerprint(content) == found["fingerprint"]
        columns = tuple(content["columns"])
        rows = tuple(dict(zip(columns, row, strict=True)) for row in content["rows"])
        record = Record(**content | {"columns": columns, "rows": rows})
    except (TypeError, ValueError) as problem:  # DDLabError is a ValueError
        raise DDLabError(
            f"path must be a whole ddlab record; given {str(path)!r} (it says: {str(problem)[:200]!r})."
        ) from None
    if not whole:
        raise DDLabError(f"path must be a ddlab record as it was written; given {str(path)!r}, which was changed.")
    return record


def read_json(path: Path, what: str) -> Any:
    """What a JSON file holds; its numbers are finite."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except OSError as problem:
        raise DDLabError(
            f"path must be {what} that can be read; given {str(path)!r} ({problem.strerror})."
        ) from problem
    except (
        ValueError,
        RecursionError,
    ) as problem:  # not JSON, not UTF-8, a number of thousands of digits, nested too deeply
        raise DDLabError(f"path must be {what} in JSON; given {str(path)!r}, which is damaged.") from problem


def check_plain(name: str, value: Any) -> Value:
    """Return `value` if it is a finite number, a text, True, False or None."""
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    errors.fail(name, "a finite number, a text, True, False or None", value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no finite number")
