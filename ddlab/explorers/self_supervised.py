"""The laboratory of self-supervised distillation: KRR-ST and Boost, every setting at hand, and what their sets are worth.

SelfSupervisedLab(data, teacher)                       shapes and a teacher without labels, say
SelfSupervisedLab(data, teacher, other=digits).run()   the settings on show distilled in the foreground, to be displayed

A setting shows at once what the set is before any step, and its bill. Run distils; runs are kept by their settings, so that going back is
instant, and a run that was stopped is taken up again where it was.
"""

from __future__ import annotations

import dataclasses
import html
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from .. import pretraining as pre
from ..data import ImageData
from ..errors import DDLabError
from ..methods import kernel_ridge_self_supervised as krr
from ..networks import Network
from ..process import Step
from . import self_supervised_figures as figures
from .layout import Explorer
from .progress import Progress
from .self_supervised_runs import Frame, Run, SelfSupervisedRuns
from .self_supervised_view import SelfSupervisedView, check_config, first_view, kept_iterations, name_of
from .self_supervised_views import LabViews, button, settings_panel, step_slider
from .self_supervised_worth import Worth
from .worker import Worker


@dataclasses.dataclass(frozen=True, eq=False)
class _Task:
    """What the worker is asked for; only the newest one is wanted."""

    run: Run
    probed: Frame | None = None


