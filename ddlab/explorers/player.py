"""The player: the only owner of threads for live runs. It drives `steps(...)`, paints at most ten times a second, and ends cleanly.

    player = Player(
        make_run=lambda: steps(squeeze_recover_relabel, config, inputs),   # called again by reset: the same seed, the same run
        show=lambda step: setattr(plot, "figure", figure(step)),           # called in the player's thread
        on_state=lambda state: ..., on_error=explorer.show_error,
    )
    player.play(); player.pause(); player.step(); player.reset(); player.stop(); player.close()
    player.join()          # tests: wait until the run rests and its last step is painted; a failure is raised here

States: "paused" (before the start, too) -> "running" -> "paused" | "finished" | "stopped" | "failed"; after `close`, "closed".
The first command makes the run in one daemon thread, which lives until the run is finished, stopped or reset; a generator is
advanced and closed in the thread that made it. Painting is limited twice: to `frames_per_second`, and to a twelfth of the time, so that
a slow figure makes the pictures rarer and not the run slower. What is painted last is always the step at which the run rests.
Nothing here touches torch or its thread count. Commands may come from any thread, the player's own included.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

from ..errors import check_function, check_instance, check_number, check_text
from .recording import Recording

PlayerState = Literal["paused", "running", "finished", "stopped", "failed", "closed"]

# The share of the time that showing and keeping frames may take from the run, and the longest pause this may cause.
_SHARE = 0.08
_LONGEST_GAP = 2.0


class _Run:
    """One run and its thread. All fields are guarded by the player's condition."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self.playing = False
        self.single_steps = 0
        self.ended = False  # asked to end
        self.resting = False  # nothing to do, and the last step is painted
        self.done = False  # the thread will do nothing more


