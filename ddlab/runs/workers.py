"""Tasks spread over processes: of this machine, or of a dask cluster on several. A lost worker's task is done again by another.

Each local worker has a process of its own: where one is killed the others go on. A worker that computes on CUDA has a GPU to itself: it
locks one of its machine and sees no other, until it ends.
"""

from __future__ import annotations

import collections
import fcntl
import functools
import os
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from ..core import errors
from ..core.errors import DDLabError

LOST = 3  # as often a task's worker may be lost until it is the task's fault (dask's own number)
_DASK_SECONDS = 30  # to wait for a scheduler
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Task = Callable[[Any, int], Any]


def spread(
    task: Task,
    shared: Any,
    numbers: Sequence[int],
    *,
    jobs: int = 1,
    dask: str | None = None,
    threads: int = 1,
    device: torch.device | str = "cpu",
) -> Iterator[tuple[int, Any]]:
    """(number, `task(shared, number)`) for each number, in the order in which they are done.

    Args:
        task: a function that gives something else than None. shared: what all tasks need; a local worker gets it once.
        jobs: processes on this machine, -1 for one per core or GPU; 1 computes here.
        dask: address of a dask scheduler ("tcp://HOST:8786"), whose workers (of one thread each) compute instead. jobs is then unused.
        threads: that each worker computes with. device: for "cuda" each worker has a GPU of its own.

    Returns:
        The results; None is that of a task whose worker was lost `LOST` times (killed, or out of memory). What a task raises is raised.

    Raises:
        DDLabError: no such scheduler, more jobs than GPUs.
    """
    on_gpu = errors.checked_device(device).type == "cuda"
    if jobs == -1:
        jobs = len(gpus()) if on_gpu else _cores()
    errors.check_integer("jobs", jobs, 1)
    if dask is not None:
        return _on_dask(dask, task, shared, numbers, threads, on_gpu)
    if jobs == 1:
        return ((number, task(shared, number)) for number in numbers)
    if on_gpu and jobs > len(gpus()):
        errors.fail("jobs", f"at most {len(gpus())}, the GPUs of this machine, one for each", jobs)
    return _local(task, shared, numbers, min(jobs, len(numbers)), threads, on_gpu)


def gpus() -> tuple[str, ...]:
    """What `CUDA_VISIBLE_DEVICES` calls the GPUs that this process sees."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return tuple(map(str, range(torch.cuda.device_count())))
    return tuple(name for part in named.split(",") if (name := part.strip()) not in ("", "-1"))


@functools.cache
def take_gpu() -> str:
    """Keep one of the machine's GPUs for this process, and hide the others from it; before it touches CUDA.

    Raises:
        DDLabError: all are taken by other workers.
    """
    for name in gpus():
        lock = os.open(Path(tempfile.gettempdir()) / f"ddlab-{os.getuid()}-gpu-{name}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until the process ends, however it does
        except OSError:
            os.close(lock)
            continue
        os.environ["CUDA_VISIBLE_DEVICES"] = name
        return name
    raise DDLabError(
        f"workers must be at most as many as the GPUs of their machine; given {len(gpus())} GPUs, all taken."
    )


def _work(task: Task, shared: Any, number: int, threads: int, on_gpu: bool) -> Any:
    if on_gpu:
        take_gpu()
    torch.set_num_threads(threads)
    return task(shared, number)


_held: Any  # in a local worker: (task, shared, threads, on_gpu)


def _hold(*held: Any) -> None:
    global _held
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the first process that is interrupted, and ends this one
    _held = held


def _work_on(number: int) -> Any:
    task, shared, threads, on_gpu = _held
    return _work(task, shared, number, threads, on_gpu)


def _local(
    task: Task, shared: Any, numbers: Sequence[int], jobs: int, threads: int, on_gpu: bool
) -> Iterator[tuple[int, Any]]:
    from concurrent.futures import FIRST_COMPLETED, Future, wait
    from concurrent.futures.process import BrokenProcessPool

    from joblib.externals.loky import ProcessPoolExecutor

    environment = dict.fromkeys(_THREADS, str(threads))
    waiting, lost = collections.deque(numbers), collections.Counter[int]()
    idle: list[Any] = []
    busy: dict[Future[Any], tuple[Any, int]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                # One process each: of a shared pool all are ended where one is lost.
                worker = idle.pop() if idle else ProcessPoolExecutor(
                    1, initializer=_hold, initargs=(task, shared, threads, on_gpu), env=environment
                )  # fmt: skip
                number = waiting.popleft()
                busy[worker.submit(_work_on, number)] = worker, number
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                worker, number = busy.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    worker.shutdown(kill_workers=True)
                    lost[number] += 1
                    if lost[number] < LOST:
                        waiting.appendleft(number)
                        continue
                    result = None
                else:
                    idle.append(worker)
                yield number, result
    finally:
        for worker in (*idle, *(worker for worker, _ in busy.values())):
            worker.shutdown(kill_workers=True)


def _on_dask(
    address: str, task: Task, shared: Any, numbers: Sequence[int], threads: int, on_gpu: bool
) -> Iterator[tuple[int, Any]]:
    with _client(address) as client:
        from dask.distributed import KilledWorker, as_completed

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # it is sent once
            # A task's result, not data scattered: dask makes it again where the worker that had it is lost.
            held = client.submit(_same, shared, pure=False)
            tasks = {
                client.submit(_work, task, held, number, threads, on_gpu, pure=False): number for number in numbers
            }
        for future in as_completed(list(tasks)):
            try:
                result = future.result()
            except KilledWorker:
                result = None
            yield tasks.pop(future), result


def _same(value: Any) -> Any:
    return value


def _client(address: str) -> Any:
    errors.check_text("dask", address, empty=False)
    try:
        from dask.distributed import Client
    except ImportError:
        errors.fail("dask", "left out where dask.distributed is not installed (pip install ddlab[machines])", address)
    try:
        return Client(address, timeout=_DASK_SECONDS)
    except (OSError, ValueError) as problem:
        raise DDLabError(
            f"dask must be the address of a running scheduler; given {address!r} ({problem})."
        ) from problem


def _cores() -> int:
    import joblib

    return joblib.cpu_count()
