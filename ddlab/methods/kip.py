r"""KIP: kernel inducing points (Nguyen, Chen & Lee 2021, ICLR, arXiv 2011.00050).

Few images (and, on request, their labels) are moved until kernel ridge regression on them says of
real images what their labels say. The inner problem has a closed form, so that each update is a
plain gradient: no network is trained, none is unrolled.

Symbol            In code             Shape              Unit
X_s               images              [n, c, h, w]       normalised pixels, classes in turn
y_s               labels              [n, classes]       one-hot less 1 / classes, as it begins
X_t, y_t          target batch        [batch_size, ...]  random real images of a step
K                 kernels             [m, n]             that of the config, or of the step
lambda            ridge               []                 strength * trace(K_ss) / n
p                 corruption          []                 share of each image's numbers that is never updated

Equation                                                                             Function
eq 7   L = 1/2 mean (y_t - K_ts (K_ss + lambda I)^-1 y_s)^2                          predictions, kernel_loss
Alg 1  line 3: a random kernel, a random batch of real images                        draw_kernel, target_batch
KIP_p  a random p-share of the numbers of each image stays as it begins              corrupted

One step is one update. As in the reference code: the mean is over images and classes, Adam moves
the pixels, the gradient passes through lambda too, and all points take part in each step (Algorithm
1 allows a batch of them). Solves are in float64. `kernel_ridge` is the same regression on a
network's features, for KRR-ST and Boost: its lambda is a strength times the trace, not its mean,
and a constant; its loss has no 1/2.
"""

from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import Published, describe, errors, optimisers, parameter, randomness
from ..core.optimisers import AdamState
from ..data.siamese_views import operations, siamese_view
from ..distilled import DistilledSet, RegressionLabels
from ..runs import Inputs, Look, Number
from .shared import descent, kernel_ridge
from .shared.kernels import KERNELS, SIX, KernelSpec, support_and_cross

NAME = "kernel_inducing_points"
ALIASES = ("kip",)
NEEDS = ("data",)
RANDOM = "random"


@dataclass(frozen=True, kw_only=True)
class Config(KernelSpec, Published):
    """Hyper-parameters. The defaults are those of the reference code."""

    kernel: str = parameter(
        "fc1",
        choices=(*KERNELS, RANDOM),
        help="RBF, or of a network; 'random' draws one of fc1 to fc3 and conv1 to conv3 for each "
        "step.",
        explorable=True,
    )
    images_per_class: int = parameter(
        1,
        symbol=r"\mathrm{ipc}",
        range=(1, None),
        help="Images learned for each class.",
        explorable=(1, 10),
    )
    iterations: int = parameter(
        300, range=(1, None), help="Updates.", explorable=(10, 1000), step=10
    )
    learning_rate: float = parameter(
        0.04,
        range=(0, None),
        open_low=True,
        scale="log",
        help="Of Adam on images and labels.",
        explorable=(0.001, 1.0),
        source="reference code",
    )
    batch_size: int = parameter(
        5000,
        range=(1, None),
        unit="images",
        help="Real images in a step, as many of each class; all where there are fewer.",
        explorable=(10, 1000),
        source="reference code",
    )
    ridge: float = parameter(
        1e-6,
        symbol=r"\lambda",
        range=(0, 1e6),
        help="As a part of the mean of the kernel's diagonal.",
        source="eq 7",
    )
    learn_labels: bool = parameter(
        False, help="Labels are learned with the images.", explorable=True
    )
    initialisation: str = parameter(
        "real",
        choices=("real", "noise"),
        help="Where images begin: random real ones, or N(0, 1).",
        explorable=True,
    )
    corruption: float = parameter(
        0.0,
        symbol="p",
        range=(0, 0.99),
        help="Share of the numbers of each image that is never updated.",
        explorable=(0.0, 0.9),
        source="section 2.2",
    )
    corrupted_by: str = parameter(
        "noise",
        choices=("noise", "zeros"),
        help="What these numbers are: N(0, 1), or 0, the mean pixel.",
        explorable=True,
    )
    strategy: str = parameter(
        "",
        help="DSA's operations by which real images are augmented: crop_flip, say; one is drawn "
        "for each step.",
    )
    megabytes: int = parameter(512, range=(1, None), unit="MB", help="Working memory of a kernel.")
    seed: int = parameter(0, range=(0, None), help="Of every draw.")

    def rules(self) -> None:
        """Raise unless the strategy names operations."""
        super().rules()
        operations(self.strategy)

    @classmethod
    def teaching(cls, **changes: Any) -> Self:
        """Return a preset for two CPU cores, 16 pixels and a second: ten digits by 300 updates."""
        return cls.preset(changes, batch_size=256)


