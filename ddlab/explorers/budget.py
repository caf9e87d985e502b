"""What does a budget buy in bases and coefficients? The bill of a distilled set that is stored so (Boost, section 4 and A.1).

BudgetLab()                                            Boost's settings for CIFAR100 and N = 100
BudgetLab("images=20,representation_size=64")          other images and representations

m, the number of pairs, follows from the budget of N images; beside it stands what the same floats buy as plain images, with and
without their targets, since papers count in both ways.
"""

from __future__ import annotations

import threading
from typing import Any

import ipywidgets as widgets

from .. import errors
from . import budget_view as views
from .budget_view import PRESETS, BudgetView
from .controls import controls
from .layout import Explorer, side_by_side
from .plot import Plot
from .stops import set_stops

_CONTROLS = (
    "images",
    "image_bases",
    "representation_bases",
    "hidden",
    "scale",
    "augmentation",
    "shift",
    "representation_mean",
)
_LABELS = {
    "images": "budget in images N",
    "image_bases": "image bases U",
    "representation_bases": "representation bases V",
    "hidden": "hidden units h",
    "scale": "scale s",
    "augmentation": "views",
    "shift": "targets of the views",
    "representation_mean": "mean of the targets",
}
_STOPS = {"images": (5, 5000), "image_bases": (1, 1000), "representation_bases": (1, 500), "hidden": (1, 64)}
_OWN = "as chosen below"


class BudgetLab(Explorer):
    """m and the bill of m pairs, for any budget; see the module.

    Attributes:
        panel: its `value` is a `BudgetView`. preset: the settings of the paper's Table 5. found: what is shown, a `Bought`.
    """

    def __init__(self, settings: str = "", *, key: str = "budget lab") -> None:
        """
        Args:
            settings: what is shown first, as the explorer's own text says it; sizes of images and representations stand there too.
        """
        errors.check_text("settings", settings)
        self.start = BudgetView.from_string(settings)
        self.found = views.bought(self.start)
        self._drawing = threading.RLock()
        self.panel = controls(self.start, _CONTROLS, labels=_LABELS)
        for name, (low, high) in _STOPS.items():
            set_stops(self.panel, name, low, high)
        columns = "repeat(auto-fit, minmax(440px, 1fr))"
        self.panel.layout = widgets.Layout(display="grid", grid_template_columns=columns, grid_gap="0 16px")
        # A slider, because JupyterLab keeps the arrow keys from a list that drops down.
        self.preset = widgets.SelectionSlider(
            options=[_OWN, *PRESETS], value=views.preset_of(self.start) or _OWN, description="Table 5", continuous_update=True,
            tooltip="The paper's settings; left and right arrow keys go through them", style={"description_width": "5em"},
            layout=widgets.Layout(width="44em"),
        )  # fmt: skip
        self.reset_button = widgets.Button(description="Reset", icon="refresh", tooltip="The settings this began with")
        self.sizes = widgets.HTML(_sizes(self.start))
        self.bill = Plot(views.bill_figure(self.start, self.found), announce=False)
        self.counts = widgets.HTML(views.counts_table(self.start, self.found))
        self.savings = widgets.HTML(views.savings_table(self.start, self.found))
        super().__init__(
            "What does a budget buy in bases?",
            controls=[widgets.HBox([self.preset, self.reset_button]), self.sizes, self.panel],
            views=[self.bill, side_by_side([self.counts, self.savings])],
            key=key,
        )
        self.panel.observe(self.guard(self._moved), "value")
        self.preset.observe(self.guard(self._chosen), "value")
        self.reset_button.on_click(self.guard(self._reset))
        self.share(self.panel)
        self.say(views.sentence(self.start, self.found))

    def _moved(self, change: Any) -> None:
        with self._drawing:
            view = change["new"]
            self.found = views.bought(view)
            self.preset.value = views.preset_of(view) or _OWN
            self.bill.figure = views.bill_figure(view, self.found)
            self.counts.value = views.counts_table(view, self.found)
            self.savings.value = views.savings_table(view, self.found)
            self.sizes.value = _sizes(view)
            self.say(views.sentence(view, self.found))

    def _chosen(self, change: Any) -> None:
        if change["new"] != _OWN:
            self.panel.value = PRESETS[change["new"]]

    def _reset(self, _button: Any) -> None:
        self.panel.value = self.start


def _sizes(view: BudgetView) -> str:
    return (
        f"Images of {view.channels} x {view.height} x {view.width} pixels, representations of {view.representation_size} numbers; "
        "every number is a float. Class numbers and settings are not counted."
    )
