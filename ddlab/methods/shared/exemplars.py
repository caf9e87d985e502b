"""The gradients that move exemplars.

Mnemonics judges a network that was trained on them; the released trainer has another loss.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks
from ...core import parameter
from ...runs import Inputs
from ...training import ordered
from ...training.phases import Phases, logits_of
from ...training.unrolled import Inner, Tensors, outer_gradient

NAME = "mnemonics"


@dataclass(frozen=True, kw_only=True)
class Exemplars(Phases):
    """How many exemplars there are, and how they are learned."""

    images_per_class: int = parameter(
        20, symbol="m", range=(1, None), help="Exemplars of a class.", explorable=(1, 10)
    )
    start: str = parameter(
        "herding",
        choices=("herding", "random", "given", "none"),
        explorable=True,
        help="Exemplars at first: by herding or at random, those of a distilled set among the "
        "inputs; none are kept.",
    )
    exemplar_step: str = parameter(
        "bilevel",
        choices=("bilevel", "released", "none"),
        explorable=True,
        help="How they are learned: through steps of a copy of the network, by the released "
        "trainer's loss, or not at all.",
    )
    exemplar_updates: int = parameter(
        50, range=(1, None), help="Updates of exemplars in a phase.", explorable=(1, 50)
    )
    exemplar_learning_rate: float = parameter(
        0.01,
        symbol=r"\beta",
        range=(0, None),
        scale="log",
        help="Of Adam on them; 0 keeps them.",
        explorable=(1e-4, 0.1),
    )
    temporary_steps: int = parameter(
        5, range=(1, None), help="Steps of the copy on exemplars.", explorable=(1, 10)
    )
    temporary_learning_rate: float = parameter(
        0.01, range=(0, None), scale="log", help="Of these steps."
    )
    adjust_old: bool = parameter(
        True, help="Old exemplars are adjusted, half against half, where a class has two."
    )


def exemplars_per_class(config: Exemplars) -> int:
    """Exemplars of a class."""
    return 0 if config.start == "none" else config.images_per_class


def temporary(
    config: Exemplars, inputs: Inputs, buffers: Tensors, labels: Tensor, seen_classes: int
) -> Inner:
    """Return Theta': steps of gradient descent on the learned "images", whose classes are at these
    positions.
    """

    def loss(step: int, weights: Tensors, learned: Tensors) -> Tensor:
        return F.cross_entropy(
            logits_of(config, inputs, {**buffers, **weights}, learned["images"], seen_classes),
            labels,
        )

    return Inner(
        steps=config.temporary_steps,
        loss=loss,
        rate=lambda step, learned: config.temporary_learning_rate,
    )


def exemplar_gradient(
    config: Exemplars,
    inputs: Inputs,
    weights: Tensors,
    images: Tensor,
    labels: Tensor,
    judged: tuple[Tensor, Tensor],
    seen_classes: int,
) -> tuple[Tensor, Tensor]:
    """Return the loss [] on judging images and its gradient in the exemplars.

    The judged network took its temporary steps on the exemplars.
    """
    trainable, buffers = ordered.split_buffers(config.network.for_data(inputs.data), dict(weights))
    inner = temporary(config, inputs, buffers, labels, seen_classes)

    def outer(last: Tensors, _: Tensors) -> Tensor:
        return F.cross_entropy(
            logits_of(config, inputs, {**buffers, **last}, judged[0], seen_classes), judged[1]
        )

    loss, slopes, _ = outer_gradient(inner, trainable, {"images": images}, outer)
    return loss, slopes["images"]


def adjusting_gradient(
    config: Exemplars,
    inputs: Inputs,
    weights: Tensors,
    images: Tensor,
    labels: Tensor,
    seen_classes: int,
) -> Tensor:
    """Return the gradient in old exemplars [n, c, h, w], each half judged by the other.

    Rows of a class go to the halves in turn.
    """
    gradient = torch.zeros_like(images)
    # Every class is in both halves.
    half = torch.arange(len(images), device=images.device) % exemplars_per_class(config) % 2
    for side in (0, 1):
        is_learned = half == side
        is_judged = half != side
        judged = (images[is_judged], labels[is_judged])
        gradient[is_learned] = exemplar_gradient(
            config, inputs, weights, images[is_learned], labels[is_learned], judged, seen_classes
        )[1]
    return gradient


def release_gradient(
    config: Exemplars,
    inputs: Inputs,
    weights: Tensors,
    images: Tensor,
    labels: Tensor,
    judged: tuple[Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Return the released trainer's loss and its gradient.

    It is the cross-entropy [] of real features' cosines to the exemplars' class means.

    As in its first phase; later ones leave the old classes' means and exemplars out of the real
    images.
    """
    spec = config.network.for_data(inputs.data)
    classes = labels.unique()
    leaf = images.detach().requires_grad_()
    with torch.enable_grad():
        features = networks.call(spec, weights, leaf)[0].features
        means = torch.stack([features[labels == label].mean(0) for label in classes])
        real = networks.call(spec, weights, judged[0])[0].features.detach()
        cosines = F.normalize(real, dim=1) @ F.normalize(means, dim=1).T
        loss = F.cross_entropy(cosines, torch.searchsorted(classes, judged[1]))
    return loss.detach(), torch.autograd.grad(loss, leaf)[0]
