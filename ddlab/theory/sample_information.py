r"""Information measured on tables and on samples: what ReLA's normalised mutual information is when it must be estimated.

Sun et al. 2024 (ReLA), arXiv 2405.14669, eq 11-16 and Theorems 3 and 5; all information in nats.

    what                                                                              function
    eq 11-16 for two discrete variables                                               table_information
    counted in cells; Miller 1955 takes its first bias off                            histogram_information
    from distances: Ross 2014, PLoS ONE 9(2) e87357, eq 2                             nearest_neighbour_information

Theorem 3 holds for discrete variables: with Y = psi(X), I_O <= 1, and 1 just when psi is one to one. Its proof takes
2 H(Y) / (H(Y) + H(X)) <= 1 from H(Y) <= H(Y) + H(X); it needs H(Y) <= H(X), which is true of a function of X.

Theorem 5 says that reducing targets cannot raise I_O. It cannot raise I, by the data processing inequality. I_O it can: targets
(y, coin), with a coin that has nothing to do with X, have less I_O than y alone, because their entropy is larger.

The estimators' bias, measured on the two Gaussian classes of `mixture_information` in 2-D at S = .5 (exactly I = .5001), as the mean
of 2000 samples of n = 100 points and of 300 samples of n = 1000, with a standard error of .001:

    n       histogram of 4, 8, 16 cells a side    corrected              neighbours k = 1, 3, 10
    100     -.011   +.072   +.140                 -.026  +.052  +.130    +.008  +.014  +.017
    1000    -.060   -.006   +.031                 -.063  -.013  +.016    +.005  +.006  +.011

Few cells hide what is inside them, many hold too few points; Miller's correction takes off a small part of either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from ..core import errors
from ..core.boundary import checked, floats, integers, within
from ._check import Points

Labels = Annotated[Tensor, integers("n")]

_ROWS = 1024  # at a time, so that the distances of many points fit


@dataclass(frozen=True, kw_only=True)
class TableInformation:
    """Entropies and information in nats of two discrete variables.

    Attributes:
        mutual: I(A; B). first_entropy: H(A). second_entropy: H(B).
    """

    mutual: float
    first_entropy: float
    second_entropy: float

    @property
    def normalised(self) -> float:
        """Eq 16: I_O = 2 I / (H(A) + H(B)) in [0, 1]; 0 where both are constant."""
        below = self.first_entropy + self.second_entropy
        return 2 * self.mutual / below if below else 0.0


@checked
def table_information(joint: Annotated[Tensor, floats("a b")]) -> TableInformation:
    """Entropy, mutual and normalised mutual information of a table (eq 11-16).

    Args:
        joint: float [a, b], odds or counts of each pair, none negative and not all 0; scaled to sum 1 here.

    >>> round(table_information(torch.eye(4)).normalised, 6)
    1.0
    """
    table = joint.detach().double()
    if table.numel() == 0 or float(table.min()) < 0 or float(table.max()) == 0:
        errors.fail("joint", "a table without negative entries that is not 0 everywhere", joint)
    table = table / table.max()
    table = table / table.sum()
    rows, columns = table.sum(1), table.sum(0)
    # Summed as a divergence, not as H(A) + H(B) - H(A, B): three large numbers would leave rounding for a small one.
    ratio = torch.where(
        table > 0, table / (rows[:, None] * columns[None]).clamp_min(torch.finfo(table.dtype).tiny), 1.0
    )
    mutual = float(torch.xlogy(table, ratio).sum())
    return TableInformation(mutual=max(mutual, 0.0), first_entropy=_entropy(rows), second_entropy=_entropy(columns))


@checked
def histogram_information(
    samples: Points, labels: Labels, *, bins: Annotated[int, within(1, 10_000)], corrected: bool = False
) -> float:
    r"""I(samples; labels) of their counts in a grid of cells: at least 0, and too large where cells hold few points.

    Args:
        samples: float [n, d]. labels: int64 [n], any numbers. bins: cells of equal width in each dimension, from least to largest.
        corrected: take off Miller's (A - 1 - (B - 1) - (C - 1)) / (2 n), A, B, C the occupied pairs, cells and labels.
    """
    labels = labels.unique(return_inverse=True)[1]
    values = samples.detach().double()
    low, high = values.amin(0), values.amax(0)
    width = torch.where(high > low, high - low, torch.ones_like(low))
    cells = ((values - low) / width * bins).long().clamp_max(bins - 1).unique(dim=0, return_inverse=True)[1]
    counts = torch.zeros(int(cells.max()) + 1, int(labels.max()) + 1, dtype=torch.float64)
    counts.index_put_((cells, labels), torch.ones(len(cells), dtype=torch.float64), accumulate=True)
    found = table_information(counts).mutual
    occupied = int((counts > 0).sum()) - counts.shape[0] - counts.shape[1] + 1
    return found - occupied / (2 * len(cells)) if corrected else found


@checked
def nearest_neighbour_information(
    samples: Points, labels: Labels, *, neighbours: Annotated[int, within(1)] = 3
) -> float:
    r"""I(samples; labels) = psi(n) + <psi(k)> - <psi(n_label)> - <psi(m)>: how soon strangers come among the nearest points.

    m counts the points, itself left out, that are no farther than the k-th nearest of the own label. Labels of one point are left out;
    of a label with fewer than k + 1 points all neighbours count. A little below 0 where there is nothing to tell.

    Args:
        samples: float [n, d]. labels: int64 [n], any numbers. neighbours: k; 3 is usual, more means less spread and more bias.

    Raises:
        DDLabError: no label has two points.
    """
    from scipy.special import digamma

    labels = labels.unique(return_inverse=True)[1]
    sizes = torch.bincount(labels)[labels]
    kept = sizes > 1
    values, labels, sizes = samples.detach().double()[kept], labels[kept], sizes[kept]
    if not len(values):
        errors.fail("labels", "of which one stands at two samples or more", labels)
    nearest = (sizes - 1).clamp_max(min(neighbours, len(values)))
    within: list[Tensor] = []
    for some in torch.arange(len(values)).split(_ROWS):
        distances = torch.cdist(values[some], values, compute_mode="donot_use_mm_for_euclid_dist")
        distances[torch.arange(len(some)), some] = math.inf
        own = torch.where(labels[some][:, None] == labels, distances, math.inf).sort(1).values
        radius = own.gather(1, nearest[some][:, None] - 1)
        within.append((distances <= radius).sum(1))
    means = [float(digamma(part.numpy()).mean()) for part in (nearest, sizes, torch.cat(within))]
    return float(digamma(len(values))) + means[0] - means[1] - means[2]


def _entropy(parts: Tensor) -> float:
    return max(-float(torch.xlogy(parts, parts).sum()), 0.0)
