r"""Training a network, as a process: teachers on a dataset, students on a distilled set.

What it trains on is what the inputs hold: `inputs.distilled` if given, else the training images of `inputs.data`. What it learns
from is `config.labels`: hard class numbers, the soft labels stored with a distilled set, or the teacher asked for every augmented
view.

One step (sources: SRe2L's relabelling, Yin et al. 2023, arXiv 2306.13092; mixup, Zhang et al. 2018, arXiv 1710.09412)
view x' = mixup(flip(crop(x)))                                        augmentation.augment
p = one-hot | softmax(stored / T), mixed like the views               mixed_targets
p = softmax(teacher(x') / T)                                          online_targets
l = KL(p || softmax(student(x') / T)); T = 1 for hard labels          losses.distillation_loss
theta <- SGD or AdamW, cosine learning rate                           optim
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from . import errors, losses, networks, optim, randomness
from .augmentation import View, augment
from .data import ImageData
from .distilled import DistilledSet, OnlineTeacher, Targets
from .errors import DDLabError
from .networks import Network, NetworkSpec
from .parameters import Parameters, parameter
from .process import Inputs, require_teacher

NAME = "training"
_RESNET = networks.spec("resnet18")


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    """Hyper-parameters. The defaults train a student as SRe2L's CIFAR code does."""

    network: NetworkSpec = parameter(_RESNET, help="Architecture.")
    labels: str = parameter(
        "hard",
        choices=("hard", "stored", "online"),
        help="Class numbers, stored soft labels, or the teacher asked for every view.",
    )
    epochs: int = parameter(400, range=(1, None), help="Passes over the images.", explorable=(10, 400), step=10)
    batch_size: int = parameter(128, range=(1, None), unit="images", help="Images per step.")
    optimiser: str = parameter("adamw", choices=("adamw", "sgd"), help="AdamW, or SGD with momentum.")
    learning_rate: float = parameter(
        1e-3,
        symbol=r"\eta",
        range=(0, None),
        open_low=True,
        scale="log",
        help="At the start of the cosine.",
        explorable=(1e-4, 1e-1),
    )
    final_fraction: float = parameter(0.0, range=(0, 1), help="Where the cosine ends, as a fraction of its start.")
    momentum: float = parameter(0.9, range=(0, 0.9999), help="Of SGD.")
    weight_decay: float = parameter(0.01, range=(0, None), help="Decoupled for AdamW, in the gradient for SGD.")
    crop_pixels: int = parameter(
        4, range=(0, None), unit="px", help="Random crop after padding by so many black pixels."
    )
    flip: bool = parameter(True, help="Random horizontal flip (not for digits).")
    mixup_alpha: float = parameter(
        0.8,
        symbol=r"\alpha",
        range=(0, None),
        help="Mixup share is drawn from Beta(alpha, alpha); 0 is off.",
        explorable=(0, 2),
    )
    temperature: float = parameter(
        30.0,
        symbol="T",
        range=(0, None),
        open_low=True,
        scale="log",
        help="Softens stored and online labels.",
        explorable=(1, 50),
    )
    teacher_mode: str = parameter(
        "eval",
        choices=("eval", "train"),
        help="Statistics of the online teacher's batch norm; the reference code forgot eval.",
    )
    seed: int = parameter(0, range=(0, None), help="Of weights, order and views.")

    @classmethod
    def teaching(cls, role: str = "student", **changes: Any) -> Config:
        """Two CPU cores, seconds, 16-pixel digits: a ConvNet of width 64, as "student" or "teacher"."""
        errors.check_choice("role", role, ("student", "teacher"))
        common = {"network": networks.spec("convnet", width=64), "crop_pixels": 1, "flip": False}
        special = {
            "student": {"epochs": 100, "learning_rate": 5e-3, "temperature": 4.0},
            "teacher": {"epochs": 10, "learning_rate": 5e-3, "batch_size": 64, "mixup_alpha": 0.0},
        }
        return cls(**common | special[role] | changes)

    @classmethod
    def for_data(cls, data: ImageData | DistilledSet, role: str = "student", **changes: Any) -> Config:
        """The teaching preset for these images: crops of 4 pixels above 16 px, flips for colour (digits must not be mirrored)."""
        fitting: dict[str, Any] = {"flip": data.channels == 3}
        if min(data.image_size) > 16:
            fitting["crop_pixels"] = 4
        return cls.teaching(role, **fitting | changes)

    @classmethod
    def paper(cls, dataset: str = "cifar10", role: str = "student", **changes: Any) -> Config:
        """The published settings for "cifar10" or "cifar100": SRe2L's student, or the ResNet-18 teacher it is distilled from."""
        errors.check_choice("dataset", dataset, ("cifar10", "cifar100"))
        errors.check_choice("role", role, ("student", "teacher"))
        teacher = {"epochs": 200, "optimiser": "sgd", "learning_rate": 0.1, "weight_decay": 5e-4, "mixup_alpha": 0.0}
        return cls(**({} if role == "student" else teacher) | changes)


