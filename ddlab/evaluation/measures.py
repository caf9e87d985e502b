r"""Numbers about a `DistilledSet`.

feature_distance             D_fea^c = sum_ij || g(s_i^c) - g(s_j^c) ||^2     (Du et al. 2024, DWA, arXiv 2409.17612, eq 21)
nearest_neighbour_coverage   share of real points t_i with some s_j in B(t_i, r_i), r_i the distance to t_i's k-th nearest real
                             point                                           (Naeem et al. 2020, arXiv 2002.09797, eq 6)
distillation_ratio           r_M = 100 x accuracy of M images / accuracy of all   (Sucholutsky & Schonlau 2021, arXiv 1910.02551)
fewest_images                d_A: the smallest M whose accuracy is A              (the same)
label_robust_score           (e^a - 1/e) / (e - 1/e), a = w IOR - (1 - w) HLR    (Li et al. 2025, DD-Ranking, arXiv 2505.13300)
augmentation_robust_score    the same of b = w IOR with views + (1 - w) IOR without                                  (the same)

DD-Ranking's code tests after each epoch and keeps the best, and looks for the rate of random images
on the test set: the definitions are taken from there, what an accuracy is not.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from .. import networks
from ..core import errors
from ..distilled import DistilledSet
from ..networks import Network


def distillation_ratio(distilled: float, original: float) -> float:
    """Return r_M, an accuracy in percent of that of a network trained on all images."""
    return 100 * distilled / original


def fewest_images(accuracies: Mapping[int, float], accuracy: float) -> int | None:
    """Return d_A, the smallest M of {M: accuracy of M images} that reaches an accuracy, or None."""
    return min(
        (images for images, reached in accuracies.items() if reached >= accuracy), default=None
    )


def label_robust_score(improvement: float, missing: float, *, weight: float = 0.5) -> float:
    """Return the label-robust score (LRS), in [0, 1], of accuracies as fractions.

    It weighs what a set's own labels and recipe are worth against what its images are worth with
    class labels.

    Args:
        improvement: IOR, accuracy of the set, trained its own way, minus that of as many random
            real images trained that way.
        missing: HLR, accuracy of all real images minus that of the set, both with class labels.
        weight: w, in [0, 1].
    """
    return _from_exponent(weight * improvement - (1 - weight) * missing)


def augmentation_robust_score(with_views: float, without: float, *, weight: float = 0.5) -> float:
    """Return the augmentation-robust score (ARS), in [0, 1], of accuracy gains as fractions.

    A gain is an accuracy minus that of as many random real images; students see augmented views, or
    none.
    """
    return _from_exponent(weight * with_views + (1 - weight) * without)


def _from_exponent(exponent: float) -> float:
    """Map [-1, 1] onto [0, 1] by an exponential.

    Zero, no better than random and as good as all, becomes .269.
    """
    return (math.exp(exponent) - math.exp(-1)) / (math.e - math.exp(-1))


def summed_squared_distances(features: Tensor) -> Tensor:
    r"""Return sum_i sum_j || f_i - f_j ||^2 over all ordered pairs of rows of features [n, d].

    It is a scalar (eq 21 for one class).

    Computed as 2 n sum_i || f_i - mean ||^2, which equals it without n^2 differences.
    """
    return 2 * len(features) * (features - features.mean(0)).square().sum()


def feature_distance(
    distilled: DistilledSet, teacher: Network, *, normalised: bool = True
) -> Tensor:
    """Measure how far apart the images of each class lie in the teacher's features (DWA eq 21).

    The features are those of the last convolution.

    Args:
        normalised: divide by the number of ordered pairs of different images, n (n - 1), and by the
            mean squared length of all features, so that sets of different size, and networks of
            different scale, can be compared. The paper normalises its figure and does not say how;
            plain eq 21 is `normalised=False`.

    Returns:
        float32 [classes]; 0 for a class of one image.
    """
    features = networks.predict(teacher, distilled.images).last_conv.flatten(1)
    if not len(features):
        return features.new_zeros(distilled.classes)
    scale = features.square().sum(1).mean().clamp_min(torch.finfo(features.dtype).tiny)
    distances = []
    for label in range(distilled.classes):
        members = features[distilled.labels == label]
        value = summed_squared_distances(members) if len(members) else features.new_zeros(())
        pairs = max(len(members) * (len(members) - 1), 1)
        distances.append(value / (pairs * scale) if normalised else value)
    return torch.stack(distances)


def neighbourhood_radii(real: Tensor, *, neighbours: int = 5) -> Tensor:
    """Return the distance from each point to its k-th nearest other point: real [n, d] -> [n].

    Raises:
        DDLabError: fewer than neighbours + 1 points, or points that are not finite.
    """
    if len(real) <= neighbours:
        errors.fail("neighbours", f"less than the number of real points, {len(real)}", neighbours)
    # A point's distance to itself, 0, is the first of its sorted distances; the k-th other one has
    # index k.
    radii = [
        _distances(part, real).kthvalue(neighbours + 1, dim=1).values for part in real.split(_ROWS)
    ]
    return torch.cat(radii)


def coverage(real: Tensor, radii: Tensor, points: Tensor) -> Tensor:
    """Return which real points have one of `points` in their neighbourhood, bool [n].

    Shapes: real [n, d], radii [n], points [m, d].
    """
    errors.check_tensor("radii", radii, shape=[len(real)])
    if not len(points):
        return torch.zeros(len(real), dtype=torch.bool, device=real.device)
    nearest = torch.cat([_distances(part, points).amin(1) for part in real.split(_ROWS)])
    return nearest <= radii


def nearest_neighbour_coverage(real: Tensor, points: Tensor, *, neighbours: int = 5) -> float:
    """Return the share of real points that have one of `points` among them, in [0, 1].

    It is equation 6 of Naeem et al. 2020.

    A real point is covered if some point of `points` is not farther than its k-th nearest real
    neighbour. One point covers about k real ones, so compare sets of the same size only; as many
    random real images are the reference.

    Args:
        real: [n, d], features of real images.
        points: [m, d], of a distilled set; the same dtype.
        neighbours: k; 5 in the paper.
    """
    return float(
        coverage(real, neighbourhood_radii(real, neighbours=neighbours), points).double().mean()
    )


_ROWS = 1024  # at a time: the distances of 50,000 points to each other are 10 GB


def _distances(points: Tensor, other_points: Tensor) -> Tensor:
    if points.dtype.itemsize < 4:  # torch has no distances of half-precision numbers
        points = points.float()
        other_points = other_points.float()
    # Without matrix products: rounding must not move a point out of the neighbourhood that it
    # defines.
    return torch.cdist(points, other_points, compute_mode="donot_use_mm_for_euclid_dist")
