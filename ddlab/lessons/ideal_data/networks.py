r"""The small networks of the ReLA paper's toy world, many at once: Sun et al. 2024, arXiv
2405.14669, equation 4 and Tables 7 and 8.

Two inputs, 50 hidden units, one probability,

    f(x) = sigmoid(theta_1 . ReLU(theta_2 x + theta_3) + theta_4)                                   -> outputs

trained by gradient descent with momentum on (f(x) - y)^2:

    delta = 2 (f - y) f (1 - f),   g_1 = delta h,   g_2 = delta (theta_1 * [h > 0]) x',   g_3 the same without x,   g_4 = delta
    v <- m v + g,   theta <- theta - eta v          one sample per step                               -> stochastic_descent
    the same with g averaged over a whole set of points at each step                                  -> expected_descent

All weights of a network stand in one row: theta_2, theta_3, theta_1, theta_4, of 4 units + 1
numbers, and rows in a block of any shape, such as [settings, seeds]. A block is computed together:
gradients are written by hand, and in `stochastic_descent` the networks lie along the last axis of
numpy arrays, whose calls cost less than torch's on so few numbers.
"""

import math

import numpy as np
import torch
from torch import Tensor

from ...core import errors, randomness

# Of the hidden layer, as in the paper's toy.
UNITS = 50
_AT_ONCE = 2**18  # hidden values computed together: they stay in a core's cache
Array = np.ndarray


