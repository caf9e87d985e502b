r"""KRR-ST: images and representations that stand for what a teacher without labels says.

Lee et al. 2024, arXiv 2310.06511.

What is wanted are few images, each with a vector, such that a network which learns the vectors from
the images says of real images what the teacher says. Differentiating through that training would be
long and, with random augmentation in it, biased; so each outer step takes a network that has
already learnt from the present pairs, fits its last layer in closed form and moves the pairs down
its error.

Symbol         In code                    Shape                 What
X_s            parameters["images"]       [m, c, h, w]          normalised pixels
Y_s            parameters["representations"]  [m, d_y]
X_t            data                       [n, c, h, w]
g_phi          teacher                                          its features, the input of its last linear layer, in evaluation mode
f_omega        networks of the pool                             the same of an inner network
L, Z           pool_size, pool_steps
N, m           budget                                           m = N, or fewer where the floats of Y_s count too

Equation or step                                                Function
X_s = random real images, Y_s = g_phi(X_s)                      init
L networks, trained for z_l ~ U{1 ... Z - 1} steps              network_pool.waiting_steps, train_once
eq 3, outer loss on a batch of real images, AdamW on X_s, Y_s   kernel_ridge.outer_loss, outer_step
eq 2, one more step of the network that was drawn               losses.regression_loss, inner_step
z_l = Z: it is drawn anew, z_l <- 0                             network_pool.redraw

One step of a run is one step of a network while the pool is being filled (`Trace.phase` "pool":
sum_l z_l of them), then one outer iteration ("outer"). So the long filling can be watched, stopped
and resumed like everything else.

Deviations
- From the authors' code: it forgets to set z_l to 0 when a network is drawn anew (`reset=False`
  does the same), and it forms K with a column of ones, which `kernel_ridge.gram` adds as the number
  1. Its teacher's stem pads by 2 pixels, ours by 1, and its learning rate ends at a thousandth of
  itself, ours at 0.
- The authors' code crops (padding of 4 pixels) and flips each batch of real images at random and
  asks the teacher for these views. Here the images are as they are, for which the teacher is asked
  once.
- Budget, learning rate and the number of outer iterations are Boost's for CIFAR-100, in whose
  tables KRR-ST is compared. The authors' own code learns 1,000 images in 160,000 iterations, and
  its README names rates of 1e-4 and 1e-5.
- Boost's Algorithm 1, taken word by word, trains the network that was drawn on the pairs as they
  were before the outer step; here on those after it, like every step to come.
- The labels of the data are never read.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor

from .. import networks
from ..core import Published, errors, optimisers, parameter, randomness, to_device
from ..distilled import DistilledSet, Representations
from ..networks import NetworkSpec
from ..networks.folding import fold_batch_norms
from ..runs import Inputs, Look, Number
from ..unlabelled.sets import (
    real_indices,
    require_finite_teacher,
    teacher_features,
    unlabelled_set,
)
from .shared import kernel_ridge
from .shared import network_pool as pools
from .shared.network_pool import Pool

NAME = "kernel_ridge_self_supervised"
ALIASES = ("krr_st",)
NEEDS = ("data", "teacher")
WITHOUT_LABELS = True

Parameterised = dict[str, Tensor]
Pairs = Callable[[Parameterised], tuple[Tensor, Tensor]]

# Pixels of real images that go through a network together: what its layers make of them fits the
# cache.
_AT_ONCE = 32 * 32 * 32
# SGD of the inner networks, the decay in the gradient.
INNER = {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 1e-3}


@dataclass(frozen=True, kw_only=True)
class Config(Published):
    """The settings by which pairs are distilled.

    The defaults are those of the authors' code, where Boost's tables for 100 images do not say
    otherwise.
    """

    budget: int = parameter(
        100,
        symbol="N",
        range=(1, None),
        unit="images",
        help="What the set may take, in floats of so many images.",
        explorable=(5, 100),
    )
    network: NetworkSpec = parameter(
        networks.spec("convnet", width=128, growth=2), help="Architecture of the inner networks."
    )
    pool_size: int = parameter(
        10, symbol="L", range=(1, 1000), help="Networks in the pool.", explorable=(1, 10)
    )
    pool_steps: int = parameter(
        1000,
        symbol="Z",
        range=(2, None),
        help="Inner steps after which a network is drawn anew.",
        explorable=(5, 200),
    )
    reset: bool = parameter(
        True,
        help="Count a network that was drawn anew from 0; off, as in the authors' code.",
        explorable=True,
    )
    iterations: int = parameter(
        30_000, symbol="T", range=(1, None), help="Outer steps.", source="Boost, A.1"
    )
    batch_size: int = parameter(
        1024, range=(1, None), help="Real images in each outer loss, at most."
    )
    learning_rate: float = parameter(
        1e-3,
        symbol=r"\mathrm{lr}",
        range=(0, 1e3),
        open_low=True,
        scale="log",
        help="Of AdamW without weight decay on the pairs; falls to 0 on a line.",
        explorable=(1e-4, 1e-1),
    )
    ridge: float = parameter(
        1e-6,
        symbol=r"\lambda",
        range=(0, 1e3),
        scale="log",
        help="Of the regression, as a part of the trace of K.",
    )
    seed: int = parameter(0, range=(0, None), help="Of every draw.")

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, half a minute and 16 pixels: three small networks and
        300 outer steps.
        """
        return cls.preset(
            changes,
            budget=20,
            network=networks.spec("convnet", width=16, growth=2),
            pool_size=3,
            pool_steps=50,
            iterations=300,
            batch_size=256,
            learning_rate=1e-2,
        )


