r"""DINO: a network sorts one view among prototypes as its own moving average sorts the other.

The latter's answers are centred and sharpened.

Caron, Touvron, Misra et al. 2021, arXiv 2104.14294. Centring keeps one prototype from taking all
images, sharpening keeps all prototypes from taking equal parts of each.

| symbol | here | shape |
|---|---|---|
| $g_{\theta_s}(x), g_{\theta_t}(x)$ | `logits`, of student and teacher (the target): cosines of a projection with the prototypes | [n, k] |
| $c$ | `centre` | [k] |
| $\tau_s, \tau_t$, $m$ | `student_temperature`, `teacher_temperature`, `centre_momentum` | |

| equation | here |
|---|---|
| 1: $P_t = \mathrm{softmax}((g_{\theta_t}(x) - c) / \tau_t)$ | `centred_probabilities` |
| 2: $-P_t \cdot \log \mathrm{softmax}(g_{\theta_s}(x') / \tau_s)$, mean over the batch | `dino_loss` |
| 3: the mean over both pairs of different views | `loss` |
| 4: $c \leftarrow m c + (1 - m) \, \mathrm{mean} \, g_{\theta_t}(x)$ over images and views | `moved_centre` |
| section 3.1: $\theta_t \leftarrow \lambda \theta_t + (1 - \lambda) \theta_s$ | `momentum.follow` |

The defaults are those of ReLA's code (Sun et al. 2024, arXiv 2405.14669): two views and no small
ones, and a temperature and a momentum that stay. Deviations: linear layers have no bias; ReLU
stands for GELU; prototypes learn from the first epoch on; the teacher moves after the step.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import parameter, randomness
from .momentum import MomentumTraining, targets
from .momentum import follow as follow  # a part of the objective
from .objective import SMALL_RUN, Batch, ObjectiveState
from .simclr import similarities

__all__ = ["NAME", "SMALL", "Config", "centred_probabilities", "dino_loss", "moved_centre"]
NAME = "dino"


@dataclass(frozen=True, kw_only=True)
class Config(MomentumTraining):
    """Hyper-parameters."""

    loss: str = parameter(
        NAME, choices=(NAME,), help="What is asked of the projections of two views."
    )
    projector_width: int = parameter(
        2048,
        range=(1, 10**5),
        help="Outputs of the projector's inner layers.",
        explorable=(16, 512),
    )
    output_width: int = parameter(
        256, range=(1, 10**5), help="Length of a projection and of a prototype."
    )
    prototypes: int = parameter(
        2048, range=(2, 10**6), explorable=(8, 512), help="Into which images are sorted."
    )
    student_temperature: float = parameter(
        0.1,
        symbol=r"\tau_s",
        range=(1e-3, 1e3),
        scale="log",
        explorable=(0.02, 1),
        help="Of what learns.",
        source="Caron et al. 2021, section 3.2",
    )
    teacher_temperature: float = parameter(
        0.04,
        symbol=r"\tau_t",
        range=(1e-3, 1e3),
        scale="log",
        explorable=(0.01, 1),
        help="Of the target: small sharpens.",
        source="Caron et al. 2021, section 3.2",
    )
    centre_momentum: float = parameter(
        0.9,
        symbol="m",
        range=(0, 1),
        explorable=(0, 1),
        help="Part of itself that the centre keeps in a step.",
        source="Caron et al. 2021, appendix D",
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset with a momentum encoder and fewer prototypes."""
        return super().teaching(**{"projector_width": 256, "prototypes": 512} | changes)


def centred_probabilities(logits: Tensor, centre: Tensor, *, temperature: float) -> Tensor:
    """Return to which prototypes the target sorts each image: [n, k], rows that sum to 1.

    Equation 1.

    Args:
        logits: the target's, [n, k].
        centre: [k].
        temperature: in [1e-3, 1e3].
    """
    return ((logits - centre) / temperature).softmax(1)


def dino_loss(logits: Tensor, probabilities: Tensor, *, temperature: float) -> Tensor:
    """Return equation 2: the cross-entropy of the student's `logits` [n, k] with the target's
    `probabilities` [n, k]; []. The target gets no gradient.

    >>> target = torch.tensor([[1.0, 0.0]])  # sure of the first prototype
    >>> losses = [dino_loss(torch.tensor([[margin, 0.0]]), target, temperature=0.1) for margin in (0.0, 0.5)]
    >>> [round(float(loss), 3) for loss in losses]
    [0.693, 0.007]
    """
    return F.cross_entropy(logits / temperature, probabilities.detach())


def moved_centre(centre: Tensor, logits: Tensor, *, momentum: float) -> Tensor:
    """Return the centre [k] a part of the way to the mean of the target's `logits` [n, k]: [k].

    Equation 4.
    """
    return momentum * centre + (1 - momentum) * logits.mean(0)


def init(config: Config, encoder: dict[str, Tensor]) -> ObjectiveState:
    """Return prototypes of random directions, encoder and prototypes once more as the target, and a
    centre of 0.
    """
    draw = randomness.generator(config.seed, 0, "prototypes")
    prototypes = F.normalize(torch.randn((config.prototypes, config.output_width), generator=draw))
    return ObjectiveState(
        trained={"prototypes": prototypes},
        target=encoder | {"objective.prototypes": prototypes},
        buffers={"centre": torch.zeros(config.prototypes)},
    )


def loss(config: Config, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
    """Return equation 3 on a batch."""
    aims, target = targets(batch, state)
    target_logits = [similarities(aim, state.target["objective.prototypes"]) for aim in aims]
    logits = [
        similarities(projections, state.trained["prototypes"]) for projections in batch.projections
    ]
    centre = state.buffers["centre"]
    first, second = (
        centred_probabilities(values, centre, temperature=config.teacher_temperature)
        for values in target_logits
    )
    first_loss = dino_loss(logits[0], second, temperature=config.student_temperature)
    second_loss = dino_loss(logits[1], first, temperature=config.student_temperature)
    # After the loss: this batch is centred by what was known before it.
    centre = moved_centre(centre, torch.cat(target_logits), momentum=config.centre_momentum)
    return (first_loss + second_loss) / 2, replace(state, target=target, buffers={"centre": centre})


SMALL = Config(**SMALL_RUN, output_width=5, prototypes=7)
