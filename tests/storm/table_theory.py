"""Right arguments for the theory, its figures and its explorer."""

from __future__ import annotations

from typing import Any

import torch

from ddlab import figures
from tests.storm.good import Given, Good


def _mean(g: Given) -> dict[str, Any]:
    return {"points": g.tensor(4, 2), "target_mean": g.tensor(2, seed=1)}


def _variance(g: Given) -> dict[str, Any]:
    return {"points": g.tensor(4, 2), "target_variance": g.tensor(2, seed=2).abs()}


def _both(g: Given) -> dict[str, Any]:
    return _mean(g) | _variance(g)


def _latents(g: Given) -> dict[str, Any]:
    return {"points": g.tensor(3, 2), "mean_arrows": g.tensor(3, 2, seed=1), "variance_arrows": g.tensor(3, 2, seed=2),
            "target_mean": g.tensor(2), "target_variance": g.tensor(2).abs(), "opposed": [True, False, True]}  # fmt: skip


def _last_layer(g: Given) -> dict[str, torch.Tensor]:
    return {name: value + 0.1 for name, value in g.teacher.weights.items() if name.startswith("classifier.")}


THEORY: dict[str, Good] = {
    "theory.mean_gap": Good(lambda g: {**_mean(g), "squared": False}),
    "theory.variance_gap": Good(lambda g: {**_variance(g), "squared": False}),
    "theory.mean_gap_gradient": Good(lambda g: {**_mean(g), "squared": True}),
    "theory.variance_gap_gradient": Good(lambda g: {**_variance(g), "squared": True}),
    "theory.printed_variance_gap_gradient": Good(_variance),
    "theory.single_products": Good(lambda g: {**_both(g), "squared": False}),
    "theory.batch_product": Good(lambda g: {**_both(g), "squared": True}),
    "theory.opposed": Good(_both),
    "theory.closed_gaps": Good(_both),
    "theory.moving": Good(
        lambda g: {**_both(g), "lambda_mean": 0.5, "lambda_var": 0.5, "learning_rate": 0.1, "steps": 3, "squared": False},
        largest={"steps": 10_000},
    ),
    "theory.variance_between_and_within": Good(lambda g: {"features": g.tensor(4, 3), "groups": torch.tensor([0, 1, 1, 7])}),
    "theory.added_variance": Good(lambda g: {"before": g.tensor(4, 3), "after": g.tensor(5, 3, seed=1)}),
    "theory.rest_loss_change": Good(
        lambda g: {"network": g.teacher, "adjusted_weights": _last_layer(g), "data": g.data, "batch": torch.tensor([0, 13]),
                   "batch_size": 8},
    ),
    "theory.at_optimum": Good(
        lambda g: {"network": g.teacher, "data": g.data, "names": ["classifier.bias"], "tolerance": 0.01, "iterations": 20},
        largest={"iterations": 50}, not_none=("names",),
    ),
    "figures.latent_arrows": Good(lambda g: {**_latents(g), "extent": ((-1.0, 1.0), (-2.0, 2.0))}),
    "figures.move_latents": Good(lambda g: {"figure": figures.latent_arrows(**_latents(g)), **_latents(g)}),
    "figures.product_bars": Good(lambda g: {"products": g.tensor(3)}),
    "figures.raise_products": Good(lambda g: {"figure": figures.product_bars([1, -1, 2]), "products": g.tensor(3)}),
    "lessons.diversity.latents.LatentConflict": Good(lambda g: {"settings": "lambda_var=1,latents=4"}),
}  # fmt: skip
