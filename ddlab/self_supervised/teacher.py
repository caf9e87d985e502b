r"""Training a network without labels, as a process: two views of each image, one projector, one loss.

Barlow Twins (Zbontar, Jing, Misra, LeCun & Deny 2021, arXiv 2103.03230), the teacher of KRR-ST (Lee et al. 2024, arXiv 2310.06511) and of
the method that builds on it. It makes a network from images alone: the labels of the data are never read.

One step
x^A, x^B = two views of each image of a batch                         TwoViews.pair
y = features of the network (the input of its last linear layer)      networks.call, in training mode, one view after the other
z = projector(y)                                                      projected
l = the loss that the config names                                    losses.pair_loss: barlow_twins_loss
theta <- SGD with momentum on LARS's direction, or AdamW              lars_direction, optim
lr: a line up, then a cosine                                          warmed_cosine

The result is the network with its features; the projector is dropped. Its last linear layer, which nothing here trains, stays as it
was drawn, so its logits mean nothing: `evaluation.probe` trains a layer in its place.

| deviation from the authors' code | why |
|---|---|
| a ResNet-18, drawn as torchvision draws it; theirs is a ResNet-50 whose residual branches begin at zero | KRR-ST's teachers |
| an epoch's last, smaller batch is left out | the correlation of a few images is noise |
| no mixed precision, one device | two cores, or one GPU |
| the views: see `views` | |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .. import errors, networks, optim
from .._trained import trained_network
from ..data import ImageData
from ..errors import DDLabError
from ..networks import Network, NetworkSpec
from ..networks.specification import hooked_layers
from ..parameters import parameter
from ..process import Inputs, require_data
from .barlow_twins import standardised
from .losses import LOSSES, pair_loss
from .optimising import lars_direction, warmed_cosine
from .projector import projected, projector_weights
from .views import TwoViews

NAME = "self_supervised"
_RATE_BATCH = 256  # learning rates are said for so many images in a batch, and grow in proportion
_PAPER = "Zbontar et al. 2021, section 2.2"


@dataclass(frozen=True, kw_only=True)
class Config(TwoViews):
    """Hyper-parameters: the two views, and how a network learns from them. The defaults are Barlow Twins' on ImageNet."""

    network: NetworkSpec = parameter(networks.spec("resnet18"), help="Architecture.")
    loss: str = parameter("barlow_twins", choices=tuple(LOSSES), help="What is asked of the projections of two views.")
    off_diagonal_weight: float = parameter(
        5e-3, symbol=r"\lambda", range=(0, 1e3), scale="log", explorable=(1e-4, 1),
        help="Weight of coordinates that repeat each other, beside views that disagree.", source=_PAPER,
    )  # fmt: skip
    projector_width: int = parameter(
        8192, range=(1, 10**5), help="Outputs of each layer of the projector.", source=_PAPER, explorable=(16, 512)
    )
    projector_depth: int = parameter(3, range=(1, 10), help="Linear layers of the projector.", source=_PAPER)
    epochs: int = parameter(1000, range=(1, None), help="Passes over the images.", source=_PAPER, explorable=(5, 100))
    warmup_epochs: int = parameter(10, range=(0, None), help="In which the learning rate rises from 0.", source=_PAPER)
    optimiser: str = parameter("lars", choices=("lars", "adamw"), help="LARS on SGD with momentum, or AdamW.")
    learning_rate: float = parameter(
        0.2, symbol=r"\mathrm{lr}", range=(0, 1e3), open_low=True, scale="log", explorable=(1e-4, 1),
        help=f"After the warm-up, for {_RATE_BATCH} images in a batch; grows in proportion.", source=_PAPER,
    )  # fmt: skip
    bias_learning_rate: float = parameter(
        0.0048, range=(0, 1e3), source=_PAPER,
        help="LARS only: the same for biases and for batch norm's scales and shifts.",
    )  # fmt: skip
    final_fraction: float = parameter(
        1e-3, range=(0, 1), help="Where the cosine ends, as a fraction of its start.", source=_PAPER
    )
    momentum: float = parameter(0.9, range=(0, 0.9999), help="LARS only.")
    trust: float = parameter(
        1e-3, symbol=r"\eta", range=(0, 1e3), source="the authors' code",
        help="LARS only: the length of a layer's step, as a part of the length of its weights.",
    )  # fmt: skip
    weight_decay: float = parameter(
        1.5e-6, range=(0, 1e3), help="Decoupled for AdamW, in the gradient of weights for LARS.", source=_PAPER
    )

    def rules(self) -> None:
        """The warm-up is a part of the run."""
        if self.warmup_epochs >= self.epochs:
            errors.fail("warmup_epochs", f"below the number of epochs, {self.epochs}", self.warmup_epochs)

    @classmethod
    def teaching(cls, **changes: Any) -> Config:
        """Two CPU cores, seconds, 16-pixel digits: a ConvNet of width 32 and a small projector, with AdamW."""
        small: dict[str, Any] = {
            "network": networks.spec("convnet", width=32), "projector_width": 128, "projector_depth": 2,
            "epochs": 20, "warmup_epochs": 1, "batch_size": 128, "optimiser": "adamw", "learning_rate": 4e-3, "weight_decay": 1e-4,
            "crop_area": 0.4, "flip": False, "second_solarise_probability": 0.0,
        }  # fmt: skip
        return cls(**small | changes)

    @classmethod
    def for_data(cls, data: ImageData, **changes: Any) -> Config:
        """The teaching preset for these images: for colour images flips (digits must not be mirrored) and strong changes of colour.

        Features keep what two views agree on, which need not be what tells the classes. With the published colours and smaller parts
        (`teaching`), those of a teacher of `shapes` told fewer classes than an untrained network's: compare with one always.
        """
        errors.check_instance("data", data, ImageData, "an ImageData")
        strong: dict[str, Any] = {
            "flip": True, "crop_area": 0.7, "brightness": 0.8, "contrast": 0.8, "saturation": 1.0, "hue": 0.5, "grey_probability": 0.5,
        }  # fmt: skip
        return cls.teaching(**(strong if data.channels == 3 else {}) | changes)

    @classmethod
    def paper(cls, dataset: str = "imagenet", **changes: Any) -> Config:
        """Barlow Twins' own settings, for a ResNet-18.

        Args:
            dataset: "imagenet"; or "cifar10", "cifar100" or "tiny-imagenet", for which its authors give none, and KRR-ST's code has trained
                teachers alone: batches of 256 and a projector of width 2048, those of solo-learn's CIFAR run (da Costa et al. 2022,
                JMLR 23), and all else as on ImageNet.
        """
        errors.check_choice("dataset", dataset, ("imagenet", "cifar10", "cifar100", "tiny-imagenet"))
        small: dict[str, Any] = {"batch_size": 256, "projector_width": 2048} if dataset != "imagenet" else {}
        return cls(**small | changes)


