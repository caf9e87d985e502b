"""What a laboratory is asked for and what is known, without a widget: settings, jobs, the thread
that does them, and results.

    schedule = Schedule(lab, world, page)        # the page is told: draw, report, rest, show_error
    schedule.show(settings)                      # their run and their jobs are asked for once
    schedule.ask()                               # the thread does what is missing
    schedule.press(button)                       # what a button asks for comes first

The `runner` owns a thread, which does the jobs of the settings on show, and, where nothing is left
to do, computes ahead what lies along the first control. What was computed ahead is not known to views
before a reader asks for it: `Results` show what was on show, and nothing else.

Values are written by both threads and read by every drawing; `_keeping` guards them.
"""

import contextlib
import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ..runs import Frame, Run
from .ahead import MOST_AHEAD, Ahead
from .jobs import Compute, Job, Jobs, Part, Value, run_and_end
from .runner import Runner, TaskLeft
from .views import NotComputed, flatten

if TYPE_CHECKING:
    from .lab import Lab
    from .page import Laboratory

_VALUES = 400  # that are remembered
_LONG = 5.0  # seconds of a job that is said to take so long


class Plan(NamedTuple):
    """Settings with what they ask for: the run that the slider moves along, and the jobs."""

    settings: Any
    run: Any
    jobs: list[Any]


@dataclass(frozen=True, eq=False)
class Task:
    """What the runner is asked for: what a button asked for, then what the settings want."""

    jobs: Jobs
    pressed: Jobs = ()
    button: Compute | None = None
    # Nobody waits for these jobs: they are left as soon as anything else is asked for.
    is_ahead: bool = False

    @property
    def stays(self) -> bool:
        """Whether it goes on while the reader looks at other settings."""
        return self.button is not None and self.button.stays


