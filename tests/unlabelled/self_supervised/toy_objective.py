"""An objective that keeps all an objective can keep: a predictor, a momentum encoder and a queue of
its projections.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ddlab.core import parameter, randomness
from ddlab.unlabelled.self_supervised import (
    Batch,
    ObjectiveState,
    Training,
    follow_by_momentum,
    project,
    projector_weights,
)

NAME = "toy"


@dataclass(frozen=True, kw_only=True)
class Config(Training):
    """Hyper-parameters."""

    loss: str = parameter(NAME, choices=(NAME,), help="The objective.")
    output_width: int = parameter(5, range=(1, 100), help="Of the projections.")
    temperature: float = parameter(0.5, range=(0, 10), open_low=True, help="Of the similarities.")
    target_momentum: float = parameter(
        0.9, range=(0, 1), help="Of the momentum encoder at the start; 1 at the end."
    )
    queue_length: int = parameter(12, range=(1, 10**5), help="Projections that are kept.")

    def projector_widths(self) -> tuple[int, ...]:
        """Wide, and a narrow last layer."""
        return (self.projector_width, self.output_width)


def init(config: Config, encoder: dict[str, Tensor]) -> ObjectiveState:
    """A fresh predictor, a copy of the encoder, and directions drawn at random."""
    widths = (config.projector_width, config.output_width)
    predictor = projector_weights(
        config.output_width, widths=widths, seed=config.seed, stream="predictor weights"
    )
    draw = randomness.generator(config.seed, 0, "queue")
    queue = torch.randn((config.queue_length, config.output_width), generator=draw)
    return ObjectiveState(trained=predictor, target=encoder, buffers={"queue": F.normalize(queue)})


def loss(config: Config, state: ObjectiveState, batch: Batch) -> tuple[Tensor, ObjectiveState]:
    """The cross-entropy of finding the momentum encoder's projection among those in the queue."""
    with torch.no_grad():
        keys, target = batch.encode(state.target, batch.views[1])
        keys = F.normalize(keys)
    predictions = F.normalize(project(state.trained, batch.projections[0]))
    right = (predictions * keys).sum(1, keepdim=True)
    logits = torch.cat([right, predictions @ state.buffers["queue"].T], 1) / config.temperature
    queue = torch.cat([keys, state.buffers["queue"]])[: config.queue_length]
    answer = F.cross_entropy(logits, logits.new_zeros(len(logits), dtype=torch.int64))
    return answer, replace(state, target=target, buffers={"queue": queue})


def momentum(config: Config, progress: float) -> float:
    """A line up to 1."""
    return 1 - (1 - config.target_momentum) * (1 - progress)


def follow(
    config: Config, state: ObjectiveState, learnt: dict[str, Tensor], progress: float
) -> ObjectiveState:
    """The momentum encoder goes a part of the way to the encoder."""
    return replace(
        state, target=follow_by_momentum(state.target, learnt, momentum=momentum(config, progress))
    )
