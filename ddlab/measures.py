r"""Numbers about a `DistilledSet`.

feature_distance     D_fea^c = sum_ij || g(s_i^c) - g(s_j^c) ||^2           (Du et al. 2024, DWA, arXiv 2409.17612, eq 21)
"""

from __future__ import annotations

import torch
from torch import Tensor

from . import errors, networks
from .distilled import DistilledSet
from .networks import Network


def summed_squared_distances(features: Tensor) -> Tensor:
    r"""sum_i sum_j || f_i - f_j ||^2 over all ordered pairs of rows; features [n, d], result a scalar (eq 21 for one class).

    Computed as 2 n sum_i || f_i - mean ||^2, which equals it without n^2 differences.
    """
    errors.check_tensor("features", features, shape=[None, None], floating=True)
    return 2 * len(features) * (features - features.mean(0)).square().sum()


def feature_distance(distilled: DistilledSet, teacher: Network, *, normalised: bool = True) -> Tensor:
    """How far apart the images of each class lie in the teacher's last convolutional features (DWA eq 21).

    Args:
        normalised: divide by the number of ordered pairs of different images, n (n - 1), and by the mean squared length of all
            features, so that sets of different size, and networks of different scale, can be compared. The paper normalises its
            figure and does not say how; plain eq 21 is `normalised=False`.

    Returns:
        float32 [classes]; 0 for a class of one image.
    """
    if not isinstance(distilled, DistilledSet):
        errors.fail("distilled", "a DistilledSet", distilled)
    errors.check_boolean("normalised", normalised)
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
