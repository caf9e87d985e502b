"""Losses that two or more methods share."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from . import errors


def soft_targets(logits: Tensor, temperature: float) -> Tensor:
    """softmax(logits / T): probabilities [n, classes]; T above 1 evens them out."""
    errors.check_tensor("logits", logits, shape=[None, None], finite=False)
    return (logits / errors.check_number("temperature", temperature, 0, open_low=True)).softmax(1)


def distillation_loss(student_logits: Tensor, targets: Tensor, *, temperature: float) -> Tensor:
    r"""KL(targets || softmax(student / T)), mean over the batch, without the factor T^2.

    Args:
        student_logits: [n, classes]. targets: probabilities [n, classes], rows sum to 1.
        temperature: T, above 0, the one the targets were made with.

    Source: Hinton, Vinyals & Dean 2015, arXiv 1503.02531; SRe2L's relabelling leaves out T^2, which AdamW does not notice.
    """
    errors.check_tensor("student_logits", student_logits, shape=[None, None], finite=False)
    # Another shape would be broadcast and give a wrong number in silence.
    errors.check_tensor("targets", targets, shape=student_logits.shape, finite=False)
    errors.check_number("temperature", temperature, 0, open_low=True)
    return F.kl_div((student_logits / temperature).log_softmax(1), targets, reduction="batchmean")
