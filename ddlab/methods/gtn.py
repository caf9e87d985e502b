r"""GTN: generative teaching networks, for images with classes.

Such, Rawal, Lehman, Stanley & Clune 2020, arXiv 1912.07768.

A generator makes the images of every step out of latent vectors and class labels; a fresh network
learns from them in N steps, and the loss on real images of where it ends, or of every place on the
way, moves the generator, the latent vectors and the rates of the steps.

Symbol        In code                       Shape                       Unit
G             "LAYER.PART"                  as its layers               see `distilled.generators`
z_t           "latents"                     [steps * batch, d]          learned: the curriculum; without a generator the images before tanh
eta_t, m_t    log_rates, log_momenta        [steps]                     exp of them: rate and momentum of step t
theta_t       t steps of `ordered.inner`

Equation                                                                                  Function
sec 2  theta_{t+1} = theta_t - eta_t v_{t+1},  v_{t+1} = m_t v_t + grad l(G(z_t, y_t))    ordered.inner
       min L(theta_N) of G, z, eta, m, through all steps                                  gradients
sec 3.1  weight normalisation, W = g V / ||V||                                            generators.layer_weight
sec 3.2  curricula: no curriculum (fresh noise), all shuffled, batches shuffled, full     order_of

As in the reference code: the real loss is taken after every step, each on a batch of its own (the
paper describes the last alone); shuffled curricula are drawn with replacement at each update;
labels stand in turn; Adam's rate falls on a cosine to a tenth. Learners are ddlab's networks
without batch norm, and not weight-normalised (theirs: 64 and 128 maps, max-pooling, leaky ReLU of
slope .1, 256 units); their real loss is a sum over places, here a mean; a bias is scaled by its
unit's g, too; `finish` keeps the last curriculum in its order. "real" batches in the place of made
ones are the control, with rates and momenta learned for them. The paper's reinforcement learning is
out of scope.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from .. import networks
from ..core import Published, errors, optimisers, parameter, randomness
from ..core.optimisers import AdamState
from ..distilled import DistilledSet, OrderedSteps, generators
from ..runs import Inputs, Look, Number
from ..training import ordered
from ..training.unrolled import (
    Tensors,
    detached,
    diverging,
    gradients_along,
    leaves_of,
    outer_gradient,
)
from .dd import outer_loss
from .shared import descent
from .shared.curriculum import (
    NAME,
    Curriculum,
    images_of,
    latents_of,
    learner,
    order_of,
    real_batches,
    shape_of,
)

ALIASES = ("gtn",)
NEEDS = ("data",)
LAST_SHARE = 0.1  # of Adam's rate, at the end of its cosine


@dataclass(frozen=True, kw_only=True)
class Config(Curriculum, Published):
    """Hyper-parameters. The defaults are those of the reference code for MNIST."""

    width: int = parameter(
        1024, range=(1, 4096), help="Units of the generator's first hidden layer."
    )
    weight_norm: bool = parameter(True, help="Of the generator's layers.", explorable=True)
    initial_rate: float = parameter(
        0.02,
        symbol=r"\eta_0",
        range=(0, None),
        open_low=True,
        scale="log",
        help="Of each step, at the beginning.",
        explorable=(0.001, 0.5),
    )
    initial_momentum: float = parameter(0.5, range=(0, 1), help="Of each step, at the beginning.")
    iterations: int = parameter(
        2000, range=(1, None), help="Updates.", explorable=(10, 200), step=10
    )
    learning_rate: float = parameter(
        0.02, range=(0, None), open_low=True, scale="log", help="Of Adam, at first."
    )
    longest: float | None = parameter(
        None, range=(0, None), open_low=True, help="Norm to which a longer gradient is cut."
    )
    recompute: bool = parameter(
        True, help="Compute steps again on the way back: memory of one step, more work."
    )

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, 16 pixels and ten seconds: a perceptron makes twelve
        steps of twenty images.
        """
        return cls.preset(
            changes,
            steps=12,
            inner_batch=20,
            generator="perceptron",
            width=128,
            latent=32,
            real_loss="end",
            network=networks.spec("convnet", width=12, depth=2, norm="instance"),
            iterations=100,
            longest=5.0,
            batch_size=256,
            initial_rate=0.1,
            recompute=False,
        )


