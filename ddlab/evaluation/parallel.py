"""Run independent tasks at once, in processes, threads or on a cluster, and lose none that is
finished.

run_tasks(train, [(config, data), ...], jobs=2)      # yields (number of the task, its result) as tasks finish

joblib does the work: `jobs` processes, or what `joblib.parallel_config(...)` around the call says.
"""

import contextlib
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from ..core import DDLabError, errors
from ..data import ImageData
from ..networks import NetworkSpec
from ..networks.family import REGISTERED
from ..runs import Inputs

Outcome = tuple[int, Any, Exception | None]  # number of the task, its result, or what it raised


class LostWorkers(Exception):
    """Tasks that no process finished, though none of them failed by itself; the message is a
    sentence for the reader.
    """


def run_tasks(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], *, jobs: int | None
) -> Iterator[tuple[int, Any]]:
    """Run `function(*task)` for each task and yield (task number, result) as they finish.

    Args:
        function: can be imported where it runs, or is pickled with what it names.
        tasks: asked for one by one, so that later ones may depend on earlier results.
        jobs: how many at once; None: one after another here, or what `joblib.parallel_config(...)`
            says.

    Raises:
        LostWorkers: a process died, or could not read a task. What was yielded before stands.
        Exception: what the function raised, after which no further task begins.
    """
    lost: Exception | None = None
    outcomes = _outcomes(function, tasks, jobs)
    with _closed_quietly(outcomes):
        while True:
            # What a task raises comes back as a value, so an exception here is the fault of no
            # task.
            try:
                number, result, problem = next(outcomes)
            except StopIteration:
                break
            except Exception as raised:
                lost = raised
                break
            if isinstance(problem, _Lost):
                lost = lost or problem.reason
                continue
            if problem is not None:
                raise problem
            yield number, result
    if lost is not None:
        raise LostWorkers(_sentence(lost)) from lost


@contextlib.contextmanager
def _closed_quietly(outcomes: Any) -> Iterator[None]:
    """Cancel what still runs at the end, without joblib's advice to ask for fewer tasks."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes.close()


def _outcomes(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], jobs: int | None
) -> Any:
    """Return an iterator over the outcomes of tasks as they finish."""
    import joblib
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    client = getattr(backend, "client", None)
    # A worker that waited for other workers would keep one of them from working.
    if client is not None and not _is_worker():
        return _outcomes_on_cluster(client, function, tasks)
    delayed = (
        joblib.delayed(_outcome)(number, function, *task) for number, task in enumerate(tasks)
    )
    if client is not None:
        return joblib.Parallel(n_jobs=1, return_as="generator_unordered", backend="threading")(
            delayed
        )
    return joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(delayed)


def _is_worker() -> bool:
    """Return whether this is a task that a worker of a dask cluster runs."""
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def _outcomes_on_cluster(
    client: Any, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]
) -> Iterator[Outcome]:
    """Run tasks by a dask client, without joblib.

    joblib waits for ever for a task whose worker died (seen in 1.6).

    Data sets are sent once, to all workers, so that no worker that dies takes the only copy with
    it.
    """
    from distributed import as_completed

    sent: dict[int, tuple[Any, Any]] = {}

    def shared(argument: Any) -> Any:
        if not isinstance(argument, (ImageData, Inputs)):
            return argument
        if id(argument) not in sent:
            sent[id(argument)] = argument, client.scatter(argument, broadcast=True, hash=False)
        return sent[id(argument)][1]

    def submit(number: int, task: tuple[Any, ...]) -> Any:
        future = client.submit(_outcome, number, function, *map(shared, task), pure=False)
        numbers[future.key] = number
        return future

    numbers: dict[str, int] = {}
    waiting = iter(enumerate(tasks))
    cores = sum(client.ncores().values())
    first = list(itertools.islice(waiting, 2 * max(cores, 1)))
    running = as_completed([submit(number, task) for number, task in first])
    for future in running:
        if future.status == "finished":
            yield future.result()
        else:
            reason = (
                future.exception()
                if future.status == "error"
                else RuntimeError("the task was cancelled")
            )
            yield numbers[future.key], None, _Lost(reason)
        for number, task in itertools.islice(waiting, 1):
            running.add(submit(number, task))


class _Lost(Exception):
    """A task that no worker finished, for a reason that is not the task's."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


def tell_lost(problem: LostWorkers, finished: int, total: int, unit: str) -> None:
    """Warn that only some tasks are finished, or raise if none is.

    Args:
        unit: the tasks, in the plural ("students").
    """
    if not finished:
        raise DDLabError(f"jobs: {problem}; none of {total} {unit} is finished.") from problem
    warnings.warn(
        f"jobs: {problem}; the result holds the {finished} of {total} {unit} that are finished.",
        stacklevel=6,
    )


def is_here(jobs: int | None) -> bool:
    """Return whether tasks run one after another in this thread."""
    import joblib

    return joblib.effective_n_jobs(jobs) == 1


def check_jobs(jobs: int | None, inputs: Inputs, *networks: Any) -> None:
    """Raise if other processes are asked for what only this one can do.

    These are training on a GPU, and building a reader's own networks.

    Args:
        networks: specs, or anything else, which is passed over, that the tasks use.
    """
    if is_here(jobs) or _shares_memory():
        return
    jobs_text = jobs if jobs is not None else "processes of joblib.parallel_config"
    if torch.device(inputs.device).type != "cpu":
        errors.fail("jobs", "None or 1 on a GPU", jobs_text)
    specs = [*networks, *(teacher.spec for teacher in inputs.teachers)]
    if any(isinstance(spec, NetworkSpec) and spec.family in REGISTERED for spec in specs):
        errors.fail(
            "jobs",
            "None or 1 for a network of your own, which other processes do not know",
            jobs_text,
        )


def _shares_memory() -> bool:
    """Return whether the active backend runs tasks in threads of this process."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return bool(getattr(backend, "supports_sharedmem", False))


def _outcome(number: int, function: Callable[..., Any], *task: Any) -> Outcome:
    """Run one task, wherever this is; what it raises is carried back."""
    try:
        return number, function(*task), None
    except Exception as problem:
        kind = type(problem)
        if kind.__module__ == "builtins" or kind.__module__.startswith("ddlab."):
            return number, None, problem
        # One of a reader's own, or of a library, may not survive the way to another process.
        return number, None, RuntimeError(f"{kind.__name__}: {problem}")


def _sentence(problem: Exception) -> str:
    unreadable = "un-serialize" in str(problem) or isinstance(
        problem, (ImportError, AttributeError)
    )
    if unreadable:
        return (
            "a worker process could not read its task, so what the task uses must be "
            "importable there "
            f"({type(problem).__name__}); jobs=1 runs everything here"
        )
    ended = f"a worker process ended before its task did ({type(problem).__name__}"
    # joblib says how: a system whose memory runs out kills, anything else has another reason.
    exit_codes = re.search(r"exit codes of the workers are \{(.*?)\}", str(problem))
    if exit_codes and "SIGKILL" not in exit_codes[1]:
        return f"{ended}, {exit_codes[1]}); jobs=1 runs everything here and says why"
    return f"{ended}), most likely because memory ran out; fewer jobs need less memory"
