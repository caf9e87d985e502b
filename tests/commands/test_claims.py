"""`ddlab claims`: listed, shown, run into a record and a README of the test's own."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from ddlab.commands import claims as command
from ddlab.commands import main
from ddlab.lessons import CLAIMS, claims
from ddlab.lessons.shared.effects import Measured

START = "00_start"


def test_all_claims_are_listed_with_their_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CLAIMS) and "D1 (20_inverting_a_network): " in "\n".join(lines)
    assert main(["claims", "list", "--lesson", START, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["claims"]
    assert [each["id"] for each in listed] == ["X1 shapes labels", "X1 shapes images"]
    assert {each["verdict"] for each in listed} <= set(claims.VERDICTS)


def test_a_claim_is_shown_with_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "show", "D1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("id: D1\n") and CLAIMS["D1"].statement in said
    assert claims.recorded("D1").numbers.text(False) in said and claims.recorded("D1").setting in said


@pytest.mark.parametrize("given", [["show"], ["show", "D0"], ["run", "--lesson", "21"]])
def test_what_is_not_there_is_refused(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", *given]) == 2
    assert capsys.readouterr().err.startswith("ddlab: ")


def test_a_run_writes_the_record_and_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, record, text = tmp_path / "CLAIMS.md", tmp_path / "verdicts.json", (command.ROOT / "CLAIMS.md").read_text()
    page.write_text(text.replace("| R1 smallest |", "| otherwise |"), encoding="utf-8")
    (tmp_path / "README.md").write_text((command.ROOT / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    record.write_bytes(claims.RECORD.read_bytes())
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(claims, "RECORD", record)
    monkeypatch.setattr(claims, "save", functools.partial(claims.save, path=record))
    assert main(["claims", "run", "--table", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"claims": []} and page.read_text(encoding="utf-8") == text

    invented = {START: lambda pairs: {"X1 shapes labels": Measured([0.9] * pairs, "a test")}}
    monkeypatch.setattr(claims, "EFFECTS", invented)
    assert main(["claims", "run", "--lesson", START, "--pairs", "3"]) == 0
    assert capsys.readouterr().out.startswith("X1 shapes labels: holds")
    assert claims.recorded("X1 shapes labels").pairs == 3 and "a test" in page.read_text(encoding="utf-8")
    assert claims.provenance(START)["command"] == "ddlab claims run"
