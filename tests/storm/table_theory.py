"""Right arguments for the theory, where its annotations do not say enough, for its figures and its explorer."""

from __future__ import annotations

from typing import Any

import torch

from ddlab import figures
from ddlab.theory import GaussianMixture, ViewProblem, bimodal_mixture, frozen_features
from tests.storm.good import Given, Good


def _line(deviation: float) -> GaussianMixture:
    return bimodal_mixture(deviation=deviation, dimensions=1)


def _viewed(g: Given) -> dict[str, Any]:
    return {"images": g.images(2).double(), "targets": g.tensor(4, 2, 3).double(), "real": g.images(5).double(),
            "wanted": g.tensor(5, 3, seed=1).double(), "features": frozen_features(g.teacher), "kind": "rotation",
            "strength": 0.01}  # fmt: skip


def _latents(g: Given) -> dict[str, Any]:
    return {"points": g.tensor(3, 2), "mean_arrows": g.tensor(3, 2, seed=1), "variance_arrows": g.tensor(3, 2, seed=2),
            "target_mean": g.tensor(2), "target_variance": g.tensor(2).abs(), "opposed": [True, False, True]}  # fmt: skip


def _last_layer(g: Given) -> dict[str, torch.Tensor]:
    return {name: value + 0.1 for name, value in g.teacher.weights.items() if name.startswith("classifier.")}


THEORY: dict[str, Good] = {
    "theory.ViewProblem": Good(_viewed),
    "theory.objective_gradient": Good(lambda g: {"problem": ViewProblem(**_viewed(g)), "views": "none"}),
    "theory.random_view_gradients": Good(
        lambda g: {"problem": ViewProblem(**_viewed(g)), "draws": 1, "samples": 3, "seed": 0},
        largest={"draws": 3, "samples": 50},
    ),
    "theory.table_information": Good(lambda g: {"joint": g.tensor(3, 4).abs()}),
    "theory.printed_direct_gradient": Good(
        lambda g: {"online": g.tensor(3, 2), "target": g.tensor(3, 2, seed=1), "predictor": torch.eye(2), "correlation": torch.eye(2),
                   "epsilon": 0.1},
    ),
    "theory.total_variation": Good(
        lambda g: {"first": _line(0.3), "second": _line(0.5)}, whole=("first", "second")
    ),
    "theory.batch_pca": Good(lambda g: {"batches": [g.tensor(3, 2), g.tensor(2, 2, seed=1)], "components": 2}),
    "theory.transport_by_layer": Good(
        lambda g: {"source": g.teacher, "target": g.teacher, "images": g.images(6), "ridge": 0.01, "folds": 2, "seed": 0}
    ),
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
