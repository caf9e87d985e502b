"""Any process in front of the reader: sliders from its Config, play and pause, images, curves, and
what they are worth.

    Live("sre2l", data, teacher)                       # every name of methods.names(), and their aliases
    Live(ddlab.training.supervised, data)                         # a network that learns: curves alone
    Live(mine, data, teacher, mine.Config(steps=50))   # a process of your own; the docstring of `ddlab.runs` has one
    Live(run)                                          # a film: back and forth through a `Run` that was advanced, its method drawn

It starts paused, before any update, or with the last frame of the run that it is given. Moving a
control starts the run again with the new setting and the same seed, and goes on playing if it did;
the curve of the run before stays. A finished or stopped run starts again from its first step.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets
import torch

from .. import methods
from ..core import errors
from ..core.parameters import Parameters, describe
from ..data import ImageData
from ..distilled import DistilledSet
from ..runs import Frame, Keep, Run
from ..runs.inputs import Inputs
from ..runs.process import Step
from ..training import supervised
from ..training.relabelling import Teachers, as_teachers
from . import looks
from .controls import Controls
from .images import Picture
from .lab import icon_button, step_slider
from .layout import Explorer, side_by_side
from .lines import Progress
from .live_students import accuracies
from .runner import Runner

_FRAMES_KEPT = 60  # frames of a run, spread evenly; those at which it rested are kept too
# seconds between two pictures
_GAP = 0.1
_REDUCED_GAP = 0.5
_DRAWING = 0.08  # share of the time that they may take from the run
_BUTTONS = {
    "play": ("Play", "play", "Let the run go on"),
    "pause": ("Pause", "pause", "Rest after this step"),
    "step": ("Step", "step-forward", "One step, then rest"),
    "reset": ("Reset", "refresh", "Start again with the same seed"),
    "stop": ("Stop", "stop", "End this run, or leave the student, and keep what there is"),
    "student": (
        "Train a student on this frame",
        "graduation-cap",
        "And one on as many random real images",
    ),
}


@dataclass(frozen=True, eq=False)
class _Task:
    """What the runner is asked for: a run until a step; or a student on what the run had made at a
    step.
    """

    run: Run
    until: int
    student: bool = False


class Live(Explorer):
    """A process, live; see the module.

    Attributes:
        run: the run on show. state: "paused", "running", "finished", "stopped" or "failed". before:
            what the run before differs in, and its frames. students: what was found of students, in
            words. panel, slider, buttons: what the reader moves.
    """

    def __init__(
        self,
        method: Any,
        data: ImageData | DistilledSet | None = None,
        teacher: Teachers | None = None,
        config: Parameters | None = None,
        *,
        first: Sequence[str] | None = None,
        device: torch.device | str = "auto",
        key: str = "",
    ) -> None:
        """
        Args:
            method: name or alias of a method, or a process: `ddlab.training.supervised`,
                `self_supervised.Teacher(objective)`, one of your own; or a `Run` that has begun,
                which says all but the last two.
            data: the images that it runs on; a distilled set for a process that trains on one.
            teacher: one network or several, for processes that need them.
            config: where the controls start; default the Config's preset for these data, or its
                teaching preset.
            first: the fields that are seen at once; default the first four that can be explored.
                The others are folded away.
            key: an earlier explorer of this name is closed; default: the one that played, or
                showed, the same method.

        Raises:
            DDLabError: what is no process, a config of another one, what the process says of its
                inputs, or a run without looks.
        """
        if isinstance(method, Run):
            looks.check_looks("run", method.frames)
            self.process = method.process
            self.inputs = method.inputs
            self.run = method
            data = self.inputs.distilled if self.inputs.data is None else self.inputs.data
        else:
            self.process = methods.get(method)
            errors.check_instance(
                "data", data, (ImageData, DistilledSet), "an ImageData or a DistilledSet"
            )
            source: dict[str, Any] = {
                "distilled" if isinstance(data, DistilledSet) else "data": data
            }
            self.inputs = Inputs(**source, teachers=as_teachers(teacher, "teacher"), device=device)
            self.run = self._new_run(
                _first_config(self.process, data) if config is None else config
            ).begin()
        self.state = "finished" if self.run.complete else "paused"
        self.students = ""
        self.before: tuple[Any, Sequence[Frame]] = (self.run.config, ())
        self._until = 0
        self._asked = None
        self._training = False
        self._newest = self.run, self.run.frames[-1]
        self._drawing = threading.RLock()
        self._placing = None
        self._make_controls(first)
        views = self._make_views()
        can_teach = self.picture is not None and isinstance(data, ImageData)
        buttons_shown = []
        for name, button in self.buttons.items():
            if name != "student" or can_teach:
                buttons_shown.append(button)
        row = widgets.HBox(buttons_shown, layout=widgets.Layout(flex_flow="row wrap"))
        key = key or f"{'film' if isinstance(method, Run) else 'live'} {self.process.NAME}"
        super().__init__(
            f"{_title(self.process)}, live",
            controls=[self.panel, row, self.progress],
            views=[self.slider, views],
            key=key,
            beside=True,
        )
        self.runner = self.owns(
            Runner(self._work, on_error=self._failed, on_busy=self._busy, name="ddlab-live")
        )
        self._listen()
        self._draw()

    def _make_controls(self, first: Sequence[str] | None) -> None:
        """Make a control for each field that can be explored, of which some are seen at once."""
        start = self.run.config
        explorable = []
        for name, field in describe(start).items():
            if field.explorable is not None:
                explorable.append(name)
        explorable = [name for name in explorable if getattr(start, name) is not None]
        first_fields = explorable[:4] if first is None else first
        errors.check_instance("first", first_fields, (list, tuple), "a list of fields")
        self._seen = []
        for name in first_fields:
            self._seen.append(errors.check_choice("first", name, tuple(describe(start))))
        folded = []
        for name in explorable:
            if name not in self._seen:
                folded.append(name)
        self.panel = Controls(start, [*self._seen, *folded], folded=folded, stacked=True)
        self.slider = step_slider("step")
        self.progress = Progress(drawing=_DRAWING, layout=widgets.Layout(width="100%"))
        self.buttons = {}
        for name, (words, icon, hint) in _BUTTONS.items():
            self.buttons[name] = icon_button(icon, hint, words)

    def _make_views(self) -> widgets.Widget:
        """Return the images of the newest frame, where it has some, and its curves."""
        first_picture = looks.picture(self.inputs, self._newest[1])
        self.picture = (
            None if first_picture is None else Picture(first_picture[0], alt=first_picture[1])
        )
        # A curve that the newest frame is on comes first, and has a marker.
        self.charts = looks.Charts(
            self._chart, looks.chart_names([self._newest[1], *self.run.frames])
        )
        self.plot = self.charts.plot
        return side_by_side([self.charts] if self.picture is None else [self.picture, self.charts])

    def _listen(self) -> None:
        """Connect what the reader presses and moves."""
        for name, pressed in self.buttons.items():
            pressed.on_click(
                self.guard(lambda _button, name=name: getattr(self, f"_press_{name}")())
            )
        self.panel.observe(self.guard(self._moved), "value")
        self.slider.observe(self.guard(self._scrubbed), "index")
        self.plot.observe(self.guard(self._motion), "reduced_motion")
        self.share(self.panel)

    def _new_run(self, config: Any) -> Run:
        return Run(self.process, config, self.inputs, keep=Keep(_FRAMES_KEPT))

    # -- what the reader does

    def _press_play(self) -> None:
        self._go("running", lambda: self.run.total)

    def _press_step(self) -> None:
        self._go("paused", lambda: max(self._until, self.run.step) + 1)

    def _go(self, state: str, until: Callable[[], int]) -> None:
        if self.state in ("finished", "stopped", "failed"):
            self._begin_again()
        self.state, self._asked, self._until = state, None, min(until(), self.run.total)
        self._enable()
        self.runner.submit(_Task(self.run, self._until))

    def _press_pause(self) -> None:
        self._rest_at("paused")

    def _press_stop(self) -> None:
        self._rest_at(self.state if self._training else "stopped")

    def _press_reset(self) -> None:
        self._begin_again()
        self._rest_at("paused")

    def _press_student(self) -> None:
        self.state = "paused" if self.state == "running" else self.state
        self._until = 0
        frame = self._on_show()
        self.runner.submit(_Task(self.run, 0 if frame is None else frame.step, student=True))

    def _rest_at(self, state: str) -> None:
        """Leave what goes on, and draw where the run rests."""
        self.state = state
        self._until = 0
        self.runner.submit(_Task(self.run, 0))

    def _begin_again(self) -> None:
        """Begin another run with the settings of the panel.

        What is computed of the old one is neither kept nor shown from now on.
        """
        try:
            self.run = self._new_run(self.panel.value)
        except errors.DDLabError:
            self.state = "failed"
            raise
        self._until = 0
        self._asked = None
        self.students = ""

    def _moved(self, _change: Any) -> None:
        playing = self.state == "running"
        earlier_run = self.run
        self._begin_again()
        if any(frame.content.numbers for frame in earlier_run.frames):
            self.before = (earlier_run.config, earlier_run.frames)
        if playing:
            self._press_play()
        else:
            self._rest_at("paused")

    def _scrubbed(self, change: Any) -> None:
        if self._placing == threading.get_ident() or change["new"] is None:
            return
        step = self.slider.options[change["new"]][1]
        self._asked = step if step < self._newest[1].step else None
        self._draw()

    def _motion(self, _change: Any) -> None:
        self.progress.gap = _REDUCED_GAP if self.plot.reduced_motion else _GAP

    # -- computing, in the runner's thread

    def _work(self, task: _Task, leave: Callable[[], None]) -> None:
        run = task.run
        if task.student:
            self._train(run, task.until, leave)
            return
        run.advance(until=task.until, watch=lambda run: self._watch(run, leave))
        if run is self.run:
            self._newest = run, run.keep_now()
            if run.complete and self.runner.task is task:
                self.state = "finished"
            self._draw()

    def _watch(self, run: Run, leave: Callable[[], None]) -> None:
        """Leave where the reader wants something else; draw ten times a second at most.

        Runs call it after every update.
        """
        leave()
        if self.progress.is_due and run is self.run:
            start_time = time.monotonic()
            self.progress.show(f"step {run.step}", run.step / run.total)
            self._newest = run, run.now()
            self._draw()
            self.progress.note_drawing(start_time)

    def _train(self, run: Run, step: int, leave: Callable[[], None]) -> None:
        def watch(at: Step) -> None:
            leave()
            if self.progress.is_due:
                self.progress.show("student", at.index / at.total)

        self._training = True
        self._enable()
        try:
            # Nothing, unless the reader pressed before the first images were there.
            run.advance(until=step)
            distilled = run.process.finish(run.config, run.inputs, run.state(step))
            accuracy_text = accuracies(
                errors.check_instance("what is trained on", distilled, DistilledSet),
                self.inputs,
                watch,
            )
            self.students = f"Students of the images at step {step}: {accuracy_text}."
        finally:
            self._training = False
        if run is self.run:
            self._draw()

    def _failed(self, error: BaseException) -> None:
        self.state = "failed"
        self._enable()
        self.show_error(error)

    def _busy(self, busy: bool) -> None:
        if not busy:
            self._enable()
            self.progress.show_rest()

    # -- drawing, in any thread

    def _on_show(self) -> Frame | None:
        """Return the frame that the slider asks for, or the newest.

        None where the first images of a run are still made.
        """
        run, newest = self._newest
        return newest if self._asked is None and run is self.run else self.run.at(self._asked)

    def _draw(self) -> None:
        with self._drawing:
            frame = self._on_show()
            if frame is None:  # what was before stays on show
                return
            next_picture = looks.picture(self.inputs, frame)
            if self.picture is not None and next_picture is not None:
                self.picture.show_bytes(next_picture[0], alt=next_picture[1])
            self.charts.show(looks.chart_names([*self.before[1], *self._frames()]))
            self._place_slider(frame)
            self._enable()
            self.say(f"{self._words(frame)} {self.students}".strip())

    def _frames(self) -> list[Frame]:
        run, newest = self._newest
        frames = list(self.run.frames)
        return [*frames, newest] if run is self.run and frames[-1].step < newest.step else frames

    def _chart(self, name: str | None) -> tuple[Any, float | None]:
        config, frames = self.before
        figure = looks.curve(self._frames(), name, (_difference(config, self.run.config), frames))
        frame = self._on_show()
        return figure, None if name is None or frame is None else looks.cursor(frame, name)

    def _place_slider(self, frame: Frame) -> None:
        steps = sorted({*self.run.kept, *(frame_kept.step for frame_kept in self.run.frames)})
        self._placing = threading.get_ident()
        try:
            options = [(str(step), step) for step in steps]
            if list(self.slider.options) != options:
                self.slider.options = options
            self.slider.index = max(place for place, step in enumerate(steps) if step <= frame.step)
        finally:
            self._placing = None

    def _enable(self) -> None:
        """Grey out what makes no sense now."""
        running = self.state == "running"
        stops = self._training or running or (self.state == "paused" and self.run.step > 0)
        able = {
            "play": not running,
            "pause": running,
            "step": not running,
            "stop": stops,
            "student": not self._training,
        }
        for name, possible in able.items():
            self.buttons[name].disabled = not possible

    def _words(self, frame: Frame) -> str:
        if frame.step == 0 and self.run.step == 0:
            settings_seen = []
            for name in self._seen:
                settings_seen.append(f"{name.replace('_', ' ')} {getattr(self.run.config, name)}")
            settings = ", ".join(settings_seen)
            return (
                f"Before the first of {self.run.total} "
                f"updates{f' with {settings}' if settings else ''}: press Play."
            )
        numbers = looks.words(frame.content)
        return (
            f"Step {frame.step} of {self.run.total}, "
            f"{self.state}{f': {numbers}' if numbers else ''}."
        )


def _title(process: Any) -> str:
    """Return a process's title as its paper has it.

    A module of ours begins with that name and a colon.
    """
    name, colon, _ = (process.__doc__ or "").partition(":")
    return (
        name
        if colon and len(name) < 40 and "\n" not in name
        else str(process.NAME).replace("_", " ").capitalize()
    )


def _first_config(process: Any, data: Any) -> Parameters:
    """Return the preset of a process for these data."""
    if process is supervised and isinstance(data, ImageData):
        return supervised.Config.for_data(data, "teacher")
    if hasattr(process.Config, "for_data"):
        return process.Config.for_data(data)
    return getattr(process.Config, "teaching", process.Config)()


def _difference(earlier: Any, later: Any) -> str:
    """Say in which settings two configs differ."""
    changed = []
    for name in describe(earlier):
        if getattr(earlier, name) != getattr(later, name):
            changed.append(name)
    return ", ".join(f"{name} {getattr(earlier, name)}" for name in changed) or "same settings"
