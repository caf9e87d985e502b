"""The laboratory of diversity: DWA on images, with every setting at hand and random real images beside it.

DiversityLab(data, teacher)
DiversityLab(data, teacher, dwa.Config.teaching(images_per_class=2, iterations=50)).run()     # with students, in the foreground

The map is fitted once and stands still, so that runs can be compared on it. The images of a change are recovered at once where that
takes less than a second by the last run, else when Run is pressed; students follow, and are given up when the reader moves on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from .. import errors, training
from ..data import ImageData
from ..methods import directed_weight_adjustment as dwa
from ..networks import Network
from ..process import Step
from . import lab_views as views
from .controls import controls
from .images import Picture
from .laboratory import LABELS, Laboratory, Made, Settings
from .layout import Explorer, side_by_side
from .plot import Plot
from .progress import Progress
from .worker import Worker

_REMEMBERED = 5  # runs in the table
NOW, REAL, BEFORE = "this run", "random real", "run before"
_CONTROLS = (  # two columns of them
    "coupled", "layer", "lambda_mean", "lambda_var", "perturbation", "initialisation", "adjustment_steps", "adjustment_radius",
    "images_per_class", "iterations", "seed",
)  # fmt: skip


class DiversityLab(Explorer):
    """DWA with sliders, and what its images are worth; see the module.

    Attributes:
        lab: what has been computed. shown: the run on show. runs: the last ones, the newest first.
    """

    def __init__(
        self,
        data: ImageData,
        teacher: Network,
        config: dwa.Config | None = None,
        *,
        student: training.Config | None = None,
        points: int = 300,
        at_once: float = 1.0,
        key: str = "diversity lab",
    ) -> None:
        """
        Args:
            data, teacher: what is distilled; the teacher's features are mapped.
            config: where the controls start; default 3 images per class and 100 iterations. Its images are made at once.
            student: how students are trained; default `training.Config.for_data(data)`.
            points: how many real images are on the map, as many of each class as there are.
            at_once: seconds: images that take longer wait for the Run button.

        Raises:
            DDLabError: a config with less than two images per class or with more than a class has, or points below three per class.
        """
        errors.check_instance("config", config, (dwa.Config, type(None)), "a directed_weight_adjustment Config or None")
        self.at_once = errors.check_number("at_once", at_once, 0)
        start = Settings() if config is None else Settings.of(config)
        self.lab = Laboratory(data, teacher, start.config, student, points)
        self.panel = controls(start, _CONTROLS, continuous=False, labels={"layer": "map of teacher's"})
        self.panel.layout = widgets.Layout(display="grid", grid_template_columns="repeat(auto-fit, minmax(440px, 1fr))")
        self._drawing, self._computing = threading.RLock(), threading.Lock()
        self._wanted = start.config
        self.runs = [self.lab.images(start.config)]
        compared = self._compared()
        self.plot = Plot(views.map_figure(self.lab, compared, start.layer), announce=False)
        self.bars = Plot(views.distance_figure(self.lab, compared), announce=False)
        self.accuracies = Plot(views.accuracy_figure(self.lab, compared), announce=False)
        self.picture, self.real_picture = (
            Picture(views.picture_of(self.lab, compared[name]), alt=self._alt(name, compared[name]))
            for name in (NOW, REAL)
        )
        self.table = widgets.HTML()
        self.run_button = widgets.Button(
            description="Run", icon="play", tooltip="Make the images and train students on them"
        )
        self.progress = Progress()
        pictures = widgets.HBox([_captioned(NOW, self.picture), _captioned(REAL, self.real_picture)])
        super().__init__(
            "What makes recovered images differ?",
            controls=[self.panel, widgets.HBox([self.run_button, self.progress])],
            views=[side_by_side([self.plot, pictures]), side_by_side([self.bars, self.accuracies]), self.table],
            key=key,
        )
        self.worker = self.owns(
            Worker(self._compute, self._show, on_error=self._failed, on_busy=self._busy, name="ddlab-diversity-lab")
        )
        # First: a coupled slider is moved once more by _moved, and the text must end on what it ends on.
        self.share(self.panel)
        self.panel.observe(self.guard(self._moved), "value")
        self.run_button.on_click(self.guard(lambda _button: self._begin(self.panel.value.config)))
        self._draw()

    @property
    def shown(self) -> Made:
        """The run on show."""
        return self.runs[0]

    def run(self) -> DiversityLab:
        """Make the images of the settings on show and train students, here and now; returns the explorer, to be displayed."""
        self._wanted = self.panel.value.config
        self._compute(self._wanted, lambda: False)
        self.progress.rest()
        return self

    # -- what the reader does

    def _moved(self, change: Any) -> None:
        settings = change["new"].after(change["old"])
        if settings != change["new"]:
            self.panel.value = settings
            return
        config = settings.config
        self._enable()
        if config == self.shown.config and config == self._wanted:
            self._draw()  # the map of the other layer
        elif self.lab.finished(config):
            self._wanted = config
            self._show(self.lab.images(config))
            self.progress.rest()
        elif self.lab.seconds(config) <= self.at_once:
            self._begin(config)
        else:
            self.say(
                f"Press Run: these images take about {self.lab.seconds(config):.1f} s, then students learn from them."
            )

    def _begin(self, config: dwa.Config) -> None:
        self.lab.real(config)  # what cannot be made is refused here and now
        self._wanted = config
        self.worker.submit(config)

    # -- computing, in the worker's thread

    def _compute(self, config: dwa.Config, stale: Callable[[], bool]) -> Made | None:
        """The images, then students of both kinds on them and on real ones; what is there is shown as it comes."""
        quick = self.lab.seconds(config) <= self.at_once

        def left() -> bool:
            # A quick answer is finished while a slider goes on moving, so that something moves; everything else is given up.
            return stale() or (self._wanted != config and not quick)

        try:
            with self._computing:
                made = self.lab.images(config, self._watch("images", left))
                self._show(made)
                quick = False
                for labels in LABELS:
                    for name, one in ((NOW, made), (REAL, self.lab.real(config))):
                        if left():
                            return None
                        self.lab.learn(one, labels, self._watch(f"{labels} labels, {name}", left))
                        self._show(made)
        except _LeftError:
            return None
        return made

    def _watch(self, what: str, left: Callable[[], bool]) -> Callable[[Step], None]:
        """Called after every step: shows how far it is, ten times a second, and ends what nobody waits for."""

        def watch(step: Step) -> None:
            if step.index % 3 == 0 and left():
                raise _LeftError
            if self.progress.due or step.index == step.total:
                self.progress.show(what, step.index / step.total)

        return watch

    def _show(self, made: Made) -> None:
        with self._drawing:
            if made.config != self._wanted == self.shown.config:
                return  # finished too late: what the reader asked for since is on show already
            self.runs = [made, *[run for run in self.runs if run.config != made.config]][:_REMEMBERED]
            self._draw()

    def _failed(self, error: BaseException) -> None:
        self.progress.rest()
        self.show_error(error)

    def _busy(self, busy: bool) -> None:
        if not busy:
            self.progress.rest()

    # -- views

    @property
    def _real(self) -> Made:
        return self.lab.real(self.shown.config)

    def _compared(self) -> dict[str, Made]:
        """What is compared; a name keeps its colour."""
        return {NOW: self.shown, REAL: self._real} | ({BEFORE: self.runs[1]} if len(self.runs) > 1 else {})

    def _draw(self) -> None:
        with self._drawing:
            compared, layer = self._compared(), self.panel.value.layer
            self.plot.figure = views.map_figure(self.lab, compared, layer)
            self.bars.figure = views.distance_figure(self.lab, compared)
            self.accuracies.figure = views.accuracy_figure(self.lab, compared)
            for name, made, picture in ((NOW, self.shown, self.picture), (REAL, self._real, self.real_picture)):
                picture.show_bytes(views.picture_of(self.lab, made), alt=self._alt(name, made))
            self.table.value = views.run_table(self.lab, self.runs, layer)
            self.say(views.sentence(self.lab, self.shown, layer))
        self._enable()

    def _enable(self) -> None:
        settings = self.panel.value
        for name in ("adjustment_steps", "adjustment_radius"):
            setattr(self.panel[name], "disabled", settings.perturbation == "none")  # noqa: B010
        self.run_button.disabled = self.lab.finished(settings.config)

    def _alt(self, name: str, made: Made) -> str:
        return f"{len(made.distilled)} images, {name}: one row per class, {made.config.images_per_class} in each."


class _LeftError(Exception):
    """The reader has moved on."""


def _captioned(name: str, picture: Picture) -> widgets.VBox:
    return widgets.VBox([widgets.HTML(f"<b>{name}</b>"), picture])
