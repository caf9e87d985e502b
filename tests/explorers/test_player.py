"""The player: play, pause, step, reset, stop, close; what is painted; what it costs; no thread is left."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from itertools import pairwise

import pytest

from ddlab.errors import DDLabError
from ddlab.explorers.player import Player
from ddlab.explorers.recording import Recording
from ddlab.explorers.registry import close_all, replace


@dataclass(frozen=True)
class Step:
    index: int
    total: int


class Film:
    """A run of `total` steps that notes what happens to it."""

    def __init__(self, total: int = 20, seconds: float = 0.0, fail_at: int = 0):
        self.total, self.seconds, self.fail_at = total, seconds, fail_at
        self.made, self.closed, self.threads = 0, 0, set()

    def __call__(self):
        self.made += 1
        try:
            for index in range(1, self.total + 1):
                self.threads.add(threading.current_thread().name)
                time.sleep(self.seconds)
                if index == self.fail_at:
                    raise RuntimeError("the run broke")
                yield Step(index, self.total)
        finally:
            self.closed += 1


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def test_starts_paused_and_computes_nothing():
    film = Film()
    player = Player(film, print)
    assert player.state == "paused" and film.made == 0
    player.join()
    player.close()


def test_plays_to_the_end_and_paints_the_last_step():
    film, painted, states = Film(50), [], []
    player = Player(film, lambda step: painted.append(step.index), on_state=states.append)
    player.play()
    player.join()
    assert player.state == "finished" and painted[0] == 1 and painted[-1] == 50
    assert states == ["running", "finished"] and film.closed == 1
    player.close()
    assert player.state == "closed"


def test_a_run_that_knows_no_total_ends_too():
    class Bare:
        def __init__(self, index):
            self.index = index

    painted = []
    player = Player(lambda: (Bare(index) for index in range(1, 4)), lambda step: painted.append(step.index))
    player.play()
    player.join()
    assert player.state == "finished" and painted[-1] == 3
    player.close()


def test_step_makes_one_step_and_paints_it():
    painted = []
    player = Player(Film(), lambda step: painted.append(step.index))
    for expected in (1, 2, 3):
        player.step()
        player.join()
        assert painted[-1] == expected and player.last.index == expected and player.state == "paused"
    assert painted == [1, 2, 3]
    player.close()


def test_quick_steps_are_all_made():
    painted = []
    player = Player(Film(seconds=0.01), lambda step: painted.append(step.index))
    for _ in range(5):
        player.step()
    player.join()
    assert player.last.index == 5 and painted[-1] == 5
    player.close()


def test_pause_rests_at_a_painted_step_and_play_goes_on():
    film, painted = Film(100, 0.005), []
    player = Player(film, lambda step: painted.append(step.index))
    player.play()
    time.sleep(0.05)
    player.pause()
    player.join()
    rested = player.last.index
    assert painted[-1] == rested < 100 and player.state == "paused"
    time.sleep(0.05)
    assert player.last.index == rested
    player.play()
    player.join()
    assert player.state == "finished" and player.last.index == 100 and film.made == 1
    player.close()


def test_the_whole_run_happens_in_one_thread():
    film = Film()
    player = Player(film, lambda step: None, name="ddlab-one")
    player.step()
    player.join()
    player.play()
    player.join()
    assert film.threads == {"ddlab-one"}
    player.close()


def test_reset_forgets_and_makes_the_run_anew():
    film, painted = Film(), []
    player = Player(film, lambda step: painted.append(step.index), keep=lambda step: step.index)
    player.step()
    player.step()
    player.join()
    player.reset()
    assert player.state == "paused" and player.last is None and len(player.recording) == 0 and film.closed == 1
    player.step()
    player.join()
    assert film.made == 2 and painted[-1] == 1
    player.close()


def test_stop_keeps_what_there_is_and_play_starts_again():
    film, painted = Film(1000, 0.002), []
    player = Player(film, lambda step: painted.append(step.index), keep=lambda step: step.index)
    player.play()
    time.sleep(0.03)
    player.stop()
    assert player.state == "stopped" and film.closed == 1
    assert painted[-1] == player.last.index and player.recording.newest_index() == player.last.index
    player.pause()
    assert player.state == "stopped"
    player.step()
    player.join()
    assert film.made == 2 and player.last.index == 1
    player.close()


@pytest.mark.parametrize("command", ["play", "step"])
def test_after_close_nothing_happens(command):
    film = Film(seconds=0.01)
    player = Player(film, lambda step: None)
    player.play()
    player.close()
    made = film.made
    getattr(player, command)()
    player.reset()
    player.stop()
    assert player.state == "closed" and film.made == made


def test_close_in_the_middle_of_a_step_paints_nothing_more():
    film, painted = Film(100, 0.05), []
    player = Player(film, lambda step: painted.append(step.index))
    player.play()
    time.sleep(0.07)
    before = list(painted)
    player.close()
    assert painted == before and film.closed == 1


def test_reset_in_the_middle_of_a_step_keeps_nothing_of_it():
    painted = []
    player = Player(Film(100, 0.05), lambda step: painted.append(step.index), keep=lambda step: step.index)
    player.play()
    time.sleep(0.07)
    before = list(painted)
    player.reset()
    assert painted == before and len(player.recording) == 0 and player.last is None
    player.close()


@pytest.mark.parametrize("where", ["make", "step", "show", "keep"])
def test_errors_are_told_and_raised_by_join(where):
    told = []

    def broken(*_arguments):
        raise RuntimeError("the run broke")

    player = Player(
        broken if where == "make" else Film(fail_at=3 if where == "step" else 0),
        broken if where == "show" else lambda step: None,
        keep=broken if where == "keep" else None,
        on_error=told.append,
    )
    player.play()
    with pytest.raises(RuntimeError, match="the run broke"):
        player.join()
    assert player.state == "failed" and [str(error) for error in told] == ["the run broke"]
    player.reset()
    assert player.state == "paused"
    player.join()
    player.close()


def test_at_most_so_many_pictures_per_second():
    painted = []
    player = Player(Film(300, 0.002), lambda step: painted.append(time.monotonic()), frames_per_second=20)
    player.play()
    player.join()
    gaps = [after - before for before, after in pairwise(painted[:-1])]
    assert min(gaps) > 0.045 and len(painted) >= 4
    player.close()


def test_slow_pictures_become_rare_and_the_run_stays_fast():
    """Ten milliseconds per step and thirty per picture: painting ten times a second would take a quarter of the time."""
    film, painted = Film(200, 0.01), []

    def show(step):
        time.sleep(0.03)
        painted.append(step.index)

    start = time.perf_counter()
    for _ in film():
        pass
    bare = time.perf_counter() - start
    player = Player(film, show)
    start = time.perf_counter()
    player.play()
    player.join()
    assert time.perf_counter() - start < bare * 1.18
    assert len(painted) >= 4
    player.close()


def test_commands_from_the_players_own_thread():
    painted = []

    def show(step):
        painted.append(step.index)
        if step.index == 3:
            player.pause()

    player = Player(Film(10, 0.02), show, frames_per_second=1000)
    player.play()
    player.join()
    assert player.state == "paused" and painted[-1] == player.last.index >= 3
    player.close()

    closing = Player(Film(10), lambda step: closing.close())
    closing.step()
    closing.join()
    assert closing.state == "closed"
    deadline = time.monotonic() + 5
    while threading.active_count() > 1 and time.monotonic() < deadline and "ddlab-player" in str(threading.enumerate()):
        time.sleep(0.01)


def test_followers_hear_as_well():
    first, second = [], []
    player = Player(Film(3), lambda step: None, on_state=first.append)
    player.follow(second.append, print)
    player.play()
    player.join()
    player.close()
    assert first == second and "finished" in first


def test_recording_is_bounded_and_even():
    recording = Recording(capacity=10)
    for index in range(1, 1001):
        if recording.wants(index):
            recording.add(index, str(index))
    kept = [frame.index for frame in recording]
    assert 5 <= len(kept) <= 10 and kept[0] == 1
    assert len({after - before for before, after in pairwise(kept)}) == 1
    recording.add(1002, "last")
    assert recording.frames[-1].index == 1002 and len(recording) <= 10
    recording.clear()
    assert len(recording) == 0 and recording.wants(1)


def test_recording_refuses_going_back():
    recording = Recording()
    recording.add(5, b"x")
    with pytest.raises(DDLabError, match="index"):
        recording.add(5, b"y")
    with pytest.raises(DDLabError, match="capacity"):
        Recording(capacity=1)


def test_replace_closes_what_stood_there():
    class Door:
        def __init__(self):
            self.closed = 0

        def close(self):
            self.closed += 1

    one, two, other = Door(), Door(), Door()
    assert replace("explorer", one) is one
    replace("other", other)
    replace("explorer", two)
    replace("explorer", two)
    assert (one.closed, two.closed, other.closed) == (1, 0, 0)
    close_all()
    assert (one.closed, two.closed, other.closed) == (1, 1, 1)
    with pytest.raises(DDLabError, match="key"):
        replace("", one)


def test_bad_input():
    with pytest.raises(DDLabError, match="make_run"):
        Player(None, print)  # type: ignore[arg-type]
    with pytest.raises(DDLabError, match="show"):
        Player(print, None)  # type: ignore[arg-type]
    with pytest.raises(DDLabError, match="frames_per_second"):
        Player(print, print, frames_per_second=0)  # type: ignore[arg-type]