@dataclass(frozen=True)
class State:
    """`step` steps done; what is distilled, by name; its optimiser; the networks."""

    step: int
    parameters: Parameterised
    optimiser: optimisers.AdamState
    pool: Pool


@dataclass(frozen=True)
class Trace:
    """One step.

    Attributes:
        phase: "pool" while it is filled, then "outer".
        loss: [], inner or outer, before the step.
        network: which was trained or drawn.
        trained: how many steps it had done.
        learning_rate: of the pairs; 0 in the phase "pool".
    """

    phase: Literal["pool", "outer"]
    loss: Tensor
    network: int
    trained: int
    learning_rate: float


def pairs(parameters: Parameterised) -> tuple[Tensor, Tensor]:
    """X_s and Y_s: here they are what is distilled."""
    return parameters["images"], parameters["representations"]


def inner_spec(config: Config, inputs: Inputs) -> NetworkSpec:
    """Return the inner networks' architecture.

    Its last layer has as many outputs as the teacher has features.
    """
    return config.network.for_data(inputs.data, outputs=teacher_features(inputs).shape[1])


def outer_step(
    config: Config, inputs: Inputs, state: State, make_pairs: Pairs
) -> tuple[Parameterised, optimisers.AdamState, Tensor, int]:
    """Take equation 3 on a batch of real images with a network of the pool, and AdamW on what is
    distilled.

    Returns:
        The new parameters, the optimiser, the loss before the step, and which network it was.
    """
    iteration = state.step - filling_steps(config)
    draw = randomness.generator(config.seed, iteration, "outer step")
    # The draw depends on the outer iteration alone, so a resumed run draws the same network.
    index = int(torch.randint(config.pool_size, (), generator=draw))
    count = len(inputs.data.train_labels)
    parts, real_targets = _real_batch(
        inputs, torch.randperm(count, generator=draw)[: config.batch_size]
    )
    # In evaluation mode batch norm is a fixed scale, which folds into the convolutions: a quarter
    # of the time less.
    spec, weights = fold_batch_norms(inner_spec(config, inputs), state.pool.network(index))
    weights = {name: pools.channels_last(value) for name, value in weights.items()}
    # The real side is a constant of the outer loss; only the pairs move.
    with torch.no_grad():
        real = torch.cat([_features(spec, weights, part) for part in parts])
    leaves = {name: value.detach().requires_grad_() for name, value in state.parameters.items()}
    with torch.enable_grad():
        # Boost makes its pairs from bases here; the gradient goes on to what they are made from.
        images, targets = make_pairs(leaves)
        features = _features(spec, weights, images)
        loss = kernel_ridge.outer_loss(real, real_targets, features, targets, strength=config.ridge)
        slopes = torch.autograd.grad(loss, list(leaves.values()))
    moved, optimiser = optimisers.adamw_update(
        state.parameters,
        dict(zip(leaves, slopes, strict=True)),
        state.optimiser,
        learning_rate=_learning_rate(config, iteration),
        weight_decay=0.0,
    )
    return moved, optimiser, loss.detach(), index


def inner_step(
    config: Config,
    inputs: Inputs,
    pool: Pool,
    parameters: Parameterised,
    index: int,
    make_pairs: Pairs,
) -> tuple[Pool, Tensor]:
    """Take one step of equation 2: one network on all pairs. Returns the loss before it."""
    with torch.no_grad():
        images, targets = make_pairs(parameters)
    return pools.train_once(
        pool,
        inner_spec(config, inputs),
        index,
        images,
        targets,
        learning_rate=INNER["learning_rate"],
        momentum=INNER["momentum"],
        weight_decay=INNER["weight_decay"],
    )


def filling_steps(config: Config) -> int:
    """Return how many steps it takes to fill the pool: sum_l z_l."""
    return sum(pools.waiting_steps(config.pool_size, config.pool_steps, seed=config.seed))


def total_steps(config: Config, inputs: Inputs) -> int:
    """Return the steps that fill the pool, and the outer iterations."""
    return filling_steps(config) + config.iterations


def initial_state(config: Config, inputs: Inputs, parameters: Parameterised) -> State:
    """Return the state before the first step: the first pairs, and a pool of untrained networks."""
    pool = pools.new_pool(
        inner_spec(config, inputs), config.pool_size, seed=config.seed, device=inputs.device
    )
    learned = {name: value.detach().clone().contiguous() for name, value in parameters.items()}
    return State(0, learned, optimisers.adam_init(learned), pool)


