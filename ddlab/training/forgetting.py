"""Forgetting: how often each image that a network has learned is classified wrongly again, counted while it trains, as a process.

Toneva et al. 2019, arXiv 1812.05159, algorithm 1. Each update is one of `supervised`; whatever that trains on is counted.

One step
a_i = 1 where the network is right about image i of the batch        supervised.Trace.right
forgotten_i <- forgotten_i + 1 where a_i = 0, and it was 1 before    update

As in the paper an image is judged on what the batch shows of it, cropped and flipped, right before the update, by the network in training
mode; so once in every epoch. A mixed image is neither right nor wrong: no mixup and no CutMix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from ..core import errors, storage
from ..core.parameters import parameter
from ..runs.look import Look, Number
from ..runs.process import Inputs, require_data
from . import supervised

NAME = "forgetting"
Trace = supervised.Trace
total_steps = supervised.total_steps


@dataclass(frozen=True, kw_only=True)
class Config(supervised.Config):
    """How the network is trained: `supervised.Config` with hard labels and without mixing."""

    mixup_alpha: float = parameter(0.0, symbol=r"\alpha", range=(0, None), help="Must be 0: no mixup.")

    def rules(self) -> None:
        """Those of `supervised.Config`; right and wrong are told by class numbers, of images that are one image each."""
        super().rules()
        if self.labels != "hard":
            errors.fail("labels", "'hard' where forgetting is counted", self.labels)
        for name in ("mixup_alpha", "cutmix_alpha"):
            if getattr(self, name) > 0:
                errors.fail(name, "0 where forgetting is counted (mixed images have two classes)", getattr(self, name))

    @classmethod
    def paper(cls, dataset: str = "cifar10", role: str = "teacher", **changes: Any) -> Self:
        """A ResNet-18 for 200 epochs. The rate falls along a cosine; in the paper's code in three steps, with Nesterov's momentum."""
        return super().paper(dataset, role, **changes)


@dataclass(frozen=True)
class State(supervised.State):
    """That of `supervised`, and of each image [n]: how often it was forgotten (int64), whether the network was right when it last saw it,
    and whether it ever was (bool).
    """

    counts: Tensor
    right: Tensor
    learned: Tensor


@dataclass(frozen=True, eq=False)
class Forgetting:
    """What a network forgot of n images.

    Attributes:
        counts: how often each image was forgotten, int64 [n].
        never: whether it was never classified right, bool [n]; its count is 0.
        provenance: how it was counted, and whether the training was complete.
    """

    counts: Tensor
    never: Tensor
    provenance: dict[str, Any]

    @property
    def scores(self) -> Tensor:
        """The counts, with one more than the highest for images that were never learned: they count as forgotten most. int64 [n]"""
        return torch.where(self.never, self.counts.max() + 1, self.counts)

    @property
    def fingerprint(self) -> str:
        """A hash of the content."""
        return storage.fingerprint(self.counts, self.never, self.provenance)


def init(config: Config, inputs: Inputs) -> State:
    """Fresh weights for the seed; nothing seen yet. Raises as `supervised.init`."""
    begun = supervised.init(config, inputs)
    count = len(inputs.distilled or require_data(NAME, inputs).train_labels)
    unseen = torch.zeros(count, dtype=torch.bool, device=inputs.device)
    return State(begun.step, begun.weights, begun.optimiser, counts=unseen.long(), right=unseen, learned=unseen)


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """One step on one batch, and its images judged before it."""
    trained, trace = supervised.update(config, inputs, state)
    batch = config.indices(len(state.counts), state.step).to(inputs.device)
    counts = state.counts.index_add(0, batch, (state.right[batch] & ~trace.right).long())
    right = state.right.index_copy(0, batch, trace.right)
    counted = {"counts": counts, "right": right, "learned": state.learned | right}
    return State(trained.step, trained.weights, trained.optimiser, **counted), trace


def finish(config: Config, inputs: Inputs, state: State) -> Forgetting:
    """The counts so far."""
    provenance = {"process": NAME, "config": config.to_dict(), "inputs": inputs.fingerprint, "step": state.step}
    provenance["complete"] = state.step >= total_steps(config, inputs)
    return Forgetting(state.counts.cpu(), ~state.learned.cpu(), provenance)


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """How well the last batch was known, and how much was forgotten so far."""
    numbers = {} if trace is None else {"forgotten so far": Number(state.counts.sum(), "events")}
    return Look(numbers={**supervised.look(config, inputs, state, trace).numbers, **numbers})


SMALL = Config(  # for the contract tests
    network=supervised.SMALL.network, epochs=3, batch_size=16, crop_pixels=1, learning_rate=0.01
)
