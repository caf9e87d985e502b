"""Right arguments for charts of sweeps and of sets beside each other."""

from __future__ import annotations

import numpy as np

from tests.storm.good import Good

PIXELS = np.zeros((4, 1, 8, 8), np.uint8)
GRID = {"rows": [4, 12], "columns": [0.01, 0.02], "row_label": "K", "column_label": "ρ"}

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
}  # fmt: skip
