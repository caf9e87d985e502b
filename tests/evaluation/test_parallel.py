"""Tasks at once: the same numbers wherever they run, and no finished one is lost with a worker."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import pytest
import torch

import ddlab
from ddlab import networks
from ddlab.core import DDLabError
from ddlab.data import ImageData
from ddlab.evaluation.parallel import LostWorkers, run_tasks
from ddlab.methods import selection
from ddlab.training import supervised
from tests.support import refuses

STUDENT = supervised.Config.teaching(network=networks.spec("convnet", width=4), epochs=1)
SETTINGS: dict[str, Any] = {"config": STUDENT, "device": "cpu", "progress": False}


def own_loss() -> Any:
    """Return the README's loss, defined where no other process can import it, as a notebook's cell
    does.
    """
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(
        "def loss(config, inputs, images, labels, step):\n"
        "    data = inputs.data\n"
        "    means = [data.normalised(data.of_class(label)).mean(0) for label in labels.tolist()]\n"
        "    return sum((image - mean).square().mean() for image, mean in zip(images, means))\n",
        space,
    )
    return space["loss"]


def dying_loss() -> Any:
    """Return a loss whose process is killed with seed 1, after the others had time to finish."""

    def loss(
        config: Any, inputs: Any, images: torch.Tensor, labels: Any, step: int
    ) -> torch.Tensor:
        if config.seed == 1:
            time.sleep(4)
            os.kill(os.getpid(), signal.SIGKILL)
        return images.square().mean()

    return loss


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes of a dask cluster on this machine."""
    distributed = pytest.importorskip("distributed")
    options: dict[str, Any] = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    import dask

    # A task whose worker died is tried again elsewhere three times by default.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(**options) as local,
        distributed.Client(local) as client,
    ):
        yield client


def test_results_come_as_tasks_finish() -> None:
    results = dict(run_tasks(lambda number: number**2, [(3,), (4,)], jobs=None))
    assert results == {0: 9, 1: 16}


def test_what_a_task_raises_is_raised_here() -> None:
    for jobs in (None, 2):
        with pytest.raises(ZeroDivisionError):
            dict(run_tasks(lambda number: 1 / number, [(1,), (0,)], jobs=jobs))


def test_a_worker_that_is_killed_costs_no_finished_task() -> None:
    def task(number: int) -> int:
        if number == 3:
            time.sleep(2)
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    results: dict[int, int] = {}
    with pytest.raises(LostWorkers, match=r"memory .* fewer jobs"):
        for number, result in run_tasks(task, [(0,), (1,), (2,), (3,)], jobs=2):
            results[number] = result
    assert results == {0: 0, 1: 1, 2: 2}


class Unreadable:
    """An object that another process fails to read."""

    def __reduce__(self) -> Any:
        return int, ("no number",)


def test_a_task_that_cannot_be_read_is_told_apart() -> None:
    with pytest.raises(LostWorkers, match="could not read its task"):
        dict(run_tasks(lambda value: value, [(Unreadable(),), (Unreadable(),)], jobs=2))


def test_compare_keeps_the_seeds_that_are_finished(grey: ImageData, no_cache: None) -> None:
    method = ddlab.from_loss("dying", dying_loss(), iterations=2)
    with pytest.warns(UserWarning, match=r"fewer jobs .* 2 of 3 seeds"):
        comparison = ddlab.compare([method], grey, seeds=(0, 1, 2), jobs=2, **SETTINGS)
    assert (
        comparison.seeds == (0, 2)
        and not comparison.complete
        and "Not complete" in comparison.table()
    )


def test_evaluate_keeps_the_students_that_are_finished(grey: ImageData, no_cache: None) -> None:
    distilled = ddlab.distill("selection", grey, config=selection.Config(), progress=False)

    def kill_a_worker() -> None:
        import psutil

        for _ in range(600):
            time.sleep(0.1)
            workers = [
                child
                for child in psutil.Process().children()
                if "popen_loky" in " ".join(child.cmdline())
            ]
            if bar.steps_shown >= 3 and workers:
                workers[-1].kill()
                return

    class Bar:
        steps_shown = 0

        def update(self, count: int = 1) -> None:
            self.steps_shown += count

        def close(self) -> None:
            """Nothing was printed."""

    bar = Bar()
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.warns(UserWarning, match="students that are finished"),
    ):
        patch.setattr("ddlab.evaluation.students.progress_bar", lambda *_, **__: bar)
        threading.Thread(target=kill_a_worker, daemon=True).start()
        settings = {**SETTINGS, "config": STUDENT.replace(epochs=40)}
        evaluation = ddlab.evaluate(
            distilled, grey, labels="hard", seeds=range(400), jobs=2, **settings
        )
    assert not evaluation.complete and 3 <= len(evaluation.per_seed) < 400


