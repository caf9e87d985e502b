"""Distilled sets, the result of every method, and their targets.

Sets of bases and coefficients come with what they take to store.
"""

from ..core import listing
from . import factorisation, shift_models, storage_budget
from .distilled_set import DECODERS, DistilledSet
from .representations import Representations
from .targets import (
    HardLabels,
    OnlineTeacher,
    OrderedSteps,
    RegressionLabels,
    StoredLabels,
    Targets,
)

__all__ = [
    "DECODERS",
    "DistilledSet",
    "HardLabels",
    "OnlineTeacher",
    "OrderedSteps",
    "RegressionLabels",
    "Representations",
    "StoredLabels",
    "Targets",
    "factorisation",
    "shift_models",
    "storage_budget",
]
__dir__ = listing(__all__)
