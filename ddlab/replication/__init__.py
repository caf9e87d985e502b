"""Replication: the numbers that papers print, and runs that make them again.

ddlab.published("dm", "CIFAR-10")                   # printed rows, as a table
ddlab.replicate("dm", data, images_per_class=1)     # the same number here, with all that differs
"""

from ..core import listing
from .printed_rows import Published, published
from .replicating import Replication, replicate

__all__ = ["Published", "Replication", "published", "replicate"]
__dir__ = listing(__all__)
