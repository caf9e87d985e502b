"""Explorers: widgets that answer at once. The pieces here; what a lesson makes of them stands in its folder.

Plot, Picture        views: a plotly figure, encoded images
controls             sliders and buttons from a config
Live                 any process, live: play, pause, images, curves, a student on a frame
Scrubber, film       a slider over frames; over the looks that a run has kept
Prediction           a question whose answer is locked before the result is seen
DiversityView, LatentConflict   free-form explorers that several lessons show
Lab, Value, Compute, Change, Chart, Strip, Html, Row, Column, Tabs   a laboratory as a declaration; Laboratory is what it makes
Explorer             the base: sentence, errors, state text, close
Quest, QuestLine     what a reader is asked to reach, checked
replace, close_all   one explorer per name
"""

from .controls import Controls, controls
from .images import Picture
from .lab import Change, Compute, Known, Lab, Laboratory, Value
from .layout import Explorer, side_by_side
from .live import Sentence
from .live_lab import Live
from .plot import Plot
from .prediction import Prediction
from .quest import Quest, QuestLine
from .registry import close_all, replace
from .runner import Runner
from .scrubber import Scrubber, film
from .views import Chart, Column, Html, Row, Strip, Tabs

__all__ = [
    "Change",
    "Chart",
    "Column",
    "Compute",
    "Controls",
    "Explorer",
    "Html",
    "Known",
    "Lab",
    "Laboratory",
    "Live",
    "Picture",
    "Plot",
    "Prediction",
    "Quest",
    "QuestLine",
    "Row",
    "Runner",
    "Scrubber",
    "Sentence",
    "Strip",
    "Tabs",
    "Value",
    "close_all",
    "controls",
    "film",
    "replace",
    "side_by_side",
]
