"""Explorers: widgets that answer at once. The pieces here; lessons put them together.

Plot, Picture        views: a plotly figure, encoded images
controls             sliders and buttons from a config
Worker               computes the newest value in one thread
Live                 any process, live: play, pause, images, curves, a student on a frame
Scrubber, film       a slider over frames; over the looks that a run has kept
Prediction           a question whose answer is locked before the result is seen
Trial, TrialCard     a statement of a paper: claim, answer, sliders, verdict
LabelsAgainstImages, DiversityView, DiversityLab, LatentConflict,
SigmaLab, RhoLab, LandscapeLab, CropMaps, BasesLab, BudgetLab: what lessons show
Lab, Value, Compute, Change, Chart, Strip, Html, Row, Tabs   a laboratory as a declaration; Laboratory is what it makes
Explorer             the base: sentence, errors, state text, close
replace, close_all   one explorer per name
"""

from .bases import BasesLab
from .budget import BudgetLab
from .controls import Controls, controls
from .crop_maps import CropMaps
from .diversity import DiversityView
from .diversity_lab import DiversityLab
from .images import Picture
from .lab import Change, Compute, Known, Lab, Laboratory, Value
from .labels import LabelsAgainstImages
from .latents import LatentConflict
from .layout import Explorer, side_by_side
from .live import Sentence
from .live_lab import Live
from .plot import Plot
from .prediction import Prediction
from .registry import close_all, replace
from .runner import Runner
from .scrubber import Scrubber, film
from .toys import LandscapeLab, RhoLab, SigmaLab
from .trial_card import ANSWERS, Shown, Trial, TrialCard
from .views import Chart, Html, Row, Strip, Tabs
from .worker import Worker

__all__ = [
    "ANSWERS",
    "BasesLab",
    "BudgetLab",
    "Change",
    "Chart",
    "Compute",
    "Controls",
    "CropMaps",
    "DiversityLab",
    "DiversityView",
    "Explorer",
    "Html",
    "Known",
    "Lab",
    "LabelsAgainstImages",
    "Laboratory",
    "LandscapeLab",
    "LatentConflict",
    "Live",
    "Picture",
    "Plot",
    "Prediction",
    "RhoLab",
    "Row",
    "Runner",
    "Scrubber",
    "Sentence",
    "Shown",
    "SigmaLab",
    "Strip",
    "Tabs",
    "Trial",
    "TrialCard",
    "Value",
    "Worker",
    "close_all",
    "controls",
    "film",
    "replace",
    "side_by_side",
]
