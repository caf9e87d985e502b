"""What a distilled set is worth: students from scratch, tested on real images. What features are worth: probes."""

from ..training.accuracy import accuracy
from . import embeddings, entropy, measures
from .architectures import Architectures, across
from .comparison import Compared, Comparison, compare
from .continual import Continual, Stage, class_incremental, memory_of, teacher_of
from .incremental import Incremental
from .kernel_regression import (
    Approximation,
    approximation,
    full_predictions,
    kernel_accuracy,
    kernel_predictions,
    strong_epsilon,
    weak_epsilon,
)
from .pretrained import Pretrained, Transfer, pretrained
from .probing import Probe, held_out_part, probe
from .readers import predictions
from .search import Search, rank_correlation, search, space
from .students import Evaluation, evaluate, evaluate_all, interval

__all__ = [
    "Approximation",
    "Architectures",
    "Compared",
    "Comparison",
    "Continual",
    "Evaluation",
    "Incremental",
    "Pretrained",
    "Probe",
    "Search",
    "Stage",
    "Transfer",
    "accuracy",
    "across",
    "approximation",
    "class_incremental",
    "compare",
    "embeddings",
    "entropy",
    "evaluate",
    "evaluate_all",
    "full_predictions",
    "held_out_part",
    "interval",
    "kernel_accuracy",
    "kernel_predictions",
    "measures",
    "memory_of",
    "predictions",
    "pretrained",
    "probe",
    "rank_correlation",
    "search",
    "space",
    "strong_epsilon",
    "teacher_of",
    "weak_epsilon",
]
