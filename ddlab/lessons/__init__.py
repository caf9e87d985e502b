"""Lessons: the frame that every notebook uses. `lesson = ddlab.start("20_inverting_a_network")`.

The names are loaded when first used: the sweeps in the lessons' folders are run where neither plotly nor ipywidgets is installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..explorers import Prediction
    from .claims import CLAIMS, Claim, Verdict, judge
    from .contents import LESSONS, Budget, index
    from .lesson import Lesson, start

__all__ = ["CLAIMS", "LESSONS", "Budget", "Claim", "Lesson", "Prediction", "Verdict", "index", "judge", "start"]

_OFFERED = {
    "claims": ("CLAIMS", "Claim", "Verdict", "judge"),
    "contents": ("LESSONS", "Budget", "index"),
    "lesson": ("Lesson", "Prediction", "start"),
}
_MODULES = {name: module for module, names in _OFFERED.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
