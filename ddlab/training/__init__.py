"""Training with labels, each kind a process; without labels it is in `ddlab.unlabelled`.

supervised        teachers and students
ordered           students of a set that says its order and rates
unrolled          training that is differentiated through
losses            what these and the methods share
relabelling       the mean of several teachers' logits
"""

from ..core import listing
from . import (
    losses,
    ordered,
    relabelling,
    supervised,
    unrolled,
)

__all__ = [
    "losses",
    "ordered",
    "relabelling",
    "supervised",
    "unrolled",
]
__dir__ = listing(__all__)