@dataclass(frozen=True)
class State:
    """`step` updates done; weights and buffers by name; the optimiser's state."""

    step: int
    weights: dict[str, Tensor]
    optimiser: optim.SGDState | optim.AdamState


@dataclass(frozen=True)
class Trace:
    """One update: the loss before it [], the share of the batch classified right before it [], the learning rate."""

    loss: Tensor
    accuracy_fraction: Tensor
    learning_rate: float


def online_targets(view: View, teacher: Network, *, temperature: float, teacher_mode: str) -> Tensor:
    """softmax(teacher(x') / T) for the views themselves, mixed ones included: [n, classes]."""
    errors.check_instance("view", view, View, "a View of augment")
    errors.check_instance("teacher", teacher, Network, "a Network")
    errors.check_choice("teacher_mode", teacher_mode, ("eval", "train"))
    with torch.no_grad():
        outputs, _ = networks.call(teacher.spec, teacher.weights, view.images, teacher_mode == "train")
    return losses.soft_targets(outputs.logits, temperature)


def mixed_targets(view: View, targets: Tensor) -> Tensor:
    """Targets [n, classes] of the images, mixed as the views were: share p_i + (1 - share) p_partner[i]."""
    count = len(errors.check_instance("view", view, View, "a View of augment").images)
    errors.check_tensor("targets", targets, shape=[count, None], floating=True, finite=False)
    return view.share * targets + (1 - view.share) * targets[view.partner]


def total_steps(config: Config, inputs: Inputs) -> int:
    """Epochs times batches per epoch; a last smaller batch counts.

    Every run asks for it first, resumed ones too, so the labels are checked here.
    """
    _check_labels(config, inputs)
    return config.epochs * math.ceil(_count(inputs) / config.batch_size)


def init(config: Config, inputs: Inputs) -> State:
    """Fresh weights for the seed.

    Raises:
        DDLabError: nothing to train on, labels that the inputs do not have, a teacher that is not the one that made the set.
    """
    source = _source(inputs)
    total_steps(config, inputs)
    if config.crop_pixels >= min(source.image_size):
        errors.fail("crop_pixels", f"below the image size of {min(source.image_size)} px", config.crop_pixels)
    weights = networks.initialise(config.network.for_data(source), seed=config.seed).to(inputs.device).weights
    trained = {name: weights[name] for name in networks.parameter_names(config.network.for_data(source))}
    return State(0, weights, optim.adam_init(trained) if config.optimiser == "adamw" else optim.sgd_init(trained))


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """One step on one batch."""
    source = _source(inputs)
    spec = config.network.for_data(source)
    indices = _batch(config, inputs, state.step)
    images, labels, stored = _examples(config, inputs, indices)
    view = augment(
        images,
        crop_pixels=config.crop_pixels,
        flip=config.flip,
        mixup_alpha=config.mixup_alpha,
        black=(-source.mean / source.std)[None, :, None, None].to(images.device),
        seed=config.seed,
        step=state.step,
    )
    targets = _targets_of(config, inputs, view, labels, stored)
    names = networks.parameter_names(spec)
    leaves = {name: state.weights[name].detach().requires_grad_() for name in names}
    with torch.enable_grad():
        outputs, buffers = networks.call(spec, {**state.weights, **leaves}, view.images, train=True)
        temperature = 1.0 if config.labels == "hard" else config.temperature
        loss = losses.distillation_loss(outputs.logits, targets, temperature=temperature)
        slopes = torch.autograd.grad(loss, list(leaves.values()))
    learning_rate = optim.cosine(
        state.step, total_steps(config, inputs), config.learning_rate, final_fraction=config.final_fraction
    )
    current = {name: state.weights[name] for name in names}
    gradients = dict(zip(names, slopes, strict=True))
    if isinstance(state.optimiser, optim.SGDState):
        moved, optimiser = optim.sgd_update(
            current,
            gradients,
            state.optimiser,
            learning_rate=learning_rate,
            momentum=config.momentum,
            weight_decay=config.weight_decay,
        )
    else:
        moved, optimiser = optim.adamw_update(
            current, gradients, state.optimiser, learning_rate=learning_rate, weight_decay=config.weight_decay
        )
    right = (outputs.logits.detach().argmax(1) == targets.argmax(1)).float().mean()
    return State(state.step + 1, {**moved, **buffers}, optimiser), Trace(loss.detach(), right, learning_rate)


