"""`ddlab records`: what is listed, computed, written and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ddlab import records
from ddlab.commands import main
from ddlab.records import Record, Sweep, record
from tests.records import sweeps


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Sweep]:
    """The command line knows two small sweeps and writes where a test may."""
    known = {"small": sweeps.sweep(), "failing": sweeps.sweep(sweeps.failing, name="failing")}
    monkeypatch.setattr(records, "SWEEPS", known)
    monkeypatch.setattr(record, "TABLES", tmp_path / "tables")
    for name in ("small", "small-smoke"):
        (tmp_path / "work" / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return known


def test_the_command_line(catalogue: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{name}: not made yet, 8 points" for name in ("failing", "small")]
    assert main(["records", "small", "--work", "work", "--limit", "3"]) == 0
    assert "3 of 8 points are there" in capsys.readouterr().out and not (tmp_path / "tables").exists()
    assert main(["records", "small", "--work", "work", "--limit", "0", "--partial", "--out", "part.json"]) == 0
    part = record.read(tmp_path / "part.json")
    assert len(part) == 3 and not part.complete
    assert main(["records", "small", "--work", "work", "--jobs", "2"]) == 0
    whole = record.load("small")
    assert whole.complete and whole.provenance["command"] == "ddlab records small --jobs 2"
    capsys.readouterr()
    assert main(["records"]) == 0
    listed = capsys.readouterr().out.splitlines()[1]
    assert listed.startswith("small: 8 rows, 0 CPU-minutes, commit ") and whole.provenance["torch"] in listed
    assert main(["records", "--json"]) == 0
    failing, small = json.loads(capsys.readouterr().out)["records"]
    assert failing == {"name": "failing", "rows": 0, "complete": False, "provenance": {}}
    assert (small["rows"], small["complete"], small["provenance"]) == (8, True, whole.provenance)


def test_a_smoke_run_is_never_shipped(catalogue: Any, tmp_path: Path) -> None:
    assert main(["records", "small", "--work", "work", "--smoke"]) == 0
    assert not (tmp_path / "tables").exists()
    assert isinstance(record.read(tmp_path / "work" / "small-smoke" / "small.json"), Record)


def test_failures_are_reported_with_their_setting(catalogue: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "failing", "--work", "work"]) == 1
    said = capsys.readouterr()
    assert f"failing: {sweeps.SETTINGS[3]} failed: RuntimeError: the third point is broken" in said.err.splitlines()
    assert "5 of 8 points are there" in said.out and not record.TABLES.exists()
    assert main(["records", "failing", "--work", "work", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["points"], found["of"], found["table"], len(found["failures"])) == (5, 8, None, 3)


def test_the_command_line_says_what_is_wrong(catalogue: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "small", "--jobs", "0"]) == 2
    assert capsys.readouterr().err == "ddlab: jobs must be 'auto' or an integer of at least 1; given 0.\n"
    assert main(["records", "smal"]) == 2
    assert capsys.readouterr().err.startswith("ddlab: NAME must be one of 'small', 'failing' (nearest: 'small'")


def test_an_interrupt_at_the_command_line(
    catalogue: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    catalogue["small"] = sweeps.sweep(sweeps.interrupted)
    assert main(["records", "small", "--work", "work"]) == 130
    said = "ddlab: interrupted: the same command goes on from the points that are done"
    assert capsys.readouterr().err.splitlines()[-1] == said