class Results:
    """What has been computed, as views and sentences see it.

    Attributes:
        step: the step on show, None without a slider of steps.
        run: the run that the slider moves along.
        jobs: those of the settings on show.
        past: the settings that were on show, each once, the newest first; they begin with those on
            show now.
        answer: what the reader has locked, None before, and where nothing is asked.
        is_settled: whether all jobs of the settings are done, and the end of the run is on show.
    """

    def __init__(
        self, schedule: "Schedule", plan: Plan, step: int | None, *, is_ahead: bool = False
    ) -> None:
        self._schedule = schedule
        self._settings = plan.settings
        self._is_ahead = is_ahead
        self.answer: str | None = schedule.answer
        self.step = step
        self.past = _newest_first(plan.settings, schedule.past)
        self.run: Any = plan.run
        self.jobs: Sequence[Any] = plan.jobs

    @cached_property
    def is_settled(self) -> bool:
        is_end = self.run is None or self.step is None or self.step >= self.run.total
        return is_end and all(map(self._schedule.is_done, self.jobs))

    @cached_property
    def shared(self) -> Any:
        """The result of the laboratory's `shared`."""
        return self._schedule.lab.shared(self._schedule.world, self._settings, self)

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of the watched run that were kept so far.

        Raises:
            NotComputed: nothing was; a view that needs some stays as it was.
        """
        if self.run is None or not self.run.frames:
            raise NotComputed
        frames = self.run.frames
        newest = self._schedule.newest_of(self.run)
        return frames if newest is None or newest.step <= frames[-1].step else (*frames, newest)

    @cached_property
    def frame(self) -> Frame:
        """The last of them that is not after the step on show."""
        return next(
            frame for frame in reversed(self.frames) if self.step is None or frame.step <= self.step
        )

    def __call__(self, value: Value) -> Any:
        """Return the result of a value, None while it is not known or nobody has asked for it."""
        if self._is_ahead or self._schedule.is_wanted(value):
            return self._schedule.values.get(value)
        return None

    def every(self, compute: Callable[..., Any]) -> list[tuple[tuple[Any, ...], Any]]:
        """Return the results of one function that were on show, as (arguments, result).

        The oldest come first.
        """
        return [
            (value.arguments, result)
            for value, result in self._schedule.remembered_values()
            if value.compute == compute and self._schedule.is_wanted(value)
        ]

    def words_of(self, earlier: Any) -> str:
        """Return what earlier settings had where those on show differ, as "before: steps (N) 3"."""
        return self._schedule.lab.words_of(self._schedule.world, earlier, self._settings)

    def doing(self, job: Job) -> bool:
        """Return whether a button asked for this job, and it is not done yet."""
        task = self._schedule.runner.task
        return task is not None and job in task.pressed and not self._schedule.is_done(job)

    def compute_now(self, compute: Callable[..., Any], *arguments: Any) -> Any:
        """Return `compute(*arguments)`, computed at once and remembered.

        It is for what takes a tenth of a second at most.
        """
        value = Value(compute, *arguments)
        if not self._is_ahead:
            self._schedule.want([value])
        if value not in self._schedule.values:
            self._schedule.keep(value, compute(*arguments))
        return self._schedule.values[value]


class Schedule:
    """The settings on show, what they ask for, and what is known; see the module.

    Attributes:
        lab: the declaration. world: the data and everything that is computed from them.
        settings: those on show, without a step.
        step: the step that the reader asked for, None for the end.
        past: the settings that were on show, the newest first.
        watched_run: the run that the slider of steps moves along, or None.
        jobs: those of the settings on show.
        values: what was computed, ahead of the reader as well.
        answer: what the reader has locked.
        declared_views: as they are declared, from top to bottom. views: those inside of rows and
            tabs as well.
        refusal: why the settings asked for cannot be, or "".
        runner: the thread of the jobs.
    """

    def __init__(self, lab: "Lab", world: Any, page: "Laboratory") -> None:
        """Show the first settings.

        Raises:
            DDLabError: first settings that the check refuses.
        """
        self.lab = lab
        self.world = world
        self._page = page
        self.past: tuple[Any, ...] = ()
        self.step: int | None = None
        self.values: OrderedDict[Value, Any] = OrderedDict()
        self.answer: str | None = None
        self.refusal = ""
        # Asked for once: a view is known by itself.
        self.declared_views = lab.views(world) if callable(lab.views) else lab.views
        self.views = flatten(self.declared_views)
        # In the order in which they were wanted; only these are seen by views.
        self._wanted: dict[Value, None] = {}
        # Where the run that goes on stood at the last drawing, if that is to be shown.
        self._newest: tuple[Run, Frame] | None = None
        self._keeping = threading.RLock()
        self._ahead = Ahead()
        self._was_ahead = False
        self._began = 0.0  # when the job that is done now began, of `time.monotonic`
        self._place = ""  # of the job that is done now, among those that a button asked for
        self.show(world.start)
        self.runner = Runner(
            self._compute, on_error=self._failed, on_busy=self._busy, name="ddlab-lab"
        )
        # In the foreground, so that the first picture is whole.
        for job in self.jobs[: lab.opens_with]:
            self._finish(job)
        if self.watched_run is not None:
            self.watched_run.begin()

    # -- what is on show

    def show(self, requested: Any) -> None:
        """Let these settings be on show: their run and their jobs are asked for once.

        Raises:
            DDLabError: settings that cannot be; those before stay.
        """
        # The step is where a reader looks, not what is computed: two steps of one run are the same
        # settings.
        step = getattr(requested, "step", None)
        settings = requested if step is None else requested.replace(step=None)
        if not self.past or settings != self.settings:
            # Nothing is assigned before the whole plan is there: one that raises changes nothing.
            self.settings, self.watched_run, self.jobs = self._plan(settings)
            self.past = _newest_first(settings, self.past)
            self.want(self.jobs)
        self.step = step
        self.refusal = ""

    def forget(self) -> None:
        """Take the settings on show for the only ones that ever were."""
        self.past = self.past[:1]
        self._wanted.clear()
        self.want(self.jobs)

    def results(self) -> Results:
        """Return the results with the step on show: the one asked for, or the newest there is."""
        plan = Plan(self.settings, self.watched_run, self.jobs)
        run = self.watched_run
        if run is None:
            return Results(self, plan, None)
        newest = self.newest_of(run)
        newest_frame = run.at()
        if newest is None or (newest_frame is not None and newest_frame.step >= newest.step):
            newest = newest_frame
        # A run keeps some steps only; the nearest of them stands for the step asked for.
        if self.step is not None and self.step < run.total:
            nearest = min(self.steps(run), key=lambda step: abs(step - (self.step or 0)))
            return Results(self, plan, nearest)
        return Results(self, plan, 0 if newest is None else newest.step)

    def steps(self, run: Run) -> list[int]:
        """Return the steps of a run that can be looked at."""
        return sorted({*run.kept, *(frame.step for frame in run.frames)})

    def newest_of(self, run: Run) -> Frame | None:
        """Return where a run stood at the last drawing, where that is shown."""
        return self._newest[1] if self._newest is not None and self._newest[0] is run else None

    def _plan(self, settings: Any) -> Plan:
        """Return what settings ask for.

        Raises:
            DDLabError: settings that cannot be.
        """
        self.lab.check(self.world, settings)
        run = None if self.lab.run is None else self.lab.run(self.world, settings)
        return Plan(settings, run, list(self.lab.jobs(self.world, settings, run)))

    # -- what is known

    def keep(self, value: Value, result: Any) -> None:
        """Remember a value."""
        with self._keeping:
            self.values[value] = result
            while len(self.values) > _VALUES:
                self.values.popitem(last=False)

    def remembered_values(self) -> list[tuple[Value, Any]]:
        """Return the remembered values, the oldest first. Another thread may keep one meanwhile."""
        with self._keeping:
            return list(self.values.items())

    def want(self, jobs: Jobs) -> None:
        """Note that a reader has asked for these jobs, so that views may show what they give."""
        with self._keeping:
            for job in jobs:
                if isinstance(job, Value):
                    self._wanted.pop(job, None)
                    self._wanted[job] = None
            while len(self._wanted) > _VALUES:
                self._wanted.pop(next(iter(self._wanted)))

    def is_wanted(self, job: Job) -> bool:
        """Return whether a reader has asked for this job: with settings, or with a button."""
        return not isinstance(job, Value) or job in self._wanted

    def is_done(self, job: Job) -> bool:
        """Return whether nothing is left to do for it."""
        if isinstance(job, Part):
            return job.run.begun and job.run.step >= job.until
        return job.complete if isinstance(job, Run) else job in self.values

    # -- what is asked for

    def asked_by(self, button: Compute, results: Results) -> Jobs:
        """Return what a button asks for now."""
        try:
            return button.jobs(self.world, self.settings, results)
        except NotComputed:
            return []

    def press(self, button: Compute, jobs: Jobs) -> None:
        """Let the runner do what a button asks for, before what the settings want."""
        self.want(jobs)
        self.runner.submit(Task(self.jobs, jobs, button))

    def stop(self) -> None:
        """Leave what a button asked for."""
        self.runner.submit(Task(self.jobs))

    def ask(self) -> None:
        """Let the runner do what is missing.

        What it does is left alone where it would be asked for now, or stays.
        """
        task = self.runner.task
        if task is not None and task.is_ahead:
            task = None  # it gives way to whatever these settings want
        jobs_now = self.jobs
        if task is not None and task.stays:
            if not all(self.is_done(job) for job in task.pressed):
                return  # what these settings want comes after it
        elif task is not None:
            pressed_jobs = []
            if task.button is not None:
                pressed_jobs = self.asked_by(task.button, self.results())
            # Replacing a task by an equal one would leave what is being done, for nothing.
            if list(pressed_jobs) == list(task.pressed) and jobs_now == list(task.jobs):
                return
            if task.button is not None and task.button.goes_on:
                self.press(task.button, pressed_jobs)
                return
        if task is not None or any(not self.is_done(job) for job in jobs_now):
            self.runner.submit(Task(jobs_now))

    def run_now(self) -> None:
        """Compute all that the settings on show want, here and now, and nothing ahead of it."""
        is_seen, self._ahead.is_seen = self._ahead.is_seen, False
        # Two threads must not advance one run.
        self.runner.stop()
        self.runner.join()
        watched = [] if self.watched_run is None else [self.watched_run]
        try:
            self._compute(Task([*self.jobs, *watched]), lambda: None)
        finally:
            self._ahead.is_seen = is_seen

    def note_press(self) -> None:
        """Note that the reader has just moved something."""
        self._ahead.note_press()

    def watch_reader(self, is_seen: bool) -> None:
        """Note that the explorer has come on the screen, or that its last view has gone."""
        self._ahead.is_seen = is_seen
        self.look_ahead()

    def waiting_words(self) -> str:
        """Say what is being computed for these settings, and how long that will take, or ""."""
        missing = [job for job in self.jobs if not self.is_done(job)]
        if not missing or self.runner.task is None or self.runner.task.is_ahead:
            return ""
        missing = [job for job in missing if isinstance(job, Run)]
        # A run that has not begun is taken to be as slow as the slowest of the others.
        spent = [left / (run.total - run.step) for run in missing if (left := run.left(None))]
        seconds_left = [run.left(max(spent, default=None)) for run in missing]
        if not missing or any(seconds is None for seconds in seconds_left):
            return "Being computed ..."
        total = sum(seconds or 0.0 for seconds in seconds_left)
        every = f"about {total:.0f} s more"
        if len(seconds_left) > 1:
            every = f"all {len(seconds_left)} that are missing take about {total:.0f} s"
        if missing[0] is not self.watched_run:
            return f"Being computed: {every}."
        first = f"this run takes about {seconds_left[0]:.1f} s more"
        rest_text = f", {every}" if len(seconds_left) > 1 else ""
        return f"Being computed: {first}{rest_text}."

    # -- computing, in the runner's thread

    def look_ahead(self) -> None:
        """Let an idle runner do the jobs of the settings along the first control."""
        if self._ahead.is_seen and self.runner.task is None and self._ahead_for() is not None:
            self.runner.submit(Task((), is_ahead=True))

    def _ahead_for(self) -> Any:
        """Return the settings with the first control as it opened, None if nothing is left to do."""
        name, _ = self._page.neighbours()
        if not name or self.refusal:
            return None
        settings = self.settings.replace(**{name: getattr(self.world.start, name)})
        return None if settings == self._ahead.done_for else settings

    def _compute_ahead(self, leave: Callable[[], None]) -> None:
        """Do the jobs of the settings along the first control, the nearest first."""
        wait = functools.partial(self._ahead.wait, leave)
        wait()
        settings = self._ahead_for()
        name, values = self._page.neighbours()
        for value in values[:MOST_AHEAD]:
            try:
                self._finish_all(self.settings.replace(**{name: value}), wait)
            except TaskLeft:
                raise
            except Exception:
                # Reported when a reader asks for these settings; nobody has yet.
                continue
        self._ahead.done_for = settings

    def _finish_all(self, settings: Any, wait: Callable[[], None]) -> None:
        """Do all that some settings ask for without showing anything."""
        plan = self._plan(settings)
        for job in plan.jobs:
            wait()
            if not self.is_done(job):
                self._finish(job, wait)
        newest = None if plan.run is None else plan.run.at()
        step = None if newest is None else newest.step
        results = Results(self, plan, step, is_ahead=True)
        # What views compute at once is remembered, so a press that comes later finds it.
        for view in self.views:
            wait()
            with contextlib.suppress(NotComputed):
                view.data(self.world, settings, results)

    def _compute(self, task: Task, leave: Callable[[], None]) -> None:
        self._was_ahead = task.is_ahead
        if task.is_ahead:
            self._compute_ahead(leave)
            return
        values_asked_for = [job for job in task.pressed if isinstance(job, Value)]
        for job in self._jobs(task):
            leave()
            self._place = (
                f", {values_asked_for.index(job) + 1} of {len(values_asked_for)}"
                if job in values_asked_for and values_asked_for[1:]
                else ""
            )
            if not self.is_done(job):
                self._do(job, leave, job in task.pressed)
                self._page.draw()

    def _jobs(self, task: Task) -> Iterator[Job]:
        yield from task.pressed
        # Where a button's jobs have stayed, the reader may look at other settings by now.
        yield from self.jobs if task.stays else task.jobs

    def _finish(self, job: Job, leave: Callable[[], None] = lambda: None) -> None:
        """Do a job without showing anything."""
        if isinstance(job, Value):
            self.keep(job, job.compute(*job.arguments, watch=lambda words, share: leave()))
            return
        run, until = run_and_end(job)
        run.advance(until, watch=lambda run: leave())

    def _do(self, job: Job, leave: Callable[[], None], pressed: bool) -> None:
        self._began = time.monotonic()
        if isinstance(job, Value):
            watch = functools.partial(self._watch, leave)
            self.keep(job, job.compute(*job.arguments, watch=watch))
            return
        run, until = run_and_end(job)
        try:
            # The first State is drawn before the first update, so a picture is there at once.
            if not run.begun:
                run.begin()
                self._page.draw()
            run.advance(until, watch=lambda run: self._watch_run(leave, run))
        except TaskLeft:
            if pressed:
                run.keep_now()  # what Stop leaves can be looked at
            raise
        if until is not None:
            run.keep_now()

    def _watch_run(self, leave: Callable[[], None], run: Run) -> None:
        leave()
        if self.lab.shows_newest and run is self.watched_run and self._page.is_due:
            self._newest = run, run.now()
        self._watch(leave, self.lab.job_words(self.world, run), run.step / run.total)

    def _watch(self, leave: Callable[[], None], words: str, share: float) -> None:
        """Leave what nobody waits for, say how far it is, and draw, ten times a second at most.

        Runs call it after every step.
        """
        leave()
        if not share or self._page.is_due:
            spent = time.monotonic() - self._began
            left = spent * (1 - share) / share if share else 0.0
            estimate = f", about {left:.0f} s more" if spent + left > _LONG else ""
            self._page.report(words + self._place + estimate, share)
            self._page.draw()

    def _failed(self, error: BaseException) -> None:
        # A drawing that fails too must not hide the first error.
        try:
            self._page.rest()
        finally:
            self._page.show_error(error)

    def _busy(self, busy: bool) -> None:
        if not busy:
            self._page.rest()
            # What was left ahead of the reader is not begun again by itself: a stop would never end.
            if not self._was_ahead:
                self.look_ahead()


def _newest_first(settings: Any, past: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return past settings with these at their head, each once."""
    return (settings, *(earlier for earlier in past if earlier != settings))[:_VALUES]
