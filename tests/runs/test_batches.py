"""Runs by their batches: equal to a run in one process bit for bit, whatever is lost on the way, and nothing made twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import ddlab
from ddlab import networks
from ddlab.methods import dwa, fadrm, selection, sre2l
from ddlab.runs import batches, checkpoint, process
from ddlab.runs.process import Inputs
from tests.runs import splitting
from tests.support import assert_same, made_data, refuses

ROOT = Path(__file__).parents[2]
CONFIG = splitting.Config(seed=3)
INPUTS = Inputs(device="cpu")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPLITTING", str(tmp_path))
    return tmp_path


def serial() -> splitting.State:
    made = process.run(splitting, CONFIG, INPUTS)
    (splitting.folder() / "said").unlink()
    return made


def once(**again: int) -> dict[str, int]:
    """Each update of the run once, and what else was said."""
    return {**{str(step): 1 for step in range(12)}, **again}


def test_a_worker_is_lost(folder: Path) -> None:
    """In the middle of the second batch: it goes on from its checkpoint, the others are not touched."""
    wanted, path = serial(), folder / "run"
    (folder / "kill-4").touch()
    made = batches.run(splitting, CONFIG, INPUTS, jobs=2, checkpoint=path, checkpoint_seconds=0.0)
    assert_same(made, wanted)
    assert Counter(splitting.said()) == {**once(), "4": 2, "killed-4": 1}
    assert_same(checkpoint.load(path, splitting, CONFIG, INPUTS), wanted)
    assert not (folder / "run.batches").exists() and len(list(checkpoint.parts_of(path).iterdir())) == 4
    assert_same(batches.run(splitting, CONFIG, INPUTS, jobs=2, checkpoint=path), wanted)
    assert len(splitting.said()) == 14, "what is there is not made again"


def test_a_batch_that_always_loses_its_worker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, path = serial(), folder / "run"
    (folder / "kill-4").touch()
    with monkeypatch.context() as patch:
        patch.setattr(batches.workers, "LOST", 1)
        with refuses("walks", "lost 1 times", "batches 1,"):
            batches.run(splitting, CONFIG, INPUTS, jobs=2, checkpoint=path, checkpoint_seconds=0.0)
    assert_same(batches.run(splitting, CONFIG, INPUTS, jobs=1, checkpoint=path), wanted)
    assert Counter(splitting.said()) == {**once(), "4": 2, "killed-4": 1}


def test_a_batch_that_is_there_is_not_made_again(folder: Path) -> None:
    """Dask asks again where a worker is lost after its batch, before its answer."""
    split = batches._Split(splitting, CONFIG, INPUTS, "cpu", folder / "run.batches", 30.0, False)
    assert [batches._make(split, 1) for _ in range(2)] == [1, 1] and splitting.said() == ["3", "4", "5"]
    assert len(split.made(1).load().finished["done"]) == 1 and not split.under_work(1).path.exists()


class Stop:
    """Ctrl-C, once, in one update."""

    def __init__(self, step: int) -> None:
        self.step = str(step)

    def __call__(self, word: Any) -> None:
        with open(splitting.folder() / "said", "a") as file:
            file.write(f"{word}\n")
        if str(word) == self.step:
            self.step = ""
            raise KeyboardInterrupt


def test_an_interrupt_and_a_run_that_was_begun_in_one_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, path = serial(), folder / "run"
    monkeypatch.setattr(splitting, "say", Stop(4))
    part = process.run(splitting, CONFIG, INPUTS, checkpoint=path, resume_anyway=True)
    assert part.step == 4 and len(part.done) == 1
    monkeypatch.setattr(splitting, "say", Stop(7))
    for _ in range(2):
        try:
            made = batches.run(splitting, CONFIG, INPUTS, checkpoint=path, resume_anyway=True)
        except KeyboardInterrupt as stopped:
            assert "the same call goes on from the batches that are done" in str(stopped)
    assert_same(made, wanted)
    # The first batch was done; the second began anew, the third went on from its checkpoint.
    assert Counter(splitting.said()) == {**once(), "3": 2, "4": 2, "7": 2}


@pytest.mark.parametrize("module", [sre2l, dwa, fadrm])
def test_methods(module: Any, tmp_path: Path) -> None:
    """Three batches of uneven size; SRe2L's in two processes."""
    data = made_data(classes=3, size=8)
    teacher = networks.initialise(networks.spec("convnet", width=4).for_data(data), seed=0)
    inputs = Inputs(data=data, teachers=(teacher,), device="cpu")
    config, given = module.SMALL.replace(classes_per_batch=2), {"device": "cpu", "progress": False}
    wanted = ddlab.distill(module.NAME, data, teacher, config, checkpoint=tmp_path / "one", **given)
    if module is sre2l:
        made = ddlab.distill(module.NAME, data, teacher, config, checkpoint=tmp_path / "several", jobs=2, **given)
    else:
        made = batches.run(module, config, inputs, checkpoint=tmp_path / "several")
    assert made.complete and made.fingerprint == wanted.fingerprint and made.provenance == wanted.provenance
    one, several = (checkpoint.load(tmp_path / name, module, config, inputs) for name in ("one", "several"))
    assert_same(one, several)
    names = [
        sorted(file.name for file in checkpoint.parts_of(tmp_path / name).iterdir()) for name in ("one", "several")
    ]
    assert names[0] == names[1] and len(names[0]) == 4
    with refuses("on_step", "left out"):
        ddlab.distill(module.NAME, data, teacher, config, jobs=2, on_step=print, **given)
    with refuses("classes_per_batch", "at most 3"):
        ddlab.distill(module.NAME, data, teacher, config.replace(classes_per_batch=4), jobs=2, **given)


def test_what_cannot_be_split() -> None:
    data = made_data(classes=3, size=8)
    with refuses("jobs", "must be 1", "selection", "given jobs=2"):
        ddlab.distill("selection", data, config=selection.SMALL, jobs=2)
    with refuses("checkpoint", "folder that all workers see"):
        batches.run(splitting, CONFIG, INPUTS, dask="tcp://nowhere:1")
    with refuses("jobs", "0"):
        batches.run(splitting, CONFIG, INPUTS, jobs=0)
    with refuses("walks.batches", "divides the 12 updates", "5"):
        odd = type("Odd", (), {**vars(splitting), "batches": staticmethod(lambda config, inputs: 5)})
        batches.run(odd, CONFIG, INPUTS, jobs=2)


DASK = """
if __name__ == "__main__":
    from dask.distributed import LocalCluster
    from ddlab.runs import batches
    from tests.runs.test_batches import CONFIG, INPUTS, splitting
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        batches.run(splitting, CONFIG, INPUTS, dask=address, checkpoint="run", checkpoint_seconds=0.0)
"""


@pytest.mark.slow
def test_a_worker_of_a_dask_cluster_is_lost(folder: Path) -> None:
    """As `test_a_worker_is_lost`, in an interpreter of its own."""
    wanted = serial()
    (folder / "cluster.py").write_text(DASK)
    (folder / "kill-4").touch()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "cluster.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert_same(checkpoint.load(folder / "run", splitting, CONFIG, INPUTS), wanted)
    assert Counter(splitting.said()) == {**once(), "4": 2, "killed-4": 1}
