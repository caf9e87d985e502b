r"""MTT: matching training trajectories.

Cazenavette, Wang, Torralba, Efros & Zhu 2022, CVPR, arXiv 2203.11932.

Experts are networks trained on the real data, whose weights are kept after every epoch. A student
starts where an expert stood, takes N steps on the learned images, and should end where the expert
stood M epochs later. The distance is differentiated through the N steps, with respect to the images
and to their learning rate. It is gradient matching (`dc`) made long: one matched step there, N
here.

Symbol            In code        Shape                     Unit
D_syn             images         [ipc * classes, c, h, w]  normalised pixels
alpha             rate           []                        of the student's SGD; learned too, and free to turn negative
theta*_t          paths          [P] each, P weights       an expert after t epochs, all parameters in one vector
theta^_{t+i}      `inner_of`     by name                   the student after i steps on the images

Equation                                                                                     Function
alg 1  theta*: SGD at a constant rate on real images, seen through DSA's views               trajectories.sgd_epoch
alg 1, line 8  theta^_{t+i+1} = theta^_{t+i} - alpha grad l(A(b), theta^_{t+i})              inner_of
eq 3  L = || theta^_{t+N} - theta*_{t+M} ||^2 / || theta*_t - theta*_{t+M} ||^2              matching_loss
      t uniform in [0, T+), the expert uniform; SGD with momentum .5 on images and alpha     update

A run trains the experts first (an update is an epoch of one), then matches; they serve every
setting of the matching (`prefix`). As in the reference code experts see DSA's whole strategy,
batches of learned images are permuted, and images begin as real ones. The set holds alpha beside
the images: students train at it, `passes` times on all images (`evaluate(labels="steps")`). Pixels
are as the data has them: `data.whitened` is the authors' ZCA, and `replicate` takes it. Away from
it: their students have momentum, decay and views (`replicate`); a permutation's last, smaller batch
comes last; `paper` has experts of T+ - 1 + M epochs (theirs train for 50 at one rate, of which
nobody reads the others).
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import networks
from ..core import NonFiniteError, errors, optimisers, parameter, randomness, with_default
from ..core.optimisers import SGDState
from ..data import siamese_views
from ..data.siamese_views import siamese_view
from ..distilled import DistilledSet, OrderedSteps
from ..runs import Inputs, Look, Number
from ..training import ordered
from ..training.trajectories import buffers_of, by_name, sgd_epoch, vector
from ..training.unrolled import Inner, Tensors, diverging, outer_gradient
from .shared import descent, matching

NAME = "trajectory_matching"
ALIASES = ("mtt",)
NEEDS = ("data",)
_LARGEST_RATE = 1e3  # no student learns at such a rate: it has diverged


@dataclass(frozen=True, kw_only=True)
class Config(matching.Config):
    """Hyper-parameters.

    The defaults are no published row: the reference's README for CIFAR-100 with a lower rate;
    `paper` has the rows.
    """

    experts: int = parameter(
        100, range=(1, None), help="Networks trained on the real data.", explorable=(1, 10)
    )
    expert_epochs: int = parameter(50, range=(1, None), help="Of each, whose weights are all kept.")
    expert_learning_rate: float = parameter(
        0.01, range=(0, None), open_low=True, scale="log", help="Of the experts' SGD."
    )
    strategy: str = with_default(
        matching.Siamese, "strategy", siamese_views.ALL, source="reference code"
    )
    inner_steps: int = parameter(
        20, symbol="N", range=(0, None), help="Steps on the images.", explorable=(1, 20)
    )
    matched_epochs: int = parameter(
        3, symbol="M", range=(1, None), help="Epochs of the expert.", explorable=(1, 5)
    )
    latest_start: int = parameter(
        20, symbol="T^+", range=(1, None), help="Starts come from earlier epochs."
    )
    initialisation: str = with_default(
        matching.Config, "initialisation", "real", source="reference code"
    )
    learning_rate: float = with_default(
        matching.Config, "learning_rate", 100.0, source="reference code"
    )
    rate_learning_rate: float = parameter(
        1e-5,
        range=(0, None),
        scale="log",
        help="Of SGD on the rate; 0 leaves it.",
        explorable=(1e-6, 1e-2),
    )
    initial_rate: float = parameter(
        0.01,
        symbol=r"\alpha_0",
        range=(0, None),
        open_low=True,
        scale="log",
        help="The rate to begin with.",
    )
    learned_batch: int | None = parameter(
        None, range=(1, None), help="Learned images of a step; None takes all."
    )
    iterations: int = parameter(
        5000, range=(1, None), help="Updates of the images.", explorable=(10, 300), step=10
    )
    passes: int = parameter(1000, range=(1, None), help="How often a student goes through the set.")
    recompute: bool = parameter(
        False, help="Compute steps again on the way back: memory of one step, more work."
    )

    def rules(self) -> None:
        """Raise unless there is an epoch to match for every start."""
        super().rules()
        siamese_views.operations(self.strategy)
        if self.latest_start - 1 + self.matched_epochs > self.expert_epochs:
            allowed = (
                "expert_epochs + 1 - latest_start at most, "
                f"{self.expert_epochs + 1 - self.latest_start}"
            )
            errors.fail("matched_epochs", allowed, self.matched_epochs)

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, 16 pixels and ten seconds.

        Five experts of a narrow ConvNet, ten epochs each, a hundred updates.
        """
        return cls.preset(
            changes,
            network=networks.spec("convnet", width=16, norm="instance"),
            experts=5,
            expert_epochs=10,
            expert_learning_rate=0.05,
            batch_size=64,
            strategy="",
            inner_steps=10,
            matched_epochs=2,
            latest_start=4,
            rate_learning_rate=1e-3,
            initial_rate=0.05,
            iterations=100,
            passes=200,
        )


