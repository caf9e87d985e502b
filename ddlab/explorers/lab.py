"""A laboratory is a declaration: settings, the jobs for them, and pure functions that draw results.

    ResidualLab = Lab(
        "Does a residual bring the image back?", World,
        controls=("merge_ratio", "merges"), folded=("learning_rate", "iterations"),
        run=World.run,                       # the slider of steps moves along this run
        jobs=lambda world, settings, run: [run, world.with_ratio(run.config, 1.0)],
        buttons=[Compute("Train students", students)],
        views=[Strip(strip_data, strip), Chart(curve_data, curves, cursor=step_on_show)],
        sentence=sentence,
    )
    ResidualLab(data, teacher)               # World(data, teacher); its `start` are first settings
    ResidualLab(data, teacher).run()         # does all jobs in the foreground, to be displayed

A job is a `Run`, left anywhere and resumed where it stood, a `Part` of one, or a `Value`, which is
finished and kept. Every function takes the world and the settings, which are without a step; it computes nothing
that takes long and changes nothing. All else is written here, once: the threads, newest settings
first, stop and reset, progress and the time that is left, the slider of steps, redrawing what
changed, errors in a sentence.

The `runner` owns a thread, which does the jobs of the settings on show. Two locks keep it apart from
the reader's. `_keeping` guards `values`, which both threads write and every drawing reads. `_drawing`
makes a drawing whole: the settings cannot change between two views of it. Whoever needs both takes
`_drawing` first.
"""

import contextlib
import functools
import inspect
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self, Union

import ipywidgets as widgets

from ..core.errors import DDLabError
from ..core.parameters import describe
from ..runs import Frame, Run
from .ahead import MOST_AHEAD, Ahead
from .controls import Controls, label_of, plain_value
from .layout import Explorer
from .lines import Progress, Quest, QuestLine
from .plot import Plot
from .pointer import PointSliders
from .prediction import Prediction
from .runner import Runner, TaskLeft
from .stops import name_stops, other_stops, set_stops
from .views import Drag, NotComputed, View, ViewOnPage, flattened, make_widget

_VALUES = 400  # that are remembered
# Seconds between two pictures of what goes on.
_GAP = 0.1
# The same for readers who asked their system for little motion.
_REDUCED_GAP = 0.5
Job = Union[Run, "Part", "Value"]
Jobs = Sequence[Job]


@dataclass(frozen=True)
class Value:
    """Something to compute once: `compute(*arguments, watch=watch)`, with hashable arguments.

    `watch(words, share)` is called now and then with what goes on and how much of it is done, from
    0 to 1; it raises where the reader has moved on.
    """

    compute: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __init__(self, compute: Callable[..., Any], *arguments: Any) -> None:
        object.__setattr__(self, "compute", compute)
        object.__setattr__(self, "arguments", arguments)


@dataclass(frozen=True)
class Part:
    """A run as far as step `until`, where it can be looked at later."""

    run: Run
    until: int


@dataclass(frozen=True, eq=False)
class Compute:
    """A button that asks for jobs. It is grey while they are done and when all are finished.

    Attributes:
        words: on the button, or (world, settings) -> words.
        jobs: (world, settings, results) -> jobs.
        icon, hint: of the button.
        stays: whether it goes on while the reader looks at other settings; else these come first.
        goes_on: whether it is pressed again by itself for the settings that come next, while its
            jobs are done.
        shows_end: whether a press shows the end of the run. One that asks for the watched run does.
        view: what is brought to the front, out of its tab.
    """

    words: str | Callable[[Any, Any], str]
    jobs: Callable[[Any, Any, "Results"], Jobs]
    icon: str = "play"
    hint: str = ""
    stays: bool = False
    goes_on: bool = False
    shows_end: bool = False
    view: View | None = None


@dataclass(frozen=True, eq=False)
class Change:
    """A button that changes the settings: settings -> settings."""

    words: str
    change: Callable[[Any], Any]
    icon: str = "random"
    hint: str = ""


def _no_jobs(world: Any, settings: Any, run: Any) -> list:
    """Compute nothing in a second thread."""
    return []


