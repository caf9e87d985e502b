r"""Recovery: images are optimised until a frozen teacher sees its class and its statistics in them.

SRe2L, DWA and FADRM all do this, one batch of an image of each class after another; the teacher's
batch-norm layers remember the mean and variance of the training data at each depth.

Equation -> function (Du et al. 2024, DWA, arXiv 2409.17612, eq 4)
L_mean = sum_l ||mu_l(S) - mu_l(T)||_2              batch_norm_mean_gap, one layer
L_var  = sum_l ||sigma^2_l(S) - sigma^2_l(T)||_2    batch_norm_variance_gap, one layer
both, with their derivative in closed form          batch_norm_gaps, one layer
all layers of a network in one pass                 matched_call
eq 3   l + lambda_mean L_mean + lambda_var L_var    recovery_loss
image update  s <- clamp(Adam(s, grad))             image_update
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from ... import networks
from ...core import errors, optimisers, randomness
from ...data.augmentation import random_rectangle
from ...networks import Network, Outputs
from ...runs import Inputs
from . import descent

CROPPED_FROM_PIXELS = 64
SMALLEST_CROP = 0.08  # torchvision's default, which the reference code uses
BETAS = (0.5, 0.9)  # Adam's, of the reference code
FIRST_LAYER = 10.0  # how often the first batch-norm layer counts, as in SRe2L's code
# Of E[x^2] to the variance: up to here E[x^2] - mean^2 keeps float32's precision but for two digits.
_LARGEST_RATIO = 32.0
LOSS_SCALE = 2.0**16  # of half precision, as in the reference code (GradScaler's first)


@dataclass(frozen=True)
class State:
    """`step` updates done; the batch under work with its optimiser; the batches already done.

    Each is [classes, channels, h, w].
    """

    step: int
    images: Tensor
    optimiser: optimisers.AdamState
    done: tuple[Tensor, ...]


AnyState = TypeVar("AnyState", bound=State)


@dataclass(frozen=True)
class Trace:
    """One update: the terms of the loss before it, gaps per layer, the teacher's probabilities, and
    the learning rate. Terms are [] each, gaps [layers], probabilities of the class [classes].
    """

    class_loss: Tensor
    mean_gap: Tensor
    variance_gap: Tensor
    total_loss: Tensor
    layer_mean_gaps: Tensor
    layer_variance_gaps: Tensor
    class_probability: Tensor
    learning_rate: float


def recovery_loss(
    class_loss: Tensor,
    mean_gap: Tensor,
    variance_gap: Tensor,
    *,
    lambda_mean: float,
    lambda_var: float,
) -> Tensor:
    """Return equation 3 with a weight for each gap (printed with one): l + lambda_mean L_mean +
    lambda_var L_var. Scalars in, scalar out.
    """
    return class_loss + lambda_mean * mean_gap + lambda_var * variance_gap


def image_update(
    images: Tensor,
    gradient: Tensor,
    optimiser: optimisers.AdamState,
    *,
    learning_rate: float,
    valid_range: tuple[Tensor, Tensor],
) -> tuple[Tensor, optimisers.AdamState]:
    """Take one Adam step on the images [n, channels, h, w], then clamp to valid pixels.

    The gradient has the images' shape.
    """
    moved, optimiser = optimisers.adam_update(
        {"images": images},
        {"images": gradient},
        optimiser,
        learning_rate=learning_rate,
        betas=BETAS,
    )
    return clamp_to_valid(moved["images"], *valid_range), optimiser


def batch_norm_mean_gap(inputs: Tensor, running_mean: Tensor) -> Tensor:
    r"""Return L_mean of one layer: || mean of the batch - running mean ||_2, over channels (DWA eq
    4).

    Args:
        inputs: [n, c, h, w], the input of a batch-norm layer.
        running_mean: [c], what the layer remembers.

    Returns:
        A scalar of at least 0: a norm, not its square.
    """
    return torch.linalg.vector_norm(inputs.mean((0, 2, 3)) - running_mean)


def batch_norm_variance_gap(inputs: Tensor, running_variance: Tensor) -> Tensor:
    r"""Return L_var of one layer: || biased variance of the batch - running variance ||_2, over
    channels (DWA eq 4).

    Args and result as `batch_norm_mean_gap`.
    """
    return torch.linalg.vector_norm(inputs.var((0, 2, 3), correction=0) - running_variance)


def channel_statistics(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return (biased variance, mean) over images and both axes: [n, c, h, w] -> [c] each.

    On the CPU torch.var_mean takes longer than several passes over the data. Row sums and row
    norms, put together in float64, take a twentieth; the variance E[x^2] - mean^2 is then as good
    as float32 as long as the mean does not dwarf the spread, which is checked.
    """
    if inputs.device.type == "cpu" and inputs.dtype == torch.float32:
        rows = inputs.flatten(2)
        count = rows.shape[0] * rows.shape[2]
        by_image = rows.sum(2), torch.linalg.vector_norm(rows, dim=2)
        total, length = (part.double() for part in by_image)
        mean = total.sum(0) / count
        second = length.square().sum(0) / count
        variance = second - mean.square()
        if bool((second <= _LARGEST_RATIO * variance).all()):
            return variance.float(), mean.float()
    return torch.var_mean(inputs, (0, 2, 3), correction=0)


