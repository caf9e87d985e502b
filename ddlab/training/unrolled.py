r"""Training that can be differentiated.

N inner steps of SGD, and the gradient of what comes after them with respect to all they used.

Bi-level methods learn images, labels or rates by the loss of the network that was trained on them.
With the learned tensors z, weights theta and velocity v, one inner step is

    g_t = grad_theta loss_t(theta_t, z),   v_{t+1} = m_t v_t + g_t,   theta_{t+1} = theta_t - r_t v_{t+1}        `inner_step`

and the outer gradient dL(theta_N, z) / dz goes back through all of them (Wang et al. 2018, arXiv
1811.10959, eq 3 and algorithm 1). There are two ways to it, with the same result:

unrolled      the graph of all N steps is kept: memory grows with N times the activations of a step
recomputed    only theta_t and v_t of each step are kept, without a graph; going back, one step at a time is computed again and passes the
              gradient on (back-propagation through time with checkpoints; Gruslys et al. 2016,
              arXiv 1606.03401):
              lambda_t = lambda_{t+1} d(theta_{t+1}, v_{t+1}) / d(theta_t, v_t),   dL/dz += lambda_{t+1} d(theta_{t+1}, v_{t+1}) / dz
              in the memory of one step and of N copies of the weights, for one more forward pass of
              each step
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from ..core import NonFiniteError
from ..core.optimisers import SGDState, sgd_init, sgd_update

Tensors = Mapping[str, Tensor]
Scalar = float | Tensor
Along = Callable[[int, Tensors, Tensors], Tensor]


@dataclass(frozen=True, kw_only=True)
class Inner:
    """How a network is trained on what is learned.

    Attributes:
        steps: N.
        loss: (step, weights, learned) -> [], the inner loss of step 0 to N - 1.
        rate, momentum: (step, learned) -> a number or a tensor [], which may be a learned one;
            without momentum plain gradient descent.
    """

    steps: int
    loss: Callable[[int, Tensors, Tensors], Tensor]
    rate: Callable[[int, Tensors], Scalar]
    momentum: Callable[[int, Tensors], Scalar] = lambda step, learned: 0.0


def inner_step(
    inner: Inner,
    step: int,
    weights: Tensors,
    velocity: Tensors,
    learned: Tensors,
    *,
    differentiable: bool,
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return theta_{t+1} and v_{t+1}.

    With `differentiable` they are functions of theta_t, which requires a gradient then, of v_t and
    of z.
    """
    with torch.enable_grad():
        # Fresh leaves cut the graph: the step before is no longer held in memory.
        if not differentiable:
            weights = leaves_of(weights)
        loss = inner.loss(step, weights, learned)
        slopes = torch.autograd.grad(
            loss, list(weights.values()), create_graph=differentiable, materialize_grads=True
        )
    with torch.set_grad_enabled(differentiable):
        moved, state = sgd_update(
            weights,
            dict(zip(weights, slopes, strict=True)),
            SGDState(step, dict(velocity)),
            learning_rate=inner.rate(step, learned),
            momentum=inner.momentum(step, learned),
        )
    return moved, state.velocity


@contextmanager
def diverging(name: str, step: int) -> Iterator[None]:
    """Adds to a `NonFiniteError` from in here whose it is, and at which of its own steps."""
    try:
        yield
    except NonFiniteError as problem:
        raise NonFiniteError(
            f"{name} must stay finite; given NaN or infinity in loss at step {step}; {problem}"
        ) from problem


def train(inner: Inner, weights: Tensors, learned: Tensors) -> list[dict[str, Tensor]]:
    """Return theta_0 to theta_N without a graph, as a student trains on a finished set.

    Raises:
        NonFiniteError: weights that are NaN or infinite, with the step and its rate.
    """
    return [path for path, _ in _path(inner, weights, learned)]


def outer_gradient(
    inner: Inner,
    weights: Tensors,
    learned: Tensors,
    outer: Callable[[Tensors, Tensors], Tensor],
    *,
    along: Along | None = None,
    recompute: bool = False,
) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    """Return the outer loss after N inner steps, and its gradient with respect to everything that
    is learned.

    Args:
        weights: theta_0, by name.
        learned: z, by name; no tensor needs to require a gradient.
        outer: (theta_N, z) -> [].
        along: (t, theta_t, z) -> [], added for t = 1 to N - 1: an outer loss on the way.
        recompute: False keeps the graph of all steps, True computes each step again on the way
            back.

    Returns:
        The loss [], {name of z: its gradient, 0 where nothing depends on it}, and theta_N.

    Raises:
        NonFiniteError: a loss that is NaN or infinite; it names the first step whose weights are,
            and the rate of that step.
    """
    learned = leaves_of(learned)
    differentiate = _recompute if recompute else _unroll
    loss, slopes, last = differentiate(inner, weights, learned, outer, along)
    # Run once more without a graph, only to learn at which step it went wrong.
    if not bool(torch.isfinite(loss)):
        train(inner, weights, learned)
        raise NonFiniteError(
            f"the outer loss must stay finite; given {float(loss)} after {inner.steps} inner steps."
        )
    return loss, dict(zip(learned, slopes, strict=True)), last


