"""Gradient descent of a block of toy networks: equations in `toy_network`."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ....core import errors
from .toy_network import ToyNetworks

Array = np.ndarray


def stochastic_descent(
    start: ToyNetworks,
    points: Tensor,
    targets: Tensor,
    *,
    learning_rate: float | Tensor = 0.002,
    momentum: float | Tensor = 0.98,
    record_every: int = 100,
) -> ToyNetworks:
    """One step of SGD with momentum per sample, each network on its own samples.

    Args:
        start: networks [...].
        points: [steps, ..., d] of their dtype: the sample of each step and network. targets: [steps, ...] in [0, 1].
        learning_rate: eta, in [0, 10]; momentum: m, in [0, 0.9999]. Numbers, or tensors [...] with one for each network.
        record_every: which steps are kept.

    Returns:
        Frames [frames, ...]: the start, every `record_every`-th step and the last: those of `recorded_steps`.

    Raises:
        DDLabError: weights that leave what the dtype can hold.
    """
    steps, block = len(points), start.block
    kept = recorded_steps(steps, record_every)
    runs = block.numel()
    # Runs last; the bias is one more input, always 1.
    inputs = torch.cat([points, torch.ones_like(points[..., :1])], -1).reshape(steps, runs, -1).mT.contiguous()
    wanted = targets.detach().reshape(steps, runs).contiguous().cpu().numpy()
    rate, keep = (_per_run(value, block, points.dtype) for value in (learning_rate, momentum))
    weights = torch.cat([start.hidden_weight, start.hidden_bias[..., None], start.output_weight[..., None]], -1)
    weights = weights.detach().reshape(runs, start.units, -1).permute(2, 1, 0).cpu().numpy()
    bias = start.output_bias.detach().reshape(runs).cpu().numpy()
    with np.errstate(all="ignore"):  # looked at below
        frames, biases = _descend(weights, bias, inputs.detach().cpu().numpy(), wanted, rate, keep, kept)
    # [frames, d + 2, units, runs] -> [frames, ..., units, d + 2]
    rows = torch.from_numpy(frames).permute(0, 3, 2, 1).unflatten(1, block)
    return _frames(
        rows[..., :-2].contiguous(),
        rows[..., -2].contiguous(),
        rows[..., -1].contiguous(),
        torch.from_numpy(biases).unflatten(1, block),
    )


def _descend(
    weights: Array, bias: Array, inputs: Array, targets: Array, rate: Array, momentum: Array, kept: list[int]
) -> tuple[Array, Array]:
    """`stochastic_descent` on arrays: weights [d + 2, units, runs], inputs [steps, d + 1, runs], one rate and momentum per run."""
    weights, bias = weights.copy(order="C"), bias.copy()
    hidden, output = weights[:-1], weights[-1]
    gradient, velocity = np.empty_like(weights), np.zeros_like(weights)
    slope, bias_velocity = np.empty_like(output), np.zeros_like(bias)
    zero, active = np.zeros_like(output), np.empty(output.shape, bool)
    frames, biases = (
        np.empty((len(kept), *weights.shape), weights.dtype),
        np.empty((len(kept), *bias.shape), bias.dtype),
    )
    frames[0], biases[0], frame = weights, bias, 1
    # The velocity is stored times eta; momentum * 1 keeps the dtype of the weights, a Python number is as good and faster.
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
        if step == kept[frame]:
            frames[frame], biases[frame], frame = weights, bias, frame + 1
    return frames, biases


def expected_descent(
    start: ToyNetworks,
    points: Tensor,
    targets: Tensor,
    *,
    steps: int = 1000,
    learning_rate: float | Tensor = 0.002,
    momentum: float | Tensor = 0.98,
    record_every: int = 100,
) -> ToyNetworks:
    """The same without noise: at each step the gradient averaged over all points, which stand for an expectation.

    What is left of an effect here is geometry; what is gone was the noise of single samples.

    Args:
        points: [..., n, d], n for each network; a tensor that is expanded over a part of "..." is as good. targets: [..., n].

    Returns:
        Frames [frames, ...] as `stochastic_descent` gives.
    """
    kept = recorded_steps(steps, record_every)
    block, (runs, units) = start.block, (start.block.numel(), start.units)
    inputs = torch.cat([points, torch.ones_like(points[..., :1])], -1).detach().reshape(runs, -1, start.inputs + 1)
    wanted = targets.detach().reshape(runs, 1, -1)
    hidden = (
        torch.cat([start.hidden_weight, start.hidden_bias[..., None]], -1).detach().reshape(runs, units, -1).clone()
    )
    output, bias = (
        start.output_weight.detach().reshape(runs, units).clone(),
        start.output_bias.detach().reshape(runs).clone(),
    )
    rate, keep = (torch.from_numpy(_per_run(value, block, points.dtype)) for value in (learning_rate, momentum))
    with torch.no_grad():
        frames = _descend_expected(hidden, output, bias, inputs, wanted, rate, keep, kept)
    hidden, output, bias = (torch.stack(part).unflatten(1, block) for part in frames)
    return _frames(hidden[..., :-1].contiguous(), hidden[..., -1].contiguous(), output, bias)


def _descend_expected(
    hidden: Tensor,
    output: Tensor,
    bias: Tensor,
    inputs: Tensor,
    targets: Tensor,
    rate: Tensor,
    keep: Tensor,
    kept: list[int],
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """On hidden [runs, units, d + 1], output [runs, units], inputs [runs, n, d + 1], targets [runs, 1, n]."""
    weights = [hidden, output, bias]
    velocity = [torch.zeros_like(value) for value in weights]
    columns = inputs.mT.contiguous()
    factor = (2 * rate / inputs.shape[1])[:, None, None]
    after = hidden.new_empty(len(hidden), hidden.shape[1], inputs.shape[1])
    frames: tuple[list[Tensor], list[Tensor], list[Tensor]] = tuple([value.clone()] for value in weights)  # type: ignore[assignment]
    for step in range(1, kept[-1] + 1):
        torch.bmm(hidden, columns, out=after).relu_()
        probability = torch.sigmoid(output[:, None] @ after + bias[:, None, None])
        delta = factor * (probability - targets) * probability * (1 - probability)
        # sum over the points of delta [h > 0] x': both layers' gradients follow from it, since h = [h > 0] theta_2 x'.
        moment = torch.bmm(after.sign_(), delta.mT * inputs)
        gradients = [output[..., None] * moment, (hidden * moment).sum(-1), delta.sum((1, 2))]
        for value, moving, gradient in zip(weights, velocity, gradients, strict=True):
            moving.mul_(keep.view(-1, *[1] * (value.ndim - 1))).add_(gradient)
            value.sub_(moving)
        if step == kept[len(frames[0])]:
            for frame, value in zip(frames, weights, strict=True):
                frame.append(value.clone())
    return frames


def recorded_steps(steps: int, record_every: int) -> list[int]:
    """The steps whose weights are kept: 0, record_every, 2 record_every, ..., and the last."""
    return [*range(0, steps, record_every), steps]


def _frames(hidden: Tensor, hidden_bias: Tensor, output: Tensor, bias: Tensor) -> ToyNetworks:
    if not all(map(errors.all_finite, (hidden, hidden_bias, output, bias))):
        raise errors.DDLabError(
            "learning_rate must be so small that the weights stay finite; given one with which they grow beyond all numbers."
        )
    return ToyNetworks(hidden_weight=hidden, hidden_bias=hidden_bias, output_weight=output, output_bias=bias)


def _per_run(value: float | Tensor, block: torch.Size, dtype: torch.dtype) -> Array:
    """One number per run, [runs]."""
    if isinstance(value, Tensor):
        return value.detach().to("cpu", dtype).reshape(-1).numpy()
    return torch.full((block.numel(),), value, dtype=dtype).numpy()
