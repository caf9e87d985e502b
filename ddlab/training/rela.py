r"""ReLA-F: training a network without labels on pairs of images and a prior's targets, beside any self-supervised objective, as a process.

Sun, Jiang & Lin 2024 (ReLA), arXiv 2405.14669, section 4.2 and appendices H, J and L. Targets that another network has made once tell a
network more, early on, than it can tell itself from two views. So it learns them first, or more strongly, and then its own objective.

| symbol | here | shape |
|---|---|---|
| $\phi(x)$ | features of a view (the input of the last linear layer) | [n, d] |
| $y$ | target of its image, the set's representations (`methods.rela` makes them) | [n, k] |
| $W$ | `projection` | [k, d] |
| $\lambda$ | `share` | [], 0 to 1 |
| $S_k$ | `subset`, of epoch k | [m], m = ratio n |

| equation | here |
|---|---|
| 10: $1 - \cos(W \phi(x), y)$, the mean over the batch and both views | `cosine_loss` |
| 10: $\lambda L_{ReLA} + (1 - \lambda) L_{SSL}$ | `self_supervised.teacher.updated` |
| 43: which images an epoch sees, a new draw each epoch | `subset` |
| Algorithm 1: $\lambda$ from the loss of the targets | `adapted` |

Pure ReLA ($\lambda$ = 1) has views of its own, milder ones; the objective is not asked, its tensors wait, but its momentum copies follow.
At the switch to the objective the optimiser begins anew: Adam's moments of the waiting tensors would be those of no gradient.

| deviation | why |
|---|---|
| W is a random projection that stays as drawn; in the paper it is trained | the authors' code (`train_projection`) |
| one switch from $\lambda$ = 1 to 0; in the paper Algorithm 1 | the authors' code (`schedule`) |
| Algorithm 1's averages are as long, as a part of the run, as in one of 39,000 steps | its numbers assume so many (`scaled`) |
| $S_k$ has exactly m images; eq 43 draws each with probability m / n | an epoch has as many steps as any other |

The paper's baseline, an objective on the same re-drawn part of the images, is `schedule="constant", share=0`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors, randomness
from ..core.boundary import Count, Index, Share, checked, floats, within
from ..core.devices import moved
from ..core.errors import DDLabError
from ..core.parameters import Parameters, parameter
from ..distilled import DistilledSet
from ..networks import Network, NetworkSpec
from ..runs.look import Look, Number
from ..runs.process import Inputs
from . import self_supervised
from .self_supervised import Training
from .self_supervised import teacher as parts
from .trained import trained_network

NAME = "rela_f"
PUBLISHED_STEPS = 39_000  # 100 epochs of CIFAR-10 in batches of 128, for which Algorithm 1 has its numbers
LARGEST_SHARE = 0.8
_REFERENCE = "the authors' code"
Ratio = Annotated[float, within(0, 1, open_low=True)]
Rows = Annotated[Tensor, floats("n k", finite=False)]


@dataclass(frozen=True, kw_only=True)
class Config(Parameters):
    """Hyper-parameters. The objective's Config says its network, views, optimiser, batches and epochs."""

    objective: Training = parameter(
        self_supervised.Config(), help="Config of a self-supervised objective; its seed is replaced by this one's."
    )
    ratio: float = parameter(
        1.0, range=(0, 1), open_low=True, help="Share of the set's images that an epoch sees.", explorable=(0.05, 1)
    )
    subset: str = parameter(
        "dynamic", choices=("dynamic", "static"), explorable=True,
        help="Which images: drawn anew for each epoch, or once.", source="ReLA, figure 4a",
    )  # fmt: skip
    schedule: str = parameter(
        "switch", choices=("switch", "adaptive", "constant"), explorable=True, source=_REFERENCE,
        help="How lambda falls: from 1 to 0 once, by Algorithm 1, or not at all.",
    )  # fmt: skip
    switch: float = parameter(
        0.5, range=(0, 1), explorable=(0, 1), help="The part of the run with lambda 1, for a switch."
    )
    share: float = parameter(
        0.8, symbol=r"\lambda", range=(0, 1), explorable=(0, 1), help="Weight of the targets where it is constant.",
    )  # fmt: skip
    scaled: bool = parameter(
        True, help="Whether the averages of Algorithm 1 are as long, as a part of the run, as in one of 39,000 steps."
    )
    train_projection: bool = parameter(
        False, help="Train W with the network; on in the paper.", source=_REFERENCE, explorable=True
    )
    crop_area: float = parameter(
        0.5, range=(0, 1), open_low=True, source=_REFERENCE,
        help="Least share of an image that a view keeps while lambda is 1; such views are not solarised either.",
    )  # fmt: skip
    seed: int = parameter(0, range=(0, None), help="Of weights, W, order and views.")

    def rules(self) -> None:
        """One seed for all."""
        object.__setattr__(self, "objective", self.objective.replace(seed=self.seed))

    @property
    def precision(self) -> str:
        """The objective's."""
        return self.objective.precision

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Two CPU cores, seconds, 16 pixels: a ConvNet of width 32."""
        small: dict[str, Any] = {"objective": self_supervised.Config.teaching(), "ratio": 0.5}
        return cls(**small | changes)

    @classmethod
    def paper(cls, dataset: str = "cifar10", **changes: Any) -> Self:
        """The published settings for "cifar10", "cifar100" or "tiny-imagenet": ResNet-18, 100 epochs of AdamW."""
        errors.check_choice("dataset", dataset, ("cifar10", "cifar100", "tiny-imagenet"))
        objective = self_supervised.Config.paper(
            dataset, epochs=100, batch_size=128, optimiser="adamw", learning_rate=2e-3, weight_decay=0.01
        )
        return cls(**{"objective": objective, "ratio": 0.1} | changes)


@dataclass(frozen=True)
class State:
    """`step` updates done; what the objective's own process keeps; W; Algorithm 1's average loss and rho, float64 [2]."""

    step: int
    network: parts.State
    projection: dict[str, Tensor]
    averages: Tensor


@dataclass(frozen=True)
class Trace:
    """One update: the whole loss [], that of the targets [] (0 where lambda is 0 throughout), lambda [], agreement [] and learning rate.

    `agreement` is the mean correlation of a projected coordinate in one view with itself in the other.
    """

    loss: Tensor
    target_loss: Tensor
    share: Tensor
    agreement: Tensor
    learning_rate: float


@checked
def cosine_loss(projected: Rows, targets: Rows) -> Tensor:
    """The mean of 1 - cos between rows [n, k] and rows [n, k]: [], 0 to 2. Equation 10; a row of zeros has cosine 0."""
    return (1 - F.cosine_similarity(projected, targets, dim=1)).mean()


@checked
def projection_weights(features: Count, targets: Count, *, seed: int) -> Tensor:
    """W [targets, features], drawn as torch draws a linear layer's."""
    return self_supervised.projector_weights(features, widths=(targets,), seed=seed, stream="projection of ReLA")[
        "linear.0"
    ]


