"""The one owner of threads: the newest task is done, an older one is left, and nothing that goes
wrong ends the thread or is lost.
"""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ddlab.explorers.runner import Runner, TaskLeft


class Work:
    """Tasks that are held at a gate: what was begun, left and finished."""

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.left: list[Any] = []
        self.finished: list[Any] = []
        self._begins = threading.Semaphore(0)
        self.gate = threading.Event()

    def __call__(self, task: Any, leave: Callable[[], None]) -> None:
        self.begun.append(task)
        self._begins.release()
        assert self.gate.wait(10)
        try:
            leave()
        except TaskLeft:
            self.left.append(task)
            raise
        self.finished.append(task)

    def begins(self) -> None:
        """Wait until the next task has begun."""
        assert self._begins.acquire(timeout=10)


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def runner(work: Work) -> Iterator[Runner]:
    started = Runner(work)
    yield started
    work.gate.set()
    started.close()
    assert our_threads() == []


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "ddlab-runner"]


def test_a_task_is_done_in_a_thread_that_begins_with_it(runner: Runner, work: Work) -> None:
    assert runner.thread is None and our_threads() == []
    work.gate.set()
    runner.submit(3)
    runner.join()
    assert (
        work.finished == [3]
        and our_threads() == ["ddlab-runner"]
        and runner.thread is not None
        and runner.thread.daemon
    )


def test_the_newest_is_done_the_one_that_waits_is_forgotten(runner: Runner, work: Work) -> None:
    runner.submit(1)
    work.begins()
    for task in (2, 3, 4):
        runner.submit(task)
    work.gate.set()
    runner.join()
    assert work.begun == [1, 4] and work.left == [1] and work.finished == [4]


def test_the_task_is_the_newest_that_is_still_wanted(runner: Runner, work: Work) -> None:
    assert runner.task is None
    runner.submit(1)
    work.begins()
    assert runner.task == 1
    runner.submit(2)
    assert runner.task == 2
    runner.stop()
    assert runner.task is None, "what is done is left as soon as it asks"
    work.gate.set()
    runner.join()
    assert runner.task is None and work.left == [1] and work.begun == [1]


def test_what_is_asked_for_after_a_stop_is_done(runner: Runner, work: Work) -> None:
    runner.stop()
    runner.submit(1)
    work.begins()
    runner.stop()
    runner.submit(2)
    work.gate.set()
    runner.join()
    assert work.left == [1] and work.finished == [2]


def test_stop_lets_go_who_waits_for_a_task_that_was_not_begun(work: Work) -> None:
    runner = Runner(work)
    runner.thread = threading.current_thread()  # none that would do it
    runner.submit(1)
    waits = threading.Thread(target=runner.join)
    waits.start()
    runner.stop()
    waits.join(5)
    assert not waits.is_alive()


def test_join_gives_up(runner: Runner, work: Work) -> None:
    runner.submit(1)
    with pytest.raises(TimeoutError, match=r"ddlab-runner is still computing after 0.01 s"):
        runner.join(0.01)


def test_what_a_task_raises_is_told_and_raised_once_and_the_thread_goes_on() -> None:
    errors: list[BaseException] = []

    def work(task: int, leave: Callable[[], None]) -> None:
        if task == 0:
            raise RuntimeError("no memory")

    runner = Runner(work, on_error=errors.append)
    runner.submit(0)
    with pytest.raises(RuntimeError, match="no memory"):
        runner.join()
    runner.join()  # it was raised
    runner.submit(0)
    runner.submit(1)
    runner.join()  # of the last task nothing was raised
    assert {str(error) for error in errors} == {"no memory"} and our_threads() == ["ddlab-runner"]
    runner.close()


@pytest.mark.parametrize("listener", ["on_error", "on_busy"])
def test_those_who_are_told_may_fail_too(listener: str, monkeypatch: pytest.MonkeyPatch) -> None:
    escaped: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", escaped.append)
    messages: list[str] = []

    def broken(news: Any) -> None:
        raise RuntimeError(f"cannot show {news}")

    def work(task: int, leave: Callable[[], None]) -> None:
        if listener == "on_error":
            raise ValueError("wrong")

    listens: dict[str, Any] = {
        "on_error": lambda error: messages.append(str(error)),
        listener: broken,
    }
    runner = Runner(work, **listens)
    for _ in range(2):
        runner.submit(1)
        with pytest.raises(
            ValueError if listener == "on_error" else RuntimeError, match=r"wrong|cannot show"
        ):
            runner.join(5)
    assert escaped == [] and our_threads() == ["ddlab-runner"]
    assert messages == (
        [] if listener == "on_error" else ["cannot show True", "cannot show False"] * 2
    )
    runner.close()


def test_busy_is_told_once_from_rest_to_rest(work: Work) -> None:
    busy_states: list[bool] = []
    runner = Runner(work, on_busy=busy_states.append)
    runner.submit(1)
    work.begins()
    runner.submit(2)
    work.gate.set()
    runner.join()
    assert busy_states == [True, False]
    runner.submit(3)
    runner.join()
    assert busy_states == [True, False] * 2
    runner.close()


def test_a_task_that_comes_while_the_rest_is_told_begins_anew(work: Work) -> None:
    busy_states: list[bool] = []

    def listen(busy: bool) -> None:
        busy_states.append(busy)
        if busy_states == [True, False]:
            runner.submit(2)

    runner = Runner(work, on_busy=listen)
    work.gate.set()
    runner.submit(1)
    runner.join()
    assert work.finished == [1, 2] and busy_states == [True, False, True, False]
    runner.close()


def test_close_leaves_what_is_done_and_tells_nobody(work: Work) -> None:
    messages: list[Any] = []
    runner = Runner(work, on_error=messages.append, on_busy=messages.append)
    runner.submit(1)
    work.begins()
    threading.Timer(0.05, work.gate.set).start()
    runner.close()
    assert our_threads() == [] and runner.thread is None and work.left == [1] and messages == [True]
    runner.submit(2)
    runner.join()
    runner.close()
    assert our_threads() == [] and work.begun == [1]


def test_close_in_its_own_thread_does_not_wait_for_itself() -> None:
    runner = Runner(lambda task, leave: runner.close())
    runner.submit(1)
    thread = runner.thread
    runner.join(5)
    assert thread is not None
    thread.join(5)
    assert our_threads() == []


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), RuntimeError("no")])
def test_whatever_a_readers_method_raises_is_told_and_the_thread_lives_on(
    raised: BaseException,
) -> None:
    errors: list[BaseException] = []

    def work(task: Any, leave: Any) -> None:
        if task == "bad":
            raise raised

    runner = Runner(work, on_error=errors.append)
    runner.submit("bad")
    with pytest.raises(type(raised)):
        runner.join()
    runner.submit("good")
    runner.join()
    assert errors == [raised]
    runner.close()


def test_python_ends_while_a_thread_computes_in_torch() -> None:
    """A kernel that ended then was taken down by torch, with whatever it still had to write."""
    code = """
import time, torch
from ddlab.explorers.runner import Runner

def work(task, leave):
    weights = torch.randn(200, 200, requires_grad=True)
    while True:
        leave()
        (weights @ weights).relu().sum().backward()

Runner(work).submit("task")
time.sleep(0.3)
"""
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
