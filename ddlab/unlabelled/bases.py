r"""Principal bases: the directions in which images, or a teacher's representations, differ most.

No training here.

Yu, Yao & Chiu 2025 (Boost), section 3.2: the first U principal components of the images and the
first V of the representations begin the bases B^x and B^y of a distilled set. What is made of bases
stands in `factorisation`.

principal_bases    B = [b_1 ... b_k], the first k principal components
spectrum, rank     all their variances, and how many are not 0: more bases than that cannot be had
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..core import errors, randomness

LARGEST_EXACT = 4e10  # n d min(n, d) up to which all components are found: seconds on one core
# Of a set's length: what rounding alone leaves in a direction in which there is nothing. Float32
# data carries its own rounding.
_ROUNDING = {torch.float32: 4 * 2.0**-23, torch.float64: 1e-12}


@dataclass(frozen=True, kw_only=True, eq=False)
class PrincipalBases:
    """The first principal components, that of largest variance first; made by `principal_bases`.

    Attributes:
        bases: [k, *shape], orthonormal when flattened, the entry of largest size positive; of the
            points' dtype.
        mean: [*shape], of all points, whether they were centred or not.
        variances: float64 [k], falling: mean square of the points (less their mean where centred)
            along each basis.
        total_variance: the same, summed over all directions.
        centred: whether the mean was taken off.
        points: how many there were.
    """

    bases: Tensor
    mean: Tensor
    variances: Tensor
    total_variance: float
    centred: bool
    points: int


def principal_bases(
    points: Tensor, *, count: int, centred: bool = True, seed: int = 0
) -> PrincipalBases:
    """Return the first principal components of points whose float64 copies fit into memory.

    Exact up to `LARGEST_EXACT`; beyond by scikit-learn's randomised solver (Halko et al. 2011),
    which is near exact where variances fall fast (200 bases of 4,000 CIFAR-10 images at 16 px hold
    .98538 of the variance, not .98553).

    Args:
        points: [n, *shape], images or representations, float32 or float64.
        count: how many bases, at most the rank.
        centred: take the mean off first; otherwise the directions of largest mean square, in which
            the mean counts.
        seed: of the randomised solver.

    Raises:
        DDLabError: more bases than the rank, which the message names; points without any variance.
    """
    values = _values(points)
    mean = values.mean(0)
    shifted = values - mean if centred else values
    rows, width = shifted.shape
    if is_exact(points):
        lengths, directions = _full(shifted)
    else:
        from sklearn.utils.extmath import randomized_svd

        state = randomness.derived_seed(seed, 0, "randomised bases")
        _, lengths, directions = randomized_svd(
            shifted, min(count, rows, width), random_state=state
        )
    # Directions that hold nothing but rounding would be scaled up to full length and learned from.
    available = int(
        (lengths[:count] > _ROUNDING[points.dtype] * float(np.linalg.norm(values))).sum()
    )
    total = float(np.square(shifted).sum())
    if available == 0 or total < np.finfo(np.float64).tiny:
        errors.fail(
            "points",
            "at least two points that differ" if centred else "points that are not all 0",
            points,
        )
    if count > available:
        reduction = " less their mean" if centred else ""
        errors.fail(
            "count",
            f"an integer in [1, {available}], the rank of these {rows} points{reduction}",
            count,
        )
    return PrincipalBases(
        # The sign of a principal component is arbitrary and differs between LAPACK builds.
        bases=torch.from_numpy(_orient(directions[:count]))
        .to(points)
        .reshape(count, *points.shape[1:]),
        mean=torch.from_numpy(mean).to(points).reshape(points.shape[1:]),
        variances=torch.from_numpy(lengths[:count] ** 2 / rows),
        total_variance=total / rows,
        centred=centred,
        points=rows,
    )


def is_exact(points: Tensor) -> bool:
    """Return whether all components of points [n, *shape] are computed together.

    They are where points are few and short enough.
    """
    rows = len(points)
    width = points[0].numel()
    # The cost of a full decomposition; 4e10 takes some seconds on one core.
    return rows * width * min(rows, width) <= LARGEST_EXACT


def spectrum(points: Tensor, *, centred: bool = True) -> Tensor:
    """Return the variances of all principal components, falling.

    points [n, *shape], float32 or float64 -> float64 [min(n, d)].

    The eigenvalues of the covariance matrix (divided by n), of which there are d; those left out
    are 0.
    """
    values = _values(points)
    lengths, _ = _full(values - values.mean(0) if centred else values)
    return torch.from_numpy(np.square(lengths) / len(values))


def rank(points: Tensor, *, centred: bool = True) -> int:
    """Return how many principal components points [n, *shape] have: the most bases to be had.

    Those that rounding alone can make are left out.
    """
    values = _values(points)
    lengths = (spectrum(points, centred=centred) * len(values)).sqrt()
    return int((lengths > _ROUNDING[points.dtype] * float(np.linalg.norm(values))).sum())


def _full(shifted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the singular values, falling, and the directions in rows.

    The triangle of a QR has both and is small where points are many.
    """
    rows, width = shifted.shape
    _, lengths, directions = np.linalg.svd(
        np.linalg.qr(shifted, mode="r") if rows > width else shifted, full_matrices=False
    )
    return lengths, directions


def _orient(directions: np.ndarray) -> np.ndarray:
    """Give each row the sign that makes its largest entry positive.

    Of entries alike but for rounding the first one counts.
    """
    sizes = np.abs(directions)
    first = (sizes >= (1 - 1e-6) * sizes.max(1, keepdims=True)).argmax(1)
    return directions * np.sign(np.take_along_axis(directions, first[:, None], 1))


def _values(points: Tensor) -> np.ndarray:
    """Return points [n, *shape] as float64 [n, d]."""
    return points.detach().flatten(1).double().cpu().numpy()
