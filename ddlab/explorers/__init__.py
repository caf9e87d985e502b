"""Explorers: widgets that answer at once.

The pieces here; what a lesson makes of them stands in its folder.

Plot                 a plotly figure as a widget
Live                 any process, live: play, pause, images, curves, a student on a frame; a finished run: its film
Prediction           a question whose answer is locked before the result is seen
Lab, Value, Compute, Change, Chart, Strip, Html, Row, Tabs   a laboratory as a declaration; Laboratory is what it makes
export               a laboratory as a page that needs no kernel
Quest                what a reader is asked to reach, checked
"""

from ..core import listing, needs_lab

needs_lab("ddlab.explorers", "ipywidgets", "anywidget", "plotly")

from .exporting import export
from .jobs import Change, Compute, Part, Value
from .lab import Lab
from .lines import BUTTON, DRAG, Quest
from .live import Live
from .page import Laboratory
from .plot import Plot
from .prediction import Prediction
from .schedule import Results
from .views import Chart, Drag, Formulas, Handles, Html, Named, Row, Strip, Tabs, step_on_show

__all__ = [
    "BUTTON",
    "DRAG",
    "Change",
    "Chart",
    "Compute",
    "Drag",
    "Formulas",
    "Handles",
    "Html",
    "Lab",
    "Laboratory",
    "Live",
    "Named",
    "Part",
    "Plot",
    "Prediction",
    "Quest",
    "Results",
    "Row",
    "Strip",
    "Tabs",
    "Value",
    "export",
    "step_on_show",
]
__dir__ = listing(__all__)
