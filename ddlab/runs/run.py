"""A run that can be looked at: a process driven step by step, with frames kept on the way.

    run = Run(sre2l, config, inputs, keep=Keep(40, make=encoded))   # nothing is computed yet
    run.advance(until=40)     # whatever ends it, it stands at a whole step and goes on from there
    run.frames, run.at(40)    # what `make` made of the steps that are kept
    run.state(40)             # four States are kept; the others are replayed from the nearest
    run.result()              # what `finish` makes of where it stands

`Runs` remembers the last ones, and computes once what two of them begin with.
"""

import contextlib
import dataclasses
import html
import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Self

from torch import Tensor

from ..core import NonFiniteError, errors, progress_bar, storage
from ..core.source import source
from ..data import pictures
from ..data.images import denormalise
from ..distilled import DistilledSet
from ..networks import Network
from . import threads
from .checkpoint import Autosave
from .inputs import Inputs
from .look import look
from .process import (
    ConfigT,
    Process,
    ResultT,
    StateT,
    Step,
    check_call,
    check_finite,
    check_goes_on,
    repeatable,
)

# Config, inputs, state, trace (None before the first update).
Make = Callable[[Any, Inputs, Any, Any], Any]
# Seconds and updates: after so many without a look for NaN the next update is looked at.
_BETWEEN_LOOKS = 0.5
# Between two looks for NaN: a look at all tensors costs as much as a small update.
_UPDATES = 25
# States that a run keeps, spread evenly: a replay from the nearest is at most a fifth of the run.
_STATES = 4


def kept_look(process: Process) -> Make:
    """Return the default maker of frames, which keeps the `Look` of the step."""
    return lambda config, inputs, state, trace: look(process, config, inputs, state, trace).kept()


@dataclass(frozen=True)
class Keep:
    """Which steps of a run are kept, and what of them.

    Attributes:
        steps: which steps: their numbers (0 is before the first update), or how many, spread evenly
            from first to last.
        make: (config, inputs, state, trace) -> what a frame holds; default the step's `Look`.
    """

    steps: int | tuple[int, ...] = 100
    make: Make | None = None

    def __post_init__(self) -> None:
        if isinstance(self.steps, Iterable):
            steps = tuple(
                sorted({errors.check_integer("a step to keep", step, 0) for step in self.steps})
            )
            object.__setattr__(self, "steps", steps)
        else:
            errors.check_integer("steps", self.steps, 1)
        errors.check_function("make", self.make, optional=True)

    def of(self, total: int) -> tuple[int, ...]:
        """Return the steps of a run of `total` updates, in order.

        >>> Keep(3).of(10), Keep((0, 4, 99)).of(10)
        ((0, 5, 10), (0, 4))
        """
        if isinstance(self.steps, tuple):
            return tuple(step for step in self.steps if step <= total)
        # There are total + 1 moments, because step 0 is before the first update.
        count = min(self.steps, total + 1)
        return tuple(
            sorted({round(total * part / max(count - 1, 1)) for part in range(count)} | {total})
        )


# For a run that nobody looks at: no frames and no States on the way.
NOTHING = Keep(())


@dataclass(frozen=True, eq=False)
class Frame:
    """A moment of a run that was kept: the number of updates done, and what was made of it."""

    step: int
    content: Any