@checked
def subset(
    count: Annotated[int, within(2)], size: Annotated[int, within(2)], *, epoch: Index, static: bool, seed: int
) -> Tensor:
    """S_k: which of `count` images an epoch sees, and in what order, int64 [size]; equation 43.

    Args:
        static: one draw for all epochs, in a new order each.
    """
    size = errors.check_integer("size", size, 2, count)
    if not static:
        return torch.randperm(count, generator=randomness.generator(seed, epoch, "order"))[:size]
    chosen = torch.randperm(count, generator=randomness.generator(seed, 0, "static subset"))[:size].sort().values
    return chosen[torch.randperm(size, generator=randomness.generator(seed, epoch, "order"))]


def adapted(
    averages: Tensor, loss: Tensor, *, loss_decay: float = 0.999, rho_decay: float = 0.95
) -> tuple[Tensor, Tensor]:
    """Algorithm 1: the averages (l_m, rho_m) [2] after a loss [], and lambda []."""
    mean_loss, mean_rho = averages.unbind()
    rho = (-40 * (mean_loss - loss).clamp_min(0)).exp()
    mean_rho = rho_decay * mean_rho + (1 - rho_decay) * rho
    mean_loss = loss_decay * mean_loss + (1 - loss_decay) * loss
    return torch.stack([mean_loss, mean_rho]), LARGEST_SHARE * (1 - mean_rho)


@checked
def scaled_decay(decay: Share, *, total: Count) -> float:
    """The decay whose average is as long a part of a run of `total` steps as `decay`'s is of the published one."""
    return decay ** (PUBLISHED_STEPS / total)


def share_at(config: Config, step: int, total: int) -> float | None:
    """Lambda before update `step` of `total`; None where Algorithm 1 says it."""
    if config.schedule == "switch":
        return 1.0 if step < round(config.switch * total) else 0.0
    return config.share if config.schedule == "constant" else None


def total_steps(config: Config, inputs: Inputs) -> int:
    """Epochs times whole batches of an epoch's images; fewer images than a batch make one.

    Raises:
        DDLabError: no set, one without representations, or so few images that an epoch sees fewer than two.
    """
    return config.objective.epochs * config.objective.steps_per_epoch(_size(config, inputs))


