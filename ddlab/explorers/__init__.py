"""Explorers: widgets that answer at once.

The pieces here; what a lesson makes of them stands in its folder.

Plot, Picture        views: a plotly figure, encoded images
Controls             sliders and buttons from a config
Live                 any process, live: play, pause, images, curves, a student on a frame; a finished run: its film
Prediction           a question whose answer is locked before the result is seen
Lab, Value, Compute, Change, Chart, Strip, Html, Row, Tabs   a laboratory as a declaration; Laboratory is what it makes
Explorer             the base: sentence, errors, state text, close
export               a laboratory as a page that needs no kernel
Quest, QuestLine     what a reader is asked to reach, checked
"""

from ..core import listing, needs_lab

needs_lab("ddlab.explorers", "ipywidgets", "anywidget", "plotly")

from .controls import Controls
from .exporting import export
from .images import Picture
from .jobs import Change, Compute, Part, Value
from .lab import Lab
from .layout import Explorer, side_by_side
from .lines import BUTTON, DRAG, Quest, QuestLine, Sentence
from .live import Live
from .page import Laboratory
from .plot import Plot
from .prediction import Prediction
from .runner import Runner
from .schedule import Results
from .views import Chart, Drag, Formulas, Handles, Html, Named, Row, Strip, Tabs, step_on_show

__all__ = [
    "BUTTON",
    "DRAG",
    "Change",
    "Chart",
    "Compute",
    "Controls",
    "Drag",
    "Explorer",
    "Formulas",
    "Handles",
    "Html",
    "Lab",
    "Laboratory",
    "Live",
    "Named",
    "Part",
    "Picture",
    "Plot",
    "Prediction",
    "Quest",
    "QuestLine",
    "Results",
    "Row",
    "Runner",
    "Sentence",
    "Strip",
    "Tabs",
    "Value",
    "export",
    "side_by_side",
    "step_on_show",
]
__dir__ = listing(__all__)
