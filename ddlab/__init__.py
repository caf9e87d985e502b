"""ddlab: understand dataset distillation, step by step.

The public names below are loaded when first used, so that `import ddlab` is instant.

    import ddlab
    data = ddlab.data.load("digits")
    distilled = ddlab.distill("sre2l", data)
    print(ddlab.evaluate(distilled, data, labels="stored"))
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_ROOMS = (
    "data",
    "networks",
    "distilled",
    "runs",
    "methods",
    "training",
    "unlabelled",
    "evaluation",
    "figures",
    "explorers",
    "lessons",
    "records",
    "replication",
)
_NAMES = {
    "DDLabError": "core.errors",
    "NonFiniteError": "core.errors",
    "ImageData": "data",
    "DistilledSet": "distilled",
    "Inputs": "runs",
    "Run": "runs",
    "distill": "methods.distillation",
    "train_teacher": "methods.distillation",
    "from_images": "methods.distillation",
    "from_loss": "methods.shared.own",
    "evaluate": "evaluation",
    "accuracy": "evaluation",
    "compare": "evaluation",
    "published": "replication",
    "replicate": "replication",
    "start": "lessons",
}

# Drawn with packages that `pip install ddlab` alone does not bring: then they are not listed.
_DRAWN = ("figures", "explorers", "lessons", "start")
_HAS_LAB = all(importlib.util.find_spec(name) for name in ("plotly", "ipywidgets", "anywidget"))

__all__ = sorted(  # pyright: ignore[reportUnsupportedDunderAll]
    name for name in (*_ROOMS, *_NAMES) if _HAS_LAB or name not in _DRAWN
)

if TYPE_CHECKING:
    from . import (
        data,
        distilled,
        evaluation,
        explorers,
        figures,
        lessons,
        methods,
        networks,
        records,
        replication,
        runs,
        training,
        unlabelled,
    )
    from .core.errors import DDLabError, NonFiniteError
    from .data import ImageData
    from .distilled import DistilledSet
    from .evaluation import accuracy, compare, evaluate
    from .lessons import start
    from .methods.distillation import distill, from_images, train_teacher
    from .methods.shared.own import from_loss
    from .replication.printed_rows import published
    from .replication.replicating import replicate
    from .runs import Run
    from .runs.inputs import Inputs


def __getattr__(name: str) -> Any:
    try:
        if name in _ROOMS:
            return importlib.import_module(f"{__name__}.{name}")
        if name in _NAMES:
            return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    except ModuleNotFoundError as problem:
        # What `hasattr`, `help` and completion understand.
        raise AttributeError(str(problem)) from problem
    raise AttributeError(
        f"module 'ddlab' has no attribute {name!r}; public names: {', '.join(__all__)}"
    )


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
