r"""ReLA-F: training without labels on images with a prior's targets, beside any self-supervised
objective, as a process.

Sun, Jiang & Lin 2024 (ReLA), arXiv 2405.14669, section 4.2 and appendices H, J and L. Targets that
another network has made once tell a network more, early on, than it can tell itself from two views.
So it learns them first, or more strongly, and then its own objective.

| symbol | here | shape |
|---|---|---|
| $\phi(x)$ | features of a view (the input of the last linear layer) | [n, d] |
| $y$ | target of its image, the set's representations (`methods.rela` makes them) | [n, k] |
| $W$ | `projection`: "weight", "bias" | [k, d], [k] |
| $\lambda$ | `share` | [], 0 to 1 |
| $S_k$ | `subset`, of epoch k | [m], m = ratio n |

| equation | here |
|---|---|
| 10: $1 - \cos(W \phi(x), y)$, the mean over the batch and both views | `cosine_loss` |
| 10: $\lambda L_{ReLA} + (1 - \lambda) L_{SSL}$ | `self_supervised.teacher.train_step` |
| 43: which images an epoch sees, a new draw each epoch | `subset` |
| Algorithm 1: $\lambda$ from the loss of the targets | `adapt` |
| the authors' code: the loss of the targets has reached a plateau | `smooth`, `at_plateau` |

Pure ReLA ($\lambda$ = 1) has views of its own, `FIRST_VIEWS`; the objective is not asked, its
tensors wait, its momentum copies follow. At the switch to the objective the optimiser begins anew:
Adam's moments of the waiting tensors would be those of no gradient (the authors keep them; their
untrained prior, `rela rand`, is the student's own first network).

| deviation | why |
|---|---|
| W is a random projection that stays as drawn; in the paper it is trained | the authors' code (`train_projection`) |
| one switch from $\lambda$ = 1 to 0, at a plateau; in the paper Algorithm 1 | the authors' code (`schedule`) |
| or at a part of the run | a few hundred steps reach no plateau |
| BYOL's loss has four times the gradient of the authors' .5 (-cos - cos) | its own paper's; it counts where lambda is neither 1 nor 0 |
| Algorithm 1's averages are as long, as a part of the run, as in one of 39,000 steps | its numbers assume so many |
| $S_k$ has exactly m images; eq 43 draws each with probability m / n | an epoch has as many steps as any other |

The paper's baseline, an objective on the same re-drawn part of the images, is `schedule="constant",
share=0`.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import Published, errors, parameter, randomness, to_device
from ..networks import Network, NetworkSpec
from ..runs import Inputs, Look, Number
from ..training.trained import trained_network
from . import self_supervised
from .self_supervised import Training, byol
from .self_supervised import teacher as parts

NAME = "rela_f"
NEEDS = ("distilled",)
# 100 epochs of CIFAR-10 in batches of 128, for which Algorithm 1 has its numbers.
PUBLISHED_STEPS = 39_000
# Algorithm 1's numbers: of the share of targets, of two running means, and where they start.
LARGEST_SHARE = 0.8
FIRST_AVERAGES = (2.0, 0.0)
LOSS_DECAY = 0.999
RHO_DECAY = 0.95
# The authors' code switches where the loss no longer falls; these are its numbers.
FIRST_SMOOTHED = (1.0, 2.0)
PLATEAU = 0.995
FIRST_VIEWS = {
    "crop_area": 0.5,
    "jitter_probability": 0.8,
    "brightness": 0.8,
    "contrast": 0.8,
    "saturation": 0.8,
    "hue": 0.2,
    "grey_probability": 0.2,
    "second_solarise_probability": 0.0,
}
_REFERENCE = "the authors' code"


@dataclass(frozen=True, kw_only=True)
class Config(Published):
    """Hyper-parameters.

    The objective's Config says its network, views, optimiser, batches and epochs.
    """

    objective: Training = parameter(
        byol.Config(),
        help="Config of a self-supervised objective, of which all but the seed counts.",
    )
    ratio: float = parameter(
        1.0,
        range=(0, 1),
        open_low=True,
        help="Share of the set's images that an epoch sees.",
        explorable=(0.05, 1),
    )
    subset: str = parameter(
        "dynamic",
        choices=("dynamic", "static"),
        explorable=True,
        help="Which images: drawn anew for each epoch, or once.",
        source="ReLA, figure 4a",
    )
    schedule: str = parameter(
        "plateau",
        choices=("plateau", "switch", "adaptive", "constant"),
        explorable=True,
        source=_REFERENCE,
        help="How lambda falls: from 1 to 0 at a plateau of the loss, or at a part of the run; by "
        "Algorithm 1; not at all.",
    )
    switch: float = parameter(
        0.5,
        range=(0, 1),
        explorable=(0, 1),
        help="The part of the run with lambda 1, for a switch.",
    )
    share: float = parameter(
        0.8,
        symbol=r"\lambda",
        range=(0, 1),
        explorable=(0, 1),
        help="Weight of the targets where it is constant.",
    )
    train_projection: bool = parameter(
        False, help="Train W with the network; on in the paper.", source=_REFERENCE, explorable=True
    )
    first_views: str = parameter(
        "reference",
        choices=("reference", "objective"),
        source=_REFERENCE,
        help="The views while lambda is 1: the authors' (`FIRST_VIEWS`), or the objective's.",
    )
    seed: int = parameter(0, range=(0, None), help="Of weights, W, order and views.")

    @property
    def objective_config(self) -> Training:
        """The objective's Config with this one's seed."""
        return self.objective.replace(seed=self.seed)

    @property
    def network(self) -> NetworkSpec:
        """The objective's."""
        return self.objective.network

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, seconds and 16 pixels: a ConvNet of width 32.

        The switch stands half way, as no loss gets to its plateau.
        """
        small = byol.Config.teaching()
        return cls.preset(
            changes, objective=small, ratio=0.5, schedule="switch", first_views="objective"
        )

    @classmethod
    def paper(cls, dataset: str | None = None, **changes: Any) -> Self:
        """Return the published settings, with those of BYOL for the objective."""
        return super().paper(dataset, **{"objective": byol.Config.paper(dataset)} | changes)


@dataclass(frozen=True)
class State(parts.State):
    """The State of the objective's own process; W; and the schedule's averages.

    These are (l_m, rho_m), or `smooth`'s; float64 [2].
    """

    projection: dict[str, Tensor]
    averages: Tensor


@dataclass(frozen=True)
class Trace:
    """One update: the whole loss [], that of the targets [], lambda [], agreement [] and learning
    rate. The targets' loss is 0 where lambda is 0 throughout.

    `agreement` is the mean correlation of a projected coordinate in one view with itself in the
    other.
    """

    loss: Tensor
    target_loss: Tensor
    share: Tensor
    agreement: Tensor
    learning_rate: float


def cosine_loss(projected: Tensor, targets: Tensor) -> Tensor:
    """Return the mean of 1 - cos between rows [n, k] and rows [n, k]: [], 0 to 2.

    Equation 10; a row of zeros has cosine 0.
    """
    return (1 - F.cosine_similarity(projected, targets, dim=1)).mean()


def projection_weights(features: int, targets: int, *, seed: int) -> dict[str, Tensor]:
    """Draw W, "weight" [targets, features] and "bias" [targets], as torch draws a linear layer."""
    stream = "projection of ReLA"
    weights = self_supervised.projector_weights(
        features, widths=(targets,), seed=seed, stream=stream
    )
    bias = torch.rand(targets, generator=randomness.generator(seed, 1, stream))
    return {"weight": weights["linear.0"], "bias": (2 * bias - 1) / features**0.5}


def subset(count: int, size: int, *, epoch: int, static: bool, seed: int) -> Tensor:
    """Return S_k: which of `count` images an epoch sees, and in what order, int64 [size]; equation
    43.

    Args:
        static: one draw for all epochs, in a new order each.
    """
    size = errors.check_integer("size", size, 2, count)
    if not static:
        return randomness.permutation(count, seed, epoch, "order")[:size]
    chosen = randomness.permutation(count, seed, 0, "static subset")[:size].sort().values
    return chosen[randomness.permutation(size, seed, epoch, "order")]


def adapt(
    averages: Tensor, loss: Tensor, loss_decay: float = LOSS_DECAY, rho_decay: float = RHO_DECAY
) -> tuple[Tensor, Tensor]:
    """Return the averages (l_m, rho_m) [2] after a loss [] of the targets, and lambda [], from 0 to
    0.8. Algorithm 1; dtype of the averages.
    """
    mean_loss, mean_rho = averages.unbind()
    # Near 1 where the loss has stopped falling below its average: then the targets have nothing
    # left to say.
    rho = (-40 * (mean_loss - loss).clamp_min(0)).exp()
    mean_rho = rho_decay * mean_rho + (1 - rho_decay) * rho
    mean_loss = loss_decay * mean_loss + (1 - loss_decay) * loss
    return torch.stack([mean_loss, mean_rho]), LARGEST_SHARE * (1 - mean_rho)


def scaled_decay(decay: float, *, total: int) -> float:
    """Return the decay whose average spans the same part of `total` steps as `decay`'s of the
    published run.
    """
    # d^(T / t): after the same part of the run the same part of the past is forgotten.
    return decay ** (PUBLISHED_STEPS / total)


def smooth(averages: Tensor, loss: Tensor) -> Tensor:
    """Return (fast, slow) [2], the averages of the authors' code, after a loss [] of the targets.

    The slow one follows the fast one.
    """
    fast = 0.999 * averages[0] + 0.001 * loss
    return torch.stack([fast, 0.99 * averages[1] + 0.01 * fast])


def at_plateau(averages: Tensor) -> bool:
    """Return whether the loss no longer falls: the slow average has come near to the fast one.

    averages (fast, slow), [2].
    """
    return bool((averages[0] - averages[1]).clamp_max(0).exp() >= PLATEAU)


def share_at(config: Config, step: int, total: int, averages: Tensor) -> float | None:
    """Return lambda before update `step` of `total`; None where Algorithm 1 says it."""
    if config.schedule == "plateau":
        return 0.0 if at_plateau(averages) else 1.0
    if config.schedule == "switch":
        return 1.0 if step < round(config.switch * total) else 0.0
    return config.share if config.schedule == "constant" else None


def total_steps(config: Config, inputs: Inputs) -> int:
    """Return epochs times whole batches of an epoch's images; fewer images than a batch make one.

    Raises:
        DDLabError: no set, one without representations, or so few images that an epoch sees fewer
            than two.
    """
    _targets(inputs)
    return config.objective.epochs * config.objective.steps_per_epoch(_size(config, inputs))


def init(config: Config, inputs: Inputs) -> State:
    """Draw fresh weights of the network, its projector and W for the seed, with what the objective
    keeps.

    Raises:
        DDLabError: as `total_steps`, or a network that does not fit the images.
    """
    total = total_steps(config, inputs)
    spec = _spec(config, inputs)
    projection_on_cpu = projection_weights(
        parts.feature_size(spec), _targets(inputs).shape[1], seed=config.seed
    )
    projection = {name: value.to(inputs.device) for name, value in projection_on_cpu.items()}
    first = FIRST_SMOOTHED if config.schedule == "plateau" else FIRST_AVERAGES
    averages = torch.tensor(first, dtype=torch.float64, device=inputs.device)
    trained_beside = _trained_tensors(config, projection, share_at(config, 0, total, averages))
    objective_state = parts.initial_state(
        _objective(config),
        config.objective_config,
        spec,
        device=inputs.device,
        beside=trained_beside,
    )
    return State(**vars(objective_state), projection=projection, averages=averages)


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Take one step on one batch."""
    objective_config = config.objective_config
    total = total_steps(config, inputs)
    size = _size(config, inputs)
    spec = _spec(config, inputs)
    share = share_at(config, state.step, total, state.averages)
    rows, views = batch_of(config, inputs, state.step, alone=share == 1)
    trained = _trained_tensors(config, state.projection, share)
    if (
        config.schedule == "switch"
        and state.step
        and share != share_at(config, state.step - 1, total, state.averages)
    ):
        # Step 0 has nothing to restart: its optimiser was made for the share of that step.
        state = parts.restart(objective_config, spec, state, trained)

    def loss_of_targets(
        leaves: Mapping[str, Tensor], features: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        loss = target_loss(
            {**state.projection, **leaves},
            features,
            to_device(_targets(inputs)[rows], inputs.device),
        )
        return loss, weigh(config, state.averages, loss.detach(), share, total)[1].to(loss.dtype)

    guide = None if share == 0 else parts.Guide(trained, loss_of_targets, alone=share == 1)
    objective = _objective(config)
    after, trace, guided = parts.train_step(
        objective, objective_config, spec, state, views, total=total, count=size, guide=guide
    )
    if guided is None:
        # A film has the same numbers at every step, so the targets' loss is 0 where nobody asked
        # for it.
        nothing = torch.zeros_like(trace.loss)
        return after, Trace(trace.loss, nothing, nothing, trace.agreement, trace.learning_rate)
    averages, _ = weigh(config, state.averages, guided.loss, share, total)
    after = dataclasses.replace(
        after, projection={**state.projection, **guided.trained}, averages=averages
    )
    # The next step begins with the objective, and with an optimiser that has seen no gradient.
    if config.schedule == "plateau" and at_plateau(after.averages):
        after = parts.restart(objective_config, spec, after, {})
    return after, Trace(trace.loss, guided.loss, guided.share, trace.agreement, trace.learning_rate)


def batch_of(
    config: Config, inputs: Inputs, step: int, *, alone: bool
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Return which images a step sees, int64 [n], and two views of them.

    `alone` says that the targets' loss is all there is.
    """
    objective_config = config.objective_config
    source = inputs.distilled
    size = _size(config, inputs)
    epoch, number = divmod(step, objective_config.steps_per_epoch(size))
    order = subset(
        len(source), size, epoch=epoch, static=config.subset == "static", seed=config.seed
    )
    rows = order[number * objective_config.batch_size : (number + 1) * objective_config.batch_size]
    views = (
        objective_config.replace(**FIRST_VIEWS)
        if alone and config.first_views == "reference"
        else objective_config
    )
    return rows, views.pair(
        source.rows(rows, inputs.device), mean=source.mean, std=source.std, step=step
    )


def target_loss(
    projection: Mapping[str, Tensor], features: tuple[Tensor, Tensor], targets: Tensor
) -> Tensor:
    """Return the mean over two views of 1 - cos of their projected features [n, d] with the targets
    [n, k]; [].
    """
    projected = [F.linear(values, projection["weight"], projection["bias"]) for values in features]
    return torch.stack(
        [cosine_loss(values, targets.to(values.dtype)) for values in projected]
    ).mean()


def weigh(
    config: Config, averages: Tensor, loss: Tensor, share: float | None, total: int
) -> tuple[Tensor, Tensor]:
    """Return the averages after a loss [] of the targets, and lambda, [].

    Lambda is the share that the schedule says, or Algorithm 1's.
    """
    if share is None:
        decays = (scaled_decay(decay, total=total) for decay in (LOSS_DECAY, RHO_DECAY))
        return adapt(averages, loss, *decays)
    return smooth(averages, loss) if config.schedule == "plateau" else averages, torch.full_like(
        loss, share
    )


def finish(config: Config, inputs: Inputs, state: State) -> Network:
    """Return the network, without projector and W.

    `provenance` says how it came about and whether its training was complete.
    """
    spec = _spec(config, inputs)
    total = total_steps(config, inputs)
    return trained_network(NAME, config, inputs, spec, state, total, classifier="untrained")


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the losses of the last batch before its update, lambda and the learning rate; there
    are no images to see.
    """
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


def _trained_tensors(
    config: Config, projection: dict[str, Tensor], share: float | None
) -> dict[str, Tensor]:
    """Return what is trained with the network for the targets."""
    return projection if config.train_projection and share != 0 else {}


def _targets(inputs: Inputs) -> Tensor:
    return inputs.distilled.target("representations").values[0]


def _size(config: Config, inputs: Inputs) -> int:
    count = len(inputs.distilled)
    size = round(config.ratio * count)
    if size < 2:
        allowed = f"so large that an epoch sees at least two of {count} images"
        errors.fail("ratio", allowed, config.ratio)
    return size


def _spec(config: Config, inputs: Inputs) -> NetworkSpec:
    source = inputs.distilled
    return config.objective.network.for_data(source, outputs=max(source.classes, 1))


SMALL = Config(objective=byol.SMALL, ratio=0.7, first_views="objective")  # for the contract tests
