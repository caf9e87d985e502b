r"""Parts of gradient and distribution matching.

Learned images of every class, batches of real ones, and views that both see.

DC, DSA (Zhao, Mopuri & Bilen 2021, arXiv 2006.05929; Zhao & Bilen 2021, arXiv 2102.08259) and DM
(Zhao & Bilen 2023, arXiv 2110.04181) learn images x of class c so that a fresh, mostly untrained
network cannot tell a batch of them from a batch of real ones: by the gradient of its loss, or by
its mean features. Only class labels are asked of the data, and no teacher. Their code divides
CIFAR-10 by (.2023, .1994, .2010), and here, as all data, it is divided by the deviations of its
pixels, (.247, .243, .261): their noise and learning rates are in units a fifth smaller.

Symbol       In code      Shape                          Unit
S            images       [ipc * classes, c, h, w]       normalised pixels, classes in turn
S_c          of_class     [ipc, c, h, w]
T_c          real batch   [batch_size, c, h, w]          normalised pixels
A, B         gradients    as the weight, by name         nats per weight
omega        view         a draw of `siamese_view`

Equation (DC)                                                              Function
eq 10  d(A, B) = sum_i (1 - A_i . B_i / (||A_i|| ||B_i||)), i: output channels       channel_distance
       alternatives in the code: squared error; 1 - cos of all weights as one vector
       squared_distance, vector_distance
       their sum over the layers                                           distances
Alg 1, line 7  the gradient of the mean cross-entropy                      class_gradient
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks
from ...core import Parameters, Published, errors, parameter, randomness
from ...data.siamese_views import operations, siamese_view
from ...networks import NetworkSpec
from ...runs import Inputs

DISTANCES = ("channels", "squared", "vector")
VIEWS = ("shared", "independent", "real", "learned", "none")
SMALLEST_LENGTH = 1e-6  # added to the product of two lengths, as in the reference code
# Activations of a layer in one pass: caches hold so many, which halves the time of 256 real images.
ON_CPU = 2**19
_CONVNET = networks.spec("convnet", norm="instance")

Gradients = Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Config(Published):
    """What every matching method has. The defaults are those of the reference code."""

    images_per_class: int = parameter(
        1,
        symbol=r"\mathrm{ipc}",
        range=(1, None),
        help="Images learned for each class.",
        explorable=(1, 10),
    )
    learning_rate: float = parameter(
        0.1,
        symbol=r"\eta_S",
        range=(0, None),
        open_low=True,
        scale="log",
        help="Of SGD on the images.",
        explorable=(0.01, 10.0),
    )
    momentum: float = parameter(
        0.5, range=(0, 0.9999), help="Of SGD on the images.", source="reference code"
    )
    batch_size: int = parameter(
        256,
        range=(1, None),
        unit="images",
        help="Real images of each class in an update.",
        explorable=(8, 256),
    )
    network: NetworkSpec = parameter(
        _CONVNET, help="Architecture of the networks in which is matched."
    )
    initialisation: str = parameter(
        "noise",
        choices=("noise", "real"),
        help="Where images begin: N(0, 1), or random real ones.",
        explorable=True,
    )
    seed: int = parameter(0, range=(0, None), help="Of every draw.")


@dataclass(frozen=True, kw_only=True)
class Siamese(Parameters):
    """The views of DSA; by default none."""

    strategy: str = parameter(
        "",
        help="Operations out of color, crop, cutout, flip, scale and rotate, joined by _; one is "
        "drawn for each update and class.",
        source="DSA, section 3.2",
    )
    views: str = parameter(
        "shared",
        choices=VIEWS,
        help="Who sees the operation: real and learned images the same draw, each its own, only "
        "one of the two, or neither.",
        source="DSA, Table 4",
        explorable=True,
    )

    def rules(self) -> None:
        """Raise unless the strategy names operations."""
        super().rules()
        if self.strategy:
            operations(self.strategy)


def channel_distance(real: Tensor, learned: Tensor) -> Tensor:
    """Return equation 10 for one layer, from 0 to twice the number of its output channels, [].

    Over these, 1 minus the cosine of the two gradients' rows.

    Args:
        real, learned: [output channels, ...], gradients of one weight. A row of zeros counts 1.
    """
    real = real.flatten(1)
    learned = learned.flatten(1)
    return (
        1 - (real * learned).sum(1) / (_length(real) * _length(learned) + SMALLEST_LENGTH)
    ).sum()


def squared_distance(real: Gradients, learned: Gradients) -> Tensor:
    """Return the squared error between all gradients; []."""
    return torch.stack([(real[name] - learned[name]).square().sum() for name in learned]).sum()


def vector_distance(real: Gradients, learned: Gradients) -> Tensor:
    """Return 1 minus the cosine between all gradients as one vector; []."""
    real_vector = torch.cat([real[name].flatten() for name in learned])
    learned_vector = torch.cat([learned[name].flatten() for name in learned])
    return 1 - (real_vector * learned_vector).sum() / (
        _length(real_vector) * _length(learned_vector) + SMALLEST_LENGTH
    )


def distances(real: Gradients, learned: Gradients, kind: str = "channels") -> dict[str, Tensor]:
    """Return the distance of two gradients by layer, name -> [].

    With kind "channels" biases, and scales and shifts of norms, are left out.

    The other two kinds take all weights together, under the name "all".

    Args:
        real, learned: one tensor for each parameter, as `class_gradient` makes them.
        kind: one of `DISTANCES`.

    Raises:
        DDLabError: a network without a weight of more than one axis.
    """
    if kind != "channels":
        return {"all": (squared_distance if kind == "squared" else vector_distance)(real, learned)}
    # Weights of one axis are biases, scales and shifts.
    matched = {
        name: channel_distance(real[name], value)
        for name, value in learned.items()
        if value.ndim > 1
    }
    if not matched:
        errors.fail(
            "network",
            "one with weights of more than one axis, whose gradients are matched",
            list(learned),
        )
    return matched


def class_gradient(
    spec: NetworkSpec,
    weights: Mapping[str, Tensor],
    images: Tensor,
    label: int,
    *,
    at_once: int | None = None,
    differentiable: bool = False,
) -> dict[str, Tensor]:
    """Return the gradient of the mean cross-entropy of images of one class, by parameter (Algorithm
    1, line 7). Batch norm is as in evaluation.

    Args:
        images: [n, c, h, w].
        at_once: images in one pass, whose gradients are summed: the same but for rounding, in less
            memory.
        differentiable: keep the way back to the images, which then are one pass.
    """
    leaves = {
        name: weights[name].detach().requires_grad_() for name in networks.parameter_names(spec)
    }
    total: list[Tensor] = []
    for part in images.split(len(images) if differentiable or at_once is None else at_once):
        with torch.enable_grad():
            logits = networks.call(spec, {**weights, **leaves}, part)[0].logits
            labels = torch.full((len(part),), label, device=part.device)
            # A sum over the part, divided by all: the parts' gradients then add up to that of the
            # mean.
            loss = F.cross_entropy(logits, labels, reduction="sum") / len(images)
            slopes = torch.autograd.grad(loss, list(leaves.values()), create_graph=differentiable)
        total = [a.add_(b) for a, b in zip(total, slopes, strict=True)] if total else list(slopes)
    return dict(zip(leaves, total, strict=True))


def of_class(images: Tensor, label: int, classes: int) -> Tensor:
    """Return the rows of one class as a view, which may be written into.

    Classes stand in turn, so every `classes`-th row belongs to one class.
    """
    return images[label::classes]


def real_rows(
    config: Config, inputs: Inputs, label: int, *, step: int, count: int | None = None
) -> Tensor:
    """Draw random training images of one class, int64 indices [count], none twice.

    Where the class has fewer it gives all.

    Args:
        count: default `config.batch_size`.
    """
    members = inputs.data.of_class(label)
    # A stream for each class, so that a class's draw does not depend on how many there are.
    order = randomness.permutation(len(members), config.seed, step, f"real images of {label}")
    return members[order[: config.batch_size if count is None else count]]


def real_batch(
    config: Config, inputs: Inputs, label: int, *, step: int, count: int | None = None
) -> Tensor:
    """Return the images of `real_rows`, [count, c, h, w], normalised."""
    rows = real_rows(config, inputs, label, step=step, count=count)
    return inputs.data.normalised(rows, device=inputs.device)


def augment(
    config: Any, images: Tensor, *, learned: bool, step: int, label: int, classes: int
) -> Tensor:
    """Return the view of a class's images at one update.

    It is the operation that `config` draws for both kinds, or the images as they are.

    Args:
        config: with the fields of `Siamese`; of a config without them images are seen as they are.
        learned: or real.
    """
    views = getattr(config, "views", "none")
    if (
        not getattr(config, "strategy", "")
        or views == "none"
        or views == ("real" if learned else "learned")
    ):
        return images
    # Twice the step: the odd numbers are the draws of learned images that see a view of their own.
    has_own_draw = learned and views == "independent"
    return siamese_view(
        images, config.strategy, seed=config.seed, step=2 * (step * classes + label) + has_own_draw
    )


def passes(spec: NetworkSpec, device: torch.device | str) -> int | None:
    """Return how many real images go through the network at once, 16 at least; None: all."""
    if torch.device(device).type != "cpu":
        return None
    height, width = spec.image_size or (32, 32)
    return max(ON_CPU // (getattr(spec.options, "width", 128) * height * width), 16)


def _length(rows: Tensor) -> Tensor:
    """Return Euclidean lengths over the last axis. Where a row is 0 its derivative is 0, not NaN."""
    squares = rows.square().sum(-1)
    # The inner `where` keeps the derivative of sqrt away from 0.
    some = squares > 0
    return torch.where(
        some, torch.where(some, squares, torch.ones_like(squares)).sqrt(), torch.zeros_like(squares)
    )
