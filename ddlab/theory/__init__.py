"""Theory: what the papers' proofs say, as functions that can be checked and played with. Nothing here knows a method.

batch_norm_conflict   DWA appendix A.1 and eq 4, 17-20: do the mean gap and the variance gap pull latents apart?
variance_sources      DWA eq 5, 7 and 11: where the variance of distilled images comes from
rest_loss             DWA eq 13-15: what raising the loss of a batch does to the rest of the training set
"""

from .batch_norm_conflict import (
    batch_product,
    closed_gaps,
    mean_gap,
    mean_gap_gradient,
    moving,
    opposed,
    printed_variance_gap_gradient,
    single_products,
    variance_gap,
    variance_gap_gradient,
)
from .rest_loss import RestLossChange, at_optimum, rest_loss_change
from .variance_sources import VarianceParts, added_variance, variance_between_and_within

__all__ = [
    "RestLossChange",
    "VarianceParts",
    "added_variance",
    "at_optimum",
    "batch_product",
    "closed_gaps",
    "mean_gap",
    "mean_gap_gradient",
    "moving",
    "opposed",
    "printed_variance_gap_gradient",
    "rest_loss_change",
    "single_products",
    "variance_between_and_within",
    "variance_gap",
    "variance_gap_gradient",
]
