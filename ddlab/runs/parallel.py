"""Independent calls, several at once: this process makes them from the first on, processes beside it from the last back.

    with contextlib.closing(calls(train, [(config, inputs), ...], sizes=[60, ...], jobs=2, beside=1)) as done:
        for number, result in done: ...

Every call is made with the threads that this process has: its numbers are the same bit for bit, whoever makes it. A process that is
started imports torch and ddlab first (2.2 CPU-seconds); nothing waits for it, and it stays three minutes for the next calls.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any

import torch

from ..core import errors, memory
from ..core.errors import DDLabError
from ..core.progress import Progress

_IDLE = 180.0  # seconds that a process stays without a call
_PAYS = 9.0  # seconds of work for which a process is started: three times what its start takes
_PAYS_WARM = 1.0  # for which one is asked that is there already
_MEASURED = 0.3  # seconds after which the work that is left can be told
_MEGABYTES = 1000  # of memory, for each process beside this one: a student's holds some 600
_LEFT = 3000  # MB that stay free for all else

_alone: contextvars.ContextVar[bool] = contextvars.ContextVar("alone", default=False)
_elsewhere = 0.0  # CPU-seconds of the processes beside this one
_worked = 0.0  # seconds of calls here since processes were last there
_answered = -math.inf  # when one of them was last there
_peaks: dict[int, float] = {}  # process number -> the most MB that it has held
_told = 0.0  # in such a process: the CPU-seconds that it has told


def checked_jobs(argument: str, value: Any) -> Any:
    """How many processes, this one included, or "auto"."""
    if isinstance(value, str) and value == "auto":
        return value
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        errors.fail(argument, "'auto' or an integer of at least 1", value)
    return int(value)


Jobs = Annotated[int | str, checked_jobs]


def processes_beside(jobs: int | str, count: int, *, alone: str = "", megabytes: float = 0.0) -> int:
    """How many processes beside this one may make `count` calls: at most jobs - 1, and one for each other call.

    "auto": as many as there are cores for their threads, with 1 GB for each and 3 GB left over. None in a process that another one has
    started (the worker of a sweep), inside `alone`, and in any thread but the main one (an explorer's).

    Args:
        alone: why only this process can make the calls, in words; "" where others can as well.
        megabytes: that a process needs beyond what any takes.

    Raises:
        DDLabError: jobs of 2 or more where only this process can.
    """
    if alone:
        return 0 if jobs in ("auto", 1) else errors.fail("jobs", f"'auto' or 1 {alone}", jobs)
    if jobs != "auto":
        return max(0, min(int(jobs), count) - 1)
    main = threading.current_thread() is threading.main_thread() and multiprocessing.parent_process() is None
    if count < 2 or not main or _alone.get():
        return 0
    import joblib

    cores = joblib.cpu_count() // torch.get_num_threads()
    room = (memory.free_bytes() / 2**20 - _LEFT) // (_MEGABYTES + megabytes)
    return max(0, min(count - 1, cores - 1, int(room)))


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Inside, "auto" asks for no process: the cores have other work."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def cpu_seconds() -> float:
    """Of this process, and of the processes beside it while they did its calls."""
    return time.process_time() + _elsewhere


def peaks() -> list[float]:
    """The most MB that each process beside this one has held, which had a call."""
    return list(_peaks.values())


def peak_megabytes() -> float:
    """The most memory this process has held so far.

    Linux hands the peak in `ru_maxrss` on from the process that started this one, however large that was; the peak in
    /proc/self/status is this process's own.
    """
    own = next((line for line in _text(Path("/proc/self/status")).splitlines() if line.startswith("VmHWM:")), "")
    if own:
        return int(own.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 1024**2


def calls(
    function: Callable[..., Any],
    given: Sequence[tuple[Any, ...]],
    sizes: Sequence[int],
    *,
    jobs: int | str,
    beside: int,
    line: Progress | None = None,
) -> Generator[tuple[int, Any]]:
    """(number, function(*given[number])) of each call, as they come; close it to end what still runs.

    Args:
        function: of a module of ddlab. In this process it gets `watch` as well, to be called with the part of the size that is done.
        sizes: of the calls, in one unit (updates).
        jobs: with "auto" processes are started once the work that is left, as measured here, is worth it, and without them it goes on.
        beside: how many, of `processes_beside`.
        line: told how much of all sizes is done; what others are at is reckoned by the pace of this process.

    Raises:
        DDLabError: what a call in another process raised, in its words or in ours; a process that ended by itself.
    """
    team = _Team(function, given, sizes, beside, jobs, line)
    try:
        yield from team.results()
    except BaseException:
        team.end()
        raise


class _Team:
    """This process and those beside it; all is done in one thread, between the steps of its own call."""

    def __init__(
        self,
        function: Callable[..., Any],
        given: Sequence[tuple[Any, ...]],
        sizes: Sequence[int],
        beside: int,
        jobs: int | str,
        line: Progress | None,
    ) -> None:
        self.function, self.given, self.sizes, self.line = function, given, sizes, line
        self.beside, self.jobs = beside, jobs
        self.waiting = deque(range(len(given)))
        # future -> its call, or None while a process starts, and since when
        self.asked: dict[Any, tuple[int | None, float]] = {}
        self.found: list[tuple[int, Any]] = []
        self.done = self.own = 0  # of the sizes: whole calls; what this process has made
        self.seconds = 0.0
        self.executor: Any = None

    def results(self) -> Iterator[tuple[int, Any]]:
        if self.beside and self.jobs != "auto":
            self.start()
        while self.waiting or any(number is not None for number, _ in self.asked.values()):
            if self.waiting:
                self.call(self.waiting.popleft())
            else:
                wait(self.asked, timeout=0.2, return_when=FIRST_COMPLETED)
                self.tell(0)
            self.collect()
            while self.found:
                yield self.found.pop(0)

    def call(self, number: int) -> None:
        """One call here; after each of its steps the others are looked after."""
        global _worked
        begun, seconds, own = time.monotonic(), self.seconds, self.own

        def watch(part: int) -> None:
            self.seconds, self.own = seconds + time.monotonic() - begun, own + part
            if self.beside and self.executor is None and self.pays(self.sizes[number] - part):
                self.start()
            self.collect()
            self.tell(part)

        result = self.function(*self.given[number], watch=watch)
        _worked += time.monotonic() - begun
        self.whole(number, result)

    def pays(self, left: int) -> bool:
        """Whether what is left here and waits, or what calls took before, is worth a process."""
        if self.seconds < _MEASURED or not self.waiting:
            return False
        left_seconds = self.seconds / self.own * (left + sum(self.sizes[number] for number in self.waiting))
        warm = time.monotonic() - _answered < _IDLE / 2
        return left_seconds > _PAYS_WARM and (warm or left_seconds + _worked > _PAYS)

    def start(self) -> None:
        from joblib.externals.loky import get_reusable_executor

        self.executor = get_reusable_executor(max_workers=self.beside, timeout=_IDLE, initializer=_begin)
        for _ in range(self.beside):
            self.submit(None)

    def submit(self, number: int | None) -> None:
        arguments = () if number is None else (self.function, *self.given[number])
        with _held_interrupts():
            future = self.executor.submit(_called, torch.get_num_threads(), *arguments)
        self.asked[future] = number, time.monotonic()

    def collect(self) -> None:
        """Take what has come; whoever brought it gets the last call that waits."""
        global _elsewhere, _worked, _answered
        for future in [future for future in self.asked if future.done()]:
            number, _ = self.asked.pop(future)
            try:
                result, seconds, process, peak = future.result()
                _peaks[process] = peak
                _elsewhere, _worked, _answered = _elsewhere + seconds, 0.0, time.monotonic()
                if number is not None:
                    self.whole(number, result)
                number = self.waiting.pop() if self.waiting else None
                if number is not None:
                    self.submit(number)
            except BrokenExecutor:
                self.lost(number)
            except DDLabError as problem:
                raise problem from None
            except Exception as problem:
                wanted = "1 to see where it fails"
                raise DDLabError(
                    f"jobs must be {wanted}; given {self.jobs!r}, and another process raised "
                    f"{type(problem).__name__}: {problem}."
                ) from None

    def lost(self, number: int | None) -> None:
        """A process is no more: all the others are ended too. Without having been asked for, they are done without."""
        if self.jobs != "auto":
            raise DDLabError(
                f"jobs must be 1 where processes end by themselves (most often memory is short); given {self.jobs}."
            )
        calls = [number, *(number for number, _ in self.asked.values())]
        self.waiting.extend(number for number in calls if number is not None)
        self.asked.clear()
        self.beside = 0

    def whole(self, number: int, result: Any) -> None:
        self.done += self.sizes[number]
        self.found.append((number, result))

    def tell(self, part: int) -> None:
        if self.line is not None:
            pace = self.own / self.seconds if self.seconds else 0.0
            now = time.monotonic()
            elsewhere = (
                min((now - since) * pace, self.sizes[number])
                for number, since in self.asked.values()
                if number is not None
            )
            self.line.show(min(self.done + part + int(sum(elsewhere)), sum(self.sizes)))

    def end(self) -> None:
        """End the processes where one is at work: nothing goes on that nobody waits for."""
        if self.executor is not None and not all(future.done() for future in self.asked):
            self.executor.shutdown(wait=True, kill_workers=True)


def _begin() -> None:
    """An interrupt is for the process that asked: it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _called(threads: int, function: Callable[..., Any] | None = None, *given: Any) -> tuple[Any, float, int, float]:
    """In another process: what the call gives (without one None), CPU-seconds since it last told, its number and peak of memory."""
    global _told
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    result = None if function is None else function(*given)
    spent, _told = time.process_time() - _told, time.process_time()
    return result, spent, os.getpid(), peak_megabytes()


@contextlib.contextmanager
def _held_interrupts() -> Iterator[None]:
    """A process that starts inherits it: interrupted in its imports, which the terminal's and a notebook's interrupt would do, it would
    print a traceback.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
