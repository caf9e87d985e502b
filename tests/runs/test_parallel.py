"""Calls in several processes: the same bits, and an end that leaves nothing."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import psutil
import pytest
import torch

from ddlab import networks
from ddlab.core.errors import DDLabError
from ddlab.core.progress import Progress
from ddlab.data import ImageData
from ddlab.runs import parallel, process
from ddlab.runs.process import Inputs
from ddlab.training import supervised
from tests.support import assert_same, refuses

CONFIG = supervised.Config.teaching(network=networks.spec("convnet", width=8), epochs=2, crop_pixels=0)
Watch = Callable[[int], None] | None


def others_begin(folder: Path, watch: Any, wait_for: str = "*") -> None:
    """In this process: wait until another one has a call."""
    end = time.monotonic() + 120
    while not any(folder.glob(wait_for)):
        assert time.monotonic() < end
        watch(0)
        time.sleep(0.01)


def trained(config: supervised.Config, inputs: Inputs, folder: Path, watch: Watch = None) -> dict[str, Any]:
    if watch is not None:
        others_begin(folder, watch)
    else:
        (folder / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGINT)  # as a terminal does, to all processes
        os.environ["LOKY_MAX_CPU_COUNT"] = "2"
    torch.set_num_threads(torch.get_num_threads())
    weights = process.run(supervised, config, inputs).weights
    threads, nested = torch.get_num_threads(), watch is None and parallel.processes_beside("auto", 3)
    return {"weights": weights, "process": os.getpid(), "threads": threads, "nested": nested}


def together(function: Any, given: list[Any], jobs: Any = 2, **more: Any) -> list[tuple[int, Any]]:
    calls = parallel.calls(function, given, [10] * len(given), jobs=jobs, beside=1, **more)
    with contextlib.closing(calls) as results:
        return list(results)


@pytest.mark.parametrize("threads", [1, 2])
def test_two_processes_give_the_same_bits(threads: int, grey: ImageData, tmp_path: Path) -> None:
    torch.set_num_threads(threads)
    before, inputs = parallel.cpu_seconds(), Inputs(data=grey)
    given = [(CONFIG.replace(seed=seed), inputs, tmp_path) for seed in range(3)]
    found = dict(together(trained, given, line=Progress("students", 30, False)))
    assert sorted(found) == [0, 1, 2] and found[0]["process"] == os.getpid() != found[2]["process"]
    assert not any(each["nested"] for each in found.values()), "a worker asks for no further processes"
    for number, each in found.items():
        assert each["threads"] == threads
        assert_same(each["weights"], process.run(supervised, given[number][0], inputs).weights)
    assert parallel.cpu_seconds() > before and all(100 < peak < 2000 for peak in parallel.peaks())


def failing(kind: str, folder: Path, watch: Watch = None) -> str:
    if watch is None:
        (folder / kind).touch()
        if kind == "exits":
            os._exit(1)
        raise DDLabError("x must be 1; given 2.") if kind == "ours" else ZeroDivisionError(kind)
    if kind == "first":
        others_begin(folder, watch)
        time.sleep(0.5)
        watch(2)
    return kind


def test_what_another_process_raises_is_one_sentence(tmp_path: Path) -> None:
    for kind, words in {"ours": "x must be 1", "theirs": "raised ZeroDivisionError: theirs", "exits": "memory"}.items():
        (folder := tmp_path / kind).mkdir()
        with refuses("" if kind == "ours" else "jobs must be 1", words):
            together(failing, [("first", folder), (kind, folder)])
    (folder := tmp_path / "auto").mkdir()
    team = parallel._Team(failing, [("first", folder), ("exits", folder)], [5, 5], 1, "auto", None)
    team.start()
    assert sorted(team.results()) == [(0, "first"), (1, "exits")], "without having been asked for it is done without"


def endless(folder: Path, watch: Watch = None) -> None:
    if watch is None:
        (folder / str(os.getpid())).touch()
        time.sleep(300)
    others_begin(folder, watch)
    raise KeyboardInterrupt


def test_an_interrupt_ends_the_others(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        together(endless, [(tmp_path,), (tmp_path,)])
    assert not psutil.pid_exists(int(next(tmp_path.iterdir()).name))


def test_auto_needs_cores_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    monkeypatch.setattr(parallel.memory, "free_bytes", lambda: free * 2**20)
    for threads, *found, megabytes, expected in (
        (1, 2, 4000, 0, 1), (1, 2, 3999, 0, 0), (2, 2, 9e9, 0, 0), (2, 5, 9e9, 0, 1), (1, 9, 9e9, 0, 4),
        (1, 9, 5000, 0, 2), (1, 9, 5000, 500, 1), (1, 1, 9e9, 0, 0),
    ):  # fmt: skip
        torch.set_num_threads(threads)
        cores, free = found
        assert parallel.processes_beside("auto", 5, megabytes=megabytes) == expected
    torch.set_num_threads(1)
    cores, free, found = 9, 9e9, []
    thread = threading.Thread(target=lambda: found.append(parallel.processes_beside("auto", 5)))
    thread.start()
    thread.join()
    with parallel.alone():
        found.append(parallel.processes_beside("auto", 5))
    found += [parallel.processes_beside("auto", 1), parallel.processes_beside("auto", 5, alone="on a GPU")]
    assert found == [0] * 4 and parallel.processes_beside("auto", 5) == 4
    assert [parallel.processes_beside(jobs, 3) for jobs in (1, 2, 9)] == [0, 1, 2]
    assert [parallel.processes_beside(jobs, 0) for jobs in (1, 2, "auto")] == [0, 0, 0], "all are known"
    with refuses("jobs", "'auto' or 1 on a GPU"):
        parallel.processes_beside(2, 5, alone="on a GPU")


@pytest.mark.parametrize(("step", "worked", "answered", "starts"), [
    (0.01, 0, False, False), (0.01, 9, False, True), (0.2, 0, False, True), (0.01, 0, True, True), (0.001, 99, True, False),
])  # fmt: skip
def test_a_process_is_started_where_it_pays(
    step: float, worked: float, answered: bool, starts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 updates of `step` seconds each: 3 s alone do not pay, 60 s do; what calls took before counts, a process that is there too."""
    clock, started = itertools.count(0.0, step), []
    monkeypatch.setattr(parallel.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(parallel, "_worked", worked)
    now = [next(clock)]
    monkeypatch.setattr(parallel, "_answered", 0.0 if answered else -1e9)
    monkeypatch.setattr(parallel._Team, "start", lambda team: started.append(team) or setattr(team, "beside", 0))

    def work(number: int, watch: Any) -> int:
        for update in range(1, 101):
            now[0] = next(clock)
            watch(update)
        return number

    results = parallel.calls(work, [(0,), (1,), (2,)], [100] * 3, jobs="auto", beside=1)
    assert list(results) == [(0, 0), (1, 1), (2, 2)] and bool(started) == starts


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "2", "all", None, [2]])
def test_bad_jobs(wrong: Any) -> None:
    with refuses("jobs", "'auto' or an integer of at least 1"):
        parallel.checked_jobs("jobs", wrong)
