"""Losses that two or more methods share."""

import torch.nn.functional as F
from torch import Tensor

COLDEST = 1e-6  # below, logits / T overflows to infinity, and the softmax is NaN


def soft_targets(logits: Tensor, temperature: float) -> Tensor:
    """softmax(logits / T): probabilities [n, classes]; T above 1 evens them out."""
    return (logits / temperature).softmax(1)


def distillation_loss(student_logits: Tensor, targets: Tensor, *, temperature: float) -> Tensor:
    r"""KL(targets || softmax(student / T)), mean over the batch, without the factor T^2.

    Args:
        student_logits: [n, classes].
        targets: probabilities [n, classes], rows sum to 1.
        temperature: T, at least `COLDEST`, the one the targets were made with.

    Source: Hinton, Vinyals & Dean 2015, arXiv 1503.02531; SRe2L's relabelling leaves out T^2, which
    AdamW does not notice.
    """
    # "batchmean" and not "mean", which would divide by the number of classes as well.
    return F.kl_div((student_logits / temperature).log_softmax(1), targets, reduction="batchmean")


def regression_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    r"""Return $\frac{1}{nd} \sum_{ij} (\hat y_{ij} - y_{ij})^2$: outputs [n, d], targets [n, d] ->
    [].

    Their mean square difference.

    Equation 2 of KRR-ST (Lee et al. 2024) and Boost (Yu et al. 2025), divided by d as in KRR-ST's
    code.
    """
    return (outputs - targets).square().mean()
