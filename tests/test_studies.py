"""The scripts of the studies: each makes what its table holds, and FINDINGS.md says what the tables do."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ddlab import records
from ddlab.lessons.build import NOTEBOOKS

FOLDER = NOTEBOOKS / "studies"
ROWS = ("dc", "dd", "dm", "kip", "ld", "sldd")
TIMES = ("cpu_seconds", "seconds")  # of a machine that others use too


def imported(name: str) -> Any:
    """Return a script of the studies as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        return importlib.import_module(name)


def studies() -> Iterator[Any]:
    """All studies of tables whose cells are made one by one."""
    kind = imported("study").Study
    for file in sorted(FOLDER.glob("*.py")):
        module = imported(file.stem)
        values = [*vars(module).values(), *getattr(module, "STUDIES", ())]
        yield from (value for value in values if isinstance(value, kind))


STUDIES = {study.name: study for study in studies()}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_the_settings_of_its_table(name: str) -> None:
    study = STUDIES[name]
    table = records.load(name)
    assert set(table.columns) >= {*study.setting, *study.measured}
    settings = [tuple(setting) for setting in study.settings(study.seeds)]
    recorded = [tuple(row[column] for column in study.setting) for row in table.rows]
    assert settings == recorded


def test_findings_are_those_of_the_tables() -> None:
    text = (FOLDER / "FINDINGS.md").read_text(encoding="utf-8")
    assert imported("findings").lines() in text
    assert imported("published").table(list(records.load("replications").rows)) in text


def test_a_reading_is_that_of_its_interval() -> None:
    findings = imported("findings")
    entry: dict[str, Any] = {
        "said": "A larger weight widens coverage.",
        "table": "diversity",
        "value": "coverage",
        "where": {"push": "none", "start": "noise"},
        "plus": {"lambda_var": 0.11},
        "minus": {"lambda_var": 0.01},
    }
    by_weight = {
        weight: records.load("diversity").values(
            "coverage", push="none", start="noise", lambda_var=weight
        )
        for weight in (0.01, 0.11)
    }
    pairs = zip(by_weight[0.11], by_weight[0.01], strict=True)
    assert findings.differences(entry) == pytest.approx([more - less for more, less in pairs])
    assert findings.reading(entry) == "reversed"
    assert findings.reading(entry | {"loss": 0.1}) == "holds"
    assert findings.reading(entry | {"plus": {"lambda_var": 0.01}}) == "no difference seen"
    turned = {"plus": entry["minus"], "minus": entry["plus"], "effect": 0.5}
    assert findings.reading(entry | turned) == "holds, smaller than printed"
    with pytest.raises(ValueError, match="no row"):
        findings.differences(entry | {"plus": {"lambda_var": 0.5}})


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_printed_numbers_are_made_on_a_cluster_and_stay(tmp_path: Path) -> None:
    command = [sys.executable, FOLDER / "cluster.py", tmp_path]

    def made() -> list[str]:
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return sorted(line for line in run.stdout.splitlines() if "(printed:" in line)

    first = made()
    assert [line.split(":")[0] for line in first] == list(ROWS)
    times = {file: file.stat().st_mtime for file in tmp_path.rglob("*.safetensors")}
    assert made() == first
    assert times == {file: file.stat().st_mtime for file in tmp_path.rglob("*.safetensors")}