class Run(Generic[ConfigT, StateT, ResultT]):
    """One run of a process; see the module. One thread advances it, any number may read.

    Attributes:
        process, config, inputs: what runs.
        frames: so far, in order.
        seconds: spent on updates. started: when the first one began (of `time.monotonic`), or None.
    """

    def __init__(
        self,
        process: Process[ConfigT, StateT, Any, ResultT],
        config: ConfigT,
        inputs: Inputs,
        *,
        keep: Keep | None = None,
        state: StateT | None = None,
        before: tuple["Run", int] | None = None,
    ) -> None:
        """Prepare a run; nothing is computed yet.

        Args:
            keep: which steps are kept and what of them; default the looks of a hundred.
            state: where to begin; default the process's `init`.
            before: a run and the number of its updates that are this run's as well.

        Raises:
            DDLabError: a process, config, inputs and state that do not belong together.
        """
        # At once and not at the first step, which may be in another thread and seconds later.
        check_call(process, config, inputs, state)
        self.process = process
        self.config = config
        self.inputs = inputs
        self.keep = errors.check_instance("keep", Keep() if keep is None else keep, Keep, "a Keep")
        self._make = self.keep.make or kept_look(process)
        # Another run goes on from these steps, so their States must stay.
        self._held: set[int] = set()
        self._states: dict[int, StateT] = {}
        self._before, self._shared = before if before is not None else (None, 0)
        if self._before is not None:
            self._before._held.add(self._shared)
        self._first = state
        self._state = None
        self._trace = None
        self._frames: tuple[Frame, ...] = ()
        # What was counted last, and at which step.
        self._sized: tuple[tuple[int, ...], int] = ((), 0)
        # One thread computes at a time; readers take no lock, because frames are replaced whole.
        self._advancing = threading.RLock()
        # the last step that was looked at, and when
        self._finite = None
        self._looked = 0.0
        self.seconds = 0.0
        self._updates = 0
        self.started = None

    # -- reading, in any thread

    @cached_property
    def total(self) -> int:
        """Updates of the whole run.

        It is needed only after `init`, which says more clearly what is wrong with the inputs.
        """
        return int(self.process.total_steps(self.config, self.inputs))

    @cached_property
    def threads(self) -> int:
        """The number of threads that it computes with.

        It is 1 where its networks are small, which has the same bits on any number of cores
        (`runs.threads`).
        """
        return threads.thread_count(self.config, self.inputs)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The steps that frames are made of."""
        return self.keep.of(self.total)

    @cached_property
    def _kept_steps(self) -> frozenset[int]:
        return frozenset(self.kept)

    @cached_property
    def _spread_steps(self) -> frozenset[int]:
        if self.keep.steps == ():
            return frozenset()
        # Neither the first nor the last: those two States exist anyway.
        return frozenset(round(self.total * part / (_STATES + 1)) for part in range(1, _STATES + 1))

    @property
    def step(self) -> int:
        """The number of updates done."""
        # As long as it has not gone beyond the beginning that it shares, the other run says where
        # it stands.
        if self._state is not None:
            return int(self._state.step)
        if self._before is not None:
            return min(self._before.step, self._shared)
        return 0 if self._first is None else int(self._first.step)

    @property
    def complete(self) -> bool:
        """True if it has come to its end."""
        return self.step >= self.total

    @property
    def begun(self) -> bool:
        """True if there is a State to look at."""
        return self._state is not None or (self._before is not None and self._before.begun)

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames so far, in the order of the steps."""
        if self._before is None:
            return self._frames
        return (
            tuple(frame for frame in self._before.frames if frame.step <= self._shared)
            + self._frames
        )

    def at(self, step: int | None = None) -> Frame | None:
        """Return the last frame that is not after `step` (default: the newest); None before the first."""
        newest = None
        for frame in self.frames:
            if step is None or frame.step <= step:
                newest = frame
        return newest

    def __repr__(self) -> str:
        return f"<Run of {self.process.NAME}: step {self.step} of {self.total}>"

    def _repr_html_(self) -> str:
        """Show the step, the numbers of the last look and its images."""
        look = getattr(self.at(), "content", None)
        data = self.inputs.data or self.inputs.distilled
        numbers = getattr(look, "numbers", {})
        words = ", ".join(
            [repr(self), *(f"{name} {float(number.value):.4g}" for name, number in numbers.items())]
        )
        images = getattr(look, "images", None)
        if images is None or data is None:
            return html.escape(words)
        columns = data.classes if data.classes > 1 and len(images) % data.classes == 0 else 10
        return pictures.html_grid(words, denormalise(images[:100], data.mean, data.std), columns)

    def history(self) -> dict[str, list[float]]:
        """Return the numbers of the looks so far as columns: "step", then each number.

        NaN stands where a look does not have it.

        Raises:
            DDLabError: frames that hold something else, because `keep.make` says so.
        """
        looks: list[tuple[int, Any]] = [
            (frame.step, getattr(frame.content, "numbers", None)) for frame in self.frames
        ]
        if any(numbers is None for _, numbers in looks):
            errors.fail("keep.make", "the default, for a history", self.keep.make)
        # The first look has no trace, so it lacks most numbers; the order is that of their first
        # appearance.
        names = dict.fromkeys(name for _, numbers in looks for name in numbers)
        columns = {}
        for name in names:
            columns[name] = [
                float(numbers[name].value) if name in numbers else math.nan for _, numbers in looks
            ]
        return {"step": [step for step, _ in looks], **columns}

    def left(self, seconds_per_update: float | None = None) -> float | None:
        """Return the seconds that the remaining updates will take.

        The rate is that of the updates so far, or of another run; None where nothing is known.
        """
        rate = self.seconds / self._updates if self._updates else seconds_per_update
        return None if rate is None else rate * (self.total - self.step)

    @property
    def nbytes(self) -> int:
        """The size of its own frames and States in bytes."""
        counts = self.step, len(self._frames), len(self._states)
        # Counted anew only where something came: `Runs` asks all its runs at every `get`.
        if self._sized[0] != counts:
            size = (
                _bytes([frame.content for frame in self._frames])
                + _bytes(self._states)
                + _bytes(self._state)
            )
            self._sized = counts, size
        return self._sized[1]

    # -- computing, in one thread at a time

    def advance(
        self, until: int | None = None, *, watch: Callable[[Self], object] | None = None
    ) -> Self:
        """Go on to step `until` (default: the end).

        Args:
            watch: called after each update; what it raises ends the advance after that update.

        Raises:
            NonFiniteError: a State or Trace that is not finite, at a kept step, or 25 updates or
                half a second after the last look; the run stays as it was before that update.
        """
        until = None if until is None else errors.check_integer("until", until, 0)
        errors.check_function("watch", watch, optional=True)
        with self._advancing, threads.limit_threads(self.threads):
            self._begin(until, watch)
            until = self.total if until is None else min(until, self.total)
            while self._state is not None and self._state.step < until:
                start_time = time.monotonic()
                self.started = self.started or start_time
                # Nothing of this run is touched until the update has returned and its result was
                # looked at: an interrupt inside leaves it at a whole step.
                with self._repeatable(self._state.step):
                    state, trace = self.process.update(self.config, self.inputs, self._state)
                check_goes_on(self.process, self._state.step, state)
                self._take(state, trace)
                self.seconds += time.monotonic() - start_time
                self._updates += 1
                # After the step is taken, so that what it raises loses nothing.
                if watch is not None:
                    watch(self)
        return self

    def begin(self) -> Self:
        """Make the State before the first update and its frame, without an update."""
        return self.advance(until=0)

    def now(self) -> Frame:
        """Return a frame of where the run stands, made now unless it was kept."""
        newest = self.at()
        if newest is not None and newest.step == self.step:
            return newest
        state = self.state(self.step)
        with threads.limit_threads(self.threads):
            return Frame(self.step, self._make(self.config, self.inputs, state, self._trace))

    def keep_now(self) -> Frame:
        """Return the frame of where the run stands, and keep it. A run that is left calls this."""
        with self._advancing:
            frame = self.now()
            if frame not in self.frames:
                self._frames = (*self._frames, frame)
            return frame

    def state(self, step: int | None = None) -> StateT:
        """Return the State after `step` updates (default: the newest), which the run must have reached.

        Raises:
            DDLabError: a step that was not reached yet.
        """
        if step is None:
            step = self.step
        elif step > self.step or errors.check_integer("step", step, 0) < 0:
            errors.fail("step", f"one that was reached, at most {self.step}", step)
        if self._state is not None and self._state.step == step:
            return self._state
        if self._before is not None and step <= self._shared:
            return self._before.state(step)
        # Replayed from the nearest State that was kept.
        nearest = max(
            (stored_step for stored_step in list(self._states) if stored_step <= step), default=None
        )
        if nearest is not None:
            state = self._states[nearest]
        elif self._before is not None:
            state = self._before.state(self._shared)
        else:
            state = self._first if self._first is not None else self._make_first()
        with threads.limit_threads(self.threads):
            # Draws are functions of the step, so a replay gives the same bits as the run itself.
            while state.step < step:
                with self._repeatable(state.step):
                    state, _ = self.process.update(self.config, self.inputs, state)
        return state

    def to_end(
        self,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
        resume_anyway: bool = False,
        keep_checkpoint: bool = False,
        progress: bool = False,
        on_step: Callable[[Step], None] | None = None,
    ) -> ResultT:
        """Go on to the end and return the result.

        Args:
            checkpoint: file that is written every `checkpoint_seconds` and on interrupt; a run that
                has not begun goes on from it where it exists. `resume_anyway`: also where the
                process's source was edited since. It is taken away when the run is complete;
                `keep_checkpoint` writes it once more instead.
            progress: write one line of progress to standard output, and where a run goes on.
            on_step: called after every update.

        On a keyboard interrupt the run stops after the last whole update, the checkpoint is written
        and `finish` returns what there is, marked as not complete; a line on standard output says
        so. Where a checkpoint cannot be written any more, on a full disk, a warning says which step
        the last one is of, and the run goes on.

        Raises:
            DDLabError: a State that no file can hold, or a place that cannot be written to, before
                the first update.
        """
        errors.check_function("on_step", on_step, optional=True)
        path = None if checkpoint is None else storage.checked_path(checkpoint, "checkpoint")
        file = Autosave(
            self, path, errors.check_number("checkpoint_seconds", checkpoint_seconds, 0)
        )
        # Only a run that has done nothing: one under way is further than its file, or at least its
        # own.
        if not self.begun and self._first is None and file.exists:
            self._first = file.load(resume_anyway)
            if progress:
                position = (
                    f"step {self._first.step} of "
                    f"{self.process.total_steps(self.config, self.inputs)}"
                )
                print(f"{self.process.NAME}: going on from {position} ({str(path)!r}).")
        self.begin()
        bar = progress_bar(self.process.NAME, self.total, progress)

        def watch(run: Run) -> None:
            if on_step is not None:
                on_step(Step(run.step, run.total, run.state(), run._trace))
            bar.update(run.step - bar.n)
            file.save_when_due()

        try:
            file.begin()
            self.advance(watch=watch)
        # Also where the interrupt came in the writing of a file: the run stands at a whole step
        # either way.
        except KeyboardInterrupt:
            if not self.complete:
                position = f"interrupted after step {self.step} of {self.total}"
                print(f"{self.process.NAME}: {position}; the result is marked complete=False.")
        finally:
            bar.close()
        keep = keep_checkpoint or not self.complete
        if keep:
            file.save(at_end=True)
        result = self.result()
        if not keep:  # only after `finish` has given what the file was kept for
            file.remove()
        return result

    def check_finite(self) -> None:
        """Raise `NonFiniteError` where the run stands at a State or Trace that is not finite."""
        self._check_finite(self.state(), self._trace)

    def result(self) -> ResultT:
        """Return what `finish` makes of where the run stands.

        It is marked as not complete where the run has not come to its end.

        Raises:
            NonFiniteError: a State that is not finite.
        """
        state = self.state()
        self._check_finite(state, self._trace)
        with threads.limit_threads(self.threads), self._repeatable(state.step):
            result = self.process.finish(self.config, self.inputs, state)
        if not self.complete and isinstance(result, DistilledSet):
            # Whoever wrote `finish` may not have thought of it.
            return dataclasses.replace(result, complete=False)
        if not self.complete and isinstance(result, Network):
            return dataclasses.replace(result, provenance={**result.provenance, "complete": False})
        return result

    def _begin(self, until: int | None, watch: Callable[[Self], object] | None) -> None:
        if self._state is not None:
            return
        if self._before is not None:
            # The watcher asked for this run and must not get the one before it.
            watched = None if watch is None else lambda _run: watch(self)
            self._before.advance(
                self._shared if until is None else min(until, self._shared), watch=watched
            )
            if (
                self._before.step >= self._shared
                and (until is None or until > self._shared)
                and self._shared < self.total
            ):
                self._state = self._before.state(self._shared)
            return
        state = self._first if self._first is not None else self._make_first()
        self._take(state, None)

    def _make_first(self) -> StateT:
        with threads.limit_threads(self.threads), self._repeatable(0):
            return self.process.init(self.config, self.inputs)

    def _repeatable(self, step: int) -> contextlib.AbstractContextManager[None]:
        return repeatable(self.process, self.config, self.inputs, step)

    def _check_finite(self, state: Any, trace: Any) -> None:
        """Raise where a State or Trace is not finite.

        Not after every update, because a GPU has to be waited for.
        """
        try:
            check_finite(self.process.NAME, int(state.step), trace, state)
        except NonFiniteError as problem:
            # NaN nearly always comes from a step that is too large, so the message names the rates
            # and their values.
            rates = {
                name: value
                for name, value in vars(self.config).items()
                if "learning_rate" in name and value
            }
            suggestions = [
                f"a smaller {name} than {value:g} usually helps" for name, value in rates.items()
            ]
            advice = "; ".join(suggestions)
            last_finite = (
                "" if self._finite is None else f" (all was finite at step {self._finite})"
            )
            raise NonFiniteError(
                f"{str(problem).rstrip('.')}{last_finite}{advice and '; '}{advice}."
            ) from None
        self._finite = int(state.step)
        self._looked = time.monotonic()

    def _take(self, state: Any, trace: Any) -> None:
        step = int(state.step)
        late = (
            time.monotonic() - self._looked > _BETWEEN_LOOKS
            or step - (self._finite or 0) >= _UPDATES
        )
        # A step that is shown is always looked at, whatever the time.
        if step in self._kept_steps or late:
            self._check_finite(state, trace)
        if step in self._kept_steps:
            # A new tuple each time: a reader in another thread keeps the one it has.
            self._frames = (
                *self._frames,
                Frame(step, self._make(self.config, self.inputs, state, trace)),
            )
        if step in self._held or step in self._spread_steps:
            self._states[step] = state
        # Last, after frame and States: `step` is read from it, so whoever sees this step finds its
        # frame.
        self._state = state
        self._trace = trace


