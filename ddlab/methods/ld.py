r"""LD: label distillation.

Bohdal, Yang & Hospedales 2020, *Flexible Dataset Distillation*, arXiv 2006.08572.

Images stay as they are, real ones, noise or those of another dataset, and only their labels are
learned: so that a network which learns from them is right about real images. Network and labels
learn in turn, one step each; a network that overfits is replaced by a fresh one, whence the labels
serve every stage of training, any order and any optimiser.

Symbol      In code      Shape                  Unit
X~, Y~      images, labels    [n, c, h, w], [n, classes]     labels are probabilities, at first 1 / classes
X, Y        real, answers     [N_o, c, h, w], [N_o]          a batch of real images
W, s        classifier, scale     [d + 1, classes], []       the last layer of the ridge way, and what calibrates it

Equation                                                                                        Function
eq 3, alg 1, lines 9 to 12: by ridge regression                                                 label_steps.ridge_step
eq 1: by a step of the whole network                                                            label_steps.second_order_step
alg 1, line 13  reset where the mean error of a window has not fallen for as long               watch_errors

As in the reference code the labels' gradient passes through alpha W_l alone; W is not detached in
the network's step; the error rate is watched, not the loss; T_i counts the steps to the lowest
mean. Away from it: it holds 10,000 images out and keeps the labels that are best on them; its
students have Adam at a constant rate, and the ridge way's a ridge head (`student`: AdamW, a falling
rate, rounded T_i).
"""

import statistics
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import networks
from ..core import Published, optimisers, parameter, randomness
from ..core.optimisers import AdamState
from ..distilled import DistilledSet, StoredLabels
from ..networks import NetworkSpec
from ..runs import Inputs, Look, Number
from ..training import ordered, supervised
from ..training.trajectories import buffers_of
from . import ls
from .shared import descent
from .shared.label_steps import ridge_step, second_order_step, with_ones

NAME = "label_distillation"
ALIASES = ("ld",)
NEEDS = ("data",)
SMALLEST = 1e-6  # probability whose logarithm is stored


@dataclass(frozen=True, kw_only=True)
class Config(Published):
    """Hyper-parameters.

    The defaults are those of the reference code for a hundred images of MNIST.
    """

    images_per_class: int = parameter(
        10, symbol=r"\mathrm{ipc}", range=(1, None), help="Images, by class.", explorable=(1, 50)
    )
    initialisation: str = parameter(
        "real",
        choices=("real", "noise"),
        help="The images: random real ones, or N(0, 1); a distilled set among the inputs takes "
        "their place.",
    )
    solver: str = parameter(
        "ridge",
        choices=("ridge", "second_order"),
        help="The last layer in closed form, or the gradient through a step of the whole network.",
        explorable=True,
    )
    network: NetworkSpec = parameter(
        networks.spec("lenet"), help="Architecture; without batch norm."
    )
    learning_rate: float = parameter(
        1e-3, range=(0, None), open_low=True, scale="log", help="Of Adam on the labels."
    )
    network_learning_rate: float = parameter(
        1e-3, range=(0, None), open_low=True, scale="log", help="Of Adam on the network."
    )
    inner_batch: int = parameter(
        50, symbol="N_i", range=(1, None), help="Images with learned labels in a step."
    )
    batch_size: int = parameter(
        1024, symbol="N_o", range=(1, None), unit="images", help="Real images in a step."
    )
    patience: int = parameter(
        50, range=(1, None), help="Steps of the window, and without a better one before a reset."
    )
    iterations: int = parameter(
        19_600, range=(1, None), help="Steps.", explorable=(100, 2000), step=100
    )
    seed: int = parameter(0, range=(0, None), help="Of every draw.")

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores and seconds: a perceptron, a thousand steps, faster
        labels.
        """
        return cls.preset(
            changes,
            network=networks.spec("mlp"),
            learning_rate=0.01,
            batch_size=256,
            iterations=1000,
        )


@dataclass(frozen=True)
class State:
    """`step` updates done; images, labels, and their optimiser; the network, W and its scale.

    `recent` error rates [at most patience] and the lowest sum of a window, steps `waited` since,
    steps `since_reset`, and T_i of each reset.
    """

    step: int
    images: Tensor
    labels: Tensor
    label_optimiser: AdamState
    weights: dict[str, Tensor]
    optimiser: AdamState
    classifier: Tensor
    scale: Tensor
    scale_optimiser: AdamState
    recent: Tensor
    lowest: Tensor
    waited: int
    since_reset: int
    resets: tuple[int, ...]


@dataclass(frozen=True)
class Trace:
    """One step: loss and share of errors on real images before it, [] each, and whether the network
    is fresh after it.
    """

    loss: Tensor
    error_fraction: Tensor
    reset: bool


def watch_errors(
    recent: Tensor, lowest: Tensor, waited: int, error: Tensor, patience: int
) -> tuple[Tensor, Tensor, int, bool]:
    """Return the window of error rates, its lowest sum, the steps since then, and whether they are
    too many. One more error rate [] has joined it.
    """
    recent = torch.cat([recent, error.view(1)])[-patience:]
    # Before the window is full its mean says little, and nothing can be late.
    if len(recent) < patience:
        return recent, lowest, 0, False
    total = recent.sum()
    return (
        (recent, total, 0, False)
        if bool(total < lowest)
        else (recent, lowest, waited + 1, waited == patience)
    )


total_steps = descent.total_steps


def init(config: Config, inputs: Inputs) -> State:
    """Return the images, even labels, and a first network.

    Raises:
        DDLabError: no data, more real images per class than a class has, a distilled set of another
            shape, or batch norm.
    """
    data = inputs.data
    spec = config.network.for_data(data)
    ordered.check_plain(spec)
    images = ls.fixed_images(NAME, config, inputs)
    # Even labels know nothing: whatever a student learns later was put there by the method.
    labels = torch.full((len(images), data.classes), 1 / data.classes, device=inputs.device)
    return State(
        0,
        images,
        labels,
        optimisers.adam_init({"labels": labels}),
        **fresh(config, inputs, 0),
        resets=(),
    )


def fresh(config: Config, inputs: Inputs, number: int) -> dict[str, Any]:
    """Return the fields of a `State` that reset `number` begins anew.

    The network, W = 0, its scale of 1, their optimisers, and the window.
    """
    data = inputs.data
    device = inputs.device
    spec = config.network.for_data(data)
    seed = randomness.derived_seed(config.seed, number, "network")
    weights = ordered.split_buffers(
        spec, ordered.first_weights(spec, "pytorch", seed=seed, device=device)
    )[0]
    # One image is enough to learn how many features the network has.
    features = with_ones(
        spec, {**buffers_of(spec, device), **weights}, data.normalised(slice(1), device=device)
    )
    scale = torch.ones((), device=device)
    return {
        "weights": weights,
        "optimiser": optimisers.adam_init(weights),
        "classifier": features.new_zeros((features.shape[1], data.classes)),
        "scale": scale,
        "scale_optimiser": optimisers.adam_init({"scale": scale}),
        "recent": torch.zeros(0, device=device),
        # Above any sum of `patience` error rates, so the first full window is the lowest.
        "lowest": torch.full((), config.patience + 1.0, device=device),
        "waited": 0,
        "since_reset": 0,
    }


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Take one step of labels and network; a network that overfits is replaced."""
    data = inputs.data
    spec = config.network.for_data(data)
    chosen = randomness.generator(config.seed, state.step, "images of a step")
    rows = torch.randperm(len(state.images), generator=chosen)[: config.inner_batch].to(
        inputs.device
    )
    # Own streams: another number of distilled images must not change the real batch.
    real_rows = randomness.permutation(
        len(data.train_labels), config.seed, state.step, "real images"
    )
    real = data.normalised(real_rows[: config.batch_size], device=inputs.device)
    answers = data.train_labels[real_rows[: config.batch_size]].to(inputs.device)
    # Both ways return the same five things, so the rest of the step need not know which it was.
    solver_step = ridge_step if config.solver == "ridge" else second_order_step
    logits, labels, label_optimiser, gradients, fields = solver_step(
        config, spec, state, rows, real, answers
    )
    weights, optimiser = optimisers.adam_update(
        state.weights, gradients, state.optimiser, learning_rate=config.network_learning_rate
    )
    error = (logits.argmax(1) != answers).float().mean()
    since_reset = state.since_reset + 1
    recent, lowest, waited, is_late = watch_errors(
        state.recent, state.lowest, state.waited, error, config.patience
    )
    fields |= {"recent": recent, "lowest": lowest, "waited": waited, "since_reset": since_reset}
    fields |= {
        "labels": labels,
        "label_optimiser": label_optimiser,
        "weights": weights,
        "optimiser": optimiser,
    }
    # T_i counts the steps to the best window, not to the moment when it was given up.
    if is_late:
        resets = (*state.resets, since_reset - waited)
        fields |= {**fresh(config, inputs, len(resets)), "resets": resets}
    return replace(state, step=state.step + 1, **fields), Trace(
        F.cross_entropy(logits, answers), error, is_late
    )