@dataclass(frozen=True)
class State:
    """`step` updates done; everything that is learned, and its optimiser.

    Learned are a generator's "LAYER.PART", "latents", "log_rates" and "log_momenta".
    """

    step: int
    learned: dict[str, Tensor]
    optimiser: AdamState


@dataclass(frozen=True)
class Trace:
    """One update: the real loss before it [], mean over the places where it is taken; rates and
    momenta, [steps] each.
    """

    loss: Tensor
    rates: Tensor
    momenta: Tensor


def gradients(
    config: Config, inputs: Inputs, step: int, learned: Tensors
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the real loss [] of an update and its gradient by name.

    It passes through all steps to their images, and once through what makes these.
    """
    # A fresh network for every update: what is learned must teach networks, not one network.
    spec = learner(config, inputs, step)
    real = real_batches(config, inputs, step)
    seed = randomness.derived_seed(config.seed, step, "start")
    start = ordered.first_weights(spec, "pytorch", seed=seed, device=inputs.device)
    weights, buffers = ordered.split_buffers(spec, start)
    # Two stages: the gradient first goes to the images of every step, then once from all of them
    # into the generator. So the generator's graph is there once, not for each step.
    leaves = leaves_of(learned)
    with torch.enable_grad():
        images, labels = images_of(config, inputs, leaves, step, order_of(config, step))
        inner_inputs = {
            "images": images,
            "rates": leaves["log_rates"].exp(),
            "momenta": leaves["log_momenta"].exp(),
        }

    def loss(batch: int, weights_now: Tensors) -> Tensor:
        return outer_loss(spec, {**buffers, **weights_now}, *real[batch]) / len(real)

    total, slopes, _ = outer_gradient(
        ordered.inner(
            spec,
            buffers,
            epochs=1,
            steps=config.steps,
            rates=lambda inner_tensors: inner_tensors["rates"],
            answers=lambda inner_tensors: labels,
            momenta=lambda inner_tensors: inner_tensors["momenta"],
        ),
        weights,
        detached(inner_inputs),
        lambda last, _: loss(-1, last),
        # The loss after each step counts as much as the one at the end; one batch means the end
        # alone.
        along=(lambda at, weights_now, _: loss(at - 1, weights_now)) if len(real) > 1 else None,
        recompute=config.recompute,
    )
    names = [name for name, value in inner_inputs.items() if value.requires_grad]
    outputs = [inner_inputs[name] for name in names]
    output_gradients = [slopes[name] for name in names]
    gradients_of_learned = gradients_along(outputs, output_gradients, list(leaves.values()))
    return total, dict(zip(leaves, gradients_of_learned, strict=True))


def shorten(gradient: Tensors, longest: float) -> dict[str, Tensor]:
    """Return the gradient, shortened to this length over all tensors together.

    As torch's own function, it keeps 1e-6 from 0.
    """
    # One norm over all tensors, or the direction of the whole gradient would change.
    norm = torch.nn.utils.get_total_norm(gradient.values())
    return {
        name: value * (longest / (norm + 1e-6)).clamp(max=1) for name, value in gradient.items()
    }


total_steps = descent.total_steps


def init(config: Config, inputs: Inputs) -> State:
    """Return a generator's first draw, latent vectors from N(0, 1), equal rates and momenta.

    Raises:
        DDLabError: no data, fewer than two classes, a class without images, a network with batch
            norm, or images that a convolutional generator cannot make.
    """
    data = inputs.data
    if data.classes < 2 or not bool(data.class_counts().all()):
        errors.fail(
            "data",
            "of at least two classes, each with training images",
            data.class_counts().tolist(),
        )
    ordered.check_plain(learner(config, inputs, 0))
    draws = randomness.generator(config.seed, 0, "generator")
    learned = dict[str, Tensor]()
    if config.generator in generators.LAYOUTS:
        learned |= generators.first_weights(
            config.generator,
            shape_of(inputs),
            inputs=config.latent + data.classes,
            width=config.width,
            weight_norm=config.weight_norm,
            draws=draws,
        )
    if config.curriculum != "none" and config.generator != "real":
        shape = shape_of(inputs) if config.generator == "none" else (config.latent,)
        # Without a generator the "latents" are the images themselves, before tanh.
        learned["latents"] = torch.randn(
            (config.steps * config.inner_batch, *shape), generator=draws
        )
    # 1e-6 as in the reference code: an initial momentum of 0 has no logarithm.
    learned["log_rates"] = torch.full((config.steps,), math.log(config.initial_rate + 1e-6))
    learned["log_momenta"] = torch.full((config.steps,), math.log(config.initial_momentum + 1e-6))
    learned = {name: value.to(inputs.device) for name, value in learned.items()}
    return State(0, learned, optimisers.adam_init(learned))


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Update everything that is learned once."""
    with diverging(NAME, state.step + 1):
        loss, slopes = gradients(config, inputs, state.step, state.learned)
    slopes = slopes if config.longest is None else shorten(slopes, config.longest)
    rate = optimisers.cosine(
        state.step, config.iterations, config.learning_rate, final_fraction=LAST_SHARE
    )
    learned, adam = optimisers.adam_update(
        state.learned, slopes, state.optimiser, learning_rate=rate
    )
    rates = state.learned["log_rates"].exp()
    momenta = state.learned["log_momenta"].exp()
    return State(state.step + 1, learned, adam), Trace(loss, rates, momenta)


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the steps in learned order, with their rates and momenta.

    Where a generator makes the images the set is of kind "generator".

    Of fresh noise, and of real batches, it holds one draw.
    """
    data = inputs.data
    # Shuffled curricula have no order of their own; the set is stored as the steps are numbered.
    in_order = order_of(config.replace(curriculum="full"), 0)
    with torch.no_grad():
        images, labels = images_of(config, inputs, state.learned, config.iterations, in_order)
    provenance = {"initial_weights": "pytorch", "network": config.network.for_data(data).to_dict()}
    distilled = descent.distilled(
        NAME, config, inputs, state, images, labels, config.iterations, **provenance
    )
    rates = state.learned["log_rates"].exp()[None].cpu()
    momenta = state.learned["log_momenta"].exp()[None].cpu()
    if config.generator in generators.LAYOUTS:
        # Layers are named by their number; latents, rates and momenta are not.
        tensors = {name: value.cpu() for name, value in state.learned.items() if name[0].isdigit()}
        tensors["latents"] = latents_of(config, state.learned, config.iterations).cpu()
        settings = {"shape": [*shape_of(inputs)], "batch": config.inner_batch}
        distilled = replace(distilled, kind="generator", tensors=tensors, settings=settings)
    return distilled.with_targets(OrderedSteps(rates, momenta=momenta))


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images in learned order, the loss and the mean rate."""
    in_order = order_of(config.replace(curriculum="full"), 0)
    with torch.no_grad():
        images, labels = images_of(config, inputs, state.learned, state.step, in_order)
    if trace is None:
        return Look(images, labels)
    return Look(
        images,
        labels,
        {"loss": Number(trace.loss, "nats", scale="log"), "rate": Number(trace.rates.mean())},
    )


SMALL = Config(  # for the contract tests
    network=networks.spec("convnet", width=4, depth=1, norm="instance"),
    steps=2,
    inner_batch=3,
    width=16,
    latent=2,
    batch_size=8,
    iterations=4,
    longest=1.0,
)