@dataclass(frozen=True, kw_only=True, eq=False)
class Declared:
    """The fields of a `Lab` after its title and world.

    Functions take (world, settings) unless another signature is given.

    Attributes:
        controls, folded: fields of the settings, or world -> these: those that are seen at once, and
            those that are folded away.
        views: of `explorers.views`, from top to bottom, or world -> these.
        sentence: (world, settings, results) -> what the views show, in words.
        run: the `Run` that the slider of steps moves along; begun before anything is on show.
        jobs: (world, settings, that run or None) -> the jobs for these settings, the most
            interesting first.
        opens_with: how many of them are done before anything is on show, for the first settings.
        shared: (world, settings, results) -> what views, sentence and quest share; computed once
            for all of them, as `results.shared`.
        step_label: (world, settings, step) -> how the slider calls a step.
        to_end: fields whose change shows the end of the run.
        check: raises `DDLabError` for settings that cannot be, as `run` and `jobs` may; the
            settings before them then stay on show.
        unused: names of fields that play no part.
        job_words: (world, job) -> what is said beside the bar.
        buttons: of `Compute` and `Change`, or world -> these.
        shows_newest: whether a run that goes on is shown as it stands, also between the steps that
            it keeps.
        labels: field -> words.
        choice_words: world -> field -> (choice -> its words).
        stops: world -> field -> (low, high) of a slider with round numbers, or stop -> its words.
        quest: what the reader is asked to reach, or world -> this; checked at every drawing.
        question: (words, answers): what the reader commits to before a control moves. Until then
            `results.answer` is None, and the views show nothing that gives it away.
        pairs: two controls in front each, whose combinations are all recorded for a page without a
            kernel, because the idea of the page lies in them.
        recorded: control -> how many of its stops are recorded for the page of a lesson at most,
            where each of them takes seconds; or world -> this.
    """

    controls: Sequence[str] | Callable[[Any], Sequence[str]]
    views: Sequence[Any] | Callable[[Any], Sequence[Any]]
    sentence: Callable[[Any, Any, "Results"], str]
    folded: Sequence[str] | Callable[[Any], Sequence[str]] = ()
    run: Callable[[Any, Any], Run] | None = None
    jobs: Callable[[Any, Any, Any], Jobs] = _no_jobs
    opens_with: int = 0
    shared: Callable[[Any, Any, "Results"], Any] = lambda world, settings, results: None
    step_label: Callable[[Any, Any, int], str] = lambda world, settings, step: str(step)
    step_words: str = "step"
    to_end: Sequence[str] = ()
    check: Callable[[Any, Any], None] = lambda world, settings: None
    unused: Callable[[Any, Any], Sequence[str]] = lambda world, settings: ()
    job_words: Callable[[Any, Run], str] = lambda world, run: run.process.NAME
    buttons: Sequence[Compute | Change] | Callable[[Any], Sequence[Compute | Change]] = ()
    shows_newest: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    choice_words: Callable[[Any], dict[str, Callable[[Any], str]]] = lambda world: {}
    stops: Callable[[Any], Mapping[str, tuple[int, int] | Mapping[Any, str]]] = lambda world: {}
    quest: Quest | Callable[[Any], Quest] | None = None
    question: tuple[str, Sequence[str]] | None = None
    pairs: Sequence[tuple[str, str]] = ()
    recorded: Mapping[str, int] | Callable[[Any], Mapping[str, int]] = field(default_factory=dict)


class Lab:
    """A declared laboratory; called with the arguments of its world it makes a `Laboratory`.

    See the module and `Declared`.
    """

    def __init__(
        self, title: str | Callable[[Any], str], world: Callable[..., Any], **declared: Any
    ) -> None:
        """
        Args:
            title: the question that the laboratory answers, or world -> this.
            world: makes the world from the arguments of a call.
            declared: the fields of `Declared`.
        """
        self.title = title
        self.world = world
        self.declared = Declared(**declared)
        # What help shows.
        self.__doc__ = world.__doc__
        self.__signature__ = inspect.signature(world)

    def __call__(self, *arguments: Any, key: str | None = None, **options: Any) -> "Laboratory":
        """Return the laboratory of `World(*arguments, **options)`.

        An earlier one of this `key` (default: the title) is closed.
        """
        world = self.world(*arguments, **options)
        title = self.title if isinstance(self.title, str) else self.title(world)
        return Laboratory(self, world, title, title if key is None else key)


class Plan(NamedTuple):
    """Settings with what they ask for: the run that the slider moves along, and the jobs."""

    settings: Any
    run: Any
    jobs: list[Any]


