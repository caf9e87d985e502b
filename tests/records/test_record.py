"""Records: what is read is what was written, and a row is found by its setting."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ddlab import records
from ddlab.records import Record, record
from tests.support import refuses

ROWS = tuple(
    {"method": method, "weight": weight, "seed": seed, "online": seed / 10 + (weight or 0)}
    for method, weight in (("DWA", 0.11), ("DWA", 1.0), ("real", None))
    for seed in (2, 0, 1)
)
GIVEN: dict[str, Any] = {"name": "test", "description": "Größen", "columns": tuple(ROWS[0]), "rows": ROWS,
                         "provenance": {"cpu_seconds": 12.5, "machine": "two\ncores"}}  # fmt: skip


@pytest.fixture
def made() -> Record:
    return Record(**GIVEN)


@pytest.mark.parametrize("changes", [{}, {"complete": False}, {"rows": ()}, {"rows": ROWS[:1], "description": ""}])
def test_what_is_written_is_read(changes: dict[str, Any], tmp_path: Path) -> None:
    one = Record(**GIVEN | changes)
    assert records.read(one.save(tmp_path / "test.json")) == one
    assert len((tmp_path / "test.json").read_text().splitlines()) < 25 + len(one.rows), "a row on a line"


def test_rows_are_found(made: Record) -> None:
    assert len(made.where(method="DWA")) == 6 and len(made.where(method="DWA", weight=1.0, seed=2)) == 1
    assert made.values("online", method="DWA", weight=0.11) == pytest.approx([0.11, 0.21, 0.31]), "in seed order"
    assert made.by_seed("online", weight=None) == {0: 0.0, 1: 0.1, 2: 0.2}
    assert list(made.by_seed("online", weight=None)) == [0, 1, 2]
    assert made.values("method", seed=1) == ["DWA", "DWA", "real"]
    unseeded: dict[str, Any] = GIVEN | {"columns": ("a",), "rows": ({"a": 2}, {"a": 1})}
    plain = Record(**unseeded)
    assert plain.values("a") == [2, 1], "without seeds the rows keep their order"


def test_what_is_not_there_is_refused(made: Record) -> None:
    for words, call in {
        "nearest: 'online'": lambda: made.values("onlin"),
        "nearest: 'method'": lambda: made.where(methods="DWA"),
        "method in where": lambda: made.where(method="SRe2L"),
        "weight in where": lambda: made.where(weight=0.2),
        "leaves 6 rows of 3 seeds": lambda: made.by_seed("online", method="DWA"),
        "name must be": lambda: records.load("nothing"),
    }.items():
        with refuses(words):
            call()
    empty: dict[str, Any] = GIVEN | {"columns": (), "rows": ()}
    with refuses("column"):
        Record(**empty).by_seed("online")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "name"),
        ({"description": 3}, "description"),
        ({"columns": ["a"]}, "columns"),
        ({"columns": ("a", "a"), "rows": ()}, "differ"),
        ({"rows": list(ROWS)}, "rows"),
        ({"rows": ({"seed": 1},)}, "rows[0]"),
        ({"rows": (dict(reversed(ROWS[0].items())),)}, "rows[0]"),
        ({"rows": ({**ROWS[0], "online": math.nan},)}, "online of row 0"),
        ({"rows": ({**ROWS[0], "online": [1]},)}, "online of row 0"),
        ({"provenance": None}, "provenance"),
        ({"complete": 1}, "complete"),
    ],
)
def test_bad_records(changes: dict[str, Any], words: str) -> None:
    with refuses(words):
        Record(**GIVEN | changes)


def test_provenance_that_is_no_json(made: Record, tmp_path: Path) -> None:
    for value in (object(), math.nan):
        given: dict[str, Any] = GIVEN | {"provenance": {"a": value}}
        with refuses("provenance"):
            Record(**given).save(tmp_path / "test.json")
    assert not list(tmp_path.iterdir())


def test_a_changed_number_is_seen(made: Record, tmp_path: Path) -> None:
    file = made.save(tmp_path / "test.json")
    file.write_text(file.read_text().replace('["DWA", 0.11, 2, 0.31]', '["DWA", 0.11, 2, 0.41]'))
    with refuses("which was changed"):
        records.read(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.pop("rows"),
        lambda found: found.update(extra=1),
        lambda found: found["rows"][0].pop(),
        lambda found: found["rows"].__setitem__(0, 3),
        lambda found: found["rows"][0].__setitem__(3, math.nan),
        lambda found: found["rows"][0].__setitem__(3, {}),
        lambda found: found.update(columns=3),
        lambda found: found.update(rows=None),
        lambda found: found.update(fingerprint="0"),
    ],
)
def test_other_damage_is_seen(change: Any, made: Record, tmp_path: Path) -> None:
    file = made.save(tmp_path / "test.json")
    found = json.loads(file.read_text())
    change(found)
    file.write_text(json.dumps(found))
    with refuses("path"):
        records.read(file)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"a": NaN}', b'{"a": 1' + b"0" * 5000 + b"}"]
)
def test_no_record_at_all(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "test.json").write_bytes(content)
    with refuses("path"):
        records.read(tmp_path / "test.json")
    with refuses("path", "No such file"):
        records.read(tmp_path / "nothing.json")


def test_shipped_records_are_of_their_sweeps() -> None:
    """Every row of a shipped record is a point of the sweep of its name, and they are small."""
    assert set(records.names()) <= set(records.SWEEPS)
    for name in records.names():
        found, settings = records.load(name), records.SWEEPS[name].settings
        points = [{column: row[column] for column in settings[0]} for row in found.rows]
        assert [point for point in settings if point in points] == points
        assert found.complete == (len(points) == len(settings))
        assert tuple(found.provenance) == record.PROVENANCE and found.provenance["threads"] == 1
        assert (record.TABLES / f"{name}.json").stat().st_size < 2_000_000