def finish(config: Config, inputs: Inputs, state: State) -> Network:
    """The network with its weights, and whether its training was complete in `provenance`."""
    source = _source(inputs)
    provenance = {
        "process": NAME,
        "config": config.to_dict(),
        "inputs": inputs.fingerprint,
        "step": state.step,
        "complete": state.step >= total_steps(config, inputs),
    }
    # On the CPU wherever it was trained, so that it meets the data there; `Inputs` moves it to the device of the next run.
    weights = {name: value.cpu() for name, value in state.weights.items()}
    return Network(spec=config.network.for_data(source), weights=weights, provenance=provenance)


def _source(inputs: Inputs) -> ImageData | DistilledSet:
    source = inputs.distilled if inputs.distilled is not None else inputs.data
    if source is None:
        raise DDLabError("data or distilled must be given to training; given neither.")
    return source


def _count(inputs: Inputs) -> int:
    source = _source(inputs)
    count = len(source) if isinstance(source, DistilledSet) else len(source.train_labels)
    if count == 0:
        raise DDLabError("distilled must hold at least one image to train on; given an empty set.")
    return count


def _check_labels(config: Config, inputs: Inputs) -> None:
    if config.labels == "stored":
        if inputs.distilled is None:
            raise DDLabError(
                "labels must be 'hard' or 'online' to train on a dataset; given 'stored', which a distilled set has."
            )
        inputs.distilled.target("stored")
    if config.labels == "online":
        teacher = require_teacher("training with online labels", inputs)
        made_with = [t.fingerprint for t in _targets(inputs) if isinstance(t, OnlineTeacher)]
        if made_with and teacher.fingerprint not in made_with:
            raise DDLabError(
                f"teacher must be the one that made the set ({made_with[0]}); given {teacher.fingerprint}."
            )


def _targets_of(config: Config, inputs: Inputs, view: View, labels: Tensor, stored: Tensor | None) -> Tensor:
    if config.labels == "online":
        teacher = require_teacher("training with online labels", inputs)
        return online_targets(view, teacher, temperature=config.temperature, teacher_mode=config.teacher_mode)
    if config.labels == "stored" and stored is not None:
        return mixed_targets(view, losses.soft_targets(stored, config.temperature))
    return mixed_targets(view, F.one_hot(labels, _source(inputs).classes).to(view.images.dtype))


def _targets(inputs: Inputs) -> tuple[Targets, ...]:
    return () if inputs.distilled is None else inputs.distilled.targets


def _batch(config: Config, inputs: Inputs, step: int) -> Tensor:
    count = _count(inputs)
    epoch, number = divmod(step, math.ceil(count / config.batch_size))
    order = torch.randperm(count, generator=randomness.generator(config.seed, epoch, "order"))
    return order[number * config.batch_size : (number + 1) * config.batch_size]


def _examples(config: Config, inputs: Inputs, indices: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    source, device = _source(inputs), inputs.device
    if isinstance(source, ImageData):
        return source.normalised(indices, device=device), source.train_labels[indices].to(device), None
    stored = source.target("stored").logits[indices].to(device) if config.labels == "stored" else None
    return source.images[indices].to(device), source.labels[indices].to(device), stored
