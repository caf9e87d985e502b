"""Right arguments for the closed forms of ReLA's and FADRM's appendices."""

from __future__ import annotations

from typing import Any

from tests.storm.good import Good

_PROBLEM: dict[str, Any] = {"spread": 0.5, "gap": 1.0, "relabelled": 0.5}
_PLAIN: dict[str, Any] = {"spread": 0.5, "gap": 1.0, "learning_rate": 0.1, "start": 1.0}
_FEW = {"steps": 2000, "runs": 2000}

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
}