class Runs:
    """The last runs, each of them once.

    The same process, source, config, inputs, device and frames make one run.

    Where a process says which beginning two configs share (`prefix(config) -> (updates, config of
    the prefix)`), that part is computed once.
    """

    def __init__(self, megabytes: float = 400) -> None:
        self._limit = errors.check_number("megabytes", megabytes, 0) * 1e6
        self._runs: OrderedDict[tuple[Any, ...], Run] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, process: Process, config: Any, inputs: Inputs, keep: Keep | None = None) -> Run:
        """Return the run, as far as it has come, or a new one before its first update.

        It is now the last to be forgotten.

        Raises:
            DDLabError: what `Run` refuses.
        """
        errors.check_instance("inputs", inputs, Inputs)
        keep = Keep() if keep is None else keep
        key = (
            getattr(process, "NAME", None),
            source(process),
            config,
            inputs.fingerprint,
            str(inputs.device),
            keep,
        )
        with self._lock:
            new = key not in self._runs
            if new:
                self._runs[key] = Run(
                    process,
                    config,
                    inputs,
                    keep=keep,
                    before=self._beginning(process, config, inputs, keep),
                )
            self._runs.move_to_end(key)
            if new:
                self._forget(key)
            return self._runs[key]

    def __iter__(self) -> Iterator[Run]:
        """Yield the runs that have begun, the newest first."""
        with self._lock:
            return iter(
                sorted(
                    (run for run in self._runs.values() if run.started),
                    key=lambda run: -(run.started or 0),
                )
            )

    def _beginning(
        self, process: Process, config: Any, inputs: Inputs, keep: Keep
    ) -> tuple[Run, int] | None:
        prefix = getattr(process, "prefix", None)
        updates, shared = (0, config) if prefix is None else prefix(config)
        # A run that is its own beginning would wait for itself.
        if updates == 0 or shared == config:
            return None
        # With the same `keep`: the frames of the beginning are shown as if they were this run's
        # own.
        return self.get(process, shared, inputs, keep), updates

    def _forget(self, key: tuple[Any, ...]) -> None:
        """Drop runs until the others fit.

        Those without a step go first, then the ones that were not used for longest.
        """
        sizes = {candidate: run.nbytes for candidate, run in self._runs.items()}
        order = sorted(
            (candidate for candidate in self._runs if candidate != key),
            key=lambda candidate: self._runs[candidate].step > 0,
        )
        for candidate in order:
            # Runs that have not begun weigh nothing, so their number needs a bound of its own.
            if sum(sizes.values()) <= self._limit and len(sizes) <= 400:
                return
            del self._runs[candidate], sizes[candidate]


def _bytes(part: Any) -> int:
    """Return the size of tensors, arrays and bytes inside dataclasses, mappings and sequences."""
    if isinstance(part, Tensor):
        return part.numel() * part.element_size()
    if isinstance(part, bytes):
        return len(part)
    if isinstance(part, Mapping):
        return sum(map(_bytes, list(part.values())))
    if isinstance(part, (list, tuple)):
        return sum(map(_bytes, part))
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        return sum(_bytes(getattr(part, field.name)) for field in dataclasses.fields(part))
    return int(getattr(part, "nbytes", 0))
