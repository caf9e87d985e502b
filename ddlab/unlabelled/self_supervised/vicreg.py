r"""VICReg: two views agree, every coordinate varies over the batch, and no two coordinates say the
same.

Bardes, Ponce & LeCun 2022, arXiv 2105.04906. Variance and covariance are asked of each view by
itself, so nothing is normalised.

| symbol | here | shape |
|---|---|---|
| $Z, Z'$ | `first`, `second`: projections of the views | [n, d] |
| $\lambda, \mu, \nu$ | `invariance_weight`, `variance_weight`, `covariance_weight` | |
| $\gamma$ | `target_deviation` | |

| equation | here |
|---|---|
| 1, 2: $v(Z) = \frac{1}{d} \sum_j \max(0, \gamma - S(z^j))$, $S(x) = \sqrt{\mathrm{Var}(x) + \epsilon}$ | `variance_loss`, `deviations` |
| 3: $C(Z) = \frac{1}{n - 1} \sum_i (z_i - \bar z)(z_i - \bar z)^T$ | `covariance` |
| 4: $c(Z) = \frac{1}{d} \sum_{i \neq j} C(Z)_{ij}^2$ | `covariance_loss` |
| 5: $s(Z, Z') = \frac{1}{n} \sum_i \lVert z_i - z'_i \rVert^2$ | `invariance_loss`, divided by d |
| 6: $\lambda s + \mu (v(Z) + v(Z')) + \nu (c(Z) + c(Z'))$ | `vicreg_loss`, with half of $\mu$ |

The defaults are those of lightly's CIFAR-10 benchmark (Susmelj et al. 2020), as in ReLA.
Deviations: equation 5 is divided by d and the sum of the variances by 2, as in the authors' code,
for which the weights 25, 25 and 1 were found; linear layers have no bias.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...core import parameter
from .objective import SMALL_RUN, Batch, ObjectiveState, Training

__all__ = [
    "NAME",
    "SMALL",
    "Config",
    "covariance",
    "covariance_loss",
    "deviations",
    "invariance_loss",
    "variance_loss",
    "vicreg_loss",
]
NAME = "vicreg"
# Below the root of a variance, as in the paper.
EPSILON = 1e-4
_PAPER = "Bardes et al. 2022, section 4.2"


@dataclass(frozen=True, kw_only=True)
class Config(Training):
    """Hyper-parameters."""

    loss: str = parameter(
        NAME, choices=(NAME,), help="What is asked of the projections of two views."
    )
    projector_width: int = parameter(
        2048, range=(2, 10**5), help="Outputs of each layer of the projector.", explorable=(16, 512)
    )
    invariance_weight: float = parameter(
        25.0,
        symbol=r"\lambda",
        range=(0, 1e3),
        explorable=(0, 50),
        help="Of views that disagree.",
        source=_PAPER,
    )
    variance_weight: float = parameter(
        25.0,
        symbol=r"\mu",
        range=(0, 1e3),
        explorable=(0, 50),
        help="Of coordinates that hardly vary.",
        source=_PAPER,
    )
    covariance_weight: float = parameter(
        1.0,
        symbol=r"\nu",
        range=(0, 1e3),
        explorable=(0, 10),
        help="Of coordinates that repeat each other.",
        source=_PAPER,
    )
    target_deviation: float = parameter(
        1.0,
        symbol=r"\gamma",
        range=(0, 1e3),
        help="The deviation that each coordinate is to have at least.",
        source=_PAPER,
    )


def deviations(projections: Tensor, *, epsilon: float = EPSILON) -> Tensor:
    """Return the standard deviation of each coordinate of projections [n, d] over the batch (with
    1/(n-1)): [d]. Equation 2.

    Args:
        epsilon: added to the variance, above 0: the root's slope at 0 would be infinite.
    """
    return (projections.var(0) + epsilon).sqrt()


def variance_loss(
    projections: Tensor, *, target_deviation: float = 1.0, epsilon: float = EPSILON
) -> Tensor:
    """Return how much deviation the coordinates of projections [n, d] lack, in the mean: [].

    Equation 1.
    """
    return (target_deviation - deviations(projections, epsilon=epsilon)).relu().mean()


def covariance(projections: Tensor) -> Tensor:
    """Return the covariance of the coordinates of projections [n, d] over the batch (with 1/(n-1)):
    [d, d]. Equation 3.
    """
    centred = projections - projections.mean(0)
    return centred.T @ centred / (len(projections) - 1)


def covariance_loss(projections: Tensor) -> Tensor:
    """Return equation 4: the squares of `covariance` off the diagonal, summed and divided by d; [].

    projections [n, d].
    """
    table = covariance(projections)
    return (table - torch.diag(table.diagonal())).square().sum() / len(table)


def invariance_loss(first: Tensor, second: Tensor) -> Tensor:
    """Return the squared difference of projections [n, d] of two views, mean over all entries: [].

    Equation 5, divided by d.
    """
    return (first - second).square().mean()


def vicreg_loss(
    first: Tensor,
    second: Tensor,
    *,
    invariance_weight: float = 25.0,
    variance_weight: float = 25.0,
    covariance_weight: float = 1.0,
    target_deviation: float = 1.0,
    epsilon: float = EPSILON,
) -> Tensor:
    """Return the three losses times their weights: []. Equation 6.

    Args:
        first, second: projections [n, d] of two views of the same n images, in the same order.

    >>> spread = 2 * torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> collapsed = torch.ones(4, 2)  # all images at one point: nothing varies
    >>> round(float(vicreg_loss(spread, spread)), 2), round(float(vicreg_loss(collapsed, collapsed)), 2)
    (0.0, 24.75)
    """
    options: dict[str, Any] = {"target_deviation": target_deviation, "epsilon": epsilon}
    varied = variance_loss(first, **options) + variance_loss(second, **options)
    repeated = covariance_loss(first) + covariance_loss(second)
    agreed = invariance_loss(first, second)
    return invariance_weight * agreed + variance_weight * varied / 2 + covariance_weight * repeated


def init(config: Config, encoder: dict[str, Tensor]) -> ObjectiveState:
    """Return an empty state: the objective keeps nothing."""
    return ObjectiveState()


def loss(config: Config, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
    """Return equation 6 on the projections of a batch."""
    answer = vicreg_loss(
        *batch.projections,
        invariance_weight=config.invariance_weight,
        variance_weight=config.variance_weight,
        covariance_weight=config.covariance_weight,
        target_deviation=config.target_deviation,
    )
    return answer, state


SMALL = Config(**SMALL_RUN)