@dataclass(frozen=True)
class State:
    """`step` updates done; images [n, c, h, w], labels [n, classes], and their optimiser.

    `corrupted` marks replaced numbers, bool, shaped as the images.
    """

    step: int
    images: Tensor
    labels: Tensor
    optimiser: AdamState
    corrupted: Tensor


@dataclass(frozen=True)
class Trace:
    """One update: the loss, and the share of its real images classified right before it, [] each;
    which kernel.
    """

    loss: Tensor
    accuracy_fraction: Tensor
    kernel: str


def centred_labels(labels: Tensor, classes: int) -> Tensor:
    """Return one-hot less 1 / classes: class labels [n] -> float64 [n, classes]."""
    # one_hot says the same far less clearly, and on a GPU it stops the whole process.
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        errors.fail("labels", f"class labels from 0 to {classes - 1}", labels.tolist())
    return F.one_hot(labels, classes).double() - 1 / classes


def mean_ridge(kernel: Tensor, *, strength: float) -> Tensor:
    """Return lambda = strength * trace(K_ss) / n: [n, n] -> []. Differentiable."""
    return strength * kernel.diagonal().mean()


def predictions(
    support: Tensor, cross: Tensor, labels: Tensor, *, strength: float = 1e-6
) -> Tensor:
    """K_ts (K_ss + lambda I)^-1 y_s in float64: K_ss [n, n], K_ts [m, n], y_s [n, o] -> [m, o].

    Differentiable.
    """
    weights = kernel_ridge.solve(support, labels, ridge=mean_ridge(support, strength=strength))
    return cross.double() @ weights


def kernel_loss(predicted: Tensor, targets: Tensor) -> Tensor:
    """Return equation 7: half the mean square of the targets less the predictions: [m, o] twice ->
    [].
    """
    return (targets - predicted).square().mean() / 2


def draw_kernel(config: Config, step: int) -> KernelSpec:
    """Return the kernel of one step."""
    # The fields that a kernel has; the rest of the config would make two equal kernels differ.
    settings = {name: getattr(config, name) for name in describe(KernelSpec)}
    if config.kernel == RANDOM:
        place = torch.randint(
            len(SIX), (), generator=randomness.generator(config.seed, step, "kernel")
        )
        settings["kernel"] = SIX[int(place)]
    return KernelSpec(**settings)


