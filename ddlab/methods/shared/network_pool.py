r"""The pool of networks that bi-level methods draw from.

Each is trained on the distilled pairs for another number of steps.

FRePo (Zhou et al. 2022) and KRR-ST (Lee et al. 2024): one network would be overfitted, and a new
one for each outer iteration would cost Z inner steps each. So L networks wait, trained for z_1 ...
z_L steps; the one that is drawn gives its features and is trained one step more.

z_l ~ U{1 ... Z - 1}                                                   waiting_steps
inner loss: mean of (network(x) - y)^2 over all numbers (eq 2 / d_y)   losses.regression_loss
theta <- SGD with momentum on it, all pairs at once, training mode     train_once
at z_l = Z: new weights, z_l <- 0                                      redraw

`redraw(reset=False)` leaves z_l at Z, as the authors' code does. Such a network is drawn anew
each time it comes up, so that in the long run nearly every outer iteration sees one that has learnt
nothing.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ... import networks
from ...core import optimisers, randomness
from ...networks import NetworkSpec
from ...training import losses


@dataclass(frozen=True)
class Pool:
    """L networks.

    Attributes:
        weights, velocity: of all networks, named "l/name": weights and buffers, and SGD's velocity
            of the weights.
        trained: int64 [L], z_l.
        births: int64 [L], how often each has been drawn anew.
    """

    weights: dict[str, Tensor]
    velocity: dict[str, Tensor]
    trained: Tensor
    births: Tensor

    def __post_init__(self) -> None:
        # A checkpoint is read onto the inputs' device as a whole; these are counted on the CPU, so
        # that no step waits for a GPU.
        for name in ("trained", "births"):
            object.__setattr__(self, name, getattr(self, name).cpu())

    def network(self, index: int) -> dict[str, Tensor]:
        """Weights and buffers of one network by their own names."""
        return _of(self.weights, index)


def waiting_steps(count: int, longest: int, *, seed: int) -> list[int]:
    """Draw the steps of each of `count` networks before the first outer iteration.

    z_l ~ U{1 ... Z - 1}; Z is `longest`.
    """
    return torch.randint(
        1, longest, (count,), generator=randomness.generator(seed, 0, "pool steps")
    ).tolist()


def channels_last(value: Tensor) -> Tensor:
    """Return images or convolutions with their channels last in memory.

    Convolutions are a sixth faster then, with the same numbers.
    """
    return value.to(memory_format=torch.channels_last) if value.ndim == 4 else value


def new_pool(spec: NetworkSpec, count: int, *, seed: int, device: torch.device | str) -> Pool:
    """`count` untrained networks of a complete spec."""
    empty = Pool(
        {}, {}, torch.zeros(count, dtype=torch.int64), torch.zeros(count, dtype=torch.int64)
    )
    for index in range(count):
        empty = _with_new_weights(empty, spec, index, seed=seed, device=device)
    return empty


def train_once(
    pool: Pool,
    spec: NetworkSpec,
    index: int,
    images: Tensor,
    targets: Tensor,
    *,
    learning_rate: float,
    momentum: float,
    weight_decay: float,
) -> tuple[Pool, Tensor]:
    """Take one step of one network on all pairs, and return the loss before it [].

    images [m, c, h, w], targets [m, d_y].
    """
    weights = pool.network(index)
    names = networks.parameter_names(spec)
    leaves = {name: weights[name].detach().requires_grad_() for name in names}
    with torch.enable_grad():
        # The leaves themselves keep their layout: what autograd gives back must lie as SGD's
        # velocity does.
        leaves_in_layout = {name: channels_last(value) for name, value in leaves.items()}
        outputs, buffers = networks.call(
            spec, {**weights, **leaves_in_layout}, channels_last(images), train=True
        )
        loss = losses.regression_loss(outputs.logits.to(targets.dtype), targets)
        slopes = torch.autograd.grad(loss, list(leaves.values()))
    moved, state = optimisers.sgd_update(
        {name: weights[name] for name in names},
        dict(zip(names, slopes, strict=True)),
        optimisers.SGDState(0, _of(pool.velocity, index)),
        learning_rate=learning_rate,
        momentum=momentum,
        weight_decay=weight_decay,
    )
    trained = pool.trained.clone()
    trained[index] += 1
    changed = pool.weights | _named(index, {**moved, **buffers})
    return Pool(
        changed, pool.velocity | _named(index, state.velocity), trained, pool.births
    ), loss.detach()


def redraw(
    pool: Pool,
    spec: NetworkSpec,
    index: int,
    *,
    seed: int,
    device: torch.device | str,
    reset: bool = True,
) -> Pool:
    """Return the pool with new weights for one network.

    Its steps are set to 0 (`reset`) or left as they are.
    """
    births = pool.births.clone()
    births[index] += 1
    trained = pool.trained.clone()
    if reset:
        trained[index] = 0
    return _with_new_weights(
        Pool(pool.weights, pool.velocity, trained, births), spec, index, seed=seed, device=device
    )


def _with_new_weights(
    pool: Pool, spec: NetworkSpec, index: int, *, seed: int, device: torch.device | str
) -> Pool:
    draw = randomness.derived_seed(seed, int(pool.births[index]), f"network {index} of the pool")
    weights = networks.initialise(spec, seed=draw).to(device).weights
    velocity = optimisers.sgd_init(
        {name: weights[name] for name in networks.parameter_names(spec)}
    ).velocity
    named = pool.weights | _named(index, weights), pool.velocity | _named(index, velocity)
    return Pool(*named, pool.trained, pool.births)


def _of(tensors: dict[str, Tensor], index: int) -> dict[str, Tensor]:
    start = f"{index}/"
    return {
        name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)
    }


def _named(index: int, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{index}/{name}": value for name, value in tensors.items()}
