"""Lessons: the frame that every notebook uses. `lesson = ddlab.start("20_inverting_a_network")`.

The names are loaded when first used: `import ddlab` stays instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ..core import listing

if TYPE_CHECKING:
    from ..explorers import Prediction
    from . import assignment, exercise, predictions
    from .contents import LESSONS, index
    from .lesson import Lesson, start

__all__ = [
    "LESSONS",
    "Lesson",
    "Prediction",
    "assignment",
    "exercise",
    "index",
    "predictions",
    "start",
]
__dir__ = listing(__all__)

_OFFERED = {"contents": ("LESSONS", "index"), "lesson": ("Lesson", "Prediction", "start")}
_MODULES = {name: module for module, names in _OFFERED.items() for name in names}


def __getattr__(name: str) -> Any:
    # What a teacher writes with, also where the packages of notebooks are missing.
    if name in ("assignment", "exercise", "predictions"):
        return importlib.import_module(f"{__name__}.{name}")
    if name in _MODULES:
        try:
            return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        except ModuleNotFoundError as problem:
            # What `hasattr`, `help` and completion understand.
            raise AttributeError(str(problem)) from problem
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