def _unroll(
    inner: Inner,
    weights: Tensors,
    learned: Tensors,
    outer: Callable[[Tensors, Tensors], Tensor],
    along: Along | None,
) -> tuple[Tensor, tuple[Tensor, ...], dict[str, Tensor]]:
    weights_now: Tensors = leaves_of(weights)
    velocity: Tensors = sgd_init(weights_now).velocity
    losses = []
    for step in range(inner.steps):
        if along and step:
            with torch.enable_grad():
                losses.append(along(step, weights_now, learned))
        weights_now, velocity = inner_step(
            inner, step, weights_now, velocity, learned, differentiable=True
        )
    with torch.enable_grad():
        loss = sum(losses, outer(weights_now, learned))
    slopes = torch.autograd.grad(loss, list(learned.values()), materialize_grads=True)
    return loss.detach(), slopes, detached(weights_now)


def _recompute(
    inner: Inner,
    weights: Tensors,
    learned: Tensors,
    outer: Callable[[Tensors, Tensors], Tensor],
    along: Along | None,
) -> tuple[Tensor, tuple[Tensor, ...], dict[str, Tensor]]:
    path = _path(inner, weights, learned, checked=False)
    last = leaves_of(path[-1][0])
    with torch.enable_grad():
        loss = outer(last, learned)
    gradients = torch.autograd.grad(
        loss, [*last.values(), *learned.values()], materialize_grads=True
    )
    # The adjoint starts as the outer loss's own gradient by theta_N and is pulled back step by
    # step.
    adjoint = gradients[: len(last)]
    slopes = gradients[len(last) :]
    # With respect to theta_N, and v_N.
    adjoint = (*adjoint, *(torch.zeros_like(value) for value in last.values()))
    for step in reversed(range(inner.steps)):
        # Leaves, so that each step's graph ends here and is freed with it.
        weights_now, velocity_before = map(leaves_of, path[step])
        moved, velocity = inner_step(
            inner, step, weights_now, velocity_before, learned, differentiable=True
        )
        sources = [*weights_now.values(), *velocity_before.values(), *learned.values()]
        step_gradients = gradients_along([*moved.values(), *velocity.values()], adjoint, sources)
        adjoint, learned_part = step_gradients[: len(adjoint)], step_gradients[len(adjoint) :]
        totals = [total + part for total, part in zip(slopes, learned_part, strict=True)]
        slopes = tuple(totals)
        if along and step:
            with torch.enable_grad():
                # A loss on the way joins the adjoint at the place where it was taken.
                extra_loss = along(step, weights_now, learned)
            loss = loss.detach() + extra_loss.detach()
            sources = [*weights_now.values(), *learned.values()]
            step_gradients = torch.autograd.grad(extra_loss, sources, materialize_grads=True)
            weight_pairs = zip(
                adjoint[: len(weights_now)], step_gradients[: len(weights_now)], strict=True
            )
            adjoint = (
                *(total + part for total, part in weight_pairs),
                *adjoint[len(weights_now) :],
            )
            slopes = tuple(
                total + part
                for total, part in zip(slopes, step_gradients[len(weights_now) :], strict=True)
            )
    return loss.detach(), slopes, detached(last)


def gradients_along(
    outputs: Sequence[Tensor], along: Sequence[Tensor], sources: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """Return sum_i along_i^T d output_i / d source for each source.

    The bits are those of `torch.autograd.grad(outputs, sources, along)`.

    For that call torch imports its compiler.
    """
    with torch.enable_grad():
        total = torch.stack(
            [(output * direction).sum() for output, direction in zip(outputs, along, strict=True)]
        ).sum()
    return torch.autograd.grad(total, sources, materialize_grads=True)


def _path(
    inner: Inner, weights: Tensors, learned: Tensors, *, checked: bool = True
) -> list[tuple[dict[str, Tensor], dict[str, Tensor]]]:
    """Return (theta_t, v_t) for t from 0 to N, without a graph."""
    start = detached(weights)
    path = [(start, sgd_init(start).velocity)]
    for step in range(inner.steps):
        next_weights, velocity = inner_step(inner, step, *path[-1], learned, differentiable=False)
        path.append((detached(next_weights), detached(velocity)))
        if checked and not all(bool(torch.isfinite(value).all()) for value in path[-1][0].values()):
            rate = float(torch.as_tensor(inner.rate(step, learned)).detach())
            raise NonFiniteError(
                "weights must stay finite; given NaN or infinity after inner step "
                f"{step + 1} of {inner.steps}, of rate {rate:.4g}."
            )
    return path


def detached(tensors: Tensors) -> dict[str, Tensor]:
    """Return the same tensors without their graph."""
    return {name: value.detach() for name, value in tensors.items()}


def leaves_of(tensors: Tensors) -> dict[str, Tensor]:
    """Return the same tensors as ones that require a gradient."""
    return {name: value.detach().requires_grad_() for name, value in tensors.items()}
