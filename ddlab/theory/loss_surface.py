"""The loss over a plane of weights (Li et al. 2018, equation 1): planes and directions come from `loss_landscape`.

Batch norm. Away from a network's own weights its running statistics are those of other activations. `batch_norm="kept"` judges every
point of the plane with them, as if the network were deployed there. `batch_norm="recomputed"` takes at every point the statistics of
the images themselves, all at once, as training would. Near
the origin the two are close where the images are training images; far from it they are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core import errors
from ..core.boundary import among, checked, floats, integers, within
from ..networks import Network, call
from .loss_landscape import Columns, Rows, network_at, parameter_row, plane_rows
from .toy_experiment import ToyValidation, toy_validation
from .toy_network import ToyNetworks


class Surface(NamedTuple):
    """Over a plane: mean cross-entropy in nats and the share of right answers, float [rows of y, columns of x]."""

    cross_entropy: Tensor
    accuracy_fraction: Tensor


@checked
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


@checked
def network_surface(
    network: Network,
    directions: Annotated[Tensor, floats("2 P")],
    x: Columns,
    y: Rows,
    images: Annotated[Tensor, floats("n c h w")],
    labels: Annotated[Tensor, integers("n")],
    *,
    batch_norm: Annotated[str, among("kept", "recomputed")] = "kept",
    batch_size: Annotated[int, within(1)] = 512,
    progress: Callable[[int, int], object] | None = None,
) -> Surface:
    """Cross-entropy and accuracy over a plane through a network, point by point.

    Args:
        network: the origin. directions: [2, P] of its dtype, as of `filter_directions` or `trajectory_directions`.
        x, y: float [columns] and [rows], in units of the directions.
        images: float [n, channels, height, width], normalised, at least one. labels: int64 [n].
        batch_norm: "kept" or "recomputed", as the module's docstring says; without batch norm they are the same.
        batch_size: images at once with "kept"; "recomputed" takes all at once.
        progress: called after each point with (points done, of how many). What it raises ends the computation.

    Raises:
        DDLabError: shapes that do not fit, or a plane so wide that losses are not finite.
    """
    origin = parameter_row(network)
    errors.check_tensor("directions", directions, shape=[2, len(origin)], dtype=origin.dtype, finite=False)
    classes = network.spec.classes or 0
    if len(images) == 0 or int(labels.min()) < 0 or int(labels.max()) >= classes:
        errors.fail("labels", f"at least one, each in [0, {classes - 1}]", labels)
    origin, directions, images, labels = (value.to(network.device) for value in (origin, directions, images, labels))
    train = batch_norm == "recomputed"
    found = origin.new_empty(2, len(y), len(x))
    for number in range(len(x) * len(y)):
        row, column = divmod(number, len(x))
        at = plane_rows(origin, directions, x[column : column + 1], y[row : row + 1])[0, 0]
        found[:, row, column] = _loss_and_accuracy(
            network_at(network, at), images, labels, train, len(images) if train else batch_size
        )
        if progress is not None:
            progress(number + 1, len(x) * len(y))
    if not bool(torch.isfinite(found).all()):
        errors.fail("x and y", "so close to 0 that losses are finite", float(torch.cat([x, y]).detach().abs().max()))
    return Surface(*found.cpu())


def _loss_and_accuracy(network: Network, images: Tensor, labels: Tensor, train: bool, batch_size: int) -> Tensor:
    """[2], averaged over all images."""
    total = images.new_zeros(2)
    with torch.no_grad():
        for some, own in zip(images.split(batch_size), labels.split(batch_size), strict=True):
            logits = call(network.spec, network.weights, some, train)[0].logits
            total[0] += F.cross_entropy(logits, own, reduction="sum")
            total[1] += (logits.argmax(1) == own).sum()
    return total / len(images)
