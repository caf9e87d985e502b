"""Class-incremental training.

Classes come in phases, and one network learns them on what it has kept of the earlier ones.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import networks
from ..core import Parameters, errors, parameter, randomness
from ..data import ImageData
from ..networks import NetworkSpec
from ..runs import Inputs
from .losses import distillation_loss, soft_targets
from .unrolled import Tensors

NAME = "class-incremental training"


@dataclass(frozen=True, kw_only=True)
class Phases(Parameters):
    """Which classes come when, and how a network is trained on them."""

    tasks: int = parameter(6, range=(2, None), help="Phases.", explorable=(2, 10))
    first_classes: int | None = parameter(
        None,
        range=(1, None),
        help="Classes of the first phase, the others share the rest; None: all alike.",
    )
    order_seed: int | None = parameter(
        None, range=(0, None), help="Of a random order of classes; None: by number."
    )
    network: NetworkSpec = parameter(
        networks.spec("convnet", norm="instance"), help="Architecture; without batch norm."
    )
    epochs: int = parameter(
        160, range=(1, None), help="Passes over the images of a phase.", explorable=(1, 20)
    )
    batch_size: int = parameter(128, range=(1, None), unit="images", help="Of a step.")
    replay_batch_size: int | None = parameter(
        None,
        range=(1, None),
        help="Exemplars beside each batch; None: they are among its images, one for each.",
    )
    learning_rate: float = parameter(
        0.1, range=(0, None), open_low=True, scale="log", help="Of SGD on the network."
    )
    momentum: float = parameter(0.9, range=(0, 0.999), help="Of SGD on the network.")
    weight_decay: float = parameter(5e-4, range=(0, None), help="Of SGD on the network.")
    learning_rate_decay: float = parameter(
        0.1, range=(0, 1), open_low=True, help="Of the rate, at half and three quarters of a phase."
    )
    distillation_weight: float = parameter(
        0.5,
        symbol=r"1 - \lambda",
        range=(0, 1),
        explorable=(0, 0.9),
        step=0.1,
        help="Share of the loss that keeps the earlier network's answers.",
    )
    temperature: float = parameter(2.0, range=(0.1, None), help="Of these answers.")
    tuning_steps: int = parameter(
        50, range=(0, None), help="Steps on exemplars alone, the same number of every class."
    )
    seed: int = parameter(0, range=(0, None), help="Of every draw.", explorable=(0, 9))


def class_order(classes: int, seed: int | None) -> list[int]:
    """Return the order in which classes arrive: by number, or at random."""
    if seed is None:
        return list(range(classes))
    return randomness.permutation(classes, seed, 0, "order of classes").tolist()


def class_ends(config: Phases, classes: int) -> list[int]:
    """Return how many classes have come by the end of each phase.

    Raises:
        DDLabError: classes that the phases cannot share evenly.
    """
    # 0 is refused below: ten classes in three phases need `first_classes`.
    first = config.first_classes or (classes // config.tasks if classes % config.tasks == 0 else 0)
    remaining = classes - first
    later_phases = config.tasks - 1
    if first < 1 or remaining < later_phases or remaining % later_phases:
        errors.fail(
            "tasks",
            f"such that {classes} classes can be shared evenly (after first_classes)",
            config.tasks,
        )
    return [first + phase * remaining // later_phases for phase in range(config.tasks)]


def arrivals(config: Phases, data: ImageData, phase: int) -> tuple[Tensor, Tensor]:
    """Return the training images of a phase: rows [n], and the positions of their classes in the
    order of arrival [n].
    """
    phase_ends = [0, *class_ends(config, data.classes)]
    order = class_order(data.classes, config.order_seed)
    rows_by_class = [
        data.of_class(order[place]) for place in range(phase_ends[phase], phase_ends[phase + 1])
    ]
    places = [
        torch.full((len(rows),), phase_ends[phase] + index)
        for index, rows in enumerate(rows_by_class)
    ]
    return torch.cat(rows_by_class), torch.cat(places)


def logits_of(
    config: Phases, inputs: Inputs, weights: Tensors, images: Tensor, seen_classes: int
) -> Tensor:
    """Return the logits of the first classes in their order of arrival, [n, seen_classes].

    A class that has not come is in no softmax.
    """
    data = inputs.data
    # Columns of classes that have not come are left out, so no softmax ever pushes them down.
    order = torch.tensor(
        class_order(data.classes, config.order_seed)[:seen_classes], device=images.device
    )
    return networks.call(config.network.for_data(data), weights, images)[0].logits[:, order]


def model_loss(config: Phases, logits: Tensor, labels: Tensor, old_logits: Tensor | None) -> Tensor:
    """Return lambda L_c + (1 - lambda) L_d.

    Cross-entropy, and with an earlier network's logits [n, old] the distance from its answers.
    """
    plain = F.cross_entropy(logits, labels)
    if old_logits is None or not config.distillation_weight:
        return plain
    targets = soft_targets(old_logits, config.temperature)
    distillation = distillation_loss(
        # The earlier network knows the old classes alone; on the new ones it has no opinion to
        # keep.
        logits[:, : old_logits.shape[1]],
        targets,
        temperature=config.temperature,
    )
    return (
        1 - config.distillation_weight
    ) * plain + config.distillation_weight * config.temperature**2 * distillation


def batch_of(
    config: Phases, inputs: Inputs, exemplars: Tensor, phase: int, index: int
) -> tuple[Tensor, Tensor]:
    """Return images [b, c, h, w] and positions of classes [b] of a step.

    New ones stand with exemplars [seen * m, c, h, w] among or beside them.
    """
    data = inputs.data
    rows, labels = arrivals(config, data, phase)
    # One pool of new images and exemplars; with a replay batch the exemplars come beside each batch
    # instead.
    pool = len(rows) + (len(exemplars) if config.replay_batch_size is None else 0)
    epoch, place = divmod(index, -(-pool // config.batch_size))
    order = randomness.permutation(pool, config.seed, epoch, f"order of phase {phase}")
    chosen = order[place * config.batch_size :][: config.batch_size]
    new_rows = chosen[chosen < len(rows)]
    exemplar_rows = chosen[chosen >= len(rows)] - len(rows)
    if config.replay_batch_size is not None and len(exemplars):
        draws = randomness.generator(config.seed, index, f"replayed in phase {phase}")
        exemplar_rows = torch.randint(len(exemplars), (config.replay_batch_size,), generator=draws)
    # Exemplars stand class after class in the order of arrival, so the row says the class.
    exemplars_per_class = len(exemplars) // max([0, *class_ends(config, data.classes)][phase], 1)
    images = [
        data.normalised(rows[new_rows], device=inputs.device),
        exemplars[exemplar_rows.to(exemplars.device)],
    ]
    return torch.cat(images), torch.cat(
        [labels[new_rows], exemplar_rows // max(exemplars_per_class, 1)]
    ).to(inputs.device)


def model_steps(config: Phases, inputs: Inputs, phase: int, exemplars: int) -> int:
    """Steps on the images of a phase, with so many exemplars of a class."""
    data = inputs.data
    start, end = [0, *class_ends(config, data.classes)][phase : phase + 2]
    images = int(data.class_counts()[class_order(data.classes, config.order_seed)[start:end]].sum())
    pool = images + (exemplars * start if config.replay_batch_size is None else 0)
    return config.epochs * -(-pool // config.batch_size)


def rate_at(config: Phases, index: int, steps: int) -> float:
    """Return the rate of a step of a phase."""
    return config.learning_rate * config.learning_rate_decay ** sum(
        index >= share * steps for share in (0.5, 0.75)
    )
