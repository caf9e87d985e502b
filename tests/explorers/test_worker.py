"""The worker: newest value wins, something always moves, nothing is swallowed, no thread is left."""

from __future__ import annotations

import threading
import time

import pytest

from ddlab.errors import DDLabError
from ddlab.explorers.worker import Worker


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("ddlab")]


class Gate:
    """A compute function that waits until it is let go."""

    def __init__(self):
        self.started, self.go, self.seen, self.asked = threading.Event(), threading.Event(), [], []

    def __call__(self, value, stale):
        self.seen.append(value)
        self.started.set()
        assert self.go.wait(10)
        self.asked.append(stale())
        return value


def test_result_is_shown():
    shown = []
    worker: Worker[int, int] = Worker(lambda value, stale: value * 2, shown.append)
    worker.submit(21)
    worker.join()
    worker.close()
    assert shown == [42]


def test_newest_value_wins_and_the_finished_one_is_shown():
    gate, shown = Gate(), []
    worker = Worker(gate, shown.append)
    worker.submit(1)
    assert gate.started.wait(10)
    for value in (2, 3, 4):
        worker.submit(value)
    gate.go.set()
    worker.join()
    worker.close()
    assert gate.seen == [1, 4]
    assert shown == [1, 4], "a finished result is shown even when it is stale"
    assert gate.asked == [True, False]


def test_a_computation_may_give_up():
    gate, shown = Gate(), []
    worker = Worker(lambda value, stale: None if gate(value, stale) and stale() else value, shown.append)
    worker.submit(1)
    assert gate.started.wait(10)
    worker.submit(2)
    gate.go.set()
    worker.join()
    worker.close()
    assert shown == [2]


def test_while_a_slider_is_dragged_something_is_shown():
    shown = []

    def compute(value, stale):
        for _ in range(10):
            time.sleep(0.005)
            if stale():
                return None
        return value

    worker = Worker(compute, shown.append, patience=0.1)
    end = time.monotonic() + 0.8
    value = 0
    while time.monotonic() < end:
        worker.submit(value := value + 1)
        time.sleep(0.01)
    early = len(shown)
    worker.join()
    worker.close()
    assert early >= 2
    assert shown[-1] == value


def test_errors_are_told_and_raised_by_join_and_do_not_end_the_thread():
    told, shown = [], []

    def compute(value, stale):
        if value == 0:
            raise DDLabError("value must be above zero; given 0.")
        return value

    worker = Worker(compute, shown.append, on_error=told.append)
    worker.submit(0)
    with pytest.raises(DDLabError, match="above zero"):
        worker.join()
    worker.submit(1)
    worker.join()
    worker.close()
    assert [str(error) for error in told] == ["value must be above zero; given 0."] and shown == [1]


def test_errors_of_show_are_raised():
    def show(result):
        raise RuntimeError("cannot draw")

    worker = Worker(lambda value, stale: value, show)
    worker.submit(1)
    with pytest.raises(RuntimeError, match="cannot draw"):
        worker.join()
    worker.close()


def test_busy_is_told_once_per_burst():
    told, gate = [], Gate()
    worker = Worker(gate, lambda result: None, on_busy=told.append)
    worker.submit(1)
    assert gate.started.wait(10)
    worker.submit(2)
    gate.go.set()
    worker.join()
    worker.close()
    assert told == [True, False]


def test_close_ends_the_thread_and_shows_nothing_more():
    shown = []

    def compute(value, stale):
        while not stale():
            time.sleep(0.005)
        return value

    worker = Worker(compute, shown.append, name="ddlab-closing")
    worker.submit(1)
    assert "ddlab-closing" in threads()
    worker.close()
    assert "ddlab-closing" not in threads()
    worker.submit(2)
    worker.close()
    assert shown == [] and "ddlab-closing" not in threads()


def test_close_from_its_own_thread():
    worker: Worker[int, int] = Worker(lambda value, stale: value, lambda result: worker.close(), name="ddlab-own")
    worker.submit(1)
    worker.join()
    deadline = time.monotonic() + 5
    while "ddlab-own" in threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "ddlab-own" not in threads()


def test_no_thread_before_the_first_value():
    worker = Worker(lambda value, stale: value, print, name="ddlab-idle")
    assert "ddlab-idle" not in threads()
    worker.join()
    worker.close()


@pytest.mark.parametrize("arguments", [(None, print), (print, None)])
def test_bad_input(arguments):
    with pytest.raises(DDLabError, match="must be a function"):
        Worker(*arguments)
    with pytest.raises(DDLabError, match="patience"):
        Worker(print, print, patience=-1)
