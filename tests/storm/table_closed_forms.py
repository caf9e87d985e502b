"""Right arguments for the closed forms of ReLA's and FADRM's appendices."""

from __future__ import annotations

from typing import Any

import torch

from tests.storm.good import Given, Good

_PROBLEM: dict[str, Any] = {"spread": 0.5, "gap": 1.0, "relabelled": 0.5}
_PLAIN: dict[str, Any] = {"spread": 0.5, "gap": 1.0, "learning_rate": 0.1, "start": 1.0}
_FEW = {"steps": 2000, "runs": 2000}
_CLASSES: dict[str, Any] = {"spread": 0.5, "gap": 1.0, "dimensions": 2}


def _labelled(g: Given) -> dict[str, Any]:
    return {"samples": g.tensor(6, 2), "labels": torch.tensor([0, 1, 1, 0, 7, 1])}


CLOSED_FORMS: dict[str, Good] = {
    "theory.gradient_noise": Good(lambda g: _PROBLEM),
    "theory.mean_absolute_noise": Good(lambda g: _PROBLEM),
    "theory.least_noise_relabelling": Good(lambda g: {"spread": 0.5, "gap": 1.0}),
    "theory.noise_floor": Good(lambda g: {**_PROBLEM, "learning_rate": 0.1, "momentum": 0.5}),
    "theory.expected_squared_error": Good(
        lambda g: {"steps": 5, **_PLAIN, "relabelled": 0.5, "momentum": 0.5}, largest=_FEW
    ),
    "theory.printed_squared_error": Good(lambda g: {"steps": 5, **_PLAIN}, largest=_FEW),
    "theory.relabelling_bound": Good(lambda g: {"steps": 5, **_PLAIN, "relabelled": 0.5}, largest=_FEW),
    "theory.excess_error": Good(lambda g: {"distance": 0.3, "spread": 0.5, "gap": 1.0}),
    "theory.simulated_errors": Good(
        lambda g: {"steps": 5, **_PLAIN, "relabelled": 0.5, "momentum": 0.5, "runs": 4, "seed": 0}, largest=_FEW
    ),
    "theory.mixture_information": Good(lambda g: _CLASSES),
    "theory.printed_normalised_information": Good(lambda g: {"spread": 0.5}),
    "theory.relabelled_information": Good(lambda g: {**_CLASSES, "relabelled": 0.5}),
    "theory.soft_relabelled_information": Good(
        lambda g: {**_CLASSES, "relabelled": 0.5, "teacher_spread": 0.1, "levels": 4},
    ),
    "theory.table_information": Good(lambda g: {"joint": g.tensor(3, 4).abs()}),
    "theory.histogram_information": Good(lambda g: {**_labelled(g), "bins": 3, "corrected": True}),
    "theory.nearest_neighbour_information": Good(lambda g: {**_labelled(g), "neighbours": 1}),
}