@dataclass(frozen=True)
class State:
    """`step` updates done; weights and buffers of the network and weights of the projector by name; the optimiser's state."""

    step: int
    weights: dict[str, Tensor]
    projector: dict[str, Tensor]
    optimiser: optim.SGDState | optim.AdamState


@dataclass(frozen=True)
class Trace:
    """One update: its loss [], the mean correlation of a coordinate in one view with itself in the other [] (1: they agree), learning rate.

    Loss and correlation are those before the update.
    """

    loss: Tensor
    agreement: Tensor
    learning_rate: float


def total_steps(config: Config, inputs: Inputs) -> int:
    """Epochs times whole batches per epoch."""
    return config.epochs * config.steps_per_epoch(_count(inputs))


def init(config: Config, inputs: Inputs) -> State:
    """Fresh weights of network and projector for the seed.

    Raises:
        DDLabError: no data, fewer than two images, or a network that does not fit them.
    """
    _count(inputs)
    spec = config.network.for_data(require_data(NAME, inputs))
    weights = networks.initialise(spec, seed=config.seed).to(inputs.device).weights
    drawn = projector_weights(
        _feature_width(spec, weights), width=config.projector_width, depth=config.projector_depth, seed=config.seed
    )
    projector = {name: value.to(inputs.device) for name, value in drawn.items()}
    trained = _joined({name: weights[name] for name in _trained(spec)}, projector)
    return State(
        0, weights, projector, optim.adam_init(trained) if config.optimiser == "adamw" else optim.sgd_init(trained)
    )


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """One step on one batch."""
    data = require_data(NAME, inputs)
    spec = config.network.for_data(data)
    images = data.normalised(config.indices(_count(inputs), state.step), device=inputs.device)
    views = config.pair(images, mean=data.mean, std=data.std, step=state.step)
    leaves = {name: state.weights[name].detach().requires_grad_() for name in _trained(spec)}
    projector = {name: value.detach().requires_grad_() for name, value in state.projector.items()}
    buffers, projections = {name: value for name, value in state.weights.items() if name not in leaves}, []
    with torch.enable_grad():
        for view in views:
            outputs, changed = networks.call(spec, {**buffers, **leaves}, view, train=True)
            buffers = {**buffers, **changed}
            projections.append(projected(projector, outputs.features))
        loss = pair_loss(projections[0], projections[1], config)
        learnt = _joined(leaves, projector)
        slopes = torch.autograd.grad(loss, list(learnt.values()))
    current = {name: value.detach() for name, value in learnt.items()}
    gradients = dict(zip(current, slopes, strict=True))
    learning_rate = _learning_rate(config, inputs, state.step)
    moved, optimiser = _descend(config, current, gradients, state.optimiser, learning_rate)
    weights = {**buffers, **{name: moved[f"network.{name}"] for name in leaves}}
    kept = {name: moved[f"projector.{name}"] for name in projector}
    first, second = (standardised(projection.detach()) for projection in projections)
    trace = Trace(loss.detach(), (first * second).mean(), learning_rate)
    return State(state.step + 1, weights, kept, optimiser), trace


