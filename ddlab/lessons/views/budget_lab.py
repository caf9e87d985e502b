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

from ...core import errors
from ...explorers.controls import Controls
from ...explorers.layout import Explorer, side_by_side
from ...explorers.plot import Plot
from ...explorers.quest import QuestLine
from ...explorers.stops import set_stops
from . import budget
from .budget import PRESETS, Settings

_CONTROLS = ("images", "image_bases", "representation_bases")
_MORE = ("hidden", "scale", "augmentation", "shift", "representation_mean")
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
        panel: its `value` is a `Settings`. preset: the settings of the paper's Table 5. found: what is shown, a `Bought`.
    """

    def __init__(self, settings: str = "", *, key: str = "budget lab") -> None:
        """
        Args:
            settings: what is shown first, as the explorer's own text says it; sizes of images and representations stand there too.
        """
        errors.check_text("settings", settings)
        self.start = Settings.from_string(settings)
        self.found = budget.bought(self.start)
        self._drawing = threading.RLock()
        self.panel = Controls(self.start, (*_CONTROLS, *_MORE), labels=_LABELS, more=_MORE, stacked=True)
        for name, (low, high) in _STOPS.items():
            set_stops(self.panel, name, low, high)
        # A slider, because JupyterLab keeps the arrow keys from a list that drops down.
        self.preset = widgets.SelectionSlider(
            options=[_OWN, *PRESETS],
            value=budget.preset_of(self.start) or _OWN,
            description="Table 5",
            continuous_update=True,
            tooltip="The paper's settings; left and right arrow keys go through them",
            layout=widgets.Layout(width="auto"),
        )
        self.reset_button = widgets.Button(description="Reset", icon="refresh", tooltip="The settings this began with")
        self.sizes = widgets.HTML(_sizes(self.start))
        self.quest = QuestLine(budget.QUEST)
        self.bill = Plot(budget.bill_figure(self.start, self.found), announce=False)
        self.counts = widgets.HTML(budget.counts_table(self.start, self.found))
        self.savings = widgets.HTML(budget.savings_table(self.start, self.found))
        super().__init__(
            "What does a budget buy in bases?",
            controls=[self.quest, self.preset, self.panel, self.reset_button, self.sizes],
            views=[self.bill, side_by_side([self.counts, self.savings])],
            key=key,
            beside=True,
        )
        self.panel.observe(self.guard(self._moved), "value")
        self.preset.observe(self.guard(self._chosen), "value")
        self.reset_button.on_click(self.guard(self._reset))
        self.share(self.panel)
        self.say(budget.sentence(self.start, self.found))

    def _moved(self, change: Any) -> None:
        with self._drawing:
            settings = change["new"]
            self.found = budget.bought(settings)
            self.preset.value = budget.preset_of(settings) or _OWN
            self.bill.figure = budget.bill_figure(settings, self.found)
            self.counts.value = budget.counts_table(settings, self.found)
            self.savings.value = budget.savings_table(settings, self.found)
            self.sizes.value = _sizes(settings)
            self.quest.look(budget.quest_met(settings, self.found))
            self.say(budget.sentence(settings, self.found))

    def _chosen(self, change: Any) -> None:
        if change["new"] != _OWN:
            self.panel.value = PRESETS[change["new"]]

    def _reset(self, _button: Any) -> None:
        self.panel.value = self.start


def _sizes(settings: Settings) -> str:
    return (
        f"Images of {settings.channels} x {settings.height} x {settings.width} pixels, representations of "
        f"{settings.representation_size} numbers; every number is a float. Class numbers and settings are not counted."
    )
