"""The laboratory of the merge ratio: one image vanishes under its optimisation, and what FADRM's residual brings back.

ResidualLab(data, teacher)
ResidualLab(data, teacher, fadrm.Config(iterations=200, small_size=48)).run()     # all ratios in the foreground, to be displayed

The chosen ratio is computed first, then 1, which has no residual, then those nearest to the chosen one; a run that is left is taken up
again where it was. Students are trained when the reader asks for them, and given up when another setting is chosen.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from .. import errors, training
from ..data import ImageData
from ..methods import data_residual_matching as fadrm
from ..networks import Network
from ..process import Step
from . import residual_figures as views
from .controls import controls
from .images import Picture
from .layout import Explorer, side_by_side
from .plot import Plot
from .progress import Progress
from .residual_runs import ResidualRuns
from .residual_students import Students
from .residual_view import ResidualView, allowed_sizes, by_nearness, choices, first_view, kept_steps
from .worker import Worker

_CONTROLS = (
    "merge_ratio", "merges", "iterations", "learning_rate", "small_size", "patches", "initialisation", "measure", "images_per_class",
)  # fmt: skip
_LABELS = {
    "small_size": "small stages D_ds", "measure": "curve of", "initialisation": "start",
    "images_per_class": "images per class, for students", "iterations": "steps B",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class _Task:
    """What the worker is asked for; only the newest one is wanted."""

    view: ResidualView
    students: bool = False


class ResidualLab(Explorer):
    """FADRM along its run, for all merge ratios; see the module.

    Attributes:
        panel: its `value` is a `ResidualView`. slider: the steps that can be looked at. runs, students: what has been computed.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        config: fadrm.Config | None = None,
        *,
        small_sizes: tuple[int, ...] | None = None,
        student: training.Config | None = None,
        seeds: int = 3,
        key: str = "residual lab",
    ) -> None:
        """
        Args:
            data, teacher: whose images are recovered. All classes are recovered together, one image of each.
            config: where the controls start; default 100 steps, with the first of the small sizes.
            small_sizes: of the odd stages, in pixels of the shorter side; default three quarters and half, where the teacher takes them.
            student: how students are trained; default `training.Config.for_data(data)`. seeds: how many of each kind.

        Raises:
            DDLabError: a small size that the teacher cannot take, or settings that the method refuses.
        """
        errors.check_instance("config", config, (fadrm.Config, type(None)), "a data_residual_matching Config or None")
        self.runs, self.students = ResidualRuns(data, teacher), Students(data, teacher, student, seeds)
        self.start = first_view(data, allowed_sizes(data, teacher, small_sizes), config)
        self.runs.check(self.runs.config(self.start))
        self.students.check(self.start)
        self.runs.begin(self.runs.config(self.start))
        self._drawing = threading.RLock()
        self._placing: int | None = (
            None  # the thread that moves the sliders after the view; the reader may move them at the same time
        )
        self._task: _Task | None = None
        self._make_widgets(data)
        super().__init__(
            "Does a residual bring the image back?",
            controls=[
                self.panel,
                widgets.HBox([self.students_button, self.stop_button, self.reset_button, self.progress]),
            ],
            views=[
                self.class_slider,
                self.slider,
                self.picture,
                self.caption,
                side_by_side([self.curves, self.schedule]),
                self.students_table,
            ],
            key=key,
        )
        self.worker = self.owns(
            Worker(self._compute, lambda _done: None, on_error=self._failed, on_busy=self._busy, name="ddlab-residuals")
        )
        self.panel.observe(self.guard(self._moved), "value")
        self.share(self.panel)
        self.slider.observe(self.guard(self._scrubbed), "index")
        self.class_slider.observe(self.guard(self._chosen), "value")
        self.students_button.on_click(self.guard(lambda _button: self._train()))
        self.stop_button.on_click(self.guard(lambda _button: self._go_on()))
        self.reset_button.on_click(self.guard(lambda _button: self._reset()))
        self._draw()
        self._go_on()

    def run(self) -> ResidualLab:
        """Compute all ratios of the settings on show, here and now; returns the explorer, to be displayed."""
        self._task = None  # the worker leaves what it does
        self.worker.join()
        self._task = _Task(self.panel.value)
        self._compute(self._task, lambda: False)
        self._busy(False)
        return self

    # -- what the reader does

    def _moved(self, change: Any) -> None:
        view, before = change["new"], change["old"]
        changed = self.runs.config(view) != self.runs.config(before)
        if changed:
            self.runs.check(self.runs.config(view))
            if self.runs.known_ground(self.runs.config(view)) is not None:
                self.runs.begin(self.runs.config(view))  # a first picture at once
        self.students.check(view)
        self._draw(stages=changed, curves=view.replace(step=None) != before.replace(step=None))
        if changed or (self._training and view.images_per_class != before.images_per_class):
            self._go_on()

    def _scrubbed(self, change: Any) -> None:
        position = change["new"]
        if self._placing == threading.get_ident() or position is None:
            return
        steps = [step for _, step in self.slider.options]
        self.panel.value = self.panel.value.replace(step=None if position == len(steps) - 1 else steps[position])

    def _chosen(self, change: Any) -> None:
        if self._placing != threading.get_ident():
            self.panel.value = self.panel.value.replace(class_name=change["new"])

    @property
    def _training(self) -> bool:
        return self._task is not None and self._task.students

    def _go_on(self) -> None:
        """Compute the runs that are missing; students are given up."""
        self._task = _Task(self.panel.value)
        self.stop_button.disabled = True
        if views.waiting(self.runs, self._task.view):
            self.worker.submit(self._task)

    def _train(self) -> None:
        self._task = _Task(self.panel.value, students=True)
        self.stop_button.disabled = False
        self.worker.submit(self._task)

    def _reset(self) -> None:
        self.panel.value = self.start

    # -- computing, in the worker's thread

    def _compute(self, task: _Task, stale: Callable[[], bool]) -> None:
        # Not the worker's `stale` alone: it lets old values be finished, and what is shown here is shown long before the end.
        def leave() -> None:
            if task is not self._task or stale():
                raise _LeftError

        try:
            if task.students:
                self.students.train(task.view, self._watch_students(leave))
            for alpha in by_nearness(task.view.merge_ratio):
                config = self.runs.config(task.view, alpha)
                self.runs.begin(config)
                drawn = alpha in views.compared(task.view).values()
                self.runs.go_on(self.runs.recovery(config), self._watch(alpha, task.view.iterations, drawn, leave))
                self._draw(stages=False, curves=drawn)
        except _LeftError:
            return

    def _watch(self, alpha: float, total: int, drawn: bool, leave: Callable[[], None]) -> Callable[[int], None]:
        """Called after every step: shows how far it is, ten times a second at most, and ends what nobody waits for."""

        def watch(step: int) -> None:
            leave()
            if self.progress.due:
                self.progress.show(f"α = {alpha:g}", step / total)
                if drawn:
                    self._draw(stages=False)

        return watch

    def _watch_students(self, leave: Callable[[], None]) -> Callable[[str, Step], None]:
        def watch(words: str, step: Step) -> None:
            leave()
            if self.progress.due or step.index == step.total:
                self.progress.show(words, step.index / step.total)
                self._draw_students()

        return watch

    def _failed(self, error: BaseException) -> None:
        self._busy(False)
        self.show_error(error)

    def _busy(self, busy: bool) -> None:
        if not busy:
            self.stop_button.disabled = True
            self._draw_students()
            self.progress.rest()  # last: what is "at rest" has been drawn

    # -- views

    def _make_widgets(self, data: ImageData) -> None:
        view = self.start
        names = [name for name in _CONTROLS if name != "small_size" or len(choices(view, "small_size")) > 1]
        self.panel = controls(view, names, labels=_LABELS)
        if "small_size" in names:
            sizes: Any = self.panel["small_size"]
            sizes.options = [
                ("full size" if size == min(data.image_size) else f"{size} px", size)
                for size in choices(view, "small_size")
            ]
            sizes.value = view.small_size
        columns = "repeat(auto-fit, minmax(440px, 1fr))"
        self.panel.layout = widgets.Layout(display="grid", grid_template_columns=columns, grid_gap="0 16px")
        # Sliders, because JupyterLab keeps the arrow keys from a list that drops down.
        self.slider = _slider([("0", 0)], "step", "Left and right arrow keys move by one recorded step")
        self.class_slider = _slider([(name, name) for name in data.class_names], "class", "Whose image is watched")
        self.students_button = _button(
            "Train students", "graduation-cap", "On the images of all classes, and on random real ones"
        )
        self.stop_button = _button("Stop", "stop", "Give the students up; those that are done stay known")
        self.stop_button.disabled = True
        self.reset_button = _button("Reset", "refresh", "The settings this explorer began with")
        self.progress = Progress()
        encoded, alt = views.strip(self.runs, view, 0)
        self.picture = Picture(encoded, alt=alt)
        self.caption = widgets.HTML(
            f"All {data.classes} images of a batch are recovered together, one of each class; this is one of them. "
            "Images of the small stages are scaled up, and measured so."
        )
        self.curves = Plot(views.curves(self.runs, view), announce=False)
        self.schedule = Plot(views.schedule(self.runs, view), announce=False)
        self.students_table = widgets.HTML()

    def _draw(self, *, stages: bool = True, curves: bool = True) -> None:
        with self._drawing:
            begun, view = time.monotonic(), self.panel.value
            step = views.following(self.runs, view)
            self._place_sliders(view, step)
            encoded, alt = views.strip(self.runs, view, step)
            self.picture.show_bytes(encoded, alt=alt)
            if curves:
                self.curves.figure = views.curves(self.runs, view)
            self.curves.cursor = float(step)
            if stages:
                self.schedule.figure = views.schedule(self.runs, view)
            self.say(f"{views.sentence(self.runs, view, step)} {views.waiting(self.runs, view)}".strip())
            self.progress.drawn(begun)
        self._draw_students()

    def _place_sliders(self, view: ResidualView, step: int) -> None:
        steps = kept_steps(view.iterations, view.merges)
        self._placing = threading.get_ident()
        try:
            options = [(str(each), each) for each in steps]
            if list(self.slider.options) != options:
                self.slider.options = options
            self.slider.index = steps.index(step)
            self.class_slider.value = view.class_name
        finally:
            self._placing = None

    def _draw_students(self) -> None:
        view = self.panel.value
        self.students_table.value = views.worth_table(self.students, view)
        self.students_button.disabled = self.students.finished(view)


class _LeftError(Exception):
    """The reader has moved on."""


def _button(words: str, icon: str, hint: str) -> widgets.Button:
    return widgets.Button(description=words, icon=icon, tooltip=hint)


def _slider(options: list[tuple[str, Any]], words: str, hint: str) -> widgets.SelectionSlider:
    return widgets.SelectionSlider(
        options=options, description=words, tooltip=hint, continuous_update=True, style={"description_width": "4em"},
        layout=widgets.Layout(width="auto", max_width="60em"),
    )  # fmt: skip
