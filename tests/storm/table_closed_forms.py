"""Right arguments for the closed forms of ReLA's and FADRM's appendices."""

from __future__ import annotations

from typing import Any

import torch

from ddlab.theory import GaussianMixture, ViewProblem, bimodal_mixture, frozen_features
from tests.storm.good import Given, Good

_PROBLEM: dict[str, Any] = {"spread": 0.5, "gap": 1.0, "relabelled": 0.5}
_PLAIN: dict[str, Any] = {"spread": 0.5, "gap": 1.0, "learning_rate": 0.1, "start": 1.0}
_FEW = {"steps": 2000, "runs": 2000}
_CLASSES: dict[str, Any] = {"spread": 0.5, "gap": 1.0, "dimensions": 2}


def _labelled(g: Given) -> dict[str, Any]:
    return {"samples": g.tensor(6, 2), "labels": torch.tensor([0, 1, 1, 0, 7, 1])}


_RATIO: dict[str, Any] = {"merge_ratio": 0.5}
_LOSS: dict[str, Any] = {"loss_lipschitz": 1.0, "loss_bound": 2.0}
_NETWORK: dict[str, Any] = {"network_lipschitz": 1.5, "discrepancy": 0.5}
_BOX: dict[str, Any] = {"classes": 3, "largest_logit": 4.0, "temperature": 2.0}
_NOISE: dict[str, Any] = {"gap": 1.0, "spread": 0.5, "strength": 1.0, "noise_rate": 0.25}
_COMPLEXITIES: dict[str, Any] = {"of_distilled": 0.5, "of_real": 0.25}
_COST: dict[str, Any] = {"budget": 20, "merges": 2, "small_side": 16, "side": 32}


def _line(deviation: float) -> GaussianMixture:
    return bimodal_mixture(deviation=deviation, dimensions=1)


def _two_mixtures(g: Given) -> dict[str, Any]:
    return {"first": _line(0.3), "second": _line(0.5)}


def _soft(g: Given) -> dict[str, Any]:
    return {"targets": g.probabilities(4, 3), "logits": g.tensor(4, 3, seed=1), "temperature": 2.0}


def _rows(g: Given) -> dict[str, Any]:
    return {"features": g.tensor(2, 4, 3), "targets": g.tensor(4, 2, seed=1), "counts": g.tensor(2, 4, seed=2).abs(),
            "real": g.tensor(5, 3, seed=3), "wanted": g.tensor(5, 2, seed=4), "strength": 0.01}  # fmt: skip


def _viewed(g: Given) -> dict[str, Any]:
    return {"images": g.images(2).double(), "targets": g.tensor(4, 2, 3).double(), "real": g.images(5).double(),
            "wanted": g.tensor(5, 3, seed=1).double(), "features": frozen_features(g.teacher), "kind": "rotation",
            "strength": 0.01}  # fmt: skip


_DRAWS: dict[str, Any] = {"images": 2, "views": 4, "draws": 2}


CLOSED_FORMS: dict[str, Good] = {
    "theory.fitted_losses": Good(_rows),
    "theory.view_counts": Good(lambda g: _DRAWS),
    "theory.drawn_view_counts": Good(lambda g: {**_DRAWS, "samples": 3, "seed": 0}),
    "theory.frozen_features": Good(lambda g: {"network": g.teacher}),
    "theory.ViewProblem": Good(_viewed),
    "theory.objective_gradient": Good(lambda g: {"problem": ViewProblem(**_viewed(g)), "views": "none"}),
    "theory.random_view_gradients": Good(
        lambda g: {"problem": ViewProblem(**_viewed(g)), "draws": 1, "samples": 3, "seed": 0},
        largest={"draws": 3, "samples": 50},
    ),
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
    "theory.printed_information_bound": Good(lambda g: {"logits": g.tensor(4, 3), "images": 5}),
    "theory.temperature_scaled_kl": Good(_soft),
    "theory.temperature_scaled_kl_gradient": Good(_soft),
    "theory.printed_kl_bound": Good(lambda g: _BOX),
    "theory.tight_kl_bound": Good(lambda g: _BOX),
    "theory.lipschitz_constants": Good(lambda g: {"classes": 3, "temperature": 2.0}),
    "theory.risk_gap_bound": Good(lambda g: {**_RATIO, **_NETWORK, "loss_lipschitz": 1.0}),
    "theory.combination_bound": Good(lambda g: {**_RATIO, "lipschitz": 1.0, "distance": 2.0}),
    "theory.printed_combination_bound": Good(lambda g: {**_RATIO, "lipschitz": 1.0, "distance": 2.0}),
    "theory.rademacher_complexity": Good(lambda g: {"outputs": g.tensor(3, 4)}),
    "theory.complexity_bound": Good(lambda g: {**_COMPLEXITIES, **_RATIO, **_NETWORK}),
    "theory.printed_complexity_bound": Good(lambda g: {**_COMPLEXITIES, **_RATIO, **_NETWORK}),
    "theory.condition_threshold": Good(lambda g: {**_RATIO, **_LOSS, **_NETWORK}),
    "theory.printed_condition_threshold": Good(lambda g: {**_RATIO, **_LOSS, **_NETWORK}),
    "theory.largest_merge_ratio": Good(lambda g: _LOSS),
    "theory.printed_largest_merge_ratio": Good(lambda g: _LOSS),
    "theory.total_variation": Good(_two_mixtures, whole=("first", "second")),
    "theory.confidence_term": Good(lambda g: {"samples": 10, "failure": 0.05}),
    "theory.threshold_complexity": Good(lambda g: {"samples": 10}),
    "theory.half_plane_outputs": Good(lambda g: {"points": g.tensor(4, 2)}),
    "theory.generalisation_bound": Good(
        lambda g: {"distilled": _line(0.3), "data": _line(0.5), "samples": 10, "seed": 0, "model": "worst", "failure": 0.05}
    ),
    "theory.batch_pca": Good(lambda g: {"batches": [g.tensor(3, 2), g.tensor(2, 2, seed=1)], "components": 2}),
    "theory.resolution_stages": Good(lambda g: {"budget": 20, "merges": 2}),
    "theory.full_resolution_cost": Good(lambda g: {"budget": 20, "side": 32, "channels": 3}),
    "theory.resolution_cost_ratio": Good(lambda g: _COST),
    "theory.printed_resolution_cost_ratio": Good(lambda g: _COST),
    "theory.gaussian_overlap": Good(lambda g: {**_NOISE, "other_spread": 0.7}),
    "theory.printed_gaussian_overlap": Good(lambda g: _NOISE),
    "theory.crop_views": Good(lambda g: {"images": g.images(2), "minimum_scale": 0.2, "views": 2, "seed": 0}, largest={"views": 20}),
    "theory.class_overlap": Good(
        lambda g: {"first": g.tensor(4, 2), "second": g.tensor(3, 2, seed=1), "neighbours": 2,
                   "first_sources": torch.tensor([0, 0, 1, 1]), "second_sources": torch.tensor([0, 1, 2])},
    ),
    "theory.linear_transport": Good(
        lambda g: {"source": g.tensor(8, 3), "target": g.tensor(8, 2, seed=1), "ridge": 0.01, "folds": 2, "seed": 0}
    ),
    "theory.layer_representations": Good(lambda g: {"network": g.teacher, "images": g.images(), "batch_size": 3}),
    "theory.transport_by_layer": Good(
        lambda g: {"source": g.teacher, "target": g.teacher, "images": g.images(6), "ridge": 0.01, "folds": 2, "seed": 0}
    ),
}  # fmt: skip
