r"""Principal components of representations that arrive batch by batch: ReLA's appendix N.

Sun et al. 2024 (ReLA), arXiv 2405.14669, Algorithm 2 and eq 41: the mean, the covariance C = (1/(n-1)) sum_i (y_i - mean)(y_i - mean)^T
as a sum over batches, its eigenvectors V of largest eigenvalues, and (y - mean) V.

The paper centres with the mean of all points, so that it goes through them twice. Here they are seen once: a batch's own sums of squares
about its own mean are joined to those so far (Chan, Golub and LeVeque 1983). Both are PCA, exactly, for every way to cut the points.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from ..core import errors
from ..core.boundary import check, checked, within
from ._check import Points


@dataclass(frozen=True, kw_only=True, eq=False)
class PrincipalComponents:
    """The directions of largest variance, in float64.

    Attributes:
        mean: [d]. directions: [d, k], columns of length 1, the entry of largest size positive. variances: [k], unbiased, falling.
        points: how many there were.
    """

    mean: Tensor
    directions: Tensor
    variances: Tensor
    points: int

    def reduced(self, points: Tensor) -> Tensor:
        """(y - mean) V, float64 [m, k], of points [m, d]; float32 or float64."""
        check("points", points, Points, d=len(self.mean))
        return (points.detach().double().cpu() - self.mean) @ self.directions


@checked
def batch_pca(batches: Iterable[Tensor], *, components: Annotated[int, within(1)]) -> PrincipalComponents:
    """PCA of all points of all batches, which are looked at once and one at a time (Algorithm 2).

    Args:
        batches: tensors [m, d] of any lengths m and of one d, float32 or float64; all together at least two points.
        components: k, at most d.

    Raises:
        DDLabError: no batches, batches of unlike widths, or fewer than two points.
    """
    errors.check_instance("batches", batches, Iterable, "an iterable of tensors")
    count, mean, squares = 0, torch.zeros(()), torch.zeros(())
    for batch in batches:
        known = {"d": len(mean)} if count else {}
        values = check("batches", batch, Points, **known).detach().double().cpu()
        centred = values - values.mean(0)
        moved = values.mean(0) - mean
        total = count + len(values)
        squares = squares + centred.T @ centred + torch.outer(moved, moved) * (count * len(values) / total)
        mean, count = mean + moved * (len(values) / total), total
    if count < 2:
        errors.fail("batches", "of at least two points together", count)
    errors.check_integer("components", components, 1, len(mean))
    variances, directions = torch.linalg.eigh(squares / (count - 1))
    variances, directions = variances.flip(0)[:components].clamp_min(0), directions.flip(1)[:, :components]
    largest = directions.gather(0, directions.abs().argmax(0, keepdim=True))
    return PrincipalComponents(mean=mean, directions=directions * largest.sign(), variances=variances, points=count)
