"""Right arguments for the toy world of two Gaussians."""

from __future__ import annotations

from typing import Any

import torch

from ddlab import figures, theory
from tests.storm.good import Given, Good


def _mixture(_: Given) -> dict[str, Any]:
    return {"mixture": theory.bimodal_mixture()}


def _toys(*block: int) -> theory.ToyNetworks:
    start = theory.initial_toys(int(torch.tensor(block).prod()), units=3)
    return start.from_rows(start.rows.view(*block, -1))


def _config(**values: Any) -> theory.ToyConfig:
    return theory.ToyConfig(**{"steps": 3, "seeds": 2, "units": 3, "deviation": 1.0, "relabelling": 0.5, **values})


def _runs() -> theory.ToyRuns:
    return theory.train_toys([_config(teacher="posterior of the original")])


def _map(g: Given) -> dict[str, Any]:
    return {
        "x": g.tensor(3).sort().values, "y": g.tensor(2).sort().values, "outputs": g.tensor(2, 3).sigmoid(), "points": g.tensor(4, 2),
        "labels": torch.tensor([0.0, 1, 1, 0]), "targets": g.tensor(4).sigmoid(), "best_boundary": g.tensor(2, 2),
    }  # fmt: skip


def _curves(g: Given) -> dict[str, Any]:
    low, high = g.tensor(3), g.tensor(3)
    return {
        "steps": [0, 1, 2], "curves": {"a": low, "b": high}, "chosen": ("c", g.tensor(3)), "band": (low, high), "least": 0.1,
    }  # fmt: skip


def _plane(g: Given) -> dict[str, Any]:
    axis = torch.tensor([0.0, 1.0, 2.0])
    return {"x": axis, "y": axis, "loss": g.tensor(3, 3), "paths": {"a": g.tensor(4, 2)}, "captured": 0.5}


TOYS: dict[str, Good] = {
    "figures.decision_map": Good(lambda g: {**_map(g), "extent": ((-1.0, 1.0), (-2.0, 2.0))}),
    "figures.move_decisions": Good(lambda g: {"figure": figures.decision_map(**_map(g)), **_map(g)}),
    "figures.setting_curves": Good(_curves),
    "figures.move_curves": Good(lambda g: {"figure": figures.setting_curves(**_curves(g)), **_curves(g)}),
    "figures.landscape_contours": Good(_plane),
    "figures.landscape_relief": Good(_plane),
    "theory.mixture_sample": Good(lambda g: {**_mixture(g), "count": 5, "seed": 0}, largest={"count": 10_000}),
    "theory.spread_points": Good(lambda g: {**_mixture(g), "per_class": 8}),
    "theory.posterior": Good(lambda g: {**_mixture(g), "points": g.tensor(4, 2)}),
    "theory.stochastic_descent": Good(
        lambda g: {"start": _toys(2), "points": g.tensor(3, 2, 2), "targets": g.tensor(3, 2).sigmoid(), "learning_rate": 0.1,
                   "momentum": 0.5, "record_every": 2},
    ),
    "theory.expected_descent": Good(
        lambda g: {"start": _toys(2), "points": g.tensor(2, 4, 2), "targets": g.tensor(2, 4).sigmoid(), "steps": 3,
                   "learning_rate": 0.1, "momentum": 0.5, "record_every": 2},
        largest={"steps": 100},
    ),
    "theory.stochastic_descent:own rates": Good(
        lambda g: {"start": _toys(2), "points": g.tensor(3, 2, 2), "targets": g.tensor(3, 2).sigmoid(),
                   "learning_rate": torch.tensor([0.1, 0.2]), "momentum": torch.tensor([0.1, 0.2])},
        only=("learning_rate", "momentum"),
    ),
    "theory.ToyRuns": Good(lambda g: dict(vars(_runs()))),
    "theory.distilled_samples": Good(lambda g: {"configs": [_config(), _config(relabelling=0)]}),
    "theory.train_toys": Good(lambda g: {"configs": [_config(), _config(relabelling=0)]}),
    "theory.train_toys:samples": Good(
        lambda g: {"configs": [_config(), _config(relabelling=0)], "samples": theory.distilled_samples([_config(), _config()])}
    ),
    "theory.train_toys:exact": Good(lambda g: {"configs": [_config(exact_gradient=True)]}),
    "theory.validate_toys": Good(lambda g: {"runs": _runs(), "per_class": 8}, largest={"per_class": 1000}),
    "theory.network_at": Good(lambda g: {"network": g.teacher, "row": theory.parameter_row(g.teacher)}),
    "theory.filter_directions": Good(
        lambda g: {"network": g.teacher, "count": 2, "seed": 0, "biases": True}, largest={"count": 20}
    ),
    "theory.toy_directions": Good(
        lambda g: {"networks": _toys(2), "count": 2, "seed": 0, "biases": True}, largest={"count": 100}
    ),
    "theory.toy_surface": Good(
        lambda g: {"networks": _toys(2), "directions": theory.toy_directions(_toys(2)), "x": g.tensor(2), "y": g.tensor(3),
                   "points": g.tensor(4, 2), "labels": torch.tensor([0.0, 1.0, 1.0, 0.0])}
    ),
    "theory.network_surface": Good(
        lambda g: {"network": g.teacher, "directions": theory.filter_directions(g.teacher), "x": torch.tensor([0.0, 0.1]),
                   "y": torch.tensor([0.0]), "images": g.images(2), "labels": torch.tensor([0, 2]), "batch_norm": "recomputed",
                   "batch_size": 2, "progress": lambda done, total: None}
    ),
}  # fmt: skip
