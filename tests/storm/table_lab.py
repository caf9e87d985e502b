"""Right arguments for sweeps, sets beside each other, and the laboratory of diversity."""

from __future__ import annotations

import numpy as np

from ddlab import networks
from ddlab.methods import boost, dwa, fadrm
from ddlab.networks import Network
from ddlab.training import pretraining
from tests.storm.good import Given, Good

PIXELS = np.zeros((4, 1, 8, 8), np.uint8)
GRID = {"rows": [4, 12], "columns": [0.01, 0.02], "row_label": "K", "column_label": "ρ"}
_TINY = networks.spec("convnet", width=2, depth=1)


def _of_any_size(given: Given) -> Network:
    spec = networks.spec("convnet", width=4, depth=2, head="mean").for_data(given.data)
    return networks.initialise(spec, seed=0)


LAB: dict[str, Good] = {
    "figures.sweep_bands": Good(
        lambda g: {"x": [0.01, 0.1], "curves": {"a": [[0.1, 0.2], [0.2, 0.3]]}, "x_label": "x", "log_x": True, "y_range": (0.0, 1.0),
                   "reference": ("chance", 0.1)},
    ),
    "figures.sweep_bands:given": Good(
        lambda g: {"x": [1, 2], "curves": {"a": ([0.1, 0.2], [0.0, 0.1], [0.2, 0.3])}, "x_label": "x"}
    ),
    "figures.heat_map": Good(
        lambda g: {**GRID, "values": [[0.1, 0.2], [0.3, float("nan")]], "reference": ("none", 0.2),
                   "intervals": ([[0.0, 0.1], [0.2, 0.0]], [[0.2, 0.3], [0.4, 0.0]])},
    ),
    "figures.sets_on_map": Good(
        lambda g: {"real": g.tensor(4, 2), "sets": {"a": g.tensor(2, 2, seed=1), "b": g.tensor(3, 2, seed=2)},
                   "real_classes": list("abab"), "set_classes": {"a": ["a", "b"]}, "extent": ((-1.0, 1.0), (-2.0, 2.0)),
                   "density": (g.tensor(3), g.tensor(2), g.tensor(2, 3))},
    ),
    "figures.distances_by_class": Good(lambda g: {"class_names": ["a", "b"], "distances": {"one": [0.1, 0.2], "two": [0.2, 0.3]}}),
    "figures.class_bars": Good(
        lambda g: {"values": {"one": [0.1, 0.2], "two": ([0.2, 0.3], [0.1, 0.3], [0.2, 0.4])}, "class_names": ["a", "b"],
                   "unit": "bits", "references": {"noise": 0.5}},
    ),
    "figures.schedule_diagram": Good(
        lambda g: {"iterations": 20, "merges": 2, "image_size": 32, "small_size": 24, "title": "Title"}
    ),
    "figures.vanishing_curves": Good(
        lambda g: {"curves": {"a": [3.0, 2.0, 2.5], "b": [3.0, 2.0]}, "unit": "bits", "merges": [2], "references": {"real": 3.0},
                   "steps": [0, 1, 2], "bands": {"a": ([2.0, 1.0, 2.0], [4.0, 3.0, 3.0])}},
    ),
    "figures.one_class": Good(
        lambda g: {"images_by_method": {"one": (PIXELS, [0, 1, 0, 1]), "two": (PIXELS, [0, 0, 1, 1])}, "label": 1, "class_name": "b"}
    ),
    "lessons.diversity.lab.DiversityLab": Good(
        lambda g: {"data": g.data, "teacher": g.teacher, "config": dwa.Config(images_per_class=2, iterations=1, roll_pixels=1),
                   "student": g.student, "points": 12},
        whole=("config", "student"), not_none=("config",), largest={"points": 100},
    ),
    "lessons.data_residuals.lab.ResidualLab": Good(
        lambda g: {"data": g.data, "teacher": _of_any_size(g), "config": fadrm.Config(images_per_class=1, iterations=3, merges=2,
                   roll_pixels=1), "small_sizes": (6, 4), "student": g.student, "seeds": 1},
        whole=("config", "student"), not_none=("config",), largest={"seeds": 5},
    ),
    "lessons.bases_and_views.lab.SelfSupervisedLab": Good(
        lambda g: {"data": g.data, "teacher": g.teacher, "config": boost.Config(budget=4, image_bases=4, representation_bases=2, hidden=2,
                   network=_TINY, pool_size=2, pool_steps=2, iterations=2, batch_size=8), "other": g.data,
                   "pretraining": pretraining.Config(network=_TINY, epochs=1), "candidates": (0.1,)},
        whole=("config", "pretraining", "other"), not_none=("config",),
    ),
    "lessons.bases_and_views.bases_lab.BasesLab": Good(
        lambda g: {"data": g.data, "teacher": g.teacher, "images": 8, "settings": "bases=4"}, largest={"images": 30}
    ),
    "lessons.bases_and_views.budget_lab.BudgetLab": Good(lambda g: {"settings": "images=50"}),
    "lessons.claims_on_trial.crop_lab.CropMaps": Good(
        lambda g: {"data": g.data, "classes": (0, 1), "images": 3, "views": 2}, largest={"images": 5, "views": 5}
    ),
    "lessons.shared.labels_against_images.LabelsAgainstImages": Good(
        lambda g: {"data": g.data, "teacher": g.teacher, "sets": dict.fromkeys(("real", "noise", "recovered"), g.distilled),
                   "config": g.student},
    ),
}  # fmt: skip
