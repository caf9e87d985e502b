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

from typing import NamedTuple

import torch
from torch import Tensor

from ....core import errors, randomness
from .toy_experiment import ToyValidation, toy_validation
from .toy_network import ToyNetworks


class Projection(NamedTuple):
    """A trajectory in a plane.

    Attributes:
        coordinates: [..., frames, directions], in units of the directions; the origin is at 0.
        captured_fraction: [...], the share of the squared distances from the origin, summed over the frames, that lies in the plane;
            1 for a trajectory that stays at the origin.
    """

    coordinates: Tensor
    captured_fraction: Tensor


def toy_directions(networks: ToyNetworks, *, count: int = 2, seed: int = 0, biases: bool = False) -> Tensor:
    """The same for toy networks [...]: the filters are the weights into each hidden unit, and those into the output.

    All networks share one draw, scaled to each.

    Returns:
        [..., count, units (inputs + 2) + 1] of their dtype.
    """
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
    moves = _moves(trajectory, trajectory[..., -1, :] if origin is None else origin)
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

    """
    moves = _moves(trajectory, origin)
    plane = directions.detach().double()
    lengths = plane.norm(dim=-1, keepdim=True)
    unit = plane / lengths
    gram = unit @ unit.mT
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
    x, y = x.to(origin), y.to(origin)
    first, second = directions[..., None, None, 0, :], directions[..., None, None, 1, :]
    return origin[..., None, None, :] + x[:, None] * first + y[:, None, None] * second


def toy_surface(
    networks: ToyNetworks, directions: Tensor, x: Tensor, y: Tensor, points: Tensor, labels: Tensor
) -> ToyValidation:
    """Squared error and accuracy over planes through toy networks, in one call: [..., rows of y, columns of x].

    Args:
        networks: [...], the origins. directions: [..., 2, P] as of `toy_directions` or `trajectory_directions`, or [2, P] for all.
        x, y: float [columns] and [rows], in units of the directions.
        points: [n, d]. labels: [n]. As of `toy_validation`, such as `spread_points` of the original data.
    """
    rows = plane_rows(networks.rows, directions, x, y)
    return toy_validation(networks.from_rows(rows), points, labels)


def _as_long(direction: Tensor, weights: Tensor) -> Tensor:
    """Each row of `direction` [..., n] with the length of that of `weights`."""
    length = torch.linalg.vector_norm(direction, dim=-1, keepdim=True)
    return direction / length * torch.linalg.vector_norm(weights, dim=-1, keepdim=True)


def _moves(trajectory: Tensor, origin: Tensor) -> Tensor:
    """float64 [..., frames, P]: from the origin to each frame."""
    return trajectory.detach().double() - origin.detach().double()[..., None, :]
