"""ddlab: understand dataset distillation, step by step.

The public names below are loaded when first used, so that `import ddlab` is instant.

    import ddlab
    data = ddlab.data.load("digits")
    distilled = ddlab.distill("sre2l", data)
    print(ddlab.evaluate(distilled, data, labels="stored"))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_MODULES = (
    "augmentation", "bases", "cache", "checkpoint", "data", "distilled", "entropy", "errors", "evaluation", "explorers",
    "factorisation", "figures", "kernel_ridge", "lessons", "losses", "measures", "methods", "networks", "optim", "parameters",
    "predefined_views", "pretraining", "process", "randomness", "records", "relabelling", "runs", "self_supervised",
    "shift_models", "storage_budget", "theory", "training",
)  # fmt: skip
_NAMES = {
    "DDLabError": "errors",
    "NonFiniteError": "errors",
    "ImageData": "data",
    "Network": "networks",
    "DistilledSet": "distilled",
    "Inputs": "process",
    "Step": "process",
    "steps": "process",
    "every": "process",
    "run": "process",
    "Run": "runs",
    "Keep": "runs",
    "Look": "runs",
    "Number": "runs",
    "distill": "distillation",
    "train_teacher": "distillation",
    "from_images": "distillation",
    "relabelled": "relabelling",
    "evaluate": "evaluation",
    "accuracy": "evaluation",
    "start": "lessons",
}

__all__ = sorted((*_MODULES, *_NAMES))

if TYPE_CHECKING:
    from . import (
        augmentation,
        bases,
        cache,
        checkpoint,
        data,
        distilled,
        entropy,
        errors,
        evaluation,
        explorers,
        factorisation,
        figures,
        kernel_ridge,
        lessons,
        losses,
        measures,
        methods,
        networks,
        optim,
        parameters,
        predefined_views,
        pretraining,
        process,
        randomness,
        records,
        relabelling,
        runs,
        self_supervised,
        shift_models,
        storage_budget,
        theory,
        training,
    )
    from .data import ImageData
    from .distillation import distill, from_images, train_teacher
    from .distilled import DistilledSet
    from .errors import DDLabError, NonFiniteError
    from .evaluation import accuracy, evaluate
    from .lessons import start
    from .networks import Network
    from .process import Inputs, Step, every, run, steps
    from .relabelling import relabelled
    from .runs import Keep, Look, Number, Run


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'ddlab' has no attribute {name!r}; public names: {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