def init(config: Config, inputs: Inputs) -> State:
    """Fresh weights of the network, its projector and W for the seed, and what the objective keeps.

    Raises:
        DDLabError: as `total_steps`, or a network that does not fit the images.
    """
    total_steps(config, inputs)
    spec, device = _spec(config, inputs), inputs.device
    drawn = projection_weights(parts.feature_size(spec), _targets(inputs).shape[1], seed=config.seed)
    projection = {"projection": drawn.to(device)}
    network = parts.begun(
        _objective(config), config.objective, spec, device=device, beside=_guiding(config, projection, 0, inputs)
    )
    return State(0, network, projection, torch.tensor([2.0, 0.0], dtype=torch.float64, device=device))


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """One step on one batch."""
    own, source, total = config.objective, _distilled(inputs), total_steps(config, inputs)
    size, spec = _size(config, inputs), _spec(config, inputs)
    share = share_at(config, state.step, total)
    seen = _batch(config, inputs, state.step)
    views_of = own
    if share == 1:
        views_of = own.replace(
            crop_area=config.crop_area, first_solarise_probability=0.0, second_solarise_probability=0.0
        )
    views = views_of.pair(source.rows(seen, inputs.device), mean=source.mean, std=source.std, step=state.step)
    network = state.network
    trained = _guiding(config, state.projection, state.step, inputs)
    if state.step and (share == 1) != (share_at(config, state.step - 1, total) == 1):
        network = parts.restarted(own, spec, network, trained)
    averages = state.averages
    guide = None
    if share != 0:
        targets = moved(_targets(inputs)[seen], inputs.device)

        def loss(leaves: Mapping[str, Tensor], features: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            nonlocal averages
            matrix = {**state.projection, **leaves}["projection"]
            both = torch.stack(
                [cosine_loss(F.linear(each, matrix), targets.to(each.dtype)) for each in features]
            ).mean()
            if share is not None:
                return both, torch.full((), share, dtype=both.dtype, device=both.device)
            decays = (scaled_decay(each, total=total) if config.scaled else each for each in (0.999, 0.95))
            loss_decay, rho_decay = decays
            averages, found = adapted(averages, both.detach().double(), loss_decay=loss_decay, rho_decay=rho_decay)
            return both, found.to(both.dtype)

        guide = parts.Guide(trained, loss, alone=share == 1)
    network, trace, guided = parts.updated(
        _objective(config), own, spec, network, views, total=total, count=size, guide=guide
    )
    zero = trace.loss.new_zeros(())
    told = (zero, zero) if guided is None else (guided.loss, guided.share)
    projection = state.projection if guided is None else {**state.projection, **guided.trained}
    return (
        State(state.step + 1, network, projection, averages),
        Trace(trace.loss, *told, trace.agreement, trace.learning_rate),
    )


def finish(config: Config, inputs: Inputs, state: State) -> Network:
    """The network, without projector and W; `provenance` says how it came about and whether its training was complete."""
    return trained_network(
        _spec(config, inputs), state.network.weights, process=NAME, config=config, inputs=inputs,
        step=state.step, total=total_steps(config, inputs), classifier="untrained",
    )  # fmt: skip


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """The losses of the last batch before its update, lambda and the learning rate; there are no images to see."""
    if trace is None:
        return Look()
    numbers = {
        "loss": Number(trace.loss),
        "loss of the targets": Number(trace.target_loss),
        "lambda": Number(trace.share),
        "agreement of the views": Number(trace.agreement),
        "learning rate": Number(trace.learning_rate, scale="log"),
    }
    return Look(numbers=numbers)


def _objective(config: Config) -> Any:
    return self_supervised.teacher_of(config.objective).objective


def _guiding(config: Config, projection: dict[str, Tensor], step: int, inputs: Inputs) -> dict[str, Tensor]:
    """What is trained with the network for the targets."""
    wanted = config.train_projection and share_at(config, step, total_steps(config, inputs)) != 0
    return projection if wanted else {}


def _batch(config: Config, inputs: Inputs, step: int) -> Tensor:
    size, own = _size(config, inputs), config.objective
    epoch, number = divmod(step, own.steps_per_epoch(size))
    order = subset(len(_distilled(inputs)), size, epoch=epoch, static=config.subset == "static", seed=config.seed)
    return order[number * own.batch_size : (number + 1) * own.batch_size]


def _distilled(inputs: Inputs) -> DistilledSet:
    if inputs.distilled is None:
        raise DDLabError(f"distilled must be given to {NAME}; given None.")
    return inputs.distilled


def _targets(inputs: Inputs) -> Tensor:
    return _distilled(inputs).target("representations").values[0]


def _size(config: Config, inputs: Inputs) -> int:
    count = len(_distilled(inputs))
    size = round(config.ratio * count)
    if size < 2:
        allowed = f"so large that an epoch sees at least two of {count} images"
        errors.fail("ratio", allowed, config.ratio)
    return size


def _spec(config: Config, inputs: Inputs) -> NetworkSpec:
    source = _distilled(inputs)
    return config.objective.network.for_data(source, outputs=max(source.classes, 1))


SMALL = Config(objective=self_supervised.SMALL, ratio=0.7)  # for the contract tests
