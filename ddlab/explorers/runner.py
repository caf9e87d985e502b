"""The one owner of threads: it does the newest task, and leaves an older one at the next place
where that one may be left.

    def work(task, leave):                   # in the runner's thread
        for step in steps(...):
            leave()                          # raises TaskLeft where a newer task waits, on stop and on close
            ...

    runner = Runner(work, on_error=explorer.show_error, on_busy=explorer.busy)
    runner.submit(task)                      # from any thread; replaces a task that waits
    runner.stop()                            # nothing waits, what is done is left
    runner.join()                            # tests: wait until idle; what the last task raised is raised here
    runner.close()                           # the thread ends

The thread begins with the first task and is a daemon; no lock is held while a task is done. Nothing
here touches torch. When Python ends, as when a kernel does, every thread is ended first: one that is
still inside torch then would take the process down ("terminate called without an active exception").
"""

import atexit
import threading
import weakref
from collections.abc import Callable
from typing import Any

_NOTHING = object()
_AT_END = 10.0  # seconds that a thread has to leave what it does when Python ends
_running: "weakref.WeakSet[Runner]" = weakref.WeakSet()


@atexit.register
def _end_threads() -> None:
    for runner in list(_running):
        runner.close(_AT_END)


class TaskLeft(Exception):
    """The reader has moved on: a task that raises it, or lets it pass, is not finished and did not
    fail.
    """


class Runner:
    """Does the newest task in one thread; see the module.

    Attributes:
        thread: the thread while there is one.
    """

    def __init__(
        self,
        work: Callable[[Any, Callable[[], None]], None],
        *,
        on_error: Callable[[BaseException], None] | None = None,
        on_busy: Callable[[bool], None] | None = None,
        name: str = "ddlab-runner",
    ) -> None:
        """
        Args:
            work: (task, leave) -> None; what it computes it shows itself.
            on_error: told, in the runner's thread, what a task raised.
            on_busy: told True when work begins and False when none is left.
        """
        self._work = work
        self._on_error = on_error
        self._on_busy = on_busy
        self._name = name
        self._condition = threading.Condition()
        self._waiting: Any = _NOTHING
        self._doing: Any = _NOTHING
        self._busy = self._told_busy = self._closed = False
        self._stopped = False  # what is done now is not wanted any more
        self._error: BaseException | None = None
        self.thread: threading.Thread | None = None

    @property
    def task(self) -> Any:
        """The newest task that is done or waits and is still wanted, or None."""
        with self._condition:
            if self._waiting is not _NOTHING:
                return self._waiting
            return None if self._doing is _NOTHING or self._stopped else self._doing

    def submit(self, task: Any) -> None:
        """Ask for `task`: the one that waits is forgotten, the one that is done is left.

        After `close` nothing happens.
        """
        with self._condition:
            if self._closed:
                return
            self._waiting = task
            # At the first task: an explorer that is only looked at needs no thread.
            if self.thread is None:
                self.thread = threading.Thread(target=self._live, name=self._name, daemon=True)
                _running.add(self)
                self.thread.start()
            self._condition.notify_all()

    def stop(self) -> None:
        """Leave what is being done and forget what waits."""
        with self._condition:
            self._waiting = _NOTHING
            self._stopped = True
            self._condition.notify_all()

    def join(self, timeout: float | None = 60.0) -> None:
        """Wait until nothing is done or waits.

        Raises:
            TimeoutError: after `timeout` seconds. What the last task raised.
        """
        with self._condition:
            idle = self._condition.wait_for(
                lambda: self._closed or (not self._busy and self._waiting is _NOTHING), timeout
            )
            error = self._error
            self._error = None
        if not idle:
            raise TimeoutError(f"{self._name} is still computing after {timeout:g} s")
        if error is not None:
            raise error

    def close(self, timeout: float = 30.0) -> None:
        """End the thread. What is being done is left, and nobody is told."""
        with self._condition:
            self._closed = True
            self._waiting = _NOTHING
            self._condition.notify_all()
            thread = self.thread
        # A task that closes its own runner would wait for itself.
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        self.thread = None

    def _leave(self) -> None:
        if self._closed or self._stopped or self._waiting is not _NOTHING:
            raise TaskLeft

    def _live(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._closed or self._waiting is not _NOTHING)
                if self._closed:
                    return
                self._doing = self._waiting
                self._waiting = _NOTHING
                self._stopped = False
                begins = not self._told_busy
                self._busy = True
                self._told_busy = True
            error = self._attempt(begins)
            with self._condition:
                self._doing = _NOTHING
                self._error = error
                rests = self._waiting is _NOTHING
                self._told_busy = not rests
            if rests and (late_error := self._tell(self._on_busy, False)) is not None:
                self._error = late_error
            with self._condition:
                # Asked again: a task may have come while the end was told.
                self._busy = self._waiting is not _NOTHING
                self._condition.notify_all()

    def _attempt(self, begins: bool) -> BaseException | None:
        failed = self._tell(self._on_busy, True) if begins else None
        try:
            self._work(self._doing, self._leave)
        except TaskLeft:
            return failed
        except BaseException as error:
            # `sys.exit()` too: shown in the explorer and raised by join; in a thread it would be
            # seen nowhere.
            self._tell(self._on_error, error)
            return error
        return failed

    def _tell(self, tell: Callable[[Any], None] | None, news: Any) -> Exception | None:
        """Tell somebody; returns what that raised, which must not end the thread."""
        try:
            if tell is not None and not self._closed:
                tell(news)
        except Exception as error:
            if tell is not self._on_error:
                self._tell(self._on_error, error)
            return error
        return None