class Player:
    """Plays a run of steps; see the module. `recording` holds what `keep` made of the painted steps."""

    def __init__(
        self,
        make_run: Callable[[], Iterator[Any]],
        show: Callable[[Any], None],
        *,
        frames_per_second: float = 10.0,
        keep: Callable[[Any], Any] | None = None,
        recording: Recording[Any] | None = None,
        on_state: Callable[[PlayerState], None] | None = None,
        on_error: Callable[[BaseException], None] | None = None,
        name: str = "ddlab-player",
    ) -> None:
        """
        Args:
            make_run: returns a fresh iterator of steps (with `.index` and `.total`); reset calls it again.
            show: paints one step; called in the player's thread.
            frames_per_second: upper limit of paintings; may be changed while playing (`player.frames_per_second = 2`).
            keep: what to record of a painted step; it fills `recording` (default: a new one of 200 frames).
            on_state: told the newest state after each change, outside all locks.
            on_error: told what make_run, a step, show or keep raised.
        """
        for argument, function in (("make_run", make_run), ("show", show)):
            check_function(argument, function)
        for argument, function in (("keep", keep), ("on_state", on_state), ("on_error", on_error)):
            check_function(argument, function, optional=True)
        if recording is not None:
            check_instance("recording", recording, Recording, "a Recording")
        check_text("name", name, empty=False)
        self._make_run, self._show, self._keep = make_run, show, keep
        self._on_state, self._on_error, self._name = on_state, on_error, name
        self.frames_per_second = check_number("frames_per_second", frames_per_second, 0, open_low=True)
        self.recording: Recording[Any] = Recording() if recording is None else recording
        self.last: Any = None
        self._state: PlayerState = "paused"
        self._error: BaseException | None = None
        self._condition = threading.Condition()
        self._run: _Run | None = None
        self._threads: list[threading.Thread] = []

    @property
    def state(self) -> PlayerState:
        """What the player does now."""
        return self._state

    def play(self) -> None:
        """Go on, or start; a finished, stopped or failed run starts again from its first step."""
        self._command("running", single=False)

    def step(self) -> None:
        """One step, painted, then rest."""
        self._command("paused", single=True)

    def pause(self) -> None:
        """Rest after the step that is being computed; that step is painted."""
        with self._condition:
            if self._state != "running" or self._run is None:
                return
            self._run.playing = False
            self._state = "paused"
        self._tell()

    def reset(self) -> None:
        """End the run and forget it; the next play or step makes it anew, with the same seed. Rests at "paused"."""
        self._leave("paused")

    def stop(self) -> None:
        """End the run for good; its last step stays on show and in the recording."""
        with self._condition:
            if self._state not in ("running", "paused"):
                return
            run = self._run
            self._state = "stopped"
            self._end(run)
        self._wait_for([] if run is None or run.thread is None else [run.thread])
        self._tell()

    def close(self) -> None:
        """End the run and every thread; the player does nothing afterwards."""
        self._leave("closed")
        self._wait_for(self._threads)

    def join(self, timeout: float | None = 60.0) -> None:
        """Wait until the run rests; raise what it raised."""
        with self._condition:
            rests = self._condition.wait_for(lambda: self._run is None or self._run.resting or self._run.done, timeout)
            error, self._error = self._error, None
        if not rests:
            raise TimeoutError(f"{self._name} is still running after {timeout:g} s")
        if error is not None:
            raise error

    def follow(self, on_state: Callable[[PlayerState], None], on_error: Callable[[BaseException], None]) -> None:
        """Tell these two as well: for buttons and error boxes that are made after the player."""
        self._on_state = _both(self._on_state, on_state)
        self._on_error = _both(self._on_error, on_error)

    # -- commands, in the caller's thread

    def _command(self, state: PlayerState, *, single: bool) -> None:
        with self._condition:
            if self._state == "closed":
                return
            run = self._run
            if run is None or run.done or run.ended:
                run = self._new_run()
            run.playing = not single
            run.single_steps += single
            run.resting = False
            self._state = state
            self._condition.notify_all()
        self._tell()

    def _new_run(self) -> _Run:
        self.recording.clear()
        self.last, self._error = None, None
        run = self._run = _Run()
        run.thread = threading.Thread(target=self._drive, args=(run,), name=self._name, daemon=True)
        self._threads = [thread for thread in self._threads if thread.is_alive()] + [run.thread]
        run.thread.start()
        return run

    def _leave(self, state: PlayerState) -> None:
        with self._condition:
            if self._state == "closed":
                return
            # From here on the old run is not the current one: what it still computes is neither painted nor kept.
            run, self._run = self._run, None
            self._state, self._error = state, None
            self._end(run)
            if state == "paused":
                self.last = None
                self.recording.clear()
        self._wait_for([] if run is None or run.thread is None else [run.thread])
        self._tell()

    def _end(self, run: _Run | None) -> None:
        if run is not None:
            run.ended = True
        self._condition.notify_all()

    def _wait_for(self, threads: list[threading.Thread], timeout: float = 60.0) -> None:
        # No lock is held here: the thread may be inside `show`, which may itself give a command.
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(timeout)

    def _tell(self) -> None:
        if self._on_state is not None:
            self._on_state(self._state)

    # -- the run's own thread

    def _drive(self, run: _Run) -> None:
        iterator: Iterator[Any] | None = None
        try:
            iterator = iter(self._make_run())
            self._advance(run, iterator)
        except Exception as error:  # In a thread it would be seen nowhere: shown by on_error, raised by join.
            self._fail(run, error)
        finally:
            try:
                close = getattr(iterator, "close", None)
                if close is not None:
                    close()
            except Exception as error:
                self._fail(run, error)
            with self._condition:
                run.done = True
                self._condition.notify_all()

    def _advance(self, run: _Run, iterator: Iterator[Any]) -> None:
        pending: Any = None  # computed and not yet painted
        next_paint = 0.0
        while True:
            with self._condition:
                wanted = run.playing or run.single_steps > 0
                leave = run.ended
            if pending is not None and (leave or not wanted or time.monotonic() >= next_paint):
                next_paint = self._paint(run, pending)
                pending = None
                continue
            if leave:
                return
            if not wanted:
                self._rest(run)
                continue
            step = next(iterator, None)
            if step is None or (getattr(step, "total", None) is not None and step.index >= step.total):
                pending = pending if step is None else step
                if pending is not None:
                    self._count(run, pending)
                    self._paint(run, pending)
                self._finish(run)
                return
            self._count(run, step)
            pending = step

    def _count(self, run: _Run, step: Any) -> None:
        with self._condition:
            run.single_steps = max(run.single_steps - 1, 0)
            if self._run is run:
                self.last = step

    def _rest(self, run: _Run) -> None:
        with self._condition:
            if not (run.playing or run.single_steps or run.ended):
                run.resting = True
                self._condition.notify_all()
                self._condition.wait_for(lambda: run.playing or run.single_steps or run.ended)
                run.resting = False

    def _paint(self, run: _Run, step: Any) -> float:
        """Keep and show `step`, unless the run was left; return when the next painting may be."""
        if self._run is not run:
            return 0.0
        start = time.monotonic()
        if self._keep is not None:
            self.recording.add(step.index, self._keep(step))
        self._show(step)
        end = time.monotonic()
        gap = max(1 / self.frames_per_second - (end - start), (end - start) * (1 - _SHARE) / _SHARE)
        return end + min(gap, max(_LONGEST_GAP, 1 / self.frames_per_second))

    def _finish(self, run: _Run) -> None:
        with self._condition:
            current = self._run is run and not run.ended
            if current:
                self._state = "finished"
        if current:
            self._tell()

    def _fail(self, run: _Run, error: Exception) -> None:
        with self._condition:
            current = self._run is run
            if current:
                self._state, self._error = "failed", error
        if current:
            if self._on_error is not None:
                self._on_error(error)
            self._tell()


def _both(first: Callable[[Any], None] | None, second: Callable[[Any], None]) -> Callable[[Any], None]:
    if first is None:
        return second

    def tell(news: Any) -> None:
        first(news)
        second(news)

    return tell
