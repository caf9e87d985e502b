r"""SimSiam: a network's prediction from one view is to be its answer to the other.

The side that is predicted learns nothing.

Chen & He 2021, arXiv 2011.10566. BYOL without the moving average: stopping the gradient alone keeps
projections from becoming one.

| symbol | here | shape |
|---|---|---|
| $p = h(f(x))$ | `predictions`: of one view, by the network, its projector and the predictor h | [n, d] |
| $z = f(x)$ | `projections`: of the other view, by the same network | [n, d] |

| equation | here |
|---|---|
| 1: $D(p, z) = -\cos(p, z)$, mean over the batch; no gradient of z (equation 3) | `negative_cosine` |
| 4: $D(p_1, z_2) / 2 + D(p_2, z_1) / 2$ | `loss` |

The projector ends in a batch norm without scale and shift, the predictor narrows in the middle. The
defaults are those of lightly's CIFAR-10 benchmark (Susmelj et al. 2020), as in ReLA. Deviations:
linear layers have no bias; where a schedule lets the learning rate fall, the predictor's falls, too
(theirs stays as it is).
"""

from dataclasses import dataclass
from typing import Any, Self

import torch.nn.functional as F
from torch import Tensor

from ...core import parameter
from .barlow_twins import standardise
from .objective import SMALL_RUN, Batch, ObjectiveState, Training
from .projector import project, projector_weights

__all__ = ["NAME", "SMALL", "Config", "negative_cosine"]
NAME = "simsiam"


@dataclass(frozen=True, kw_only=True)
class Config(Training):
    """Hyper-parameters."""

    loss: str = parameter(
        NAME, choices=(NAME,), help="What is asked of the projections of two views."
    )
    projector_width: int = parameter(
        2048,
        range=(1, 10**5),
        help="Outputs of each layer of the projector.",
        source="Chen & He 2021, section 3",
        explorable=(16, 512),
    )
    projector_depth: int = parameter(
        2,
        range=(1, 10),
        help="Linear layers of the projector.",
        source="Chen & He 2021, appendix D (CIFAR-10)",
    )
    predictor_width: int = parameter(
        512,
        range=(1, 10**5),
        help="Outputs of the predictor's inner layer, less than the projector's.",
        source="Chen & He 2021, section 3",
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset without a narrow projector, which learnt less in few steps."""
        return super().teaching(**{"projector_width": 1024, "predictor_width": 256} | changes)


def negative_cosine(predictions: Tensor, projections: Tensor) -> Tensor:
    """Return minus the cosine of each prediction [n, d] with its projection [n, d], in the mean:
    []. Equation 1; the projection gets no gradient.

    >>> import torch
    >>> right, up = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> float(negative_cosine(right, 3 * right)), float(negative_cosine(right, right + up))
    (-1.0, -0.7071...)
    """
    return -F.cosine_similarity(predictions, projections.detach()).mean()


def init(config: Config, encoder: dict[str, Tensor]) -> ObjectiveState:
    """Return a predictor."""
    width = config.projector_width
    widths = (config.predictor_width, width)
    return ObjectiveState(
        trained=projector_weights(
            width, widths=widths, seed=config.seed, stream="predictor weights"
        )
    )


def loss(config: Config, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
    """Return equation 4 on a batch."""
    first, second = (standardise(projections) for projections in batch.projections)
    first_prediction = project(state.trained, first)
    second_prediction = project(state.trained, second)
    return (
        negative_cosine(first_prediction, second) + negative_cosine(second_prediction, first)
    ) / 2, state


SMALL = Config(**SMALL_RUN, predictor_width=3)
