"""What the tests of all lessons ask of lesson 90; `tests.lessons.rows` says which."""

import math

import numpy as np
import torch

from ddlab.lessons.theorems_on_trial.trials import TRIALS

LABS = {
    "TrialCard": lambda g: {"trial": TRIALS["SGD"]},
}


RIGHT = [
    ("counterexample", (lambda place: -min(place + 3, 2 - place), -3, 2, 0.6)),
    ("counterexample", (torch.abs, -1, 1, np.float64(0.01))),
    ("counterexample", [abs, -1, torch.tensor(1), 0.25]),
]


WRONG = [
    ("counterexample", (abs, -1, 1, 0), "between 0 and 1"),
    ("counterexample", (abs, -1, 1, 0.5), "not one half"),
    ("counterexample", (abs, -1, "x", 0.4), "a text"),
    ("counterexample", (abs, -1, math.nan, 0.4), "NaN"),
    ("counterexample", (lambda place: 2 * abs(place), -1, 1, 0.4), "steeper than 1"),
    ("counterexample", (lambda place: math.nan, -1, 1, 0.4), "NaN"),
    ("counterexample", (lambda x: abs(x) if abs(x) == 1 else math.nan, -1, 1, 0.4), "NaN"),
    ("counterexample", (lambda place: place, -1, 1, 0.4), "level"),
    ("counterexample", (lambda place: 0.0, -1, 1, 0.4), "within the printed"),
    ("counterexample", (lambda place: 1 / 0, -1, 1, 0.4), "ZeroDivisionError"),
]
