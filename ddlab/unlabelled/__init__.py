"""Learning without labels: all that lessons 40 and 45 need and nobody else has to pass through.

self_supervised   teachers that learn from two views of each image
pretraining       networks that learn the representations of a distilled set
with_targets      networks that learn a prior's targets and, beside or after them, by themselves
bases             principal bases of images, which a set can be written in
probing           what a linear classifier can tell from a network's features
readers           linear classifiers
sets              what the methods share that read no labels

The four methods that distil without labels stand in `ddlab.methods` with the others.
"""

from ..core import listing
from . import bases, pretraining, self_supervised, with_targets
from .probing import probe
from .readers import predictions

__all__ = [
    "bases",
    "predictions",
    "pretraining",
    "probe",
    "self_supervised",
    "with_targets",
]
__dir__ = listing(__all__)
