"""The parts of an objective: how two views are compared, and the tensors that it keeps for that.

    NAME                                         its name, and the only value of its Config's `loss`
    Config                                       a `Training` with the objective's own numbers and presets
    init(config, encoder) -> ObjectiveState      what it keeps before the first update
    loss(config, state, batch) -> (loss [], ObjectiveState)
    follow(config, state, learnt, progress) -> ObjectiveState      after the optimiser's step; may be left out

`Teacher(objective)` is the process that trains by it. An encoder is a network with its projector,
as one dict: "network.<name>" for all weights and buffers, "projector.<name>". `learnt` is what the
optimiser has just moved, of these names and "objective.<name>" for `trained`; `progress` is the
part of the run that is done, in (0, 1]. As everywhere nothing is changed in place, and draws come
from `randomness.generator`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from torch import Tensor

from ... import networks
from ...core import Published, errors, parameter
from ...data import ImageData
from ...networks import NetworkSpec
from .views import TwoViews

RATE_BATCH = 256  # learning rates are said for so many images in a batch, and grow in proportion
_PAPER = "Zbontar et al. 2021, section 2.2"


@dataclass(frozen=True, kw_only=True)
class Training(TwoViews, Published):
    """The two views, and how a network learns from them, by any objective.

    The defaults are Barlow Twins' on ImageNet.
    """

    network: NetworkSpec = parameter(networks.spec("resnet18"), help="Architecture.")
    loss: str = parameter(help="The objective's NAME; each has a Config that says it.")
    projector_width: int = parameter(
        8192,
        range=(1, 10**5),
        help="Outputs of each layer of the projector.",
        source=_PAPER,
        explorable=(16, 512),
    )
    projector_depth: int = parameter(
        3, range=(1, 10), help="Linear layers of the projector.", source=_PAPER
    )
    epochs: int = parameter(
        1000, range=(1, None), help="Passes over the images.", source=_PAPER, explorable=(5, 100)
    )
    warmup_epochs: int = parameter(
        10, range=(0, None), help="In which the learning rate rises from 0.", source=_PAPER
    )
    optimiser: str = parameter(
        "lars", choices=("lars", "adamw"), help="LARS on SGD with momentum, or AdamW."
    )
    learning_rate: float = parameter(
        0.2,
        symbol=r"\mathrm{lr}",
        range=(0, 1e3),
        open_low=True,
        scale="log",
        explorable=(1e-4, 1),
        help=f"After the warm-up, for {RATE_BATCH} images in a batch; grows in proportion.",
        source=_PAPER,
    )
    bias_learning_rate: float = parameter(
        0.0048,
        range=(0, 1e3),
        source=_PAPER,
        help="LARS only: the same for biases and for batch norm's scales and shifts.",
    )
    final_fraction: float = parameter(
        1e-3, range=(0, 1), help="Where the cosine ends, as a fraction of its start.", source=_PAPER
    )
    momentum: float = parameter(0.9, range=(0, 0.9999), help="LARS only.")
    trust: float = parameter(
        1e-3,
        symbol=r"\eta",
        range=(0, 1e3),
        source="the authors' code",
        help="LARS only: the length of a layer's step, as a part of the length of its weights.",
    )
    weight_decay: float = parameter(
        1.5e-6,
        range=(0, 1e3),
        help="Decoupled for AdamW, in the gradient of weights for LARS.",
        source=_PAPER,
    )

    def rules(self) -> None:
        """Raise unless the warm-up is a part of the run."""
        if self.warmup_epochs >= self.epochs:
            errors.fail(
                "warmup_epochs", f"below the number of epochs, {self.epochs}", self.warmup_epochs
            )

    def projector_widths(self) -> tuple[int, ...]:
        """Return the outputs of each layer of the projector.

        An objective whose last layer is another overrides it.
        """
        return (self.projector_width,) * self.projector_depth

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Self:
        """Return the inverse of `to_dict`, of the Config of whichever of `OBJECTIVES` the field
        `loss` names. A text is that name alone.
        """
        from . import OBJECTIVES

        fields = {"loss": described} if isinstance(described, str) else described
        if not isinstance(fields, Mapping) or "loss" not in fields:
            errors.fail(
                "objective",
                "a mapping of the fields of an objective's Config, loss among them",
                described,
            )
        config = OBJECTIVES[
            errors.check_choice("objective.loss", fields["loss"], tuple(OBJECTIVES))
        ].Config
        network = (
            {"network": NetworkSpec.from_dict(fields["network"])} if "network" in fields else {}
        )
        return config(**{**fields, **network})

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, seconds and 16-pixel digits.

        A ConvNet of width 32 and a small projector, with AdamW.
        """
        return cls.preset(
            changes,
            network=networks.spec("convnet", width=32),
            projector_width=128,
            projector_depth=2,
            epochs=20,
            warmup_epochs=1,
            batch_size=128,
            optimiser="adamw",
            learning_rate=4e-3,
            weight_decay=1e-4,
            crop_area=0.4,
            flip=False,
            second_solarise_probability=0.0,
        )

    @classmethod
    def for_data(cls, data: ImageData, **changes: Any) -> Self:
        """Return the teaching preset for these images.

        Colour images get flips and strong changes of colour; digits must not be mirrored.

        Features keep what two views agree on, which need not be what tells the classes. With the
        published colours and smaller parts (`teaching`), those of a teacher of `shapes` told fewer
        classes than an untrained network's: compare with one always.
        """
        strong: dict[str, Any] = {
            "flip": True,
            "crop_area": 0.7,
            "brightness": 0.8,
            "contrast": 0.8,
            "saturation": 1.0,
            "hue": 0.5,
            "grey_probability": 0.5,
        }
        return cls.teaching(**(strong if data.channels == 3 else {}) | changes)


