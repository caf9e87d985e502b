"""Tasks over processes: the same results, a lost worker's task again and no other, a GPU for each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ddlab.runs import workers
from tests.runs import splitting
from tests.support import refuses


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPLITTING", str(tmp_path))
    return tmp_path


def test_one_job_computes_here() -> None:
    found = workers.spread(splitting.task, {}, [3, 1])
    assert not splitting.said(), "nothing is computed until it is asked for"
    assert [(number, result["twice"]) for number, result in found] == [(3, 6), (1, 2)]


def test_a_lost_workers_task_is_done_again_and_no_other(folder: Path) -> None:
    """Of six tasks one ends its worker once; another one always, and is given up."""
    for number in (1, 4):
        (folder / f"kill-{number}").touch()
    shared = {"seconds": 0.2, "times": 1}
    found = dict(workers.spread(splitting.task, shared, range(4), jobs=2, threads=2))
    assert {number: result["twice"] for number, result in found.items()} == {0: 0, 1: 2, 2: 4, 3: 6}
    assert Counter(splitting.said()) == {"0": 1, "1": 2, "killed-1": 1, "2": 1, "3": 1}
    assert len({result["process"] for result in found.values()}) >= 2
    assert {result["threads"] for result in found.values()} == {2}
    found = dict(workers.spread(splitting.task, {"times": 9}, [4, 5], jobs=2))
    assert found[4] is None and found[5]["twice"] == 10
    assert splitting.said().count("4") == workers.LOST


def test_what_a_task_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="number 1"):
        list(workers.spread(splitting.task, {"raises": 1}, range(2), jobs=2))


def test_each_worker_has_a_gpu_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed worker's is free again; a third worker has none. Played on any machine: nothing touches CUDA."""
    monkeypatch.setenv("TMPDIR", str(folder))  # where the locks are
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7, 9")
    assert workers.gpus() == ("7", "9")
    (folder / "kill-1").touch()
    found = dict(workers._local(splitting.task, {"seconds": 1}, range(4), 2, 1, True))
    by_process = {result["process"]: result["gpu"] for result in found.values()}
    assert sorted(by_process.values()) == ["7", "9"] and len(found) == 4
    with refuses("workers", "2 GPUs"):
        list(workers._local(splitting.task, {"seconds": 3}, range(3), 3, 1, True))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert workers.gpus() == ()


def test_bad_input() -> None:
    for words, given in {
        "jobs": {"jobs": 0},
        "dask": {"dask": "nothing://nowhere"},
        "device": {"device": "tpu"},
    }.items():
        with refuses(words):
            list(workers.spread(splitting.task, {}, [1], **given))