class _BatchNormGaps(torch.autograd.Function):
    """The identity on the inputs, and both gaps beside it.

    The gaps' derivative is one affine function of the inputs per channel. Because the inputs pass
    through, it is added to the derivative that arrives from above in the same sweep: about 10% over
    the bare network instead of 40% by plain autograd.
    """

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, running_mean: Tensor, running_variance: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        variance, mean = channel_statistics(inputs)
        mean_offset = mean - running_mean
        variance_offset = variance - running_variance
        mean_gap = torch.linalg.vector_norm(mean_offset)
        variance_gap = torch.linalg.vector_norm(variance_offset)
        ctx.save_for_backward(inputs, mean, mean_offset, variance_offset, mean_gap, variance_gap)
        # A view, because autograd refuses a function that returns its own input.
        return inputs.view_as(inputs), mean_gap, variance_gap

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        above, mean_slope, variance_slope = slopes
        inputs, mean, mean_offset, variance_offset, mean_gap, variance_gap = ctx.saved_tensors
        count = inputs.numel() / inputs.shape[1]
        # d||o||/do = o / ||o||, and 0 where the gap is closed; d mean / dx = 1/N; d var / dx = 2 (x
        # - mean) / N.
        scale = 2 * variance_slope * _unit(variance_offset, variance_gap) / count
        shift = mean_slope * _unit(mean_offset, mean_gap) / count - scale * mean
        per_channel = (1, -1, 1, 1)
        return (
            torch.addcmul(above, inputs, scale.view(per_channel)).add_(shift.view(per_channel)),
            None,
            None,
        )


