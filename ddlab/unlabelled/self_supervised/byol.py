r"""BYOL: a network's answer to one view is to predict its own moving average's answer to the other.

Grill, Strub, Altche et al. 2020, arXiv 2006.07733. No image is a negative of another. A small
predictor on the side that learns, and no gradient on the side that is predicted, keep all
projections from becoming one.

| symbol | here | shape |
|---|---|---|
| $q_\theta(z_\theta)$ | `predictions`: of one view, by the network, its projector and the predictor | [n, d] |
| $z'_\xi$ | `projections`: of the other view, by the target | [n, d] |
| $\tau$ | `target_momentum` | |

| equation | here |
|---|---|
| 2: $\lVert \bar q - \bar z' \rVert^2 = 2 - 2 \cos(q, z')$, lengths 1, mean over the batch | `byol_loss` |
| 3: the same with the views exchanged, added | `loss` |
| 4: $\xi \leftarrow \tau \xi + (1 - \tau) \theta$, and $\tau$ over the run | `momentum.follow`, `momentum.target_momentum` |

The defaults are the numbers of ReLA (Sun et al. 2024, arXiv 2405.14669) on small images. Theirs on
ImageNet: `projector_width` 4096 and a momentum from 0.996 to 1. Deviations: linear layers have no
bias; the target moves after the step, not before the next one.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch.nn.functional as F
from torch import Tensor

from ...core import parameter
from .momentum import MomentumTraining, targets
from .momentum import follow as follow  # a part of the objective
from .objective import SMALL_RUN, Batch, ObjectiveState
from .projector import project, projector_weights

__all__ = ["NAME", "SMALL", "Config", "byol_loss"]
NAME = "byol"
_RELA = "the code of ReLA"


@dataclass(frozen=True, kw_only=True)
class Config(MomentumTraining):
    """Hyper-parameters.

    The projector has `projector_depth` layers, of which the last has `output_width`; so does the
    predictor, of two.
    """

    loss: str = parameter(
        NAME, choices=(NAME,), help="What is asked of the projections of two views."
    )
    projector_width: int = parameter(
        1024,
        range=(1, 10**5),
        help="Outputs of the inner layers of projector and predictor.",
        source=_RELA,
        explorable=(16, 512),
    )
    output_width: int = parameter(
        256, range=(1, 10**5), help="Length of a projection and of a prediction.", source=_RELA
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset with a momentum encoder.

        A narrow projector and predictor learnt less in few steps.
        """
        return super().teaching(**{"projector_width": 1024, "output_width": 256} | changes)


def byol_loss(predictions: Tensor, projections: Tensor) -> Tensor:
    """Return equation 2: the squared distance of predictions [n, d] from projections [n, d], mean
    over the images; []. All have length 1.

    >>> import torch
    >>> right, up = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> [float(byol_loss(right, projection)) for projection in (right, up, -right)]
    [0.0, 2.0, 4.0]
    """
    return (F.normalize(predictions) - F.normalize(projections)).square().sum(1).mean()


def init(config: Config, encoder: dict[str, Tensor]) -> ObjectiveState:
    """Return a predictor, and the encoder once more as the target."""
    widths = (config.projector_width, config.output_width)
    predictor = projector_weights(
        config.output_width, widths=widths, seed=config.seed, stream="predictor weights"
    )
    return ObjectiveState(trained=predictor, target=encoder)


def loss(config: Config, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
    """Return equation 3 on a batch."""
    # Each view's prediction is compared with the target's projection of the other view.
    aims, target = targets(batch, state)
    first, second = (project(state.trained, projections) for projections in batch.projections)
    return byol_loss(first, aims[1]) + byol_loss(second, aims[0]), replace(state, target=target)


SMALL = Config(**SMALL_RUN, output_width=5)
