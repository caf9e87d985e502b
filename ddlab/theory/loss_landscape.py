r"""Planes through the weights of a network: random directions, the directions of a trajectory, and the trajectory's shadow.

Li et al. 2018, "Visualizing the Loss Landscape of Neural Nets", arXiv 1712.09913:

    equation 1   f(a, b) = L(theta + a delta + b eta)                           -> plane_rows; loss_surface computes L
    section 4    delta_ij <- delta_ij / ||delta_ij|| ||theta_ij||               -> filter_directions, toy_directions
    section 7    principal components of [theta_0 - theta_n; ...; theta_(n-1) - theta_n]   -> trajectory_directions, project

All weights of a network stand in one row of P numbers: parameters in the order of their names in the spec, flattened, without the
running statistics of batch norm (`parameter_row`), or `ToyNetworks.rows`. "..." is one network or any block of them.

Directions of either kind need not be orthogonal or of length 1, so that a trajectory is projected by least squares. A plane shows
what moves within it: two random directions among thousands hold next to nothing of a trajectory, which `project` says as a share.
Where section 7 centres its matrix (principal components do), here the plane goes through its origin: what it holds is largest then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from ..core import errors, randomness
from ..networks import Network, parameter_names
from .toy_network import MOST_NUMBERS, ToyNetworks, check_networks


class Projection(NamedTuple):
    """A trajectory in a plane.

    Attributes:
        coordinates: [..., frames, directions], in units of the directions; the origin is at 0.
        captured_fraction: [...], the share of the squared distances from the origin, summed over the frames, that lies in the plane;
            1 for a trajectory that stays at the origin.
    """

    coordinates: Tensor
    captured_fraction: Tensor


def parameter_row(network: Network) -> Tensor:
    """The parameters of a network in one row [P], without running statistics."""
    errors.check_instance("network", network, Network, "a Network")
    names = parameter_names(network.spec)
    return torch.cat([network.weights[name].detach().flatten() for name in names])


def network_at(network: Network, row: Tensor) -> Network:
    """The network with the parameters in `row` [P], of its dtype; running statistics stay as they are. The inverse of `parameter_row`."""
    errors.check_instance("network", network, Network, "a Network")
    names = parameter_names(network.spec)
    own = [network.weights[name] for name in names]
    sizes = [value.numel() for value in own]
    errors.check_tensor("row", row, shape=[sum(sizes)], dtype=own[0].dtype)
    parts = row.detach().to(network.device).split(sizes)
    moved = {name: part.view_as(value) for name, part, value in zip(names, parts, own, strict=True)}
    return replace(
        network, weights=network.weights | moved, provenance={"process": "network_at", "start": network.fingerprint}
    )


def filter_directions(network: Network, *, count: int = 2, seed: int = 0, biases: bool = False) -> Tensor:
    """Random directions of which each filter is as long as the network's own (section 4).

    A filter is what one output channel or one output of a linear layer is made from: the first axis of a weight of two axes or more.

    Args:
        count: how many directions. seed: of the draw.
        biases: also move what has one axis (biases, and scale and shift of norm layers), each as a whole as long as the network's
            own; with False, as in the authors' pictures, it stays.

    Returns:
        [count, P] of the network's dtype, on the CPU.
    """
    errors.check_instance("network", network, Network, "a Network")
    weights = [network.weights[name].detach().cpu() for name in parameter_names(network.spec)]
    _check_draw(count, seed, biases, sum(value.numel() for value in weights))
    found = []
    for number in range(count):
        draw = randomness.generator(seed, number, "landscape direction")
        parts = []
        for value in weights:
            # As many filters as the first axis has; all of a bias counts as one.
            rows = value.reshape(len(value) if value.ndim > 1 else 1, -1)
            drawn = torch.randn(rows.shape, generator=draw, dtype=torch.float64).to(rows.dtype)
            parts.append((_as_long(drawn, rows) * (biases or value.ndim > 1)).flatten())
        found.append(torch.cat(parts))
    return errors.check_tensor("the network's weights", torch.stack(found))


def toy_directions(networks: ToyNetworks, *, count: int = 2, seed: int = 0, biases: bool = False) -> Tensor:
    """The same for toy networks [...]: the filters are the weights into each hidden unit, and those into the output.

    All networks share one draw, scaled to each.

    Returns:
        [..., count, units (inputs + 2) + 1] of their dtype.
    """
    check_networks("networks", networks)
    _check_draw(count, seed, biases, networks.rows.numel())
    found = []
    for number in range(count):
        draw = randomness.generator(seed, number, "landscape direction")
        drawn = networks.from_rows(
            torch.randn(networks.rows.shape[-1], generator=draw, dtype=torch.float64).to(networks.rows)
        )
        scaled = ToyNetworks(
            hidden_weight=_as_long(drawn.hidden_weight, networks.hidden_weight),
            hidden_bias=_as_long(drawn.hidden_bias, networks.hidden_bias) * biases,
            output_weight=_as_long(drawn.output_weight, networks.output_weight),
            output_bias=_as_long(drawn.output_bias[..., None], networks.output_bias[..., None])[..., 0] * biases,
        )
        found.append(scaled.rows)
    return torch.stack(found, -2)


def trajectory_directions(trajectory: Tensor, *, origin: Tensor | None = None, count: int = 2) -> Tensor:
    """The orthonormal directions that hold most of a trajectory's squared distances from its origin (section 7).

    Args:
        trajectory: float [..., frames, P]. origin: [..., P]; default the last frame.
        count: how many.

    Returns:
        [..., count, P], that which holds most first; each points to where the trajectory is farthest along it.

    Raises:
        DDLabError: a trajectory that moves in fewer directions.
    """
    moves = _moves(trajectory, origin)
    errors.check_integer("count", count, 1, min(moves.shape[-2:]))
    left, size, right = torch.linalg.svd(moves, full_matrices=False)
    if moves.numel() and bool((size[..., count - 1] <= 1e-7 * size[..., 0].clamp_min(1e-30)).any()):
        errors.fail("trajectory", f"one that moves away from its origin in at least {count} directions", trajectory)
    along = left[..., :count]
    farthest = along.gather(-2, along.abs().argmax(-2, keepdim=True)).squeeze(-2)
    return (right[..., :count, :] * farthest.sign()[..., None]).to(trajectory.dtype)


def project(trajectory: Tensor, origin: Tensor, directions: Tensor) -> Projection:
    """Where the nearest point of the plane is for each frame: least squares, since directions need not be orthogonal or of length 1.

    Args:
        trajectory: float [..., frames, P]. origin: [..., P]. directions: [..., k, P]. All of one dtype; "..." is that of the trajectory
            or nothing, for one plane that all trajectories share.

    Raises:
        DDLabError: a direction of length 0, or directions that lie along each other.
    """
    moves = _moves(trajectory, origin)
    plane = _directions(directions, trajectory)
    lengths = plane.norm(dim=-1, keepdim=True)
    if not bool((lengths > 0).all()):
        errors.fail("directions", "of a length above 0", directions)
    unit = plane / lengths
    gram = unit @ unit.mT
    if float(torch.linalg.eigvalsh(gram).min()) < 1e-9:
        errors.fail("directions", "none of which lies in the span of the others", directions)
    products = moves @ unit.mT
    along = torch.linalg.solve(gram, products.mT).mT
    total = moves.square().sum((-2, -1))
    held = (along * products).sum((-2, -1))
    share = torch.where(total > 0, held / total.clamp_min(1e-300), torch.ones_like(total)).clamp(0, 1)
    return Projection((along / lengths.mT).to(trajectory.dtype), share.to(trajectory.dtype))


def plane_rows(origin: Tensor, directions: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """theta + a delta + b eta for every a in x and b in y (equation 1).

    Args:
        origin: float [..., P]. directions: [..., 2, P] of its dtype, "..." as of origin or nothing.
        x, y: float [columns] and [rows], in units of the first and the second direction.

    Returns:
        [..., rows, columns, P].
    """
    errors.check_tensor("origin", origin, floating=True)
    if origin.ndim == 0:
        errors.fail("origin", "a float tensor of shape [..., P]", origin)
    shape = list(origin.shape)
    if not isinstance(directions, Tensor) or directions.ndim > 2:
        errors.check_tensor("directions", directions, shape=[*shape[:-1], 2, shape[-1]], dtype=origin.dtype)
    errors.check_tensor("directions", directions, shape=[*directions.shape[:-2], 2, shape[-1]], dtype=origin.dtype)
    for name, axis in (("x", x), ("y", y)):
        errors.check_tensor(name, axis, shape=[None], floating=True)
    numbers = origin.numel() * len(x) * len(y)
    if numbers > MOST_NUMBERS:
        errors.fail("x and y", f"so short that the plane has at most {MOST_NUMBERS:.0e} weights", numbers)
    x, y = x.to(origin), y.to(origin)
    first, second = directions[..., None, None, 0, :], directions[..., None, None, 1, :]
    found = origin[..., None, None, :] + x[:, None] * first + y[:, None, None] * second
    return errors.check_tensor("the plane's weights", found)


def _as_long(direction: Tensor, weights: Tensor) -> Tensor:
    """Each row of `direction` [..., n] with the length of that of `weights`."""
    length = torch.linalg.vector_norm(direction, dim=-1, keepdim=True)
    return direction / length * torch.linalg.vector_norm(weights, dim=-1, keepdim=True)


def _check_draw(count: int, seed: int, biases: bool, weights: int) -> None:
    errors.check_integer("count", count, 1, max(MOST_NUMBERS // weights, 1))
    errors.check_integer("seed", seed, 0)
    errors.check_boolean("biases", biases)


def _moves(trajectory: Tensor, origin: Tensor | None) -> Tensor:
    """float64 [..., frames, P]: from the origin to each frame."""
    errors.check_tensor("trajectory", trajectory, floating=True)
    if trajectory.ndim < 2 or 0 in trajectory.shape:
        errors.fail("trajectory", "a float tensor of shape [..., frames, P], none of them 0", trajectory)
    if origin is None:
        origin = trajectory[..., -1, :]
    block = [] if isinstance(origin, Tensor) and origin.ndim == 1 else trajectory.shape[:-2]
    errors.check_tensor("origin", origin, shape=[*block, trajectory.shape[-1]], dtype=trajectory.dtype)
    moves = trajectory.detach().double() - origin.detach().double()[..., None, :]
    if float(moves.abs().max()) > 1e100:
        errors.fail("trajectory", "at most 1e100 away from its origin", trajectory)
    return moves


def _directions(directions: Tensor, trajectory: Tensor) -> Tensor:
    """float64 [..., k, P], checked."""
    block = [] if isinstance(directions, Tensor) and directions.ndim == 2 else trajectory.shape[:-2]
    errors.check_tensor("directions", directions, shape=[*block, None, trajectory.shape[-1]], dtype=trajectory.dtype)
    if directions.shape[-2] == 0:
        errors.fail("directions", "at least one", directions)
    return directions.detach().double()
