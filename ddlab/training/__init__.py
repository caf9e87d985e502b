"""Training, each kind a process: with labels, without labels, and on a distilled set without
labels.

supervised        teachers and students
self_supervised   teachers without labels
pretraining       networks that learn the representations of a distilled set
with_targets      networks that learn a prior's targets and, beside or after them, by themselves
ordered           students of a set that says its order and rates
unrolled          training that is differentiated through
losses            what these and the methods share
relabelling       the mean of several teachers' logits
"""

from ..core.public import listing
from . import (
    losses,
    ordered,
    pretraining,
    relabelling,
    self_supervised,
    supervised,
    unrolled,
    with_targets,
)

__all__ = [
    "losses",
    "ordered",
    "pretraining",
    "relabelling",
    "self_supervised",
    "supervised",
    "unrolled",
    "with_targets",
]
__dir__ = listing(__all__)
