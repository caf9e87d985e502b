"""What a distilled set is worth: train students on it from scratch and test them on real images."""

from .accuracy import accuracy
from .students import Evaluation, evaluate, interval

__all__ = ["Evaluation", "accuracy", "evaluate", "interval"]
