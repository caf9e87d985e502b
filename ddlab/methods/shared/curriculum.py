"""The training of a GTN's network in one update.

Images in their steps, made by a generator or real; the architecture; the real batches.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ... import networks
from ...core import Parameters, errors, parameter, randomness
from ...distilled import generators
from ...networks import NetworkSpec
from ...runs import Inputs
from ...training.unrolled import Tensors

NAME = "generative_teaching"
CURRICULA = ("full", "batches_shuffled", "all_shuffled", "none")


@dataclass(frozen=True, kw_only=True)
class Curriculum(Parameters):
    """What a network sees in its N steps, and which network."""

    steps: int = parameter(
        64, symbol="N", range=(1, None), help="Steps of a network's training.", explorable=(1, 20)
    )
    inner_batch: int = parameter(128, range=(1, None), unit="images", help="Images of a step.")
    curriculum: str = parameter(
        "full",
        choices=CURRICULA,
        explorable=True,
        help="Latent vectors in learned order; learned, their batches or all of them in random "
        "order; fresh noise.",
    )
    generator: str = parameter(
        "convolutional",
        choices=(*generators.LAYOUTS, "none", "real"),
        help="What makes images; none: they are learned themselves; real: random real ones, only "
        "the rates are learned.",
    )
    latent: int = parameter(128, symbol="d", range=(1, 4096), help="Numbers of a latent vector.")
    network: NetworkSpec = parameter(
        networks.spec("convnet", width=64, depth=2, norm="instance", activation="leaky_relu"),
        help="Architecture that learns; without batch norm.",
    )
    architectures: str = parameter(
        "one",
        choices=("one", "random"),
        help="Random: a ConvNet of half to twice the width and at most the depth.",
    )
    real_loss: str = parameter(
        "every_step", choices=("every_step", "end"), help="Where the loss on real images is taken."
    )
    batch_size: int = parameter(128, range=(1, None), unit="images", help="Real images in a loss.")
    seed: int = parameter(0, range=(0, None), help="Of every draw.", explorable=(0, 9))

    def rules(self) -> None:
        """Raise unless random architectures are ConvNets."""
        super().rules()
        if self.architectures == "random" and self.network.family != "convnet":
            errors.fail(
                "architectures", "'one' for a network other than a convnet", self.architectures
            )


def class_numbers(config: Curriculum, classes: int) -> Tensor:
    """Return the classes in turn, int64 [steps * batch]."""
    return torch.arange(config.steps * config.inner_batch) % classes


def order_of(config: Curriculum, step: int) -> Tensor:
    """Return which rows of the latent vectors each step of an update sees: int64 [steps, batch]."""
    rows = torch.arange(config.steps * config.inner_batch).view(config.steps, -1)
    draws = randomness.generator(config.seed, step, "order")
    # With replacement, as in the reference code: a batch may come twice and another not at all.
    if config.curriculum == "batches_shuffled":
        return rows[torch.randint(config.steps, (config.steps,), generator=draws)]
    if config.curriculum == "all_shuffled":
        return torch.randint(rows.numel(), rows.shape, generator=draws)
    return rows


def latents_of(config: Curriculum, learned: Tensors, step: int) -> Tensor:
    """Return all latent vectors [steps * batch, d] of an update: the learned ones, or fresh noise."""
    if "latents" in learned:
        return learned["latents"]
    draws = randomness.generator(config.seed, step, "latents")
    noise = torch.randn((config.steps * config.inner_batch, config.latent), generator=draws)
    return noise.to(learned["log_rates"])


def images_of(
    config: Curriculum, inputs: Inputs, learned: Tensors, step: int, order: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the images [steps * batch, c, h, w] of an update and their classes.

    Both are functions of what is learned.
    """
    data = inputs.data
    rows = order.flatten()
    labels = class_numbers(config, data.classes)[rows]
    device = learned["log_rates"].device
    if config.generator == "real":
        return data.normalised(real_rows(config, inputs, step, labels), device=device), labels.to(
            device
        )
    latents = latents_of(config, learned, step)[rows.to(device)]
    labels = labels.to(device)
    if config.generator == "none":
        return generators.REACH * latents.tanh(), labels
    weights = {name: value for name, value in learned.items() if name[0].isdigit()}
    return generators.generated(
        weights, latents, labels, shape_of(inputs), config.inner_batch
    ), labels


def real_rows(config: Curriculum, inputs: Inputs, step: int, labels: Tensor) -> Tensor:
    """Rows of random real images of these classes: int64, of the labels' shape."""
    data = inputs.data
    rows = torch.zeros_like(labels)
    draws = randomness.generator(config.seed, step, "real steps")
    # The labels are fixed by the order of the rows; only which image of the class is drawn.
    for label in range(data.classes):
        places = labels == label
        members = data.of_class(label)
        rows[places] = members[torch.randint(len(members), (int(places.sum()),), generator=draws)]
    return rows


def shape_of(inputs: Inputs) -> tuple[int, int, int]:
    """(channels, h, w) of an image."""
    data = inputs.data
    return data.channels, *data.image_size


def learner(config: Curriculum, inputs: Inputs, step: int) -> NetworkSpec:
    """Return the architecture that learns in an update."""
    spec = config.network
    if config.architectures == "random":
        options: Any = spec.options
        draws = randomness.generator(config.seed, step, "architecture")
        width = int(
            torch.randint(max(options.width // 2, 1), 2 * options.width + 1, (), generator=draws)
        )
        depth = int(torch.randint(1, (options.depth or 3) + 1, (), generator=draws))
        spec = replace(spec, options=options.replace(width=width, depth=depth))
    return spec.for_data(inputs.data)


def real_batches(config: Curriculum, inputs: Inputs, step: int) -> list[tuple[Tensor, Tensor]]:
    """Draw real images [b, c, h, w] and classes [b], for each place where the loss is taken."""
    data = inputs.data
    draws = randomness.generator(config.seed, step, "real images")
    batches = []
    for _ in range(config.steps if config.real_loss == "every_step" else 1):
        rows = torch.randperm(len(data.train_labels), generator=draws)[: config.batch_size]
        batches.append(
            (data.normalised(rows, device=inputs.device), data.train_labels[rows].to(inputs.device))
        )
    return batches