def batch_norm_gaps(
    inputs: Tensor, running_mean: Tensor, running_variance: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the inputs unchanged, `batch_norm_mean_gap` and `batch_norm_variance_gap`.

    One pass forward and one back do it.

    Use the returned inputs downstream: the gaps' derivative is added where theirs flows back.
    """
    return _BatchNormGaps.apply(inputs, running_mean, running_variance)


@dataclass(frozen=True)
class Matched:
    """One pass through the teacher: its outputs, and both gaps per layer, [layers] each, in the
    network's order.
    """

    outputs: Outputs
    mean_gaps: Tensor
    variance_gaps: Tensor


def matched_call(
    teacher: Network,
    images: Tensor,
    *,
    weights: Mapping[str, Tensor] | None = None,
    half: bool = False,
) -> Matched:
    """Run the frozen teacher on images and compare the statistics at each batch-norm layer.

    They are compared with what the layer remembers.

    Args:
        teacher: with BatchNorm2d layers; its running buffers are the targets.
        images: [n, channels, h, w], of any size that the teacher takes.
        weights: weights to run with, where they are not the teacher's own (perturbed ones).
        half: mixed precision: the network under autocast, in float16 on CUDA and bfloat16 on a CPU;
            the statistics stay in float32.
    """
    gaps: list[tuple[Tensor, Tensor]] = []  # of each layer

    def compare(layer: str, inputs: Tensor) -> Tensor:
        wide, *both_gaps = batch_norm_gaps(
            inputs.float() if half else inputs,
            teacher.weights[f"{layer}.running_mean"],
            teacher.weights[f"{layer}.running_var"],
        )
        gaps.append((both_gaps[0], both_gaps[1]))
        return wide.to(inputs.dtype)

    device = images.device.type
    with torch.autocast(
        device, dtype=torch.bfloat16 if device == "cpu" else torch.float16, enabled=half
    ):
        outputs, _ = networks.call(
            teacher.spec, weights or teacher.weights, images, at_batch_norm=compare, any_size=True
        )
    return Matched(outputs, *(torch.stack(kind) for kind in zip(*gaps, strict=True)))


def weighted_gap(gaps: Tensor) -> Tensor:
    """Return the sum over layers of one kind of gap, [layers, ...] -> [...].

    The first layer counts ten times, as in SRe2L's reference code.
    """
    return gaps.sum(0) + (FIRST_LAYER - 1) * gaps[0]


def circular_shift(images: Tensor, pixels: int, *, seed: int, step: int) -> Tensor:
    """Roll the whole batch by one draw of 0 to `pixels` pixels along each axis.

    What leaves on one side enters on the other.
    """
    if pixels == 0:
        return images
    return torch.roll(images, shifts=draw_shift(pixels, seed=seed, step=step), dims=(2, 3))


def draw_shift(pixels: int, *, seed: int, step: int) -> list[int]:
    """Return by how many pixels `circular_shift` rolls along each axis."""
    return torch.randint(
        0, pixels + 1, (2,), generator=randomness.generator(seed, step, "roll")
    ).tolist()


def random_resized_crop_and_flip(
    images: Tensor, smallest_area: float, *, seed: int, step: int
) -> Tensor:
    """Cut one random rectangle out of the whole batch, scale it back up, and mirror it every second
    time.

    Args:
        images: [n, c, h, w].
        smallest_area: share of the picture that the rectangle has at least, in (0, 1]; drawn by
            `augmentation.random_rectangle`.

    Scaled bilinearly, corners not aligned; differentiable.
    """
    height, width = images.shape[2:]
    (top, left_edge, high, wide), mirrored = draw_part(
        height, width, smallest_area, seed=seed, step=step
    )
    cut = images[:, :, top : top + high, left_edge : left_edge + wide]
    scaled = F.interpolate(cut, size=(height, width), mode="bilinear", align_corners=False)
    return scaled.flip(3) if mirrored else scaled


def draw_part(
    height: int, width: int, smallest_area: float, *, seed: int, step: int
) -> tuple[tuple[int, int, int, int], bool]:
    """Return the part that `random_resized_crop_and_flip` cuts out, (top, left, rows, columns), and
    whether it mirrors it.
    """
    draw = randomness.generator(seed, step, "crop and flip")
    part = random_rectangle(height, width, smallest_area=smallest_area, generator=draw)
    return part, float(torch.rand(1, generator=draw)) < 0.5


def clamp_to_valid(images: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Clamp normalised images to the values of black and white in each channel
    (`ImageData.valid_range`).
    """
    return torch.minimum(torch.maximum(images, low), high)


def next_batch(
    state: Any, batch: int, finished: Tensor, *, count: int, first: Callable[[int], Tensor]
) -> Any:
    """Return the state after a batch: its images join the done ones.

    The next one of `count` begins with a fresh Adam, if there is one.

    Args:
        state: with images, optimiser and done.
        finished: the images of the batch, of full size.
        first: batch -> what it begins with.
    """
    state = replace(state, done=(*state.done, finished))
    if batch + 1 == count:
        return state
    images = first(batch + 1)
    return replace(state, images=images, optimiser=optimisers.adam_init({"images": images}))


def require_batch_norm_teacher(name: str, teacher: Network) -> None:
    """Raise if a teacher has no batch-norm layer: there would be nothing to match."""
    if not networks.batch_norm_layers(teacher.spec):
        errors.fail("teacher", f"a network with BatchNorm2d layers for {name}", teacher.spec.title)


def image_step(
    config: Any, inputs: Inputs, state: AnyState, *, weights: Mapping[str, Tensor]
) -> tuple[AnyState, Trace]:
    """Move the batch under work once; the last update of a batch starts the next.

    Args:
        config: SRe2L's, or one that extends it; the same in all functions below.
        weights: all parameters and buffers that the images are run with.
    """
    teacher = inputs.teacher
    batch, iteration = divmod(state.step, config.iterations)
    state, trace = gradient_step(config, inputs, state, teacher=teacher, weights=weights)
    if iteration + 1 < config.iterations:
        return state, trace
    # Called only where another batch follows; the draws of a real start cost time.
    first = functools.partial(first_images, config, inputs)
    return next_batch(state, batch, state.images, count=config.images_per_class, first=first), trace


def gradient_step(
    config: Any,
    inputs: Inputs,
    state: AnyState,
    *,
    teacher: Network,
    weights: Mapping[str, Tensor] | None = None,
    half: bool = False,
) -> tuple[AnyState, Trace]:
    """Move the batch under work once and count the step.

    What comes after the last one is the caller's.

    Args:
        teacher: one of the networks; its running statistics are the targets.
        weights: as in `image_step`; None takes the teacher's own.
        half: mixed precision, as in `matched_call`.
    """
    data = inputs.data
    # A batch holds one image of each class, in order: image i is of class i.
    labels = torch.arange(data.classes, device=state.images.device)
    # Every batch runs through the whole cosine, so the count starts anew with each.
    learning_rate = optimisers.cosine(
        state.step % config.iterations, config.iterations, config.learning_rate
    )
    # The gradient is that of the images before crop and shift, through which it passes.
    leaf = state.images.detach().requires_grad_()
    with torch.enable_grad():
        view = random_view(config, leaf, state.step)
        matched = matched_call(teacher, view, weights=weights, half=half)
        terms = _terms(config, matched, labels)
        scale = LOSS_SCALE if half else 1.0
        gradient = scaled_gradient(terms["total_loss"], leaf, scale=scale)
    images, optimiser = image_update(
        state.images,
        gradient,
        state.optimiser,
        learning_rate=learning_rate,
        valid_range=data.valid_range(state.images.device),
    )
    trace = Trace(
        **{name: value.detach() for name, value in terms.items()}, learning_rate=learning_rate
    )
    return replace(state, step=state.step + 1, images=images, optimiser=optimiser), trace


def scaled_gradient(loss: Tensor, images: Tensor, *, scale: float) -> Tensor:
    """Return d loss / d images, [n, channels, h, w], by way of a loss that is `scale` times as large.

    Half precision rounds slopes below 6e-8 to zero, and the gaps' slopes are of that size. Where
    the scaled ones become too large for it, the scale is halved until they do not.

    Args:
        loss: of the images, [].
        scale: a power of two from 1 on; 1 is the plain gradient.
    """
    (gradient,) = torch.autograd.grad(loss * scale, images, retain_graph=scale > 1)
    while scale > 1 and not bool(gradient.isfinite().all()):
        scale /= 2
        (gradient,) = torch.autograd.grad(loss * scale, images, retain_graph=scale > 1)
    return gradient / scale


def _terms(config: Any, matched: Matched, labels: Tensor) -> dict[str, Tensor]:
    """Return equations 3 and 4 for one pass of a batch of such labels [n], by the names of `Trace`."""
    # The softmax of float16 logits would lose small probabilities.
    logits = matched.outputs.logits
    logits = logits if logits.dtype == torch.float64 else logits.float()
    class_loss = F.cross_entropy(logits, labels)
    mean_gap = weighted_gap(matched.mean_gaps)
    variance_gap = weighted_gap(matched.variance_gaps)
    return {
        "class_loss": class_loss,
        "mean_gap": mean_gap,
        "variance_gap": variance_gap,
        "total_loss": recovery_loss(
            class_loss,
            mean_gap,
            variance_gap,
            lambda_mean=config.lambda_mean,
            lambda_var=config.lambda_var,
        ),
        "layer_mean_gaps": matched.mean_gaps,
        "layer_variance_gaps": matched.variance_gaps,
        "class_probability": logits.detach().softmax(1).gather(1, labels[:, None])[:, 0],
    }


def random_view(config: Any, images: Tensor, step: int) -> Tensor:
    """Return what the teacher sees of a batch [n, c, h, w] at `step`.

    It is cropped and flipped, if the config says so, then shifted.
    """
    is_large = min(images.shape[2:]) >= CROPPED_FROM_PIXELS
    if config.crop == "always" or (config.crop == "by_size" and is_large):
        images = random_resized_crop_and_flip(images, SMALLEST_CROP, seed=config.seed, step=step)
    return circular_shift(images, config.roll_pixels, seed=config.seed, step=step)


def first_images(config: Any, inputs: Inputs, batch: int) -> Tensor:
    """Return what a batch begins with: noise, or a real image of each class."""
    data = inputs.data
    if config.initialisation == "noise":
        return descent.noise_images(
            data, data.classes, seed=config.seed, batch=batch, device=inputs.device
        )
    return real_images(config, inputs, batch)


def real_images(config: Any, inputs: Inputs, batch: int) -> Tensor:
    """Return the training images of a batch, one of each class, [classes, channels, h, w]."""
    indices = descent.real_image_indices(inputs.data, config.images_per_class, seed=config.seed)[
        batch
    ]
    return inputs.data.normalised(indices, device=inputs.device)


def _unit(offset: Tensor, length: Tensor) -> Tensor:
    return torch.where(
        length > 0,
        offset / torch.where(length > 0, length, torch.ones_like(length)),
        torch.zeros_like(offset),
    )