@dataclass(frozen=True)
class State:
    """`step` updates done; the experts' weights so far, expert after expert, each from its start;
    images, rate, and their optimisers.
    """

    step: int
    paths: tuple[Tensor, ...]
    images: Tensor
    rate: Tensor
    image_optimiser: SGDState
    rate_optimiser: SGDState


@dataclass(frozen=True)
class Trace:
    """One update: the mean loss of an expert's epoch, or the distance of a matching before it, [];
    and the learned rate, [].
    """

    loss: Tensor
    rate: Tensor
    phase: str


def matching_loss(student: Tensor, start: Tensor, expert: Tensor) -> Tensor:
    """Return equation 3: how far the student's weights [P] end from the expert's, divided by how
    far the expert went; [].

    Args:
        start, expert: theta*_t and theta*_{t+M}, [P] each.
    """
    # Relative to how far the expert went: early epochs move far, late ones hardly at all.
    return (student - expert).square().sum() / (start - expert).square().sum()


def inner_of(config: Config, inputs: Inputs, step: int) -> Inner:
    """Return N steps on batches of the learned "images" at the learned "rate", with this update's
    draws (Algorithm 1, lines 7 and 8).
    """
    data = inputs.data
    spec = config.network.for_data(data)
    labels = descent.classes_in_turn(config.images_per_class * data.classes, data).to(inputs.device)
    draws = randomness.generator(config.seed, step, "learned batches")
    # Batches are drawn until there are enough for N steps, a new permutation whenever one is used
    # up.
    batches = list[Any]()
    while len(batches) < config.inner_steps:
        if config.learned_batch is None:
            batches.append(slice(None))  # all of them, whose order does not matter
        else:
            order = torch.randperm(len(labels), generator=draws).to(inputs.device)
            batches += order.split(config.learned_batch)
    fixed = buffers_of(spec, inputs.device)

    def loss(number: int, weights: Tensors, learned: Tensors) -> Tensor:
        rows = batches[number]
        # Each inner step of each update has a view of its own.
        view = step * max(config.inner_steps, 1) + number
        images = siamese_view(
            learned["images"][rows], config.strategy, seed=config.seed, step=view, per_image=True
        )
        return F.cross_entropy(
            networks.call(spec, {**fixed, **weights}, images)[0].logits, labels[rows]
        )

    return Inner(steps=config.inner_steps, loss=loss, rate=lambda number, learned: learned["rate"])


def matched_step(config: Config, inputs: Inputs, state: State) -> tuple[Tensor, dict[str, Tensor]]:
    """Return equation 3 from a drawn start of a drawn expert, and its gradient in images and rate."""
    draws = randomness.generator(config.seed, state.step, "expert and start")
    expert = int(torch.randint(config.experts, (), generator=draws))
    start_epoch = int(torch.randint(config.latest_start, (), generator=draws))
    # Each expert takes one row for its start and one for each epoch.
    row = expert * (config.expert_epochs + 1) + start_epoch
    start = state.paths[row]
    goal = state.paths[row + config.matched_epochs]
    weights = by_name(config.network.for_data(inputs.data), start)
    inner = inner_of(config, inputs, state.step)

    learned = {"images": state.images, "rate": state.rate}

    def outer(last: Tensors, _: Tensors) -> Tensor:
        return matching_loss(vector(last), start, goal)

    return outer_gradient(inner, weights, learned, outer, recompute=config.recompute)[:2]