def finish(config: Config, inputs: Inputs, state: State) -> Network:
    """The network, without the projector; `provenance` says how it came about and whether its training was complete."""
    return trained_network(
        config.network.for_data(require_data(NAME, inputs)), state.weights, process=NAME, config=config, inputs=inputs,
        step=state.step, total=total_steps(config, inputs), classifier="untrained",
    )  # fmt: skip


def _count(inputs: Inputs) -> int:
    count = len(require_data(NAME, inputs).train_labels)
    if count < 2:
        raise DDLabError(f"data must hold at least two training images to correlate over; given {count}.")
    return count


def _trained(spec: NetworkSpec) -> list[str]:
    """The parameters below the features: all but those of the last linear layer."""
    _, classifier = hooked_layers(spec)
    return [name for name in networks.parameter_names(spec) if not name.startswith(f"{classifier}.")]


def _feature_width(spec: NetworkSpec, weights: dict[str, Tensor]) -> int:
    _, classifier = hooked_layers(spec)
    return weights[f"{classifier}.weight"].shape[1]


def _joined(network: dict[str, Tensor], projector: dict[str, Tensor]) -> dict[str, Tensor]:
    """Both under names that cannot meet, for the optimiser."""
    return {f"network.{name}": value for name, value in network.items()} | {
        f"projector.{name}": value for name, value in projector.items()
    }


def _learning_rate(config: Config, inputs: Inputs, step: int) -> float:
    warmup = config.warmup_epochs * config.steps_per_epoch(_count(inputs))
    base = config.learning_rate * config.batch_size / _RATE_BATCH
    return warmed_cosine(
        step, total=total_steps(config, inputs), warmup=warmup, base=base, final_fraction=config.final_fraction
    )


def _descend(
    config: Config,
    current: dict[str, Tensor],
    gradients: dict[str, Tensor],
    state: optim.SGDState | optim.AdamState,
    learning_rate: float,
) -> tuple[dict[str, Tensor], optim.SGDState | optim.AdamState]:
    if isinstance(state, optim.AdamState):
        return optim.adamw_update(
            current, gradients, state, learning_rate=learning_rate, weight_decay=config.weight_decay
        )
    direction = lars_direction(
        current, gradients, weight_decay=config.weight_decay, trust=config.trust,
        bias_factor=config.bias_learning_rate / config.learning_rate,
    )  # fmt: skip
    return optim.sgd_update(current, direction, state, learning_rate=learning_rate, momentum=config.momentum)
