"""What the tests of all lessons ask of lesson 45; `tests.lessons.rows` says which."""

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ddlab import networks
from ddlab.distilled import DistilledSet
from ddlab.methods import rela as rela_d
from ddlab.networks import Network
from ddlab.runs import Inputs
from ddlab.unlabelled import with_targets
from ddlab.unlabelled.self_supervised import simclr
from tests.lessons.gains import Gain, between
from tests.lessons.whole_method import (
    FOUR,
    SEED,
    TAPE,
    Row,
    Tensors,
    data_of,
    doubled,
    run,
    updated,
)
from tests.support import run_to_end

RELA = networks.spec("convnet", width=4)


@functools.cache
def prior() -> Network:
    return networks.initialise(networks.spec("convnet", width=8).for_data(data_of(**FOUR)), seed=1)


@functools.cache
def made_rela() -> DistilledSet:
    inputs = Inputs(data=data_of(**FOUR), teachers=(prior(),), device="cpu")
    return run_to_end(rela_d, rela_d.Config(network=RELA), inputs)


def rela_config() -> with_targets.Config:
    short: dict[str, Any] = {"epochs": 5, "batch_size": 9, "learning_rate": 0.01}
    objective = simclr.Config.for_data(
        data_of(**FOUR), network=RELA, projector_width=128, output_width=64, **short
    )
    return with_targets.Config(
        objective=objective, ratio=0.75, schedule="switch", first_views="objective", seed=SEED
    )


class FixedLinear(nn.Module):
    """A linear layer with these weights, which draws none."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.bias = None if bias is None else nn.Parameter(bias.clone())

    def forward(self, inputs: Tensor) -> Tensor:
        return F.linear(inputs, self.weight, self.bias)


def represent(source: str) -> Tensors:
    data = data_of(**FOUR)
    set_targets = made_rela().target("representations").values[0]
    recipe = rela_config().objective_config
    space = run(source.replace("0.01 * 50 / 256", "0.01 * 9 / 256"), data=data)
    space["two_views"] = lambda images, step: recipe.pair(
        images, mean=data.mean, std=data.std, step=step
    )
    state = doubled(with_targets.init(rela_config(), Inputs(distilled=made_rela(), device="cpu")))
    module: Any = doubled(
        networks.initialise(RELA.for_data(data, outputs=1), seed=SEED).module()
    ).train()
    network = nn.Sequential(module.blocks, nn.Flatten())
    wide = state.projector["linear.0"]
    narrow = state.projector["linear.1"]
    projector = nn.Sequential(
        FixedLinear(wide), nn.BatchNorm1d(len(wide)).double(), nn.ReLU(), FixedLinear(narrow)
    )
    W = FixedLinear(**state.projection)
    space["train"](network, projector, W, set_targets.double(), epochs=5, batch=9, ratio=0.75)
    prior_module: Any = prior().module().eval()
    targets = space["targets_of"](
        nn.Sequential(prior_module.blocks, nn.Flatten()),
        data.normalised().float(),
        set_targets.shape[1],
    )
    # The library's targets are float32.
    return [*(weight.detach().flatten() for weight in network.parameters()), 1e-5 * targets]


def represented() -> Tensors:
    state = updated(with_targets, rela_config(), Inputs(distilled=made_rela(), device="cpu"))
    learnt = networks.parameter_names(RELA.for_data(data_of(**FOUR)))
    weights = [state.weights[name].flatten() for name in learnt if name.startswith("blocks.")]
    orders = [draw for draw in TAPE.drawn if draw.ndim == 1 and len(draw) == len(made_rela())]
    # The library draws an epoch's order in each of its steps.
    TAPE.drawn = orders[:: rela_config().objective.steps_per_epoch(36)]
    return [*weights, 1e-5 * made_rela().target("representations").values[0]]


def target_gain(objective: str, prior: str = "untrained") -> Gain:
    return between(
        "representations",
        "accuracy",
        {"prior": prior},
        {"prior": "none"},
        objective=objective,
        updates=600,
    )


def few_images(prior: str) -> Gain:
    """What half of the images with a prior's targets gain over all images without, by BYOL."""
    return between(
        "few_updates",
        "accuracy",
        {"prior": prior, "share": 0.5},
        {"prior": "none", "share": 1.0},
        network="ConvNet",
        schedule="switch",
        subset="dynamic",
    )


def normal_draw(targets: Tensor) -> Tensor:
    factor = torch.linalg.cholesky(targets.double().T.cov())
    draw = torch.randn(targets.shape, dtype=torch.float64)
    return targets.double().mean(0) + draw @ factor.T


def difference_of_copies(targets: Tensor) -> Tensor:
    first, second = (targets[torch.randperm(len(targets))] for _ in range(2))
    return targets.mean(0) + (first - second) / 2**0.5


def turned(targets: Tensor) -> Tensor:
    """The moments are kept by a rotation in whitened coordinates, and so is what pixels predict."""
    mean = targets.double().mean(0)
    root = torch.linalg.cholesky(targets.double().T.cov())
    turn, _ = torch.linalg.qr(torch.randn(len(root), len(root), dtype=torch.float64))
    white = torch.linalg.solve_triangular(root, (targets.double() - mean).T, upper=False)
    return mean + (root @ turn @ white).T


def shuffled(targets: Tensor) -> Tensor:
    return targets[torch.randperm(len(targets))]


METHODS = {
    "ReLA": Row(
        represent, represented, ("z @ z.T / tau", "z @ z.T"), taped=True, prepare=made_rela
    ),
}


LABS = {
    "OverlapLab": lambda g: {"data": g.data, "network": g.network()},
    "TargetLab": lambda g: {
        "data": g.data,
        "network": g.spec,
        "priors": dict.fromkeys(("untrained", "weak", "strong"), g.network()),
    },
}


SENTENCES = [
    (
        "With SimCLR, the answers of an untrained prior bring no gain that ten pairs can show",
        lambda: target_gain("simclr").unseen,
    ),
    (
        "With BYOL, half of the images after such answers teach as much as all images without them",
        lambda: not few_images("untrained").behind,
    ),
    (
        "nothing that ten pairs can show for VICReg, SwAV, SimCLR and MoCo",
        lambda: all(target_gain(name).unseen for name in ("simclr", "vicreg", "moco", "swav")),
    ),
    (
        "the answers help those that learn slowly by themselves (DINO, BYOL, SimSiam, Barlow Twins)",
        lambda: all(
            target_gain(name).ahead for name in ("dino", "byol", "simsiam", "barlow_twins")
        ),
    ),
    (
        "for principal components of the pixels, no difference is seen",
        lambda: (
            between(
                "representations",
                "accuracy",
                {"prior": "untrained"},
                {"prior": "pixels"},
                objective="simclr",
            ).unseen
        ),
    ),
]


RIGHT = [
    ("statistics", difference_of_copies),
    ("statistics", normal_draw),
    ("statistics", lambda targets: normal_draw(targets).numpy()),
]


WRONG = [
    ("statistics", lambda targets: targets, "still belong"),
    ("statistics", shuffled, "shuffling"),
    (
        "statistics",
        lambda targets: shuffled(targets) + 0.01 * torch.randn(targets.shape),
        "shuffling",
    ),
    ("statistics", torch.randn_like, "means differ"),
    ("statistics", lambda t: t.mean(0) + torch.randn_like(t), "covariances differ"),
    ("statistics", turned, "still belong"),
    ("statistics", lambda targets: targets[:5], "must have shape"),
]