def training_steps(state: State) -> int:
    """Return for how many steps a student trains: the mean of the last three T_i.

    Before the first it is the steps to the lowest error so far.
    """
    return round(statistics.fmean(state.resets[-3:] or [max(state.since_reset - state.waited, 1)]))


def student(distilled: DistilledSet, **changes: Any) -> supervised.Config:
    """Return how to train on a set that LD made.

    T_i steps on images as they are, with the batches and the rate of the labels' own networks.
    """
    provenance = distilled.provenance
    batch = min(distilled.provenance["config"]["inner_batch"], len(distilled))
    fitting: dict[str, Any] = {
        "labels": "stored",
        "temperature": 1.0,
        "batch_size": batch,
        "learning_rate": provenance["config"]["network_learning_rate"],
    }
    # Steps of LD are counted in batches; a student counts in passes over the set.
    fitting["epochs"] = max(round(provenance["training_steps"] * batch / len(distilled)), 1)
    return supervised.Config.teaching(
        **{"crop_pixels": 0, "flip": False, "mixup_alpha": 0.0} | fitting | changes
    )


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images with their labels as logarithms (stored labels, of temperature 1) and as
    the likeliest classes.
    """
    # Hard labels exist beside the learned ones, so the set can be judged with either.
    likeliest = state.labels.argmax(1)
    steps = training_steps(state)
    distilled = descent.distilled(
        NAME,
        config,
        inputs,
        state,
        state.images,
        likeliest,
        config.iterations,
        training_steps=steps,
    )
    return distilled.with_targets(
        StoredLabels(state.labels.clamp_min(SMALLEST).log().float().cpu().contiguous())
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images under their likeliest classes; loss and errors on real images."""
    numbers = (
        {}
        if trace is None
        else {"loss": Number(trace.loss, "nats"), "errors": Number(trace.error_fraction)}
    )
    return Look(state.images, state.labels.argmax(1), numbers)


SMALL = Config(  # for the contract tests
    network=networks.spec("mlp", width=4),
    images_per_class=2,
    inner_batch=3,
    batch_size=8,
    patience=1,
    iterations=5,
    learning_rate=0.1,
)
