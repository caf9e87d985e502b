"""Right arguments for records, the sweeps that make them, and what distilled sets are used for in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ddlab import networks, records
from ddlab.records import record
from tests.storm.good import Given, Good

ROWS = ({"method": "DWA", "seed": 0, "online": 0.5}, {"method": "DWA", "seed": 1, "online": 0.25})
SETTINGS = [{"seed": 0}, {"seed": 1}]
_MADE = "filled by run; what is kept in files is checked where it is read"


def _sweep() -> records.Sweep:
    return records.Sweep(
        name="small", description="A storm.", settings=SETTINGS, run=lambda point, place: {"value": 1.0}
    )


def _record() -> dict[str, Any]:
    return {"name": "small", "description": "A storm.", "columns": ("method", "seed", "online"), "rows": ROWS,
            "provenance": {"commit": "0000000"}, "complete": True}  # fmt: skip


def _written(g: Given) -> dict[str, Any]:
    return {"path": records.Record(**_record()).save(g.folder / "record.json")}


def _load(name: Any) -> records.Record:
    """From a table of the storm's own, in its folder: what is shipped changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "TABLES", Path.cwd() / "tables")
        records.Record(**_record()).save(record.TABLES / "small.json")
        return records.load(name)


def _table(g: Given) -> dict[str, Any]:
    sweep = _sweep()
    return {
        "sweep": sweep,
        "outcome": records.run(sweep, records.Place(folder=g.folder / "work")),
        "command": "a storm",
    }


def _students(g: Given) -> dict[str, Any]:
    return {"distilled": g.distilled, "data": g.data, "labels": "online", "teacher": g.teacher, "seeds": (0,), "device": "cpu",
            "config": g.student, "progress": False}  # fmt: skip


RECORDS: dict[str, Good] = {
    "evaluation.across": Good(
        lambda g: {**_students(g), "networks": [networks.spec("convnet", width=4)]}, not_none=("config",), whole=("config",)
    ),
    "evaluation.class_incremental": Good(
        lambda g: {**_students(g), "tasks": 1, "network": networks.spec("convnet", width=4), "order_seed": 0},
        not_none=("config", "network"), whole=("config",),
    ),
    "evaluation.data_of": Good(lambda g: {"data": g.data, "seen": [1, 0]}),
    "evaluation.memory_of": Good(lambda g: {"distilled": g.distilled, "seen": [1, 0], "teacher": g.teacher}),
    "evaluation.teacher_of": Good(lambda g: {"teacher": g.teacher, "seen": [1, 0]}, nan_passes="the weights it is given"),
    "records.Place": Good(lambda g: {"data": "shapes", "device": "cpu", "folder": g.folder, "smoke": True}),
    "records.Record": Good(lambda g: _record()),
    "records.Sweep": Good(lambda g: {"name": "small", "description": "A storm.", "settings": SETTINGS, "version": 1,
                                     "run": lambda point, place: {"value": 1.0}, "prepare": lambda place: None}),
    "records.load": Good(lambda g: {"name": "small"}, call=_load),
    "records.read": Good(_written),
    "records.run": Good(
        lambda g: {"sweep": _sweep(), "place": records.Place(folder=g.folder / "work"), "limit": 2, "progress": False},
        left_out={"dask": "an address is asked for in the network", "jobs": "processes are started, as many as it says"},
    ),
    "records.run_point": Good(
        lambda g: {"name": "variance_sweep", "point": dict(records.SWEEPS["variance_sweep"].settings[0]),
                   "place": records.Place(smoke=True)},
        not_none=("place",), largest={"point": 3},
    ),
    "records.table": Good(_table, whole=("outcome",), left_out={"outcome": _MADE}),
}  # fmt: skip