class SelfSupervisedLab(Explorer):
    """Distilled sets without labels, before and along their distillation; see the module.

    Attributes:
        panel: its `value` is a `SelfSupervisedView`. slider: the outer steps that can be looked at. runs, worth: what has been computed.
        views: pictures, plots and tables.
        refusal: the sentence of settings that the library refuses, or "".
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        config: krr.Config | None = None,
        *,
        other: ImageData | None = None,
        pretraining: pre.Config | None = None,
        candidates: Sequence[float] | None = None,
        key: str = "self-supervised lab",
    ) -> None:
        """
        Args:
            data, teacher: what is distilled; the teacher's features are its targets, its labels are never asked.
            config: where the controls start, of KRR-ST or of Boost; default Boost's teaching preset.
            other: images of the same shape, for the probe of what was learned (`ddlab.data.aligned`).
            pretraining: how fresh networks learn from a set; default 300 epochs of the architecture of the inner networks.
            candidates: strengths of the probe, of which the best is taken on held-out images, as of `evaluation.probe`.

        Raises:
            DDLabError: settings that the method refuses, or `other` of another shape.
        """
        check_config(config)
        self.runs = SelfSupervisedRuns(data, teacher)
        self.start = first_view(data, self.runs.features, config)
        self.worth = Worth(self.runs.inputs, other, pretraining, candidates, self.start.network)
        self._run = self.runs.begun(self.start.config)
        self.refusal = ""
        self._drawing = threading.RLock()
        self._placing: int | None = None  # the thread that moves the slider after the view
        self._task: _Task | None = None  # what is wanted
        self._doing: _Task | None = None
        self._make_widgets()
        buttons = widgets.HBox(
            [self.run_button, self.probe_button, self.stop_button, self.reset_button, self.progress],
            layout=widgets.Layout(flex_flow="row wrap"),
        )
        super().__init__(
            "What must a set hold for a network to learn from it without labels?",
            controls=[self.panel, self.refused, buttons],
            views=[self.slider, *self.views.boxes],
            key=key,
        )
        self.worker = self.owns(
            Worker(self._compute, _nothing, on_error=self._failed, on_busy=self._busy, name="ddlab-self-supervised")
        )
        self.mapper = self.owns(Worker(self._lay_out, _nothing, on_error=self._failed, name="ddlab-map"))
        self.panel.observe(self.guard(self._moved), "value")
        self.share(self.panel)
        self.slider.observe(self.guard(self._scrubbed), "index")
        for pressed, does in (
            (self.run_button, self._go_on), (self.probe_button, self._probe), (self.stop_button, self._stop),
            (self.reset_button, self._reset),
        ):  # fmt: skip
            pressed.on_click(self.guard(lambda _button, does=does: does()))
        self._draw()

    def run(self) -> SelfSupervisedLab:
        """Distil with the settings on show, here and now; returns the explorer, to be displayed."""
        self._task = None  # the worker leaves what it does
        self.worker.join()
        if self.refusal:
            raise DDLabError(self.refusal)
        self._task = _Task(self._run)
        try:
            self._compute(self._task, lambda: False)
        finally:
            self._busy(False)
        return self

    # -- what the reader does

    def _moved(self, change: Any) -> None:
        view, before = change["new"], change["old"]
        with self._drawing:
            refusal = ""
            if view.config != before.config or self.refusal:
                try:
                    self._run = self.runs.begun(view.config)
                except DDLabError as error:
                    refusal = str(error)
            self.refusal = refusal
            self._draw()

    def _scrubbed(self, change: Any) -> None:
        position = change["new"]
        if self._placing == threading.get_ident() or position is None:
            return
        steps = [step for _, step in self.slider.options]
        self.panel.value = self.panel.value.replace(step=None if position == len(steps) - 1 else steps[position])

    # Stop, or another task, ends what is computed within a step: `leave` sees that it is no longer the one that is wanted.

    def _go_on(self) -> None:
        if not self.refusal and not self._run.complete:
            self.panel.value = self.panel.value.replace(step=None)  # follow it
            self._submit(_Task(self._run))

    def _probe(self) -> None:
        if not self.refusal:
            self._submit(_Task(self._run, self._frame))

    def _submit(self, task: _Task) -> None:
        self._task = task
        self.worker.submit(task)

    def _stop(self) -> None:
        self._task = None

    def _reset(self) -> None:
        self.panel.value = self.start

    @property
    def _frame(self) -> Frame:
        return self._run.frame(self.panel.value.step)

    # -- computing, in the workers' threads

    def _compute(self, task: _Task, stale: Callable[[], bool]) -> None:
        # Not the worker's `stale` alone: it lets old values be finished, and a run or a probe is left within a step.
        def leave() -> None:
            if task is not self._task or stale():
                raise _LeftError

        self._doing = task
        self.stop_button.disabled = False
        try:
            if task.probed is None:
                self.runs.go_on(task.run, self._watch(leave))
            else:
                self._learn(task.run, task.probed, leave)
        except _LeftError:
            return
        finally:
            self._doing = None

    def _learn(self, run: Run, frame: Frame, leave: Callable[[], None]) -> None:
        self._draw()  # the button that was pressed is not to be pressed again
        self.progress.show(f"{name_of(run.config)}: the set", 0.0)
        words = f"{figures.label(run)}, outer step {frame.step}"
        made = self.runs.distilled(run, frame)

        def watch(what: str, step: Step | None) -> None:
            leave()
            if step is None or self.progress.due:
                self.progress.show(what, 1.0 if step is None else step.index / step.total)

        self.worth.add((run.config, frame.step), words, made, watch)

    def _watch(self, leave: Callable[[], None]) -> Callable[[Run], None]:
        """Called after every step: shows how far it is, ten times a second at most, and ends what nobody waits for."""

        def watch(run: Run) -> None:
            if self.progress.due or run.complete:
                self.progress.show(f"{name_of(run.config)}: {figures.phase(run)}", run.state.step / run.total)
                if run is self._run:
                    self._draw()
            leave()

        return watch

    def _lay_out(self, asked: tuple[Run, Frame, str], _stale: Callable[[], bool]) -> None:
        self.runs.positions(*asked)
        self._draw()

    def _failed(self, error: BaseException) -> None:
        self._busy(False)
        self.show_error(error)

    def _busy(self, busy: bool) -> None:
        if not busy:
            self.stop_button.disabled = True
            self._draw()
            self.progress.rest()  # last: what is "at rest" has been drawn

    # -- views

    def _make_widgets(self) -> None:
        view, run = self.start, self._run
        self.panel = settings_panel(
            view, image=self.runs.data.train_images[0].numel(), features=self.runs.features.shape[1]
        )
        self.slider = step_slider()
        self.run_button = button("Run", "play", "Distil with these settings")
        self.probe_button = button(
            "Pre-train and probe", "graduation-cap", "A fresh network learns from the set of the step on show"
        )
        self.stop_button = button("Stop", "stop", "End what is computed; what there is stays")
        self.stop_button.disabled = True
        self.reset_button = button("Reset", "refresh", "The settings this explorer began with")
        self.progress = Progress(words="14em", layout=widgets.Layout(width="26em"))
        self.refused = widgets.HTML(layout=widgets.Layout(display="none"))
        self.views = LabViews(self.runs, self.worth, run, view)

    def _draw(self) -> None:
        with self._drawing:
            begun, view, run, frame = time.monotonic(), self.panel.value, self._run, self._frame
            self._place_slider(run, frame)
            self.views.draw(run, frame, view)
            waits = self._draw_map()
            doing = self._doing
            running = doing is not None and doing.run is run and doing.probed is None
            probing = doing is not None and doing.run is run and doing.probed is frame
            self._enable(view, can_run=not running and not run.complete, can_probe=not probing)
            said = self._refusal_in_words(), figures.sentence(self.runs, run, frame), figures.todo(run, running), waits
            self.say(" ".join(part for part in said if part))
            self.progress.drawn(begun)

    def _draw_map(self) -> str:
        """Draw the map, or ask for it; returns what is to be said meanwhile."""
        run, frame, layout = self._run, self._frame, self.panel.value.layout
        if self.runs.placed(run, frame, layout):
            self.views.draw_map(run, frame, layout)
            return ""
        self.mapper.submit((run, frame, layout))
        return f"The {layout} map is being computed ..."

    def _place_slider(self, run: Run, frame: Frame) -> None:
        steps = sorted({*kept_iterations(run.config.iterations), *(one.step for one in run.frames)})
        self._placing = threading.get_ident()
        try:
            options = [(str(each), each) for each in steps]
            if list(self.slider.options) != options:
                self.slider.options = options
            self.slider.index = steps.index(frame.step)
        finally:
            self._placing = None

    def _enable(self, view: SelfSupervisedView, *, can_run: bool, can_probe: bool) -> None:
        run, key = self._run, (self._run.config, self._frame.step)
        for name in self.panel:
            setattr(self.panel[name], "disabled", name in view.unused)  # noqa: B010
        self.run_button.disabled = bool(self.refusal) or not can_run
        self.run_button.description = "Go on" if run.state.step and not run.complete else "Run"
        self.probe_button.disabled = bool(self.refusal) or not can_probe or key in self.worth.rows
        sentence = self._refusal_in_words()
        self.refused.value = f'<div class="ddlab-sentence-bad">{html.escape(sentence)}</div>' if sentence else ""
        self.refused.layout.display = None if sentence else "none"

    def _refusal_in_words(self) -> str:
        return f"These settings make no set, and the one before stays on show: {self.refusal}" if self.refusal else ""


class _LeftError(Exception):
    """The reader has moved on."""


def _nothing(_done: None) -> None:
    """What is computed is shown long before its end."""
