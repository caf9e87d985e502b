r"""MoCo: find the other view of an image among a slowly moving copy's answers to many earlier
images.

He, Fan, Wu, Xie & Girshick 2020, arXiv 1911.05722. The negatives are a queue, so there are many of
them in small batches, too; the copy moves slowly, so that those in the queue are alike.

| symbol | here | shape |
|---|---|---|
| $q$ | `queries`: projections of one view by the network | [n, d] |
| $k_+$ | `keys`: projections of the other view by the momentum encoder | [n, d] |
| $k_0, \dots, k_K$ | `queue`: keys of earlier batches, lengths 1 | [k, d] |
| $\tau$, $m$ | `temperature`, `target_momentum` | |

| equation | here |
|---|---|
| 1: $-\log (\exp(q \cdot k_+ / \tau) / \sum_i \exp(q \cdot k_i / \tau))$, the sum over $k_+$ and the queue; mean | `info_nce_loss` |
| section 3.2: newest keys in, oldest out | `enqueue` |
| 2: $\theta_k \leftarrow m \theta_k + (1 - m) \theta_q$ | `momentum.follow` |

Both views are queries, and the keys of both enter the queue, after the loss. The defaults are those
of lightly's CIFAR-10 benchmark (Susmelj et al. 2020), as in ReLA; theirs on ImageNet: a queue of
65,536, a momentum of 0.999. Deviations: a projector, as in their second version; linear layers have
no bias; no shuffled batch norm, which needs several GPUs; the momentum encoder moves after the
step, not before the next one.
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

__all__ = ["NAME", "SMALL", "Config", "enqueue", "info_nce_loss"]
NAME = "moco"


@dataclass(frozen=True, kw_only=True)
class Config(MomentumTraining):
    """Hyper-parameters."""

    loss: str = parameter(
        NAME, choices=(NAME,), help="What is asked of the projections of two views."
    )
    projector_width: int = parameter(
        512, range=(1, 10**5), help="Outputs of the projector's inner layers.", explorable=(16, 512)
    )
    temperature: float = parameter(
        0.1,
        symbol=r"\tau",
        range=(1e-3, 1e3),
        scale="log",
        explorable=(0.05, 2),
        help="Small ones ask for the most similar negatives to be pushed away.",
    )
    queue_length: int = parameter(
        4096, range=(1, 10**7), unit="keys", help="Of earlier batches that are negatives."
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset with a momentum encoder and a short queue."""
        return super().teaching(**{"queue_length": 512} | changes)


def info_nce_loss(queries: Tensor, keys: Tensor, queue: Tensor, *, temperature: float) -> Tensor:
    """Return how hard it is to find each query's key among itself and the queue, by their cosines:
    [].

    Equation 1.

    Args:
        queries, keys: [n, d], of the same n images in the same order.
        queue: [k, d].
        temperature: tau, in [1e-3, 1e3].

    >>> keys, queue = torch.eye(4)[:1], torch.eye(4)[1:]  # one image, a queue of three others
    >>> [round(float(info_nce_loss(keys, keys, queue, temperature=t)), 3) for t in (0.2, 5.0)]
    [0.02, 1.24]
    """
    # The right key stands in column 0, so the class of every query is 0.
    right = F.cosine_similarity(queries, keys)[:, None]
    logits = torch.cat([right, similarities(queries, queue)], 1) / temperature
    return F.cross_entropy(logits, logits.new_zeros(len(logits), dtype=torch.int64))


def enqueue(queue: Tensor, keys: Tensor, next_row: Tensor) -> tuple[Tensor, Tensor]:
    """Return the queue [k, d] with `keys` [n, d] instead of its oldest rows, and the next oldest
    row, int64 [].

    Args:
        next_row: the oldest row. Of more keys than rows the last are kept.
    """
    newest = keys[-len(queue) :]
    rows = (next_row + torch.arange(len(newest), device=queue.device)) % len(queue)
    return queue.index_copy(0, rows, newest), (next_row + len(newest)) % len(queue)


def init(config: Config, encoder: dict[str, Tensor]) -> ObjectiveState:
    """Return the encoder once more as the momentum encoder, and a queue of random directions."""
    draw = randomness.generator(config.seed, 0, "queue")
    queue = F.normalize(torch.randn((config.queue_length, config.output_width), generator=draw))
    return ObjectiveState(
        target=encoder, buffers={"queue": queue, "next_row": torch.zeros((), dtype=torch.int64)}
    )


def loss(config: Config, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
    """Return equation 1, the mean over both views as queries."""
    (first, second) = batch.projections
    ((first_keys, second_keys), target) = targets(batch, state)
    queue = state.buffers["queue"]
    forth = info_nce_loss(first, second_keys, queue, temperature=config.temperature)
    back = info_nce_loss(second, first_keys, queue, temperature=config.temperature)
    keys = F.normalize(torch.cat([first_keys, second_keys]))
    queue, next_row = enqueue(queue, keys, state.buffers["next_row"])
    return (forth + back) / 2, replace(
        state, target=target, buffers={"queue": queue, "next_row": next_row}
    )


SMALL = Config(**SMALL_RUN, output_width=5, queue_length=40)