def target_batch(config: Config, inputs: Inputs, step: int) -> tuple[Tensor, Tensor]:
    """Draw the real images of a step [m, c, h, w] through its view, and their labels [m, classes].

    There are as many of each class, none twice.
    """
    data = inputs.data
    rows = torch.arange(len(data.train_labels))
    draw = randomness.generator(config.seed, step, "real batch")
    if config.batch_size < len(rows):
        # As many of each class: a batch without a class would push its images anywhere.
        rows_per_class = max(config.batch_size // data.classes, 1)
        classes = [data.of_class(label) for label in range(data.classes)]
        class_rows = [
            members[torch.randperm(len(members), generator=draw)[:rows_per_class]]
            for members in classes
        ]
        rows = torch.cat(class_rows)
    images = data.normalised(rows, device=inputs.device)
    images = siamese_view(images, config.strategy, seed=config.seed, step=step, per_image=True)
    return images, centred_labels(data.train_labels[rows].to(inputs.device), data.classes)


def corrupted(config: Config, images: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first images [n, c, h, w] with a random p-share of each one's numbers replaced.

    With them comes which numbers these are, bool.
    """
    if not config.corruption:
        return images, torch.zeros_like(images, dtype=torch.bool)
    draw = randomness.generator(config.seed, 0, "corrupted pixels")
    # Ranks by a double argsort: exactly a p-share of each image, not about one.
    order = (
        torch.rand(images.flatten(1).shape, generator=draw).argsort(1).argsort(1).view(images.shape)
    )
    chosen = order < round(config.corruption * images[0].numel())
    # Zero is the mean pixel, as images are normalised.
    filling = torch.zeros(images.shape)
    if config.corrupted_by == "noise":
        filling = torch.randn(
            images.shape, generator=randomness.generator(config.seed, 0, "corruption")
        )
    return torch.where(chosen.to(images.device), filling.to(images), images), chosen.to(
        images.device
    )


def first_labels(inputs: Inputs, count: int) -> Tensor:
    """y_s as it begins, float64 [count, classes], of images whose classes come in turn."""
    classes = inputs.data.classes
    return centred_labels(torch.arange(count) % classes, classes).to(inputs.device)


total_steps = descent.total_steps


def init(config: Config, inputs: Inputs) -> State:
    """Return the first images, of which a share may be corrupted, and the labels of their classes.

    Raises:
        DDLabError: no data, or more real images per class than a class has.
    """
    # The numbers that stay are marked once; a new draw would free them one after another.
    images, fixed = corrupted(config, descent.first_images(NAME, config, inputs))
    # Adam moves labels and images alike, so both have the images' dtype; solves are in float64.
    labels = first_labels(inputs, len(images)).float()
    return State(0, images, labels, optimisers.adam_init(_learned(config, images, labels)), fixed)


def update(config: Config, inputs: Inputs, state: State) -> tuple[State, Trace]:
    """Update the images once, and the labels where they are learned."""
    spec = draw_kernel(config, state.step)
    real, targets = target_batch(config, inputs, state.step)
    learned = _learned(config, state.images, state.labels)
    with torch.enable_grad():
        leaves = {name: value.detach().requires_grad_() for name, value in learned.items()}
        # The images are float32 and the solve float64; the derivative passes through the cast.
        images, labels = leaves["images"].double(), leaves.get("labels", state.labels)
        support, cross = support_and_cross(spec, images, real.double(), megabytes=config.megabytes)
        predicted = predictions(support, cross, labels, strength=config.ridge)
        loss = kernel_loss(predicted, targets)
        slopes = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
    # Adam with a gradient that is always 0 does not move a number, so the mask needs no second
    # place.
    slopes["images"] = slopes["images"].masked_fill(state.corrupted, 0)
    moved, optimiser = optimisers.adam_update(
        learned, slopes, state.optimiser, learning_rate=config.learning_rate
    )
    # Centred labels keep their largest entry at the class, so argmax still finds it.
    accuracy_fraction = (predicted.detach().argmax(1) == targets.argmax(1)).float().mean()
    state = State(
        state.step + 1,
        moved["images"],
        moved.get("labels", state.labels),
        optimiser,
        state.corrupted,
    )
    return state, Trace(loss.detach(), accuracy_fraction, spec.kernel)


def finish(config: Config, inputs: Inputs, state: State) -> DistilledSet:
    """Return the images with their classes, and their labels for a regression.

    A teacher's labels come along where there is one.
    """
    return regression_set(NAME, config, inputs, state, total=total_steps(config, inputs))


def regression_set(
    name: str, config: Any, inputs: Inputs, state: Any, *, total: int
) -> DistilledSet:
    """Return a set of `state.images` with `state.labels` for a regression.

    Class labels are those with which the images began.
    """
    distilled = descent.images_in_turn(name, config, inputs, state, total)
    return distilled.with_targets(
        RegressionLabels(state.labels.detach().float().cpu().contiguous())
    )


def look(config: Config, inputs: Inputs, state: State, trace: Trace | None) -> Look:
    """Return the images; the loss, and how many images of the batch the regression has right."""
    return descent.look_at(inputs, state, regression_numbers(trace))


def regression_numbers(trace: Any, **options: Any) -> dict[str, Number]:
    """Return the numbers of a step for a look; options are those of `Number`."""
    if trace is None:
        return {}
    accuracy = Number(trace.accuracy_fraction, **options)
    return {"loss": Number(trace.loss, scale="log", **options), "accuracy on the batch": accuracy}


def _learned(config: Config, images: Tensor, labels: Tensor) -> dict[str, Tensor]:
    return {"images": images, "labels": labels} if config.learn_labels else {"images": images}


SMALL = Config(iterations=4, batch_size=8, images_per_class=2)  # for the contract tests