def parts(rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Split rows [..., P] into theta_2 beside theta_3 [..., units, 3], theta_1 [..., units] and
    theta_4 [...].
    """
    units = rows.shape[-1] // 4
    weight, bias, output, last = rows.split([2 * units, units, units, 1], -1)
    return torch.cat([weight.unflatten(-1, (units, 2)), bias[..., None]], -1), output, last[..., 0]


def rows_of(hidden: Tensor, output: Tensor, last: Tensor) -> Tensor:
    """Return the rows that `parts` took apart."""
    return torch.cat([hidden[..., :-1].flatten(-2), hidden[..., -1], output, last[..., None]], -1)


def first_weights(seeds: int = 1, *, first_seed: int = 0, stream: str = "student") -> Tensor:
    """Draw float32 rows [seeds, 201] with PyTorch's default start.

    Each layer is uniform in +-1/sqrt(its inputs), biases too.

    Args:
        seeds: how many, of the seeds first_seed, first_seed + 1, ...
        stream: another name gives other weights of the same seeds.
    """
    draws = (
        randomness.numpy_generator(first_seed + number, 0, f"toy weights {stream}")
        for number in range(seeds)
    )
    weights = np.stack([draw.uniform(-1, 1, 4 * UNITS + 1) for draw in draws])
    weights[:, : 3 * UNITS] /= math.sqrt(2)
    weights[:, 3 * UNITS :] /= math.sqrt(UNITS)
    return torch.from_numpy(weights).float()


def outputs(rows: Tensor, points: Tensor) -> Tensor:
    """Return f(x) of every network [..., P] at the same points [n, 2]: [..., n] in (0, 1).

    It has the points' dtype and no gradients.
    """
    with torch.no_grad():
        hidden, output, last = parts(rows)
        units = output.shape[-1]
        hidden = hidden.reshape(-1, 3)
        output = output.reshape(-1, 1, units)
        inputs = _with_ones(points).mT.contiguous()
        together = max(_AT_ONCE // (units * max(len(points), 1)), 1)
        logits = points.new_empty(len(output), 1, len(points))
        for start in range(0, len(output), together):
            block = slice(start, start + together)
            active = (hidden[start * units : (start + together) * units] @ inputs).relu_()
            torch.bmm(output[block], active.view(-1, units, len(points)), out=logits[block])
        probabilities = (logits[:, 0] + last.reshape(-1, 1)).sigmoid_()
    return probabilities.view(*rows.shape[:-1], len(points))


def stochastic_descent(
    start: Tensor,
    points: Tensor,
    targets: Tensor,
    *,
    learning_rate: Tensor,
    momentum: Tensor,
    record_every: int,
) -> Tensor:
    """Take one step of SGD with momentum per sample, each network on its own samples.

    Args:
        start: rows [..., P].
        points: [steps, ..., 2] of their dtype, the sample of each step and network.
        targets: [steps, ...] in [0, 1].
        learning_rate: eta;
        momentum: m; [...], one for each network.
        record_every: which steps are kept.

    Returns:
        Frames [frames, ..., P]: the start, every `record_every`-th step and the last: those of
        `recorded_steps`.

    Raises:
        DDLabError: weights that leave what the dtype can hold.
    """
    steps = len(points)
    block = start.shape[:-1]
    inputs = _with_ones(points).reshape(steps, -1, 3).mT.contiguous().numpy()  # [steps, 3, runs]
    target_rows = targets.detach().reshape(steps, -1).contiguous().numpy()
    rate = learning_rate.to(start.dtype).reshape(-1).numpy()
    keep = momentum.to(start.dtype).reshape(-1).numpy()
    hidden, output, last = parts(start.detach())
    weights = torch.cat([hidden, output[..., None]], -1).flatten(0, -3).permute(2, 1, 0).numpy()
    with np.errstate(all="ignore"):  # looked at below
        frames, biases = _descend(
            weights, last.reshape(-1).numpy(), inputs, target_rows, rate, keep, record_every
        )
    # [frames, ..., units, 4].
    recorded = torch.from_numpy(frames).permute(0, 3, 2, 1).unflatten(1, block)
    return _finite(
        rows_of(recorded[..., :-1], recorded[..., -1], torch.from_numpy(biases).unflatten(1, block))
    )


def _descend(
    weights: Array,
    bias: Array,
    inputs: Array,
    targets: Array,
    rate: Array,
    momentum: Array,
    record_every: int,
) -> tuple[Array, Array]:
    """Run `stochastic_descent` on arrays, with one rate and momentum per run.

    Weights are [4, units, runs], inputs [steps, 3, runs].
    """
    weights = weights.copy(order="C")
    bias = bias.copy()
    hidden = weights[:-1]
    output = weights[-1]
    gradient = np.empty_like(weights)
    velocity = np.zeros_like(weights)
    slope = np.empty_like(output)
    bias_velocity = np.zeros_like(bias)
    zero = np.zeros_like(output)
    active = np.empty(output.shape, bool)
    frame_steps = set(recorded_steps(len(inputs), record_every))
    frames = [weights.copy()]
    biases = [bias.copy()]
    # The velocity is stored times eta; momentum * 1 keeps the dtype of the weights, a Python number
    # is as good and faster.
    keep = float(momentum[0]) if (momentum == momentum[0]).all() else momentum
    for step, (x, y) in enumerate(zip(inputs, targets, strict=True), 1):
        before = np.einsum("khr,kr->hr", hidden, x)
        np.greater(before, zero, out=active)
        after = np.maximum(before, zero, out=before)
        probability = 0.5 + 0.5 * np.tanh(0.5 * (np.einsum("hr,hr->r", output, after) + bias))
        delta = 2 * rate * (probability - y) * probability * (1 - probability)
        np.multiply(output, active, out=slope)
        np.multiply(slope, (x * delta)[:, None], out=gradient[:-1])
        np.multiply(after, delta, out=gradient[-1])
        velocity *= keep
        velocity += gradient
        weights -= velocity
        bias_velocity = keep * bias_velocity + delta
        bias -= bias_velocity
        if step in frame_steps:
            frames.append(weights.copy())
            biases.append(bias.copy())
    return np.stack(frames), np.stack(biases)


def expected_descent(
    start: Tensor,
    points: Tensor,
    targets: Tensor,
    *,
    steps: int,
    learning_rate: Tensor,
    momentum: Tensor,
    record_every: int,
) -> Tensor:
    """Descend without noise: each step follows the gradient averaged over all points.

    The points stand for an expectation.

    What is left of an effect here is geometry; what is gone was the noise of single samples.

    Args:
        points: [..., n, 2], n for each network; a tensor that is expanded over a part of "..." is
            as good.
        targets: [..., n].

    Returns:
        Frames [frames, ..., P] as `stochastic_descent` gives.
    """
    frame_steps = set(recorded_steps(steps, record_every))
    block = start.shape[:-1]
    inputs = _with_ones(points).flatten(0, -3)
    target_column = targets.detach().flatten(0, -2)[:, None]
    columns = inputs.mT.contiguous()
    weights = [
        value.detach().reshape(-1, *value.shape[len(block) :]).clone() for value in parts(start)
    ]
    hidden, output, bias = weights
    velocity = [torch.zeros_like(value) for value in weights]
    rate = learning_rate.to(start.dtype).reshape(-1)
    keep = momentum.to(start.dtype).reshape(-1)
    factor = (2 * rate / inputs.shape[1])[:, None, None]
    after = hidden.new_empty(len(hidden), hidden.shape[1], inputs.shape[1])
    frames = [rows_of(*weights)]
    with torch.no_grad():
        for step in range(1, steps + 1):
            torch.bmm(hidden, columns, out=after).relu_()
            probability = torch.sigmoid(output[:, None] @ after + bias[:, None, None])
            delta = factor * (probability - target_column) * probability * (1 - probability)
            # sum over the points of delta [h > 0] x': both layers' gradients follow from it, since
            # h = [h > 0] theta_2 x'.
            moment = torch.bmm(after.sign_(), delta.mT * inputs)
            gradients = [output[..., None] * moment, (hidden * moment).sum(-1), delta.sum((1, 2))]
            for value, moving, gradient in zip(weights, velocity, gradients, strict=True):
                moving.mul_(keep.view(-1, *[1] * (value.ndim - 1))).add_(gradient)
                value.sub_(moving)
            if step in frame_steps:
                frames.append(rows_of(*weights))
    return _finite(torch.stack(frames).unflatten(1, block))


def recorded_steps(steps: int, record_every: int) -> list[int]:
    """Return the steps whose weights are kept: 0, record_every, 2 record_every, ..., and the last."""
    return [*range(0, steps, record_every), steps]


def _with_ones(points: Tensor) -> Tensor:
    """Return the bias is one more input, always 1."""
    return torch.cat([points, torch.ones_like(points[..., :1])], -1).detach()


def _finite(frames: Tensor) -> Tensor:
    if errors.all_finite(frames):
        return frames
    raise errors.DDLabError(
        "learning_rate must be so small that the weights stay finite; given one with which "
        "they grow beyond all numbers."
    )
