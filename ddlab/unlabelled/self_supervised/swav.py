r"""SwAV: one view of an image predicts to which prototypes the other is assigned.

All prototypes get equal parts of the batch.

Caron, Misra, Mairal, Goyal, Bojanowski & Joulin 2020, arXiv 2006.09882. The equal parts are what
keeps all images from one prototype.

| symbol | here | shape |
|---|---|---|
| $z^T C$ | `scores`: projections of length 1 times prototypes of length 1 | [n, k] |
| $Q$ | `assignments`: rows sum to 1 | [n, k] |
| $\tau$, $\epsilon$ | `temperature`, `smoothness` | |

| equation | here |
|---|---|
| 3, 5: $Q = \mathrm{Diag}(u) \exp(Z C / \epsilon) \mathrm{Diag}(v)$, equal sums of columns, and of rows | `sinkhorn_assignments` |
| 2: $-\sum_k q^{(k)} \log p^{(k)}$, $p = \mathrm{softmax}(z^T C / \tau)$, mean over the batch | `swav_loss` |
| 1: the same with the views exchanged; the mean, as in the authors' code | `loss` |
| the prototypes have length 1 again after each step | `follow` |

The defaults are those of lightly's CIFAR-10 benchmark (Susmelj et al. 2020), as in ReLA: two views
and no small ones, no queue. Deviations: linear layers have no bias; prototypes learn from the first
epoch on.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import parameter, randomness
from .objective import SMALL_RUN, Batch, NarrowTraining, ObjectiveState

__all__ = ["NAME", "SMALL", "Config", "sinkhorn_assignments", "swav_loss"]
NAME = "swav"


@dataclass(frozen=True, kw_only=True)
class Config(NarrowTraining):
    """Hyper-parameters."""

    loss: str = parameter(
        NAME, choices=(NAME,), help="What is asked of the projections of two views."
    )
    projector_width: int = parameter(
        512, range=(1, 10**5), help="Outputs of the projector's inner layers.", explorable=(16, 512)
    )
    prototypes: int = parameter(
        512, range=(2, 10**6), explorable=(8, 512), help="To which images are assigned."
    )
    temperature: float = parameter(
        0.1,
        symbol=r"\tau",
        range=(1e-3, 1e3),
        scale="log",
        explorable=(0.02, 1),
        help="Of what is predicted.",
        source="Caron et al. 2020, appendix A",
    )
    smoothness: float = parameter(
        0.05,
        symbol=r"\epsilon",
        range=(1e-3, 1e3),
        scale="log",
        explorable=(0.01, 1),
        help="Of the assignments; large ones are nearly equal parts of each image.",
        source="Caron et al. 2020, appendix A",
    )
    sinkhorn_iterations: int = parameter(
        3,
        range=(1, 1000),
        explorable=(1, 10),
        help="Of Sinkhorn's algorithm.",
        source="Caron et al. 2020, section 3.1",
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset with surer assignments and less sure predictions, which small batches
        need.
        """
        settings: dict[str, Any] = {
            "projector_width": 256,
            "prototypes": 256,
            "smoothness": 0.02,
            "temperature": 0.2,
        }
        return super().teaching(**settings | changes)


def sinkhorn_assignments(scores: Tensor, *, smoothness: float, iterations: int) -> Tensor:
    """Return the assignments [n, k] of images to prototypes by `scores` [n, k], without gradient.

    Equations 3 and 5.

    Each iteration makes the columns equal in sum, then the rows sum to 1: with many of them both
    hold. Computed in logarithms, where no smoothness is too small.

    Args:
        smoothness: epsilon, in [1e-3, 1e3].
        iterations: 1 to 1000.

    >>> scores = torch.tensor([[1.0, 0.9], [1.0, 0.2]])  # both images like the first prototype best
    >>> assignments = sinkhorn_assignments(scores, smoothness=0.05, iterations=3)
    >>> assignments.argmax(1).tolist()  # and yet each prototype gets one
    [1, 0]
    """
    logarithms = scores.detach() / smoothness
    # A softmax over the images makes columns equal, one over the prototypes makes rows sum to 1.
    for _ in range(iterations):
        logarithms = logarithms.log_softmax(0).log_softmax(1)
    return logarithms.exp()


def swav_loss(scores: Tensor, assignments: Tensor, *, temperature: float) -> Tensor:
    """Return equation 2: the cross-entropy of one view's `scores` [n, k] with the other's
    `assignments` [n, k]; [].
    """
    return F.cross_entropy(scores / temperature, assignments)


def init(config: Config, encoder: dict[str, Tensor]) -> ObjectiveState:
    """Prototypes of random directions."""
    draw = randomness.generator(config.seed, 0, "prototypes")
    prototypes = torch.randn((config.prototypes, config.output_width), generator=draw)
    return ObjectiveState(trained={"prototypes": F.normalize(prototypes)})


def loss(config: Config, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
    """Return equation 1 on a batch, halved."""
    scores = [
        F.normalize(projections) @ state.trained["prototypes"].T
        for projections in batch.projections
    ]
    options: dict[str, Any] = {
        "smoothness": config.smoothness,
        "iterations": config.sinkhorn_iterations,
    }
    first, second = (sinkhorn_assignments(view_scores, **options) for view_scores in scores)
    first_loss = swav_loss(scores[0], second, temperature=config.temperature)
    second_loss = swav_loss(scores[1], first, temperature=config.temperature)
    return (first_loss + second_loss) / 2, state


def follow(
    config: Config, state: ObjectiveState, learnt: dict[str, Tensor], progress: float
) -> ObjectiveState:
    """Give the prototypes length 1 again."""
    return replace(state, trained={"prototypes": F.normalize(state.trained["prototypes"])})


SMALL = Config(**SMALL_RUN, output_width=5, prototypes=7)
