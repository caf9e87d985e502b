"""Explorers: widgets that answer at once. The pieces here; lessons put them together.

Plot, Picture        views: a plotly figure, encoded images
controls             sliders and buttons from a config
Live                 any process, live: play, pause, images, curves, a student on a frame
Scrubber, film       a slider over frames; over the looks that a run has kept
Prediction           a question whose answer is locked before the result is seen
Trial, TrialCard     a statement of a paper: claim, answer, sliders, verdict
DiversityView, LatentConflict   free-form explorers that several lessons show
Lab, Value, Compute, Change, Chart, Strip, Html, Row, Column, Tabs   a laboratory as a declaration; Laboratory is what it makes
Explorer             the base: sentence, errors, state text, close
replace, close_all   one explorer per name
"""

from .controls import Controls, controls
from .diversity import DiversityView
from .images import Picture
from .lab import Change, Compute, Known, Lab, Laboratory, Value
from .latents import LatentConflict
from .layout import Explorer, side_by_side
from .live import Sentence
from .live_lab import Live
from .plot import Plot
from .prediction import Prediction
from .registry import close_all, replace
from .runner import Runner
from .scrubber import Scrubber, film
from .trial_card import ANSWERS, Shown, Trial, TrialCard
from .views import Chart, Column, Html, Row, Strip, Tabs

__all__ = [
    "ANSWERS",
    "Change",
    "Chart",
    "Column",
    "Compute",
    "Controls",
    "DiversityView",
    "Explorer",
    "Html",
    "Known",
    "Lab",
    "Laboratory",
    "LatentConflict",
    "Live",
    "Picture",
    "Plot",
    "Prediction",
    "Row",
    "Runner",
    "Scrubber",
    "Sentence",
    "Shown",
    "Strip",
    "Tabs",
    "Trial",
    "TrialCard",
    "Value",
    "close_all",
    "controls",
    "film",
    "replace",
    "side_by_side",
]
