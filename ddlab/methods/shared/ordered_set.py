"""Sets that are trained on in ordered steps, as in DD and SLDD.

Their rates are learned; labels are learned or kept as class labels.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core import Published, errors, parameter, randomness
from ...training.unrolled import Tensors

# The share of the classes' even label in a label that begins smoothed.
SMOOTHING = 0.1


@dataclass(frozen=True, kw_only=True)
class OrderedSet(Published):
    """How many images a step has, and whether their labels are learned."""

    images_per_class: int = parameter(
        1,
        symbol=r"\mathrm{ipc}",
        range=(1, None),
        help="Images of each class in each step.",
        explorable=(1, 5),
    )
    steps: int = parameter(
        10,
        range=(1, None),
        help="Steps in a pass, each with images of its own.",
        explorable=(1, 10),
    )
    learn_labels: bool = parameter(
        False, help="Labels are learned as well (SLDD).", explorable=True
    )
    images: int | None = parameter(
        None,
        range=(1, None),
        help="Images of a step where labels are learned: also fewer than classes. None: as "
        "without.",
    )
    initial_labels: str = parameter(
        "class",
        choices=("class", "smoothed", "even", "random"),
        help="Learned labels begin as one-hot, as one-hot smoothed by .1, as 1 / classes, or as "
        "draws from [0, 1).",
    )
    softmax: bool = parameter(False, help="Learned labels are logits, of which the softmax counts.")
    seed: int = parameter(
        0, range=(0, None), help="Of every draw; a student of the same seed has the fixed start."
    )

    def rules(self) -> None:
        """Raise if another number of images than classes has labels that are not learned."""
        super().rules()
        if self.images is not None and not self.learn_labels:
            errors.fail("images", "None without learn_labels", self.images)


def learned_rates(raw: Tensor) -> Tensor:
    """Return eta~ = softplus(raw), of any shape."""
    return F.softplus(raw)


def raw_rates(rates: Tensor) -> Tensor:
    """Return the inverse of `learned_rates`, of rates above 0."""
    # log(e^r - 1), written so that neither a large r overflows nor a small one is rounded to 0.
    return rates + (-torch.expm1(-rates)).log()


def class_numbers(config: OrderedSet, classes: int) -> Tensor:
    """Return the classes in turn, int64 [steps * m]. Learned labels begin with them."""
    images_per_step = config.images or config.images_per_class * classes
    return (torch.arange(images_per_step) % classes).repeat(config.steps)


def first_labels(config: OrderedSet, classes: int) -> Tensor:
    """Return the learned labels at the beginning, float32 [steps * m, classes]."""
    one_hot = F.one_hot(class_numbers(config, classes), classes).float()
    if config.initial_labels == "random":
        return torch.rand(one_hot.shape, generator=randomness.generator(config.seed, 0, "labels"))
    share = {"class": 0.0, "smoothed": SMOOTHING, "even": 1.0}[config.initial_labels]
    return (1 - share) * one_hot + share / classes


def inner_targets(config: OrderedSet, learned: Tensors, classes: int) -> Tensor:
    """Return the targets of the inner loss: class labels [n], or the learned labels [n, classes]."""
    if not config.learn_labels:
        return class_numbers(config, classes).to(learned["images"].device)
    return learned["labels"].softmax(1) if config.softmax else learned["labels"]
