"""The controls, pictures, plots and tables of the laboratory of self-supervised distillation."""

from __future__ import annotations

import ipywidgets as widgets
import plotly.graph_objects as go

from . import self_supervised_figures as figures
from .controls import Controls, controls
from .images import Picture
from .layout import side_by_side
from .plot import Plot
from .self_supervised_runs import Frame, Run, SelfSupervisedRuns
from .self_supervised_view import PCA, SelfSupervisedView
from .self_supervised_worth import Worth
from .stops import set_stops

_CONTROLS = (
    "method", "budget", "image_bases", "representation_bases", "scale", "bases_start", "coefficients_start", "augmentation", "shift",
    "hidden", "learning_rate", "iterations", "all_views", "layout",
)  # fmt: skip
_LABELS = {
    "method": "method", "budget": "budget in images N", "image_bases": "image bases U", "representation_bases": "representation bases V",
    "scale": "scale s", "bases_start": "bases begin as", "coefficients_start": "coefficients begin as", "augmentation": "views",
    "shift": "targets of the views", "hidden": "hidden units h", "learning_rate": "outer learning rate", "iterations": "outer steps T",
    "all_views": "show all views", "layout": "map",
}  # fmt: skip


class LabViews:
    """Widgets that show what has been computed.

    Attributes:
        picture: images of the set. outer, pool: losses. map: representations. bill: floats. worth_table, run_table: HTML.
    """

    def __init__(self, runs: SelfSupervisedRuns, worth: Worth, run: Run, view: SelfSupervisedView) -> None:
        self.runs, self.worth = runs, worth
        frame = run.frames[0]
        encoded, alt = figures.picture(runs, run, frame, view)
        self.picture = Picture(encoded, alt=alt)
        self.outer = Plot(figures.outer_curve(runs, run), announce=False)
        self.map = Plot(figures.map_figure(runs, run, frame, PCA), announce=False)
        self.bill = Plot(figures.bill_figure(runs, view), announce=False)
        self.pool = Plot(figures.pool_curve(run), announce=False)
        self.worth_table, self.run_table = widgets.HTML(), widgets.HTML()
        self._mapped: tuple[Run, Frame, str] = (run, frame, PCA)

    @property
    def boxes(self) -> list[widgets.Widget]:
        """All of them, from top to bottom."""
        plots = side_by_side([self.outer, self.map])
        return [self.picture, self.bill, plots, self.worth_table, self.run_table, self.pool]

    def draw(self, run: Run, frame: Frame, view: SelfSupervisedView) -> None:
        """Everything but the map. The picture comes first: it is on its way to the reader while the rest is drawn."""
        encoded, alt = figures.picture(self.runs, run, frame, view)
        self.picture.show_bytes(encoded, alt=alt)
        self.outer.cursor = float(frame.step)
        _show(self.outer, figures.outer_curve(self.runs, run))
        _show(self.pool, figures.pool_curve(run))
        _show(self.bill, figures.bill_figure(self.runs, view))
        self.worth_table.value = figures.worth_table(self.worth)
        self.run_table.value = figures.run_table(self.runs, run)

    def draw_map(self, run: Run, frame: Frame, layout: str) -> None:
        """The map of a frame whose places are known."""
        if self._mapped != (run, frame, layout):
            self._mapped = (run, frame, layout)
            self.map.figure = figures.map_figure(self.runs, run, frame, layout)


def _show(plot: Plot, figure: go.Figure) -> None:
    """Figures are kept: the same one is not sent again."""
    if plot.figure is not figure:
        plot.figure = figure


def settings_panel(view: SelfSupervisedView, *, image: int, features: int) -> Controls:
    """The controls, in two columns.

    Args:
        image: numbers in one, the most bases of images there are. features: numbers in a representation.
    """
    panel = controls(view, _CONTROLS, labels=_LABELS)
    stops = {
        "budget": (5, 100), "image_bases": (2, min(image, 400)), "representation_bases": (2, min(features, 400)), "hidden": (1, 64),
        "iterations": (10, 1000),
    }  # fmt: skip
    for name, (low, high) in stops.items():
        set_stops(panel, name, low, max(low, high))
    columns = "repeat(auto-fit, minmax(440px, 1fr))"
    panel.layout = widgets.Layout(display="grid", grid_template_columns=columns, grid_gap="0 16px")
    return panel


def step_slider() -> widgets.SelectionSlider:
    """A slider over frames; a list that drops down would lose its arrow keys to JupyterLab."""
    return widgets.SelectionSlider(
        options=[("0", 0)], description="outer step", tooltip="Left and right arrow keys move by one recorded step",
        continuous_update=True, style={"description_width": "6em"}, layout=widgets.Layout(width="auto", max_width="60em"),
    )  # fmt: skip


def button(words: str, icon: str, hint: str) -> widgets.Button:
    """A button as wide as its words."""
    return widgets.Button(description=words, icon=icon, tooltip=hint, layout=widgets.Layout(width="auto"))