def expert_updates(config: Config) -> int:
    """Return the number of updates before the matching begins."""
    return config.experts * config.expert_epochs


def total_steps(config: Config, inputs: Inputs) -> int:
    """Return the epochs of the experts, then updates of the images."""
    return expert_updates(config) + config.iterations


def prefix(config: Config) -> tuple[int, Config]:
    """Return the updates of the experts, and the config that shares them.

    Experts do not depend on how they are matched; the waiting images depend on their number and
    start alone.
    """
    shared_fields = (
        "experts",
        "expert_epochs",
        "expert_learning_rate",
        "strategy",
        "batch_size",
        "network",
        "images_per_class",
        "initialisation",
        "initial_rate",
        "seed",
    )
    return expert_updates(config), Config(
        **{name: getattr(config, name) for name in shared_fields}, matched_epochs=1, latest_start=1
    )


def init(config: Config, inputs: Inputs) -> State:
    """Return the first images, the rate, and no expert yet.

    Raises:
        DDLabError: no data, more images per class than a class has, or a network with batch norm.
    """
    ordered.check_plain(config.network.for_data(inputs.data))
    images = descent.first_images(NAME, config, inputs)
    rate = torch.tensor(config.initial_rate, device=inputs.device)
    return State(
        0,
        (),
        images,
        rate,
        optimisers.sgd_init({"images": images}),
        optimisers.sgd_init({"rate": rate}),
    )


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Return an epoch of an expert, or one update of images and rate."""
    if state.step < expert_updates(config):
        expert, epoch = divmod(state.step, config.expert_epochs)
        spec = config.network.for_data(inputs.data)
        paths = state.paths
        if epoch == 0:
            seed = randomness.derived_seed(config.seed, expert, "expert")
            fresh = ordered.first_weights(spec, "pytorch", seed=seed, device=inputs.device)
            paths += (vector(ordered.split_buffers(spec, fresh)[0]),)
        after, loss = sgd_epoch(
            spec,
            paths[-1],
            inputs,
            rate=config.expert_learning_rate,
            batch_size=config.batch_size,
            strategy=config.strategy,
            seed=config.seed,
            step=state.step,
        )
        return replace(state, step=state.step + 1, paths=(*paths, after)), Trace(
            loss, state.rate, "experts"
        )
    with diverging(NAME, state.step + 1):
        loss, slopes = matched_step(config, inputs, state)
    momentum = config.momentum
    rate_optimiser = state.rate_optimiser
    images = descent.sgd_step(
        state.images, slopes["images"], state.image_optimiser, config.learning_rate, momentum
    )
    rate = descent.sgd_step(
        state.rate, slopes["rate"], rate_optimiser, config.rate_learning_rate, momentum, "rate"
    )
    # The rate is finite long after the run has diverged, so it has a bound of its own.
    if abs(learned_rate := float(rate[0])) > _LARGEST_RATE:
        requirement = (
            f"within {_LARGEST_RATE:g} of 0; given {learned_rate:g} at step {state.step + 1}"
        )
        advice = f"a smaller rate_learning_rate than {config.rate_learning_rate:g} usually helps"
        raise NonFiniteError(f"the learned rate must stay {requirement}; {advice}.")
    moved = State(state.step + 1, state.paths, images[0], rate[0], images[1], rate[1])
    return moved, Trace(loss, state.rate, "match")


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images with hard labels, and the rate of the students' passes.

    A teacher's labels come along where there is one.
    """
    provenance = {
        "network": config.network.for_data(inputs.data).to_dict(),
        "initial_weights": "pytorch",
    }
    distilled = descent.images_in_turn(
        NAME, config, inputs, state, total_steps(config, inputs), **provenance
    )
    return distilled.with_targets(OrderedSteps(state.rate.cpu().view(1, 1), passes=config.passes))


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images; an expert's loss, then the distance and the rate."""
    numbers = {}
    if trace is not None and trace.phase == "experts":
        numbers = {"expert's loss": Number(trace.loss, "nats", scale="log")}
    elif trace is not None:
        numbers = {"distance": Number(trace.loss, scale="log"), "rate": Number(trace.rate)}
    return descent.look_at(inputs, state, numbers)


SMALL = Config(  # for the contract tests
    network=networks.spec("mlp", width=4),
    experts=2,
    expert_epochs=2,
    expert_learning_rate=0.1,
    batch_size=8,
    strategy="crop_flip",
    inner_steps=2,
    matched_epochs=1,
    latest_start=2,
    iterations=3,
    learning_rate=1.0,
    rate_learning_rate=1e-3,
    passes=3,
)
