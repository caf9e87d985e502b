"""What a distilled set is worth: students from scratch, tested on real images."""

from ..core import listing
from ..training.accuracy import accuracy
from . import embeddings, measures
from .architectures import Architectures, across
from .board import board
from .comparison import Compared, Comparison, compare
from .incremental import Incremental, class_incremental
from .kernel_regression import kernel_accuracy, kernel_predictions
from .landscapes import Landscape, landscape
from .network_search import ArchitectureSearch, architecture_search
from .students import Evaluation, evaluate, evaluate_all, interval

__all__ = [
    "ArchitectureSearch",
    "Architectures",
    "Compared",
    "Comparison",
    "Evaluation",
    "Incremental",
    "Landscape",
    "accuracy",
    "across",
    "architecture_search",
    "board",
    "class_incremental",
    "compare",
    "embeddings",
    "evaluate",
    "evaluate_all",
    "interval",
    "kernel_accuracy",
    "kernel_predictions",
    "landscape",
    "measures",
]
__dir__ = listing(__all__)