@dataclass(frozen=True, kw_only=True)
class NarrowTraining(Training):
    """A `Training` whose projector has a last layer of its own width."""

    projector_depth: int = parameter(2, range=(1, 10), help="Linear layers of the projector.")
    output_width: int = parameter(128, range=(1, 10**5), help="Length of a projection.")

    def projector_widths(self) -> tuple[int, ...]:
        """Layers of `projector_width`, and a last one of `output_width`."""
        return (*[self.projector_width] * (self.projector_depth - 1), self.output_width)

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset with short projections."""
        return super().teaching(**{"output_width": 64} | changes)


@dataclass(frozen=True)
class ObjectiveState:
    """What an objective keeps between updates, by name.

    Attributes:
        trained: what the optimiser trains with the network: a predictor, prototypes.
        target: a copy, or a part of one, that follows by momentum.
        buffers: what is only written: a queue, a centre.
    """

    trained: dict[str, Tensor] = field(default_factory=dict)
    target: dict[str, Tensor] = field(default_factory=dict)
    buffers: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Batch:
    """What an objective sees of one update.

    Attributes:
        views: two of each image, [n, c, h, w].
        projections: those of the network that learns, [n, d], with their gradients.
        encode: (encoder, images) -> (projections, the encoder with its buffers after the pass), in
            training mode.
        step, total: updates done, and of the whole run.
    """

    views: tuple[Tensor, Tensor]
    projections: tuple[Tensor, Tensor]
    encode: Callable[[Mapping[str, Tensor], Tensor], tuple[Tensor, dict[str, Tensor]]]
    step: int
    total: int


def follow_by_momentum(
    target: Mapping[str, Tensor], learnt: Mapping[str, Tensor], *, momentum: float
) -> dict[str, Tensor]:
    r"""Return $\xi \leftarrow m \xi + (1 - m) \theta$ for the names that both have.

    What is not learnt (buffers) stays as it is.
    """
    averages = {
        name: momentum * value + (1 - momentum) * learnt[name] if name in learnt else value
        for name, value in target.items()
    }
    return averages


SMALL_RUN: dict[str, Any] = {  # for the contract tests; each objective adds its own sizes
    "network": networks.spec("convnet", width=4),
    "projector_width": 6,
    "projector_depth": 2,
    "epochs": 2,
    "warmup_epochs": 1,
    "batch_size": 16,
    "crop_area": 0.5,
}
