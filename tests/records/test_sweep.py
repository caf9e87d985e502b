"""Sweeps: the same numbers whoever computes them, each finished point kept at once, nothing lost by what goes wrong."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from ddlab import records
from ddlab.records import Outcome, Place, record, runner, table
from tests.records import sweeps
from tests.support import refuses

ROOT = Path(__file__).parents[2]


def numbers(outcome: Outcome) -> dict[int, Any]:
    return {number: outcome.rows[number]["measured"] for number in sorted(outcome.rows)}


def test_the_number_of_jobs_changes_nothing(tmp_path: Path) -> None:
    one = records.run(sweeps.sweep(), Place(folder=tmp_path / "1"), jobs=1)
    (tmp_path / "2").mkdir()
    two = records.run(sweeps.sweep(), Place(folder=tmp_path / "2"), jobs=2)
    assert numbers(one) == numbers(two) and list(numbers(one)) == list(range(8)) and not one.failures
    assert len({row["value"] for row in numbers(one).values()}) == 8


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()


def test_points_of_a_record_do_not_depend_on_the_jobs(tmp_path: Path) -> None:
    chosen = [records.SWEEPS["perturbation_kinds"].settings[number] for number in (0, 1, 4)]
    assert [point["method"] for point in chosen] == ["random real images", "SRe2L", "DWA"]
    sweep = dataclasses.replace(records.SWEEPS["perturbation_kinds"], settings=chosen)
    found = [records.run(sweep, Place(folder=tmp_path / str(jobs), smoke=True), jobs=jobs) for jobs in (1, 2)]
    assert not found[0].failures and numbers(found[0]) == numbers(found[1]) and len(found[0].rows) == 3
    assert all(row["cpu_seconds"] > 0 for row in found[0].rows.values())


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_worker_has_one_thread(jobs: int, tmp_path: Path) -> None:
    torch.set_num_threads(2)
    found = numbers(records.run(sweeps.sweep(sweeps.surroundings), Place(folder=tmp_path), jobs=jobs))
    assert {row["threads"] for row in found.values()} == {1} and torch.get_num_threads() == 2
    assert len({row["process"] for row in found.values()}) == jobs
    if jobs == 1:
        assert {row["process"] for row in found.values()} == {os.getpid()}
        assert [row["kept"] for row in found.values()] == list(range(8)), "each point is kept before the next begins"


def test_a_second_call_goes_on(tmp_path: Path) -> None:
    place = Place(folder=tmp_path / "1")
    assert list(records.run(sweeps.sweep(), place, limit=3).rows) == [0, 1, 2] and len(sweeps.calls(place)) == 3
    assert len(records.run(sweeps.sweep(), place, limit=0).rows) == 3
    whole = records.run(sweeps.sweep(), place)
    assert len(whole.rows) == len(sweeps.calls(place)) == 8
    assert numbers(records.run(sweeps.sweep(), place)) == numbers(whole) and len(sweeps.calls(place)) == 8


@pytest.mark.parametrize(
    ("sweep", "place"),
    [({"version": 2}, {}), ({"name": "other"}, {}), ({}, {"data": "folder:there"}), ({}, {"smoke": True})],
)
def test_kept_points_of_another_sweep_or_place_are_not_used(sweep: dict, place: dict, tmp_path: Path) -> None:
    first = Place(folder=tmp_path / "1")
    records.run(sweeps.sweep(), first, limit=2)
    records.run(sweeps.sweep(**sweep), dataclasses.replace(first, **place), limit=2)
    again = [name for name in sweeps.calls(first) if name.endswith("-1")]  # the second time of the same point
    assert len(again) == 2


def test_an_interrupt_leaves_whole_points(tmp_path: Path) -> None:
    place = Place(folder=tmp_path / "1")
    with pytest.raises(KeyboardInterrupt):
        records.run(sweeps.sweep(sweeps.interrupted), place)
    files = list((tmp_path / "1" / "points").iterdir())
    assert len(files) == 2 and all(json.loads(file.read_text())["measured"] for file in files)
    assert len(records.run(sweeps.sweep(sweeps.interrupted), place).rows) == len(sweeps.calls(place)) == 8


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_point_that_fails_does_not_lose_the_others(jobs: int, tmp_path: Path) -> None:
    found = records.run(sweeps.sweep(sweeps.failing), Place(folder=tmp_path), jobs=jobs)
    assert sorted(found.failures) == [0, 3, 4] and sorted(found.rows) == [1, 2, 5, 6, 7]
    assert found.failures[3] == "RuntimeError: the third point is broken"
    assert "value must be a finite number" in found.failures[0] and "new columns" in found.failures[4]


def test_a_lost_workers_point_is_computed_again_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(folder=tmp_path / "1")
    found = records.run(sweeps.sweep(sweeps.ending), place, jobs=2)
    assert not found.failures and numbers(found) == numbers(records.run(sweeps.sweep(), Place(folder=tmp_path)))
    assert [name for name in sweeps.calls(place) if name.endswith("-1")] == ["call-b-1.5-0-1"]
    assert len(sweeps.calls(place)) == 9
    monkeypatch.setattr(runner.workers, "LOST", 1)
    (tmp_path / "2").mkdir()
    found = records.run(sweeps.sweep(sweeps.ending), Place(folder=tmp_path / "2"), jobs=2)
    assert len(found.rows) == 7 and found.failures == {4: "its worker was lost 1 times (killed, or out of memory)"}


def test_what_points_share_is_made_once_and_first(tmp_path: Path) -> None:
    made: list[int] = []
    sweep = sweeps.sweep(prepare=lambda place: made.append(len(sweeps.calls(place))))
    place = Place(folder=tmp_path / "1")
    records.run(sweep, place, limit=2)
    records.run(sweep, place, limit=0)
    assert made == [0]


def test_a_relative_folder_is_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes of an earlier call are used again, wherever they were started."""
    records.run(sweeps.sweep(), Place(folder=tmp_path / "1"), jobs=2)
    (tmp_path / "other" / "work").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other")
    place = Place(folder=Path("work"), data="folder:pictures")
    assert not records.run(sweeps.sweep(), place, jobs=2).failures and len(sweeps.calls(place)) == 8
    assert place.absolute().data == f"folder:{tmp_path / 'other' / 'pictures'}"


