r"""Barlow Twins: what two views of an image agree on, and nothing twice.

Zbontar, Jing, Misra, LeCun & Deny 2021, arXiv 2103.03230. Two views of each image of a batch are
projected; the correlation of every coordinate of the first with every coordinate of the second is
to be the identity matrix: a coordinate says the same of both views (diagonal 1), and no two
coordinates say the same (off the diagonal 0).

| symbol | here | shape |
|---|---|---|
| $z^A, z^B$ | `first`, `second`: projections of the views | [n, d] |
| $\mathcal{C}$ | `cross_correlation` | [d, d], entries in [-1, 1] |
| $\lambda$ | `off_diagonal_weight` | |

| equation | here |
|---|---|
| 2: $\mathcal{C}_{ij} = \sum_b z^A_{bi} z^B_{bj} / (\lVert z^A_i \rVert \lVert z^B_j \rVert)$, centred | `cross_correlation` |
| 1: $\sum_i (1 - \mathcal{C}_{ii})^2 + \lambda \sum_{i \neq j} \mathcal{C}_{ij}^2$ | `barlow_twins_loss` |

Deviation from the paper, as in the authors' code: a small number is added to each variance, as
batch norm does. A coordinate that is the same for all images, 0/0 in equation 2, then correlates
with nothing. The defaults are those of lightly's CIFAR-10 benchmark, as in ReLA.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ...core import parameter
from .objective import SMALL_RUN, Batch, ObjectiveState, Training

NAME = "barlow_twins"
EPSILON = 1e-5  # of torch's batch norm, with which the authors' code standardises


@dataclass(frozen=True, kw_only=True)
class Config(Training):
    """Hyper-parameters. The defaults are those on ImageNet."""

    loss: str = parameter(
        NAME, choices=(NAME,), help="What is asked of the projections of two views."
    )
    off_diagonal_weight: float = parameter(
        5e-3,
        symbol=r"\lambda",
        range=(0, 1e3),
        scale="log",
        explorable=(1e-4, 1),
        help="Weight of coordinates that repeat each other, beside views that disagree.",
        source="Zbontar et al. 2021, section 2.2",
    )


def standardise(projections: Tensor, *, epsilon: float = EPSILON) -> Tensor:
    """Give each coordinate of projections [n, d] mean 0 and variance 1 over the batch.

    A constant one becomes 0.

    Args:
        epsilon: added to the variance (with 1/n), above 0.
    """
    centred = projections - projections.mean(0)
    return centred / (centred.square().mean(0) + epsilon).sqrt()


def cross_correlation(first: Tensor, second: Tensor, *, epsilon: float = EPSILON) -> Tensor:
    """Return the correlation of each coordinate of `first` [n, d] with each of `second` [n, d]: [d,
    d].

    Equation 2.
    """
    return standardise(first, epsilon=epsilon).T @ standardise(second, epsilon=epsilon) / len(first)


def barlow_twins_loss(
    first: Tensor, second: Tensor, *, off_diagonal_weight: float, epsilon: float = EPSILON
) -> Tensor:
    """Return equation 1: the squared distance of the cross-correlation from the identity; [].

    Off the diagonal it is weighted.

    Args:
        first, second: projections [n, d] of two views of the same n images, in the same order.
        off_diagonal_weight: lambda, at least 0.

    >>> images = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> alike = barlow_twins_loss(images, images, off_diagonal_weight=0.005)
    >>> opposed = barlow_twins_loss(images, -images, off_diagonal_weight=0.005)
    >>> round(float(alike), 3), round(float(opposed), 3)  # of two coordinates (1 + 1)^2 each
    (0.0, 8.0)
    """
    correlation = cross_correlation(first, second, epsilon=epsilon)
    diagonal = correlation.diagonal()
    invariance = (1 - diagonal).square().sum()
    redundancy = (correlation - torch.diag(diagonal)).square().sum()
    return invariance + off_diagonal_weight * redundancy


def init(config: Config, encoder: dict[str, Tensor]) -> ObjectiveState:
    """Return an empty state: the objective keeps nothing."""
    return ObjectiveState()


def loss(config: Config, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
    """Return equation 1 on the projections of a batch."""
    return barlow_twins_loss(
        *batch.projections, off_diagonal_weight=config.off_diagonal_weight
    ), state


SMALL = Config(**SMALL_RUN)
