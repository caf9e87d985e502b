"""What the sources print of the settings that presets name as theirs, read from the sources once
more.
"""

from typing import Any

import pytest

from ddlab import methods, networks
from ddlab.unlabelled import pretraining, self_supervised

PRINTED: list[tuple[Any, dict[str, Any]]] = [
    (
        methods.sre2l.Config.paper(),
        {
            "iterations": 1000,
            "learning_rate": 0.25,
            "lambda_mean": 0.01,
            "lambda_var": 0.01,
            "initialisation": "noise",
        },
    ),
    (
        methods.dwa.Config.paper(),
        {
            "initialisation": "real",
            "lambda_mean": 0.01,
            "lambda_var": 0.11,
            "adjustment_steps": 12,
            "adjustment_radius": 0.015,
            "iterations": 1000,
        },
    ),
    (
        methods.fadrm.Config.paper(),
        {
            "iterations": 2000,
            "merges": 3,
            "merge_ratio": 0.5,
            "small_size": None,
            "learning_rate": 0.25,
            "crop": "always",
            "lambda_mean": 0.01,
            "lambda_var": 0.01,
        },
    ),
    (
        methods.krr_st.Config.paper(),
        {
            "budget": 100,
            "iterations": 30_000,
            "pool_size": 10,
            "pool_steps": 1000,
            "batch_size": 1024,
            "learning_rate": 1e-3,
            "ridge": 1e-6,
            "reset": True,
            "network": networks.spec("convnet", width=128, growth=2),
        },
    ),
    (
        methods.boost.Config.paper(),
        {
            "budget": 100,
            "image_bases": 200,
            "representation_bases": 200,
            "scale": 2,
            "hidden": 4,
            "augmentation": "rotation",
            "shift": "networks",
            "bases_start": "principal",
        },
    ),
    (
        pretraining.Config.paper(),
        {
            "epochs": 1000,
            "batch_size": 256,
            "optimiser": "sgd",
            "learning_rate": 0.1,
            "momentum": 0.9,
            "final_fraction": 1,
        },
    ),
    (
        self_supervised.Config(),
        {"learning_rate": 0.2, "bias_learning_rate": 0.0048, "weight_decay": 1.5e-6},
    ),
]


@pytest.mark.parametrize(("config", "printed"), PRINTED)
def test_presets_are_as_printed(config: Any, printed: dict[str, Any]) -> None:
    assert {name: getattr(config, name) for name in printed} == printed
