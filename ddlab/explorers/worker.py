"""One worker thread that computes the newest value only: for sliders whose answer takes between 50 ms and a second.

    def compute(config, stale):              # pure; runs in the worker's thread
        for step in steps(...):
            if stale():                      # a newer value waits: give up
                return None
        return result

    worker = Worker(compute, show=lambda result: setattr(plot, "figure", figure(result)), on_error=explorer.show_error)
    controls.observe(lambda change: worker.submit(change["new"]), "value")
    worker.join()                            # tests: wait until idle; a failure of compute or show is raised here
    worker.close()                           # the thread ends

A value submitted while another is computed replaces the one that waits. A result is shown even when a newer value waits, and
`stale()` stays False for the first `patience` seconds after the last thing shown has grown old: while a slider is dragged something
always moves. The thread starts with the first value and is a daemon; it holds no lock while computing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from ..errors import check_function, check_number, check_text

Value = TypeVar("Value")
Result = TypeVar("Result")

_NOTHING = object()


class Worker(Generic[Value, Result]):
    """Computes the newest submitted value in one thread; see the module."""

    def __init__(
        self,
        compute: Callable[[Value, Callable[[], bool]], Result | None],
        show: Callable[[Result], None],
        *,
        on_error: Callable[[BaseException], None] | None = None,
        on_busy: Callable[[bool], None] | None = None,
        patience: float = 1.0,
        name: str = "ddlab-worker",
    ) -> None:
        """
        Args:
            compute: (value, stale) -> result, or None for nothing to show.
            show: called in the worker's thread with each result.
            on_error: called in the worker's thread with what compute or show raised.
            on_busy: called with True when work starts and False when none is left.
            patience: seconds without anything shown after which `stale()` lets a computation finish.
        """
        for argument, function in (("compute", compute), ("show", show)):
            check_function(argument, function)
        for argument, function in (("on_error", on_error), ("on_busy", on_busy)):
            check_function(argument, function, optional=True)
        check_text("name", name, empty=False)
        self._compute, self._show, self._on_error, self._on_busy = compute, show, on_error, on_busy
        self._patience = check_number("patience", patience, 0)
        self._name = name
        self._condition = threading.Condition()
        self._waiting: object = _NOTHING
        self._busy = False
        self._closed = False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._shown_at = 0.0

    @property
    def thread(self) -> threading.Thread | None:
        """The thread while there is one."""
        return self._thread

    def submit(self, value: Value) -> None:
        """Ask for `value`; replaces a value that still waits. After `close` nothing happens."""
        with self._condition:
            if self._closed:
                return
            if not self._busy and self._waiting is _NOTHING:
                self._shown_at = time.monotonic()
            self._waiting = value
            self._error = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def join(self, timeout: float | None = 60.0) -> None:
        """Wait until nothing is computed or waits; raise what the last computation raised."""
        with self._condition:
            idle = self._condition.wait_for(
                lambda: self._closed or (not self._busy and self._waiting is _NOTHING), timeout
            )
            error, self._error = self._error, None
        if not idle:
            raise TimeoutError(f"{self._name} is still computing after {timeout:g} s")
        if error is not None:
            raise error

    def close(self, timeout: float = 30.0) -> None:
        """End the thread: a computation that asks `stale()` gives up, its result is not shown."""
        with self._condition:
            self._closed = True
            self._waiting = _NOTHING
            self._condition.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        self._thread = None

    def _stale(self) -> bool:
        if self._closed:
            return True
        return self._waiting is not _NOTHING and time.monotonic() - self._shown_at < self._patience

    def _work(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._waiting is not _NOTHING)
                if self._closed:
                    return
                value, self._waiting = self._waiting, _NOTHING
                starts, self._busy = not self._busy, True
            error = self._attempt(value, starts)
            with self._condition:
                self._error = error
                done = self._waiting is _NOTHING
            if done:
                self._tell_busy(False)
            with self._condition:
                # Asked again: a value may have come while the end was told.
                self._busy = self._waiting is not _NOTHING
                self._condition.notify_all()

    def _attempt(self, value: object, starts: bool) -> BaseException | None:
        try:
            if starts:
                self._tell_busy(True)
            result = self._compute(value, self._stale)  # type: ignore[arg-type]
            if result is not None and not self._closed:
                self._show(result)
                self._shown_at = time.monotonic()
        except Exception as error:  # Shown in the explorer and raised by join: in a thread it would be seen nowhere.
            if self._on_error is not None and not self._closed:
                self._on_error(error)
            return error
        return None

    def _tell_busy(self, busy: bool) -> None:
        if self._on_busy is not None and not self._closed:
            self._on_busy(busy)
