r"""Two Gaussians in the plane, and what is exactly true of them: Sun et al. 2024 (ReLA), arXiv
2405.14669, Definition 4 and appendix G.

    y ~ Bernoulli(1/2),   x | y = 0 ~ N(mu_1, Sigma^2 I),   x | y = 1 ~ N(mu_2, Sigma^2 I)

The means lie on the diagonal, on both sides of (1.5, 1.5), so that the best boundary is x_1 + x_2 =
3, whatever Sigma is. Two posteriors of unlike Sigma make the same decisions and differ in squared
error, by which distilled targets are judged.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from scipy import special
from torch import Tensor

from ...core import randomness

CENTRE = 1.5  # of the paper's means, (1, 1) and (2, 2)


class Mixture(NamedTuple):
    """Two Gaussians of equal weight: the difference of their means in each coordinate, and Sigma,
    that of each coordinate.
    """

    gap: float = 1.0
    deviation: float = 0.5

    @property
    def means(self) -> Tensor:
        """float64 [2, 2], of class 0 and class 1."""
        half = torch.tensor([[-self.gap / 2], [self.gap / 2]], dtype=torch.float64)
        return CENTRE + half.expand(2, 2)


class Risk(NamedTuple):
    """What a predictor loses: E[(f(x) - y)^2], and P(the nearer label is wrong)."""

    mean_squared_error: float
    error_fraction: float


def sample(mixture: Mixture, count: int, *, seed: int) -> tuple[Tensor, Tensor]:
    """Draw points float64 [count, 2] and their labels float64 [count], 0 or 1."""
    noise = randomness.numpy_generator(seed, 0, "mixture noise").standard_normal((count, 2))
    labels = torch.from_numpy(
        randomness.numpy_generator(seed, 0, "mixture labels").integers(0, 2, count)
    )
    return mixture.means[labels] + mixture.deviation * torch.from_numpy(noise), labels.double()


def spread_points(mixture: Mixture, per_class: int) -> tuple[Tensor, Tensor]:
    """Return points that stand for the whole mixture, always the same.

    Averages over them are expectations up to a small error.

    Each class has a sunflower's seeds (Vogel 1979), each for as large a share of the normal
    distribution, with its exact mean and covariance. Squared errors of toy networks are right to
    about 2% with 100 points per class and to 0.7% with 256; with as many random points it would be
    about 20%.

    Returns:
        points float64 [2 per_class, 2], class 0 first, and labels float64 [2 per_class].
    """
    number = torch.arange(per_class, dtype=torch.float64)
    radius = torch.sqrt(-2 * torch.log1p(-(number + 0.5) / per_class))
    angle = math.pi * (math.sqrt(5) - 1) * number
    normal = radius[:, None] * torch.stack([angle.cos(), angle.sin()], 1)
    normal = normal - normal.mean(0)
    factor = torch.linalg.cholesky(normal.mT @ normal / per_class)
    normal = torch.linalg.solve_triangular(factor, normal.mT, upper=False).mT
    points = mixture.means[:, None] + mixture.deviation * normal
    return points.flatten(0, 1), torch.tensor([0.0, 1.0], dtype=torch.float64).repeat_interleave(
        per_class
    )


def posterior(mixture: Mixture, points: Tensor) -> Tensor:
    """Return P(y = 1 | x) at points [..., 2], of their dtype. It is the sigmoid of (mu_2 - mu_1) .

    (x - centre) / Sigma^2 (appendix G).
    """
    logits = (points.double() - CENTRE).sum(-1) * (mixture.gap / mixture.deviation**2)
    return torch.sigmoid(logits).to(points.dtype)


def risk(believed: Mixture, data: Mixture) -> Risk:
    """Return what `believed`'s posterior loses on `data`.

    With one mixture twice it is the Bayes risk, which no predictor can beat.

    By symmetry of one class: the logit of the wrong label is normal along the diagonal. Right to
    1e-6 unless `believed` is ten times as narrow as the data.
    """
    slope = believed.gap / believed.deviation**2
    t, width = np.linspace(-12, 12, 20_001, retstep=True)
    logits = slope * (math.sqrt(2) * data.deviation * t - data.gap)
    density = np.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    squared = float((density * special.expit(logits) ** 2).sum() * width)
    wrong = 0.5 if slope == 0 else float(special.ndtr(-data.gap / math.sqrt(2) / data.deviation))
    return Risk(squared, wrong)
