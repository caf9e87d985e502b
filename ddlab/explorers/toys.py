"""The toy world of two Gaussian classes, trained anew at every move of a slider (ReLA, Figures 1 and 2).

SigmaLab()              distilled samples: seven Sigmas and the chosen one, 20 networks each
RhoLab()                distilled targets: five rhos and the chosen one
LandscapeLab()          the loss over a plane of weights, with the paths of three networks in it; LandscapeLab(vary="relabelling")

Every lab shows what the chosen setting's networks decide, how all settings learn, and the numbers at the end. Nothing is kept from one
move to the next but the start and the noise, which all settings share: what differs is the setting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go

from .. import errors
from ..figures import (
    decision_map,
    landscape_contours,
    landscape_relief,
    move_curves,
    move_decisions,
    setting_curves,
)
from .controls import controls
from .layout import Explorer, side_by_side
from .plot import Plot
from .tables import table
from .toy_view import (
    CONTOUR,
    EXTENT,
    HIDDEN,
    RELIEF,
    RHOS,
    SIGMAS,
    SQUARED,
    Landscape,
    Sweep,
    ToyShown,
    ToyView,
    best_boundary,
    toy_shown,
)
from .worker import Worker

_LABELS = {
    "deviation": "deviation of the samples (Σ)",
    "relabelling": "share of the teacher (ρ)",
    "teacher_deviation": "teacher's deviation (Σ*)",
    "gap": "gap between the means (μ2 - μ1)",
    "original_deviation": "deviation of G",
    "steps": "updates (T)",
    "exact_gradient": "exact gradient",
}
_TRAINING = ("learning_rate", "momentum", "steps", "exact_gradient")
_OTHER_SEEDS = 1000  # of all that are counted through


class ToyLab(Explorer):
    """What the labs share; see the module.

    Attributes:
        sweep: what is varied. panel: its `value` is a `ToyView`. shown: the `ToyShown` on the screen.
    """

    def __init__(self, title: str, view: ToyView, sweep: Sweep, names: Sequence[str], *, key: str) -> None:
        self.sweep = sweep
        self._drawing = threading.RLock()
        self.panel = controls(view, names, labels=_LABELS)
        self.shown = toy_shown(view, sweep)
        self.decisions = Plot(decision_map(**self._decisions(), extent=EXTENT), announce=False)
        self.curves = Plot(self._new_curves(), announce=False)
        self.landscape: Plot | None = None
        self.landscape_box = widgets.VBox([])
        self.numbers = widgets.HTML(self._numbers())
        self.other_button = widgets.Button(description="Other seeds", tooltip="Other starts and other samples, as many")
        self.reset_button = widgets.Button(description="Reset", tooltip="The settings this lab began with, same seeds")
        self._show_landscape()
        steering = widgets.VBox([self.panel, widgets.HBox([self.other_button, self.reset_button])])
        super().__init__(title, controls=[side_by_side([steering, self.numbers])], views=self._views(), key=key)
        self.worker = self.owns(Worker(self._compute, self._arrived, on_error=self.show_error, name="ddlab-toys"))
        self.panel.observe(self.guard(self._moved), "value")
        self.share(self.panel)
        self.other_button.on_click(self.guard(lambda _button: self._other_seeds()))
        self.reset_button.on_click(self.guard(lambda _button: self._reset(view)))
        self.say(self._words())

    def _views(self) -> list[widgets.Widget]:
        return [side_by_side([self.decisions, self.curves]), self.landscape_box]

    # -- what the reader does

    def _moved(self, change: Any) -> None:
        view = change["new"]
        if view.exact_gradient:
            self.worker.submit(view)
        else:
            # Here and now: two threads would hand the interpreter to and fro, which costs more than is left to win.
            self._show(self._compute(view))

    def _arrived(self, shown: ToyShown) -> None:
        if shown.view == self.panel.value:  # else the reader has gone on, and sees something newer
            self._show(shown)

    def _other_seeds(self) -> None:
        view = self.panel.value
        self.panel.value = view.replace(first_seed=(view.first_seed + view.seeds) % _OTHER_SEEDS)

    def _reset(self, view: ToyView) -> None:
        self.panel.value = view.replace(first_seed=self.panel.value.first_seed)

    def _compute(self, view: ToyView, _stale: Callable[[], bool] | None = None) -> ToyShown:
        return toy_shown(view, self.sweep)

    def _show(self, shown: ToyShown) -> None:
        with self._drawing:
            before, self.shown = self.shown, shown
            self.decisions.figure = move_decisions(self.decisions.figure, **self._decisions())
            same = before.view.measure == shown.view.measure
            self.curves.figure = move_curves(self.curves.figure, **self._curves()) if same else self._new_curves()
            self._show_landscape()
            self.numbers.value = self._numbers()
            self.say(self._words())
            self.clear_error()

    # -- views

    def _decisions(self) -> dict[str, Any]:
        shown = self.shown
        return {
            "x": shown.grid, "y": shown.grid, "outputs": shown.outputs, "points": shown.points, "labels": shown.labels,
            "targets": shown.targets, "best_boundary": best_boundary(shown.view),
        }  # fmt: skip

    def _curves(self) -> dict[str, Any]:
        shown = self.shown
        mean, error = shown.mean_and_error(shown.chosen)
        fixed = {
            self.sweep.name(value): shown.mean_and_error(number)[0]
            for number, value in enumerate(shown.values)
            if value in self.sweep.values
        }
        return {
            "steps": shown.steps, "curves": fixed, "chosen": (f"chosen, {self._chosen_name()}", mean),
            "band": (mean - 2 * error, mean + 2 * error), "least": shown.least[shown.view.measure != SQUARED],
        }  # fmt: skip

    def _new_curves(self) -> go.Figure:
        squared = self.shown.view.measure == SQUARED
        label = "mean squared error on G" if squared else "share of wrong decisions on G"
        return setting_curves(**self._curves(), y_label=label)

    def _show_landscape(self) -> None:
        land = self.shown.landscape
        if land is None:
            if self.landscape is not None:
                self.landscape_box.children = ()
                self.landscape.close()
                self.landscape = None
            return
        figure = landscape_figure(land, relief=self.shown.view.landscape == RELIEF)
        if self.landscape is None:
            self.landscape = Plot(figure, announce=False)
            self.landscape_box.children = (self.landscape,)
        else:
            self.landscape.figure = figure

    def _numbers(self) -> str:
        """A table: every setting at the end, on G."""
        shown = self.shown
        best = min(
            range(len(shown.values)), key=lambda number: float(shown.mean_and_error(number, shown.squared)[0][-1])
        )
        rows = []
        for number, value in enumerate(shown.values):
            (mean, error), (wrong, _) = (shown.mean_and_error(number, of) for of in (shown.squared, shown.wrong))
            marks = " ".join(
                word for word, true in (("chosen", number == shown.chosen), ("least", number == best)) if true
            )
            rows.append((self.sweep.name(value), f"{mean[-1]:.4f} ± {error[-1]:.4f}", f"{1 - wrong[-1]:.1%}", marks))
        rows.append(("least possible", f"{shown.least[0]:.4f}", f"{1 - shown.least[1]:.1%}", ""))
        caption = f"After {int(shown.steps[-1])} updates: mean ± standard error of {shown.squared.shape[-1]} networks"
        return table(caption, ("setting", "squared error on G", "right on G", ""), rows)

    def _chosen_name(self) -> str:
        return self.sweep.name(self.shown.values[self.shown.chosen])

    def _words(self) -> str:
        shown = self.shown
        ends = [float(shown.mean_and_error(number, shown.squared)[0][-1]) for number in range(len(shown.values))]
        best = ends.index(min(ends))
        error = float(shown.mean_and_error(shown.chosen, shown.squared)[1][-1])
        wrong = float(shown.mean_and_error(shown.chosen, shown.wrong)[0][-1])
        said = (
            f"{self._chosen_name()}: after {int(shown.steps[-1])} updates the squared error on G is {ends[shown.chosen]:.4f} "
            f"(standard error {error:.4f}, {shown.squared.shape[-1]} networks), {1 - wrong:.1%} of its decisions are right. The least of "
            f"all settings is {ends[best]:.4f}, at {self.sweep.name(shown.values[best])}; nothing can be below {shown.least[0]:.4f}."
        )
        land = shown.landscape
        return (
            said if land is None else f"{said} The landscape's plane holds {land.captured:.0%} of the paths' movement."
        )


class SigmaLab(ToyLab):
    """Distilled samples: how the spread of what networks learn from decides how well they do on G; see the module.

    Args:
        settings: what is shown first, as the explorer's own text of that name says it, such as "deviation=0.2,steps=200".
    """

    def __init__(self, settings: str = "", *, key: str = "sigma lab") -> None:
        names = ("deviation", "gap", "original_deviation", *_TRAINING, "measure", "landscape")
        title = "Narrow or wide: which samples teach best?"
        super().__init__(title, ToyView.from_string(settings), SIGMAS, names, key=key)


class RhoLab(ToyLab):
    """Distilled targets: how much of the label a teacher's output should replace; see the module.

    Args:
        settings: as of `SigmaLab`; default: the paper's hardest case, samples of deviation 1.
    """

    def __init__(self, settings: str = "deviation=1,relabelling=0.5", *, key: str = "rho lab") -> None:
        names = (
            "relabelling",
            "teacher",
            "teacher_deviation",
            "deviation",
            "gap",
            *_TRAINING,
            "measure",
            "landscape",
        )
        title = "Whose labels: the data's or a teacher's?"
        super().__init__(title, ToyView.from_string(settings), RHOS, names, key=key)


class LandscapeLab(ToyLab):
    """The loss on G over a plane of weights, with three networks' paths: the ends of the sweep and the chosen setting.

    Args:
        settings: as of `SigmaLab`; the landscape is shown in any case.
        vary: "deviation" (Sigma, Figure 1a) or "relabelling" (rho, Figure 2a).
    """

    def __init__(self, settings: str = "", *, vary: str = "deviation", key: str = "landscape lab") -> None:
        errors.check_choice("vary", vary, ("deviation", "relabelling"))
        sweep = SIGMAS if vary == "deviation" else RHOS
        view = ToyView.from_string(settings or ("" if vary == "deviation" else "deviation=1,relabelling=0.5"))
        if view.landscape == HIDDEN:
            view = view.replace(landscape=CONTOUR)
        teacher = ("teacher", "teacher_deviation") if vary == "relabelling" else ()
        names = (vary, *teacher, *_TRAINING, "plane", "landscape")
        super().__init__("Which way do the networks go?", view, sweep, names, key=key)

    def _views(self) -> list[widgets.Widget]:
        return [side_by_side([self.landscape_box, self.decisions]), self.curves]


def landscape_figure(land: Landscape, *, relief: bool = False) -> go.Figure:
    """The figure of a landscape: contours, or the same in three dimensions."""
    draw = landscape_relief if relief else landscape_contours
    return draw(land.x, land.y, land.loss, land.paths, captured=land.captured, title="Loss on G")