class Results:
    """What has been computed, as views and sentences see it.

    Attributes:
        step: the step on show, None without a slider of steps.
        run: the run that the slider moves along.
        jobs: those of the settings on show.
        past: the settings that were on show, each once, the newest first; they begin with those on
            show now.
        answer: what the reader has locked, None before, and where nothing is asked.
    """

    def __init__(self, lab: "Laboratory", plan: Plan, step: int | None) -> None:
        self._lab = lab
        self._settings = plan.settings
        self.answer: str | None = None if lab.prediction is None else lab.prediction.locked
        self.step = step
        self.past = _newest_first(plan.settings, lab.past)
        self.run: Any = plan.run
        self.jobs: Sequence[Any] = plan.jobs

    @cached_property
    def shared(self) -> Any:
        """The result of the laboratory's `shared`."""
        return self._lab.lab.shared(self._lab.world, self._settings, self)

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of the watched run that were kept so far.

        Raises:
            NotComputed: nothing was; a view that needs some stays as it was.
        """
        if self.run is None or not self.run.frames:
            raise NotComputed
        frames = self.run.frames
        newest = self._lab.newest_of(self.run)
        return frames if newest is None or newest.step <= frames[-1].step else (*frames, newest)

    @cached_property
    def frame(self) -> Frame:
        """The last of them that is not after the step on show."""
        return next(
            frame for frame in reversed(self.frames) if self.step is None or frame.step <= self.step
        )

    def __call__(self, value: Value) -> Any:
        """Return the result of a value, None while it is not known."""
        return self._lab.values.get(value)

    def every(self, compute: Callable[..., Any]) -> list[tuple[tuple[Any, ...], Any]]:
        """Return the remembered results of one function as (arguments, result), the oldest first."""
        results = []
        for value, result in self._lab.remembered_values():
            if value.compute == compute:
                results.append((value.arguments, result))
        return results

    def words_of(self, earlier: Any) -> str:
        """Return what earlier settings had where those on show differ, as "before: steps N 3"."""
        return self._lab.words_of(earlier)

    def doing(self, job: Job) -> bool:
        """Return whether a button asked for this job, and it is not done yet."""
        task = self._lab.runner.task
        return task is not None and job in task.pressed and not self._lab.is_done(job)

    def compute_now(self, compute: Callable[..., Any], *arguments: Any) -> Any:
        """Return `compute(*arguments)`, computed at once and remembered.

        It is for what takes a tenth of a second at most.
        """
        value = Value(compute, *arguments)
        if value not in self._lab.values:
            self._lab.keep(value, compute(*arguments))
        return self._lab.values[value]


@dataclass(frozen=True, eq=False)
class _Task:
    """What the runner is asked for: what a button asked for, then what the settings want."""

    jobs: Jobs
    pressed: Jobs = ()
    button: Compute | None = None
    # Nobody waits for these jobs: they are left as soon as anything else is asked for.
    is_ahead: bool = False

    @property
    def stays(self) -> bool:
        return self.button is not None and self.button.stays


class Laboratory(Explorer):
    """A declared laboratory on the page.

    Attributes:
        world: the data and everything that is computed from them.
        settings: those on show, without a step.
        start: the first settings.
        values: what was computed.
        watched_run: the run that the slider of steps moves along, or None.
        jobs: those of the settings on show.
        panel: the controls; its `value` are the settings that the reader asked for.
        slider: the steps that can be looked at.
        progress: what is computed and how far it is; hidden while nothing is.
        runner: the thread of the jobs.
    """

    def __init__(self, lab: Lab, world: Any, title: str, key: str) -> None:
        """Show the first settings.

        Raises:
            DDLabError: first settings that the check refuses.
        """
        self.lab = lab.declared
        self.world = world
        self.start = world.start
        self.past: tuple[Any, ...] = ()
        self.values: OrderedDict[Value, Any] = OrderedDict()
        self.refusal = ""
        # Where the run that goes on stood at the last drawing, if that is to be shown.
        self._newest: tuple[Run, Frame] | None = None
        self._keeping = threading.RLock()
        self._drawing = threading.RLock()
        self._is_drawn = True
        # The thread that moves the slider to follow the settings. Its own moves come back as
        # events and are ignored; those of the reader come from another thread and count.
        self._placing: int | None = None
        self._ahead = Ahead()
        self._was_ahead = False
        declared = self.lab.views(world) if callable(self.lab.views) else self.lab.views
        self._all_views = []
        for view in flattened(declared):
            self._all_views.append(ViewOnPage(view))
        quest = self.lab.quest
        self._quest = quest if quest is None or isinstance(quest, Quest) else quest(world)
        self.quest = None if self._quest is None else QuestLine(self._quest.words)
        question = self.lab.question
        self.prediction = None if question is None else Prediction(*question)
        self._show(self.start)
        self.runner = Runner(
            self._compute, on_error=self._failed, on_busy=self._busy, name="ddlab-lab"
        )
        # In the foreground, so that the first picture is whole.
        for job in self.jobs[: self.lab.opens_with]:
            self._finish(job)
        if self.watched_run is not None:
            self.watched_run.begin()
        self._make_widgets()
        for view_on_page in self._all_views:
            if view_on_page.view.drag is not None:
                move = functools.partial(self._put, view_on_page.view.drag)
                view_on_page.sliders = PointSliders(move, self.guard)
        # Before the base's `__init__`, which needs the views' widgets.
        self._draw_views(self._results())
        views = []
        for view in declared:
            views.append(make_widget(view, self._all_views, self.guard(self._draw)))
        super().__init__(
            title,
            controls=[
                *([self.quest] if self.quest else []),
                *([self.prediction] if self.prediction else []),
                self.panel,
                self._button_row,
                # A laboratory that computes nothing in a second thread needs no place for it.
                *([] if self.lab.run is None and self.lab.jobs is _no_jobs else [self.progress]),
            ],
            views=[*([self.slider] if self.lab.run else []), *views],
            key=key,
        )
        self.owns(self.runner)
        for view_on_page in self._all_views:
            if view_on_page.view.click is not None:
                view_on_page.widget.observe(
                    self.guard(functools.partial(self._clicked, view_on_page.view.click)), "clicked"
                )
            if view_on_page.view.drag is not None:
                view_on_page.widget.observe(
                    self.guard(functools.partial(self._dragged, view_on_page)), "dragged"
                )
            plot = getattr(view_on_page.widget, "plot", view_on_page.widget)
            if isinstance(plot, Plot):
                plot.observe(self.guard(self._motion), "reduced_motion")
        if self.prediction is not None:
            self.prediction.observe(self.guard(self._answered), "locked")
        self.panel.observe(self.guard(self._moved), "value")
        self.share(self.panel)
        # A pasted state would show the answer before the reader has committed to one.
        self.share_field.disabled = self.prediction is not None
        scrubbed = self.guard(self._scrubbed)
        self.slider.observe(
            lambda change: None if self._placing == threading.get_ident() else scrubbed(change),
            "index",
        )
        self._draw()
        self._ask()

    def run(self) -> Self:
        """Compute all that the settings on show want, here and now.

        Returns the laboratory, to be displayed.

        Raises:
            DDLabError: settings that the check refuses.
        """
        # Two threads must not advance one run.
        is_seen, self._ahead.is_seen = self._ahead.is_seen, False
        self.runner.stop()
        self.runner.join()
        if self.refusal:
            raise DDLabError(self.refusal)
        try:
            self._compute(_Task([*self.jobs, *self._watched()]), lambda: None)
        finally:
            self._busy(False, with_hidden=True)
            self._ahead.is_seen = is_seen
        return self

    def draw_all(self) -> None:
        """Draw all views. A move of the reader leaves those in closed tabs until these are opened."""
        self._draw(with_hidden=True)

    def forget(self) -> None:
        """Show the settings on show as if no others had been before: no ghosts, no quest met."""
        self.past = self.past[:1]
        for view_on_page in self._all_views:
            view_on_page.forget()
        if self.quest is not None:
            self.quest.forget()
        self.draw_all()

    @contextlib.contextmanager
    def undrawn(self) -> Iterator[None]:
        """Draw nothing meanwhile, and begin nothing in a second thread."""
        self._is_drawn = False
        try:
            yield
        finally:
            self._is_drawn = True

    def commit(self, answer: str) -> Self:
        """Choose and lock an answer to the question, as clicks would; the first one stays.

        Returns the laboratory.

        Raises:
            DDLabError: an answer that is none, or a laboratory that asks nothing.
        """
        if self.prediction is None:
            raise DDLabError(f"{self.title!r} asks no question; given the answer {answer!r}.")
        self.prediction.choose(answer)
        self.prediction.lock()
        return self

    def widget(self, draw: Callable[..., Any]) -> Any:
        """Return the widget of the view that `draw` draws, also where its tab is closed."""
        view_on_page = next(entry for entry in self._all_views if entry.view.draw == draw)
        if view_on_page.is_hidden:
            self.draw_all()
        return view_on_page.widget

    def words_of(self, earlier: Any) -> str:
        """Return what earlier settings had where those on show differ, in the controls' words."""
        described = describe(self.start)
        choice_words = self.lab.choice_words(self.world)
        clauses = []
        for name in self.panel:
            value = getattr(earlier, name)
            if value != getattr(self.settings, name):
                label = self.lab.labels.get(name) or label_of(described[name])
                clauses.append(f"{label} {choice_words.get(name, plain_value)(value)}")
        # More than two changes at once come from a shared text or a click, and fit into no legend.
        return f"before: {', '.join(clauses)}" if 0 < len(clauses) <= 2 else "before"

    # -- what the reader does

    def _show(self, requested: Any) -> None:
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
        self._step = step

    def _plan(self, settings: Any) -> Plan:
        """Return what settings ask for.

        Raises:
            DDLabError: settings that cannot be.
        """
        self.lab.check(self.world, settings)
        run = None if self.lab.run is None else self.lab.run(self.world, settings)
        return Plan(settings, run, list(self.lab.jobs(self.world, settings, run)))

    def _moved(self, change: Any) -> None:
        self._ahead.note_press()
        before = change["old"]
        after = change["new"]
        changed = any(getattr(before, name) != getattr(after, name) for name in self.lab.to_end)
        # A change that moves the step as well, as Reset and a shared text do, keeps its step.
        if changed and before.step == after.step is not None:
            self.panel.value = after.replace(step=None)
            return
        try:
            with self._drawing:  # a drawing that has begun in another thread is of one settings
                self._show(change["new"])
                self.refusal = ""
        except DDLabError as error:
            self.refusal = str(error)
            self._enable(self._results())
            raise
        self._draw()
        self._ask()

    def _clicked(self, click: Callable[[Any, Any, dict[str, Any]], Any], change: Any) -> None:
        if change["new"]:
            self.panel.value = click(self.world, self.panel.value, change["new"])

    def _dragged(self, view_on_page: ViewOnPage, change: Any) -> None:
        place = change["new"]
        drag = view_on_page.view.drag
        if place and drag is not None and view_on_page.sliders is not None:
            view_on_page.sliders.point.value = int(place["point"])
            self._put(drag, int(place["point"]), float(place["x"]), float(place["y"]))

    def _put(self, drag: Drag, point: int, x: float, y: float) -> None:
        settings = drag.put(self.world, self.panel.value, point, x, y)
        # What cannot be is refused before anything moves: a point would jump back under the hand.
        self.lab.check(self.world, settings)
        self.panel.value = settings

    def _motion(self, change: Any) -> None:
        """Draw less often for a reader who asked the system for little motion."""
        self.progress.gap = _REDUCED_GAP if change["new"] else _GAP

    def _answered(self, _change: Any) -> None:
        """Open what waited for the answer."""
        self.share_field.disabled = False
        self._draw()
        self._ask()

    def _scrubbed(self, change: Any) -> None:
        if change["new"] is None:
            return
        steps = [step for _, step in self.slider.options]
        # The last place follows the run, which may still go on.
        step = None if change["new"] == len(steps) - 1 else steps[change["new"]]
        self.panel.value = self.panel.value.replace(step=step)

    def _press(self, button: Compute | Change) -> None:
        if isinstance(button, Change):
            self.panel.value = button.change(self.panel.value)
        # A second click may come before the page shows it grey.
        elif not self.buttons[button].disabled:
            jobs = self._asked_by(button, self._results())
            if button.shows_end or any(job is self.watched_run for job in jobs):
                self.panel.value = self.panel.value.replace(step=None)  # follow it
            self.runner.submit(_Task(self.jobs, jobs, button))
            for view_on_page in self._all_views:
                if button.view is view_on_page.view:
                    view_on_page.bring_forward()
            self._draw()  # the button is grey at once

    def _stop(self) -> None:
        self.runner.submit(_Task(self.jobs))

    def _reset(self) -> None:
        self.panel.value = self.start

    def _ask(self) -> None:
        """Let the runner do what is missing.

        What it does is left alone where it would be asked for now, or stays.
        """
        if not self._is_drawn:
            return
        task = self.runner.task
        if task is not None and task.is_ahead:
            task = None  # it gives way to whatever these settings want
        jobs_now = self.jobs
        if task is not None and task.stays:
            if not all(self.is_done(job) for job in task.pressed):
                return  # what these settings want comes after it
        elif task is not None:
            pressed_jobs = (
                [] if task.button is None else self._asked_by(task.button, self._results())
            )
            # Replacing a task by an equal one would leave what is being done, for nothing.
            if list(pressed_jobs) == list(task.pressed) and jobs_now == list(task.jobs):
                return
            if task.button is not None and task.button.goes_on:
                self.runner.submit(_Task(jobs_now, pressed_jobs, task.button))
                return
        if task is not None or any(not self.is_done(job) for job in jobs_now):
            self.runner.submit(_Task(jobs_now))

    def _watch_reader(self, is_seen: bool) -> None:
        self._ahead.is_seen = is_seen
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Let an idle runner do the jobs of the settings along the first control."""
        if self._ahead.is_seen and self.runner.task is None and self._ahead_for() is not None:
            self.runner.submit(_Task((), is_ahead=True))

    def _ahead_for(self) -> Any:
        """Return the settings with the first control as it opened, None if nothing is left to do."""
        name = next(iter(self.panel), None)
        if name is None or self.refusal:
            return None
        settings = self.settings.replace(**{name: getattr(self.start, name)})
        return None if settings == self._ahead.done_for else settings

    # -- computing, in the runner's thread

    def _compute_ahead(self, leave: Callable[[], None]) -> None:
        """Do the jobs of the settings along the first control, the nearest first."""
        wait = functools.partial(self._ahead.wait, leave)
        wait()
        settings = self._ahead_for()
        name = next(iter(self.panel))
        for value in other_stops(self.panel[name])[:MOST_AHEAD]:
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
        results = Results(self, plan, None if newest is None else newest.step)
        # What views compute at once is remembered, so a press that comes later finds it.
        for view_on_page in self._all_views:
            wait()
            with contextlib.suppress(NotComputed):
                view_on_page.view.data(self.world, settings, results)

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

    def is_done(self, job: Job) -> bool:
        """Return whether nothing is left to do for it."""
        if isinstance(job, Part):
            return job.run.begun and job.run.step >= job.until
        return job.complete if isinstance(job, Run) else job in self.values

    def _compute(self, task: _Task, leave: Callable[[], None]) -> None:
        self._was_ahead = task.is_ahead
        if task.is_ahead:
            self._compute_ahead(leave)
            return
        # Jobs that settings want cannot be stopped: they would be asked for again at once.
        self.stop_button.disabled = task.button is None
        for job in self._jobs(task):
            leave()
            if not self.is_done(job):
                self._do(job, leave, job in task.pressed)
                self._draw()

    def _jobs(self, task: _Task) -> Iterator[Job]:
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
        if isinstance(job, Value):
            self.keep(
                job,
                job.compute(
                    *job.arguments, watch=lambda words, share: self._watch(leave, words, share)
                ),
            )
            return
        run, until = run_and_end(job)
        try:
            # The first State is drawn before the first update, so a picture is there at once.
            if not run.begun:
                run.begin()
                self._draw()
            run.advance(until, watch=lambda run: self._watch_run(leave, run))
        except TaskLeft:
            if pressed:
                run.keep_now()  # what Stop leaves can be looked at
            raise
        if until is not None:
            run.keep_now()

    def _watch_run(self, leave: Callable[[], None], run: Run) -> None:
        leave()
        if self.lab.shows_newest and run is self.watched_run and self.progress.is_due:
            self._newest = run, run.now()
        self._watch(leave, self.lab.job_words(self.world, run), run.step / run.total)

    def newest_of(self, run: Run) -> Frame | None:
        """Return where a run stood at the last drawing, where that is shown."""
        return self._newest[1] if self._newest is not None and self._newest[0] is run else None

    def _watch(self, leave: Callable[[], None], words: str, share: float) -> None:
        """Leave what nobody waits for, say how far it is, and draw, ten times a second at most.

        Runs call it after every step.
        """
        leave()
        if not share or self.progress.is_due:
            self.progress.show(words, share)
            self._draw()

    def _failed(self, error: BaseException) -> None:
        # A drawing that fails too must not hide the first error.
        try:
            self._busy(False)
        finally:
            self.show_error(error)

    def _busy(self, busy: bool, *, with_hidden: bool = False) -> None:
        if not busy:
            try:
                self._draw(with_hidden=with_hidden)
            finally:
                self.progress.show_rest()  # last: by then everything has been drawn
            # What was left ahead of the reader is not begun again by itself: a stop would never end.
            if not self._was_ahead:
                self._look_ahead()

    # -- drawing, in any thread

    def _make_widgets(self) -> None:
        lab = self.lab
        choices = {}
        for name, described in describe(self.start).items():
            choices[name] = described.choices
        # A choice of one thing is none.
        in_front = lab.controls(self.world) if callable(lab.controls) else lab.controls
        folded = lab.folded(self.world) if callable(lab.folded) else lab.folded
        names = []
        for name in (*in_front, *folded):
            if len(choices[name] or "ab") > 1:
                names.append(name)
        folded_names = []
        for name in folded:
            if name in names:
                folded_names.append(name)
        labels = {}
        for name, words in lab.labels.items():
            if name in names:
                labels[name] = words
        choice_words = lab.choice_words(self.world)
        self.panel = Controls(
            self.start,
            names,
            labels=labels,
            folded=folded_names,
            stacked=True,
            choice_words=choice_words,
        )
        for name, stops in lab.stops(self.world).items():
            if isinstance(stops, tuple):
                set_stops(self.panel, name, stops[0], max(stops))
            else:
                name_stops(self.panel, name, stops)
        self.slider = step_slider(lab.step_words)
        declared = lab.buttons(self.world) if callable(lab.buttons) else lab.buttons
        self.buttons: dict[Any, widgets.Button] = {}
        for button in declared:
            self.buttons[button] = icon_button(button.icon, button.hint)
        self.stop_button = icon_button(
            "stop", "Leave what is computed; what there is stays", "Stop"
        )
        self.reset_button = icon_button(
            "refresh", "The settings this laboratory began with", "Reset"
        )
        for button, pressed in self.buttons.items():
            pressed.on_click(self.guard(lambda _button, button=button: self._press(button)))
        self.stop_button.on_click(self.guard(lambda _button: self._stop()))
        self.reset_button.on_click(self.guard(lambda _button: self._reset()))
        stop = [self.stop_button] if any(isinstance(button, Compute) for button in declared) else []
        row = widgets.Layout(flex_flow="row wrap")
        self._button_row = widgets.HBox(
            [*self.buttons.values(), *stop, self.reset_button], layout=row
        )
        self.progress = Progress(layout=widgets.Layout(width="100%"))

    def _watched(self) -> list[Run]:
        return [] if self.watched_run is None else [self.watched_run]

    def _results(self) -> Results:
        """Return the results with the step on show: the one asked for, or the newest there is."""
        plan = Plan(self.settings, self.watched_run, self.jobs)
        for run in self._watched():
            requested = self._step
            newest = self.newest_of(run)
            kept = run.at()
            if newest is None or (kept is not None and kept.step >= newest.step):
                newest = kept
            # A run keeps some steps only; the nearest of them stands for the step asked for.
            if requested is not None and requested < run.total:
                nearest = min(self._steps(run), key=lambda step: abs(step - requested))
                return Results(self, plan, nearest)
            return Results(self, plan, 0 if newest is None else newest.step)
        return Results(self, plan, None)

    def _steps(self, run: Run) -> list[int]:
        return sorted({*run.kept, *(frame.step for frame in run.frames)})

    def _draw_views(self, results: Results, *, with_hidden: bool = False) -> None:
        for view_on_page in self._all_views:
            if with_hidden or not view_on_page.is_hidden:
                view_on_page.draw(self.world, self.settings, results)

    def _draw(self, *, with_hidden: bool = False) -> None:
        if not self._is_drawn:
            return
        with self._drawing:
            start_time = time.monotonic()
            results = self._results()
            self._place_slider(results)
            self._enable(results)
            self._draw_views(results, with_hidden=with_hidden)
            with contextlib.suppress(NotComputed):  # as what was on show stays, so do the words
                if self.quest is not None and self._quest is not None and not self.quest.met:
                    self.quest.look(self._quest.met(self.world, self.settings, results))
                self.say(
                    f"{self.lab.sentence(self.world, self.settings, results)} {self._waiting()}".strip()
                )
            self.progress.note_drawing(start_time)

    def _place_slider(self, results: Results) -> None:
        for run in self._watched():
            steps = self._steps(run)
            slider = self.slider
            self._placing = threading.get_ident()
            try:
                options = []
                for step in steps:
                    options.append((self.lab.step_label(self.world, self.settings, step), step))
                # New options put the index back to 0, which is not a reader's move.
                if list(slider.options) != options:
                    slider.options = options
                reached = [place for place, step in enumerate(steps) if step <= (results.step or 0)]
                slider.index = reached[-1] if reached else 0
            finally:
                self._placing = None

    def _enable(self, results: Results) -> None:
        unused = self.lab.unused(self.world, self.settings)
        waits = self.prediction is not None and self.prediction.locked is None
        for name in self.panel:
            setattr(self.panel[name], "disabled", waits or name in unused)  # noqa: B010
        task = self.runner.task
        for button, pressed in self.buttons.items():
            if isinstance(button, Change):
                pressed.description = button.words
                continue
            words = (
                button.words
                if isinstance(button.words, str)
                else button.words(self.world, self.settings)
            )
            jobs = [] if self.refusal else self._asked_by(button, results)
            todo = []
            for job in jobs:
                if not self.is_done(job):
                    todo.append(job)
            pressed.description = words
            # Grey also where nothing is left to do: `all` of nothing is true.
            pressed.disabled = all(results.doing(job) for job in todo)
        self.stop_button.disabled = task is None or task.button is None

    def _asked_by(self, button: Compute, results: Results) -> Jobs:
        try:
            return button.jobs(self.world, self.settings, results)
        except NotComputed:
            return []

    def _waiting(self) -> str:
        """Say how long the missing runs will take, or ""."""
        missing = []
        for job in self.jobs:
            if isinstance(job, Run) and not job.complete:
                missing.append(job)
        if not missing or self.runner.task is None:
            return ""
        # A run that has not begun is taken to be as slow as the slowest of the others.
        spent = []
        for run in missing:
            if run.left(None):
                spent.append(run.left(None) / (run.total - run.step))
        seconds_left = []
        for run in missing:
            seconds_left.append(run.left(max(spent, default=None)))
        if any(seconds is None for seconds in seconds_left):
            return "Being computed ..."
        total = sum(seconds or 0.0 for seconds in seconds_left)
        every = (
            f"about {total:.0f} s more"
            if len(seconds_left) == 1
            else f"all {len(seconds_left)} that are missing take about {total:.0f} s"
        )
        if missing[0] not in self._watched():
            return f"Being computed: {every}."
        first = f"this run takes about {seconds_left[0]:.1f} s more"
        return (
            f"Being computed: {first}, {every}."
            if len(seconds_left) > 1
            else f"Being computed: {first}."
        )


def _newest_first(settings: Any, past: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return past settings with these at their head, each once."""
    return (settings, *(earlier for earlier in past if earlier != settings))[:_VALUES]


def run_and_end(job: Run | Part) -> tuple[Run, int | None]:
    """Return the run of a job and the step that it goes to, None for the end."""
    return (job.run, job.until) if isinstance(job, Part) else (job, None)


def icon_button(icon: str, hint: str, words: str = "") -> widgets.Button:
    """Return a button as wide as its words."""
    return widgets.Button(
        description=words, icon=icon, tooltip=hint, layout=widgets.Layout(width="auto")
    )


def step_slider(words: str) -> widgets.SelectionSlider:
    """Return a slider over steps: a list that drops down would lose its arrow keys to JupyterLab."""
    return widgets.SelectionSlider(
        options=[("0", 0)],
        description=words,
        tooltip="Left and right arrow keys move by one recorded step",
        continuous_update=True,
        style={"description_width": "auto"},
        layout=widgets.Layout(width="auto", max_width="60em"),
    )
