"""Records: tables of runs that take longer than a lesson, a film, and two trained teachers.

They come with ddlab as data.

    table = records.load("matching")
    table.values("hard", data="shapes", rule="DM")      # one number for each seed
    for settings, images in records.film("diversity", data): ...

A table names the commit that made it (`provenance`); the code that did is in that commit.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from .. import networks
from ..core import errors, listing, storage
from ..data import ImageData
from ..networks import Network

__all__ = ["Record", "film", "load", "names", "teacher"]
__dir__ = listing(__all__)

_TABLES = Path(__file__).parent / "tables"
_TEACHERS = Path(__file__).parent / "teachers"
_FILMS = Path(__file__).parent / "films"


@dataclass(frozen=True)
class Record:
    """A table: one row for each setting and seed.

    Attributes:
        name: of the record.
        description: what was run, and what all rows share.
        columns: the names of what a row holds: first the setting, then what was measured.
        rows: column -> number, text, True, False, or None where a column does not apply.
        provenance: commit, machine, device, versions, date and CPU-seconds.
    """

    name: str
    description: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    provenance: dict[str, Any]

    def values(self, column: str, **conditions: Any) -> list[Any]:
        """Return one column of the rows that have these values, in the order of their seeds.

        Raises:
            DDLabError: an unknown column, or a value that no row has.
        """
        rows = list(self.rows)
        for name, value in conditions.items():
            errors.check_choice("column", name, self.columns)
            errors.check_choice(
                f"{name} in values", value, list(dict.fromkeys(row[name] for row in self.rows))
            )
            rows = [row for row in rows if row[name] == value]
        if "seed" in self.columns:
            rows.sort(key=lambda row: row["seed"])
        return [row[errors.check_choice("column", column, self.columns)] for row in rows]


def names() -> list[str]:
    """Return the names of the tables."""
    return sorted(file.stem for file in _TABLES.glob("*.json"))


def load(name: str) -> Record:
    """Return a table by its name.

    Raises:
        DDLabError: an unknown name.
    """
    file = _TABLES / f"{errors.check_choice('name', name, names())}.json"
    table = json.loads(file.read_text(encoding="utf-8"))
    columns = tuple(table["columns"])
    rows = tuple(dict(zip(columns, row, strict=True)) for row in table["rows"])
    return Record(table["name"], table["description"], columns, rows, table["provenance"])


def teacher(name: str) -> Network:
    """Return a trained network on the CPU by its name.

    "shapes64" is of lesson 30; "shapes16_self_supervised", of lesson 40, saw no label.

    Raises:
        DDLabError: an unknown name.
    """
    names_known = sorted(file.stem for file in _TEACHERS.glob("*.safetensors"))
    return networks.load(
        _TEACHERS / f"{errors.check_choice('name', name, names_known)}.safetensors"
    )


def film(name: str, data: ImageData) -> list[tuple[dict[str, Any], Tensor]]:
    """Return a method's recorded images of these data as (settings, uint8 [n, c, h, w]) by class.

    It is empty where the record is of other data.

    Raises:
        DDLabError: an unknown name.
    """
    names_known = sorted(file.stem for file in _FILMS.glob("*.safetensors"))
    tensors, header = storage.load(
        _FILMS / f"{errors.check_choice('name', name, names_known)}.safetensors", "film"
    )
    return (
        list(zip(header["settings"], tensors["images"], strict=True))
        if header["data"] == data.fingerprint
        else []
    )
