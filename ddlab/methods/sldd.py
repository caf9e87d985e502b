r"""SLDD: soft-label dataset distillation (Sucholutsky & Schonlau 2021, IJCNN, arXiv 1910.02551).

DD with labels that are learned as well, by the same Adam: each image may say something of every
class, so that a set may hold fewer images than there are classes.

Symbol       In code    Shape                     Unit
y~           labels     [steps * m, classes]      of the inner cross-entropy's targets, not probabilities unless `softmax`

Equation                                                                                   Function
alg 1  l(x~, y~, theta) = - mean sum_c y~_c log softmax(f(x~; theta))_c; Adam moves y~     `ordered.inner`, `dd.update`

Without `learn_labels` it is DD bit for bit. As in the reference code labels begin as one-hot. There
one may choose which classes a few images begin with; here they are the first ones.
"""

from dataclasses import dataclass
from typing import ClassVar

from ..core import with_default
from . import dd
from .dd import State, Trace, finish, init, look, total_steps, update  # noqa: F401

NAME = "soft_label_dataset_distillation"
ALIASES = ("sldd",)
NEEDS = ("data",)
LABELS = ("hard",)


@dataclass(frozen=True, kw_only=True)
class Config(dd.Config):
    """DD's hyper-parameters, with labels that are learned."""

    process: ClassVar[str] = NAME
    learn_labels: bool = with_default(dd.Config, "learn_labels", True, source="algorithm 1")


SMALL = Config(**{**vars(dd.SMALL), "learn_labels": True, "images": 2})  # for the contract tests