def test_the_table(tmp_path: Path) -> None:
    sweep, place = sweeps.sweep(), Place(folder=tmp_path / "1")
    part = table(sweep, records.run(sweep, place, limit=3), "a command")
    assert not part.complete and len(part) == 3
    found = records.run(sweep, place)
    whole = table(sweep, found, "a command")
    assert whole.complete and whole.columns == ("method", "x", "seed", "value", "largest", "cpu_seconds")
    assert [{name: row[name] for name in ("method", "x", "seed")} for row in whole.rows] == sweeps.SETTINGS
    assert [row["value"] for row in whole.rows] == [row["value"] for row in numbers(found).values()]
    assert tuple(whole.provenance) == ("command", *record.PROVENANCE[1:]) and whole.provenance["threads"] == 1
    assert whole.provenance["cpu_seconds"] == round(sum(row["cpu_seconds"] for row in whole.rows), 1)  # type: ignore[misc]
    with refuses("outcome"):
        table(sweep, Outcome(), "a command")


def test_two_machines_stand_in_the_provenance(tmp_path: Path) -> None:
    found = records.run(sweeps.sweep(), Place(folder=tmp_path / "1"), limit=2)
    found.rows[1]["made"]["machine"] = "another"
    machine = found.rows[0]["made"]["machine"]
    assert table(sweeps.sweep(), found, "").provenance["machine"] == f"{machine}, another"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"point": {}}',
        '{"point": {"method": "a", "x": 1.5, "seed": 0}, "measured": {"value": 1}, "cpu_seconds": 1, "made": {}}',
        '{"point": NaN}',
        "\udcff",
    ],
)
def test_a_damaged_point_is_refused(content: str, tmp_path: Path) -> None:
    place = Place(folder=tmp_path / "1")
    records.run(sweeps.sweep(), place, limit=1)
    (file,) = (tmp_path / "1" / "points").iterdir()
    file.write_bytes(content.encode(errors="surrogateescape"))
    with refuses("finished point"):
        records.run(sweeps.sweep(), place, limit=1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"settings": []}, "settings"),
        ({"settings": [{"seed": 0}, {"seed": 0}]}, "all differ"),
        ({"settings": [{"seed": 0}, {"other": 0}]}, "settings[1]"),
        ({"settings": [{"x": math.nan}]}, "finite"),
        ({"settings": [{"x": [1]}]}, "settings[0]"),
        ({"run": 3}, "run"),
        ({"prepare": 3}, "prepare"),
        ({"version": 0}, "version"),
        ({"name": " "}, "name"),
    ],
)
def test_bad_sweeps(changes: dict, words: str) -> None:
    with refuses(words):
        sweeps.sweep(**changes)


def test_bad_runs(tmp_path: Path) -> None:
    sweep, place = sweeps.sweep(), Place(folder=tmp_path)
    for words, call in {
        "folder": lambda: records.run(sweep, Place()),
        "jobs": lambda: records.run(sweep, place, jobs=0),
        "limit": lambda: records.run(sweep, place, limit=-1),
        "dask": lambda: records.run(sweep, place, dask="nothing://nowhere"),
        "data": lambda: Place(data=""),
        "device": lambda: Place(device="tpu"),
        "point must": lambda: sweep.measure({"seed": 1}),
        "place": lambda: sweep.measure(sweeps.SETTINGS[0], 3),  # type: ignore[arg-type]
    }.items():
        with refuses(words):
            call()
    assert not list(tmp_path.rglob("*.json"))


DASK = """
if __name__ == "__main__":
    from dask.distributed import LocalCluster
    from ddlab import records
    from tests.records import sweeps
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        for name, run in (("numbers", sweeps.measured), ("workers", sweeps.surroundings)):
            records.run(sweeps.sweep(run, name=name), records.Place(folder="."), dask=cluster.scheduler_address)
"""


@pytest.mark.slow
def test_the_workers_of_a_dask_cluster_give_the_same(tmp_path: Path) -> None:
    """In an interpreter of its own, as a script: the workers start from it, and warnings of theirs are not ours."""
    (tmp_path / "cluster.py").write_text(DASK)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "cluster.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(file.read_text()) for file in (tmp_path / "points").iterdir()]
    local = records.run(sweeps.sweep(), Place(folder=tmp_path / "1"))
    by_point = {tuple(row["point"].values()): row["measured"] for row in rows if "value" in row["measured"]}
    assert by_point == {tuple(row["point"].values()): row["measured"] for row in local.rows.values()}
    workers = [row["measured"] for row in rows if "process" in row["measured"]]
    assert len(workers) == 8 and len({row["process"] for row in workers}) == 2
    assert {row["threads"] for row in workers} == {row["in_cluster"] for row in workers} == {1}


def test_a_point_in_the_file_of_another_is_refused(tmp_path: Path) -> None:
    place, sweep = Place(folder=tmp_path / "1"), sweeps.sweep()
    records.run(sweep, place, limit=2)
    first, second = (
        tmp_path / "1" / "points" / f"{runner.key(sweep, point, place)}.json" for point in sweep.settings[:2]
    )
    first.write_bytes(second.read_bytes())
    with refuses("finished point"):
        records.run(sweep, place)