def test_own_networks_and_processes_of_joblibs_config(grey: ImageData, no_cache: None) -> None:
    networks.register(
        "of_a_reader",
        lambda channels, classes, size: torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(channels * size[0] * size[1], classes)
        ),
    )
    try:
        distilled = ddlab.distill("selection", grey, config=selection.Config(), progress=False)
        settings = {**SETTINGS, "config": STUDENT.replace(network=networks.spec("of_a_reader"))}
        alone = ddlab.evaluate(distilled, grey, labels="hard", seeds=[0, 1], **settings)
        ddlab.runs.cache.clear()
        with joblib.parallel_config(backend="threading", n_jobs=2):
            assert (
                ddlab.evaluate(distilled, grey, labels="hard", seeds=[0, 1], **settings).per_seed
                == alone.per_seed
            )
        ddlab.runs.cache.clear()
        with (
            joblib.parallel_config(backend="loky", n_jobs=2),
            refuses("jobs", "a network of your own"),
        ):
            ddlab.evaluate(distilled, grey, labels="hard", seeds=[0, 1], **settings)
        with (
            joblib.parallel_config(backend="loky", n_jobs=2),
            refuses("jobs", "a network of your own"),
        ):
            ddlab.compare({"a set": distilled}, grey, seeds=(0, 1), **settings)
    finally:
        networks.family.REGISTERED.pop("of_a_reader")


def test_a_cluster_gives_the_same_numbers(cluster: Any, grey: ImageData, no_cache: None) -> None:
    method = ddlab.from_loss("class_means", own_loss(), iterations=5)
    replicating: dict[str, Any] = {
        "dataset": "MNIST",
        "images_per_class": 1,
        "sets": 2,
        "students": 2,
        "iterations": 2,
        "device": "cpu",
        "student": {"epochs": 2},
        "progress": False,
    }

    def numbers() -> tuple[Any, ...]:
        ddlab.runs.cache.clear()
        comparison = ddlab.compare([method, "dm"], grey, seeds=(0, 1), **SETTINGS)
        distilled = ddlab.distill("selection", grey, config=selection.Config(), progress=False)
        evaluation = ddlab.evaluate(distilled, grey, labels="hard", seeds=(0, 1), **SETTINGS)
        replicated = ddlab.replicate("dm", grey, **replicating)
        rows = [(row.name, row.accuracies, row.gains) for row in comparison.rows]
        return (
            rows,
            evaluation.per_seed,
            replicated.accuracies,
            [distilled_set.fingerprint for distilled_set in replicated.sets],
        )

    local_numbers = numbers()
    with joblib.parallel_config(backend="dask"):
        assert numbers() == local_numbers


def test_a_worker_of_a_cluster_that_dies(cluster: Any, grey: ImageData, no_cache: None) -> None:
    method = ddlab.from_loss("dying", dying_loss(), iterations=2)
    with (
        joblib.parallel_config(backend="dask"),
        pytest.warns(UserWarning, match="seeds that are finished"),
    ):
        comparison = ddlab.compare([method], grey, seeds=(0, 1, 2), **SETTINGS)
    assert comparison.seeds == (0, 2) and not comparison.complete


@pytest.mark.timeout(60)
def test_a_task_on_a_cluster_runs_its_own_tasks_itself(cluster: Any) -> None:
    """Tasks of tasks would wait for workers that wait for them."""

    def squares(first: int) -> list[int]:
        numbers = [(number,) for number in range(first, first + 3)]
        return [square for _, square in run_tasks(lambda n: n * n, numbers, jobs=None)]

    with joblib.parallel_config(backend="dask"):
        tasks = [joblib.delayed(squares)(first) for first in range(4)]
        assert joblib.Parallel()(tasks) == [[n * n for n in range(k, k + 3)] for k in range(4)]


def test_replicate_says_where_finished_work_is(
    grey: ImageData, no_cache: None, tmp_path: Path
) -> None:
    """A student that is killed by the device's memory: what is finished stands in the folder."""
    options: dict[str, Any] = {
        "dataset": "MNIST",
        "images_per_class": 1,
        "sets": 1,
        "students": 2,
        "iterations": 2,
        "device": "cpu",
        "student": {"epochs": 2},
        "progress": False,
    }
    from ddlab.replication import replicating

    def lost(function: Any, tasks: Any, *, jobs: int | None) -> Iterator[Any]:
        yield 0, function(*next(iter(tasks)))
        if function.__name__ == "train_student":
            raise LostWorkers("a worker process ended")

    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(DDLabError, match="goes on from its folder"),
    ):
        patch.setattr(replicating, "run_tasks", lost)
        ddlab.replicate("dm", grey, folder=tmp_path, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            replicating, "distill", lambda *_, **__: pytest.fail("the set was made already")
        )
        assert len(ddlab.replicate("dm", grey, folder=tmp_path, **options).accuracies[0]) == 2
