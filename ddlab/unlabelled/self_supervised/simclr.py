r"""SimCLR: of all views of a batch, the other one of the same image is to be the most similar.

Chen, Kornblith, Norouzi & Hinton 2020, arXiv 2002.05709. Both views of all other images are
negatives, and gradients go to all.

| symbol | here | shape |
|---|---|---|
| $z_1, \dots, z_{2N}$ | `first`, `second`: projections of the views | [n, d] each |
| $\tau$ | `temperature` | |

| equation | here |
|---|---|
| $\mathrm{sim}(u, v) = u^T v / (\lVert u \rVert \lVert v \rVert)$ | `similarities` |
| 1: $-\log (\exp(\mathrm{sim}(z_i, z_j) / \tau) / \sum_{k \neq i} \exp(\mathrm{sim}(z_i, z_k) / \tau))$, mean | `nt_xent_loss` |

The defaults are those of lightly's CIFAR-10 benchmark (Susmelj et al. 2020), as in ReLA. Deviation:
linear layers have no bias.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import parameter
from .objective import SMALL_RUN, Batch, NarrowTraining, ObjectiveState

__all__ = ["NAME", "SMALL", "Config", "nt_xent_loss", "similarities"]
NAME = "simclr"


@dataclass(frozen=True, kw_only=True)
class Config(NarrowTraining):
    """Hyper-parameters."""

    loss: str = parameter(
        NAME, choices=(NAME,), help="What is asked of the projections of two views."
    )
    projector_width: int = parameter(
        512, range=(1, 10**5), help="Outputs of the projector's inner layers.", explorable=(16, 512)
    )
    temperature: float = parameter(
        0.5,
        symbol=r"\tau",
        range=(1e-3, 1e3),
        scale="log",
        explorable=(0.05, 2),
        help="Small ones ask for the most similar negatives to be pushed away.",
        source="Chen et al. 2020, section B.9 (CIFAR-10)",
    )


def similarities(rows: Tensor, columns: Tensor) -> Tensor:
    """Return the cosines of each of `rows` [n, d] with each of `columns` [m, d]: [n, m]."""
    return F.normalize(rows) @ F.normalize(columns).T


def nt_xent_loss(first: Tensor, second: Tensor, *, temperature: float) -> Tensor:
    """Return how hard it is to find the other view of the same image among all others: [].

    Equation 1.

    Args:
        first, second: projections [n, d] of two views of the same n images, in the same order.
        temperature: tau, in [1e-3, 1e3].

    >>> images = torch.eye(4)  # four images, each at a right angle to all others
    >>> nt_xent_loss(images, images, temperature=0.2), nt_xent_loss(images, images, temperature=5.0)
    (tensor(0.0396), tensor(1.7770))
    """
    views = torch.cat([first, second])
    count = len(first)
    # A view is most similar to itself, which would answer the question.
    is_itself = torch.eye(2 * count, dtype=torch.bool, device=views.device)
    logits = (similarities(views, views) / temperature).masked_fill(is_itself, -torch.inf)
    positions_of_other = torch.arange(2 * count, device=views.device).roll(count)
    return F.cross_entropy(logits, positions_of_other)


def init(config: Config, encoder: dict[str, Tensor]) -> ObjectiveState:
    """Return an empty state: the objective keeps nothing."""
    return ObjectiveState()


def loss(config: Config, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
    """Return equation 1 on the projections of a batch."""
    return nt_xent_loss(*batch.projections, temperature=config.temperature), state


SMALL = Config(**SMALL_RUN, output_width=5)
