"""The foundation of every other room.

Errors, checks at the front door, parameters, randomness, storage, optimisers, and the interval of a
mean.
"""

from . import errors, optimisers, parameters, randomness, storage
from .arithmetic import as_usual, exact_float32
from .boundary import (
    Count,
    Index,
    Seeds,
    among,
    check_fields,
    checked,
    distinct_seeds,
    tensor,
    within,
)
from .devices import to_device
from .errors import DDLabError, NonFiniteError, fail
from .parameters import Parameters, describe, narrow, parameter, with_default
from .progress import progress_bar
from .public import listing, needs_lab
from .published import Published

__all__ = [
    "Count",
    "DDLabError",
    "Index",
    "NonFiniteError",
    "Parameters",
    "Published",
    "Seeds",
    "among",
    "as_usual",
    "check_fields",
    "checked",
    "describe",
    "distinct_seeds",
    "errors",
    "exact_float32",
    "fail",
    "listing",
    "narrow",
    "needs_lab",
    "optimisers",
    "parameter",
    "parameters",
    "progress_bar",
    "randomness",
    "storage",
    "tensor",
    "to_device",
    "with_default",
    "within",
]
