"""What a distilled set is worth: train students on it from scratch and test them on real images."""

from .accuracy import accuracy
from .architectures import Architectures, across
from .continual import Continual, Stage, class_incremental, data_of, memory_of, teacher_of
from .students import Evaluation, evaluate, interval

__all__ = [
    "Architectures",
    "Continual",
    "Evaluation",
    "Stage",
    "accuracy",
    "across",
    "class_incremental",
    "data_of",
    "evaluate",
    "interval",
    "memory_of",
    "teacher_of",
]