def update_with_pairs(
    config: Config, inputs: Inputs, state: State, make_pairs: Pairs
) -> tuple[State, Trace]:
    """Take one step of a method of this kind, whatever its pairs are made from."""
    index = _network_to_fill(config, state.step)
    if index is not None:
        trained = int(state.pool.trained[index])
        pool, loss = inner_step(config, inputs, state.pool, state.parameters, index, make_pairs)
        trace = Trace("pool", loss, index, trained, 0.0)
        return State(state.step + 1, state.parameters, state.optimiser, pool), trace
    parameters, optimiser, loss, index = outer_step(config, inputs, state, make_pairs)
    trained = int(state.pool.trained[index])
    # A network that has done all its steps is replaced instead of trained once more.
    if trained < config.pool_steps:
        pool, _ = inner_step(config, inputs, state.pool, parameters, index, make_pairs)
    else:
        pool = pools.redraw(
            state.pool,
            inner_spec(config, inputs),
            index,
            seed=config.seed,
            device=inputs.device,
            reset=config.reset,
        )
    learning_rate = _learning_rate(config, state.step - filling_steps(config))
    return State(state.step + 1, parameters, optimiser, pool), Trace(
        "outer", loss, index, trained, learning_rate
    )


def init(config: Config, inputs: Inputs) -> State:
    """Return random real images with their representations, and an untrained pool.

    Raises:
        DDLabError: no data or teacher, or more pairs than there are images.
    """
    require_finite_teacher(NAME, inputs)
    data = inputs.data
    features = teacher_features(inputs)
    if config.budget > len(features):
        errors.fail(
            "budget", f"at most {len(features)}, the number of training images", config.budget
        )
    chosen = real_indices(len(features), config.budget, seed=config.seed)
    images = data.normalised(chosen, device=inputs.device)
    return initial_state(
        config, inputs, {"images": images, "representations": features[chosen].to(inputs.device)}
    )


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Take one step of a network of the pool while it is filled, then one outer iteration."""
    return update_with_pairs(config, inputs, state, pairs)


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images, and a representation for each."""
    targets = Representations(
        tensors={"representations": state.parameters["representations"][None].cpu()}
    )
    tensors = {"images": state.parameters["images"].detach().cpu().contiguous()}
    return unlabelled_set(
        NAME, config, inputs, state, total_steps(config, inputs), tensors=tensors, targets=targets
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images, which have no classes; the loss of the phase over its own steps."""
    return Look(state.parameters["images"], None, phase_numbers(config, state, trace))


def phase_numbers(config: Config, state: State, trace: Trace | None) -> dict[str, Number]:
    """Return the inner loss while the pool is filled, then the outer one and the learning rate of
    the pairs.
    """
    if trace is None:
        return {}
    if trace.phase == "pool":
        return {"inner loss": Number(trace.loss, scale="log", x_label="step of the pool")}
    x: dict[str, Any] = {"x": float(state.step - filling_steps(config)), "x_label": "outer step"}
    return {
        "outer loss": Number(trace.loss, scale="log", **x),
        "learning rate": Number(trace.learning_rate, scale="log", **x),
    }


def _real_batch(inputs: Inputs, batch: Tensor) -> tuple[Iterable[Tensor], Tensor]:
    """Return X_t part by part, and g_phi(X_t) [n, d_y].

    The first layer's maps of a thousand images alone are half a gigabyte.
    """
    data = inputs.data
    # A GPU takes all of them.
    at_once = _AT_ONCE if torch.device(inputs.device).type == "cpu" else len(batch) * _AT_ONCE
    size = max(at_once // (data.image_size[0] * data.image_size[1]), 1)
    parts = (data.normalised(rows, device=inputs.device) for rows in batch.split(size))
    return parts, to_device(teacher_features(inputs)[batch], inputs.device)


def _features(spec: NetworkSpec, weights: dict[str, Tensor], images: Tensor) -> Tensor:
    """Return f_omega in evaluation mode: [n, c, h, w] -> [n, d]."""
    return networks.call(spec, weights, pools.channels_last(images))[0].features


def _network_to_fill(config: Config, step: int) -> int | None:
    """Return which network the step trains while the pool is filled.

    One after another; None when all have their steps.
    """
    for index, waiting in enumerate(
        pools.waiting_steps(config.pool_size, config.pool_steps, seed=config.seed)
    ):
        if step < waiting:
            return index
        # What is left is the step's number among those of the next network.
        step -= waiting
    return None


def _learning_rate(config: Config, iteration: int) -> float:
    return optimisers.linear(iteration, config.iterations, config.learning_rate)


SMALL = Config(  # for the contract tests
    budget=4,
    network=networks.spec("convnet", width=3),
    pool_size=2,
    pool_steps=2,
    iterations=4,
    batch_size=8,
)
