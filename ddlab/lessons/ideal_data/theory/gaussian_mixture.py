r"""The two-Gaussian world of the ReLA paper, and what is exactly true in it.

Sun et al. 2024 (ReLA), arXiv 2405.14669, Definition 4 and appendix G:

    y ~ Bernoulli(1/2),   x | y = 0 ~ N(mu_1, Sigma^2 I),   x | y = 1 ~ N(mu_2, Sigma^2 I)

    symbol       name here          shape     meaning
    mu_1, mu_2   means              [2, d]    means of class 0 and class 1
    Sigma        deviation                    standard deviation of each coordinate within a class
    f*           posterior          [...]     P(y = 1 | x), what no predictor of squared error can beat

    Definition 4   GaussianMixture, bimodal_mixture (the paper's means at any distance and in any dimension)
    appendix G     decision_boundary: where the posterior is 1/2, which no Sigma moves
    eq 2           predictive_risk: the mean squared error and the error of a posterior on data of another mixture

Two posteriors of equal means and unlike Sigma have one boundary and unlike probabilities: they make the same decisions, and differ in
squared error, which is what distilled targets are judged by.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ....core import errors, randomness

CENTRE = 1.5  # of the paper's means, (1, 1) and (2, 2)
PAPER_DISTANCE = math.sqrt(2)  # between them


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianMixture:
    """Definition 4: two Gaussians of equal weight and of one deviation in every direction.

    Attributes:
        means: float64 [2, d], of class 0 and class 1, up to 1e4 in size. float32 is taken as well.
        deviation: Sigma, in [0.001, 1000].

    """

    means: Tensor
    deviation: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", self.means.detach().to("cpu", torch.float64))

    @property
    def dimensions(self) -> int:
        """d."""
        return self.means.shape[1]

    @property
    def distance(self) -> float:
        """||mu_2 - mu_1||."""
        return float((self.means[1] - self.means[0]).norm())


class DecisionBoundary(NamedTuple):
    """The plane of the points x with normal . x = offset; class 1 lies where normal . x is larger. normal: [d], of length 1."""

    normal: Tensor
    offset: float


class PredictiveRisk(NamedTuple):
    """What a predictor loses: E[(f(x) - y)^2], and P(the nearer label is wrong)."""

    mean_squared_error: float
    error_fraction: float


def bimodal_mixture(
    *, distance: float = PAPER_DISTANCE, deviation: float = 0.5, dimensions: int = 2
) -> GaussianMixture:
    """The paper's mixture: means on the diagonal, on both sides of (1.5, ..., 1.5).

    The defaults are G of Definition 4 with means (1, 1) and (2, 2). In one dimension the paper's means 1 and 2 are at distance 1.

    Args:
        distance: between the means, in [0, 1000]. deviation: Sigma. dimensions: d, at most 1000.
    """
    half = distance / 2 / math.sqrt(dimensions)
    means = torch.tensor([[CENTRE - half], [CENTRE + half]], dtype=torch.float64).expand(2, dimensions)
    return GaussianMixture(means=means.contiguous(), deviation=deviation)


def mixture_sample(mixture: GaussianMixture, count: int, *, seed: int) -> tuple[Tensor, Tensor]:
    """Points float64 [count, d] and their labels float64 [count], 0 or 1; the first ones stay when more are drawn."""
    noise = randomness.numpy_generator(seed, 0, "mixture noise").standard_normal((count, mixture.dimensions))
    labels = torch.from_numpy(randomness.numpy_generator(seed, 0, "mixture labels").integers(0, 2, count))
    return mixture.means[labels] + mixture.deviation * torch.from_numpy(noise), labels.double()


def spread_points(mixture: GaussianMixture, per_class: int) -> tuple[Tensor, Tensor]:
    """Points that stand for the whole mixture: averages over them are expectations up to a small error, always the same.

    Equal shares of the normal distribution, its mean and covariance made exact, the same for both classes: in two dimensions a
    sunflower's seeds (Vogel 1979), in others a Sobol sequence. In two dimensions squared errors of trained toy networks are right to
    about 2% with 64 to 128 points per class and to 0.7% with 256, shares of wrong decisions to 5% and 1%; with 128 random points it
    would be about 20%.

    Args:
        per_class: at least 2 d, so that a covariance can be made; at most 2^16.

    Returns:
        points float64 [2 per_class, d], class 0 first, and labels float64 [2 per_class].
    """
    dimensions = mixture.dimensions
    normal = _sunflower(per_class) if dimensions == 2 else _sobol(per_class, dimensions)
    normal = normal - normal.mean(0)
    factor = torch.linalg.cholesky(normal.mT @ normal / per_class)
    normal = torch.linalg.solve_triangular(factor, normal.mT, upper=False).mT
    points = mixture.means[:, None] + mixture.deviation * normal
    return points.flatten(0, 1), torch.tensor([0.0, 1.0], dtype=torch.float64).repeat_interleave(per_class)


def posterior(mixture: GaussianMixture, points: Tensor) -> Tensor:
    r"""P(y = 1 | x) = sigmoid((mu_2 - mu_1) . (x - (mu_1 + mu_2) / 2) / Sigma^2), appendix G's likelihood ratio; [...].

    Args:
        points: float [..., d]; the answer has their dtype.
    """
    logits = (points.double() - mixture.means.mean(0)) @ _slope(mixture)
    return torch.sigmoid(logits).to(points.dtype)


def decision_boundary(mixture: GaussianMixture) -> DecisionBoundary:
    """Where the posterior is 1/2: the plane half way between the means, whatever Sigma (appendix G; in one dimension x = 1.5).

    Raises:
        DDLabError: equal means, which no plane tells apart.
    """
    distance = mixture.distance
    if distance == 0:
        errors.fail("mixture", "one of two different means", distance)
    normal = (mixture.means[1] - mixture.means[0]) / distance
    return DecisionBoundary(normal=normal, offset=float(normal @ mixture.means.mean(0)))


def predictive_risk(believed: GaussianMixture, data: GaussianMixture) -> PredictiveRisk:
    """What `believed`'s posterior loses on `data`; with the same mixture twice the Bayes risk, which no predictor can beat.

    Exact to 1e-9: the posterior's logit is a line through x, so that within a class it is one-dimensional normal, and the integral is one
    over that line.

    Raises:
        DDLabError: mixtures of unlike dimensions.
    """
    if data.dimensions != believed.dimensions:
        errors.fail("data", f"of the other mixture's {believed.dimensions} dimensions", data.dimensions)
    slope = _slope(believed)
    spread = data.deviation * float(slope.norm())
    squared, wrong = 0.0, 0.0
    for label, mean in enumerate(data.means):
        # By symmetry: the logit of the wrong class, whose squared error is sigmoid(logit)^2.
        logit = float((mean - believed.means.mean(0)) @ slope) * (1 - 2 * label)
        squared += _squared_sigmoid(logit, spread) / 2
        wrong += (math.erfc(-logit / spread / math.sqrt(2)) / 2 if spread > 0 else 0.5) / 2
    return PredictiveRisk(squared, wrong)


def _sunflower(count: int) -> Tensor:
    """[count, 2], each for as large a share of the normal distribution, turned on by the golden angle."""
    number = torch.arange(count, dtype=torch.float64)
    radius = torch.sqrt(-2 * torch.log1p(-(number + 0.5) / count))
    angle = math.pi * (math.sqrt(5) - 1) * number
    return radius[:, None] * torch.stack([angle.cos(), angle.sin()], 1)


def _sobol(count: int, dimensions: int) -> Tensor:
    """[count, dimensions], a Sobol sequence through the normal quantile."""
    # The first point of a Sobol sequence is the corner 0, whose quantile is infinite.
    corners = torch.quasirandom.SobolEngine(dimensions).draw(count + 1, dtype=torch.float64)[1:]
    return torch.special.ndtri(corners)


def _slope(mixture: GaussianMixture) -> Tensor:
    return (mixture.means[1] - mixture.means[0]) / mixture.deviation**2


def _squared_sigmoid(mean: float, spread: float) -> float:
    """E[sigmoid(mean + spread t)^2] for t ~ N(0, 1)."""
    from scipy import integrate, special

    if spread == 0:
        return float(special.expit(mean)) ** 2

    def integrand(t: float) -> float:
        return math.exp(-t * t / 2) / math.sqrt(2 * math.pi) * float(special.expit(mean + spread * t)) ** 2

    # Where the sigmoid rises; a steep one would be missed between the nodes of a rule that does not know it.
    turn = -mean / spread
    edges = turn + np.array([-40, -8, 0, 8, 40]) / spread
    points = sorted(float(edge) for edge in edges if abs(edge) < 12)
    bounds = [-12.0, *points, 12.0]
    return sum(integrate.quad(integrand, low, high, epsabs=1e-12)[0] for low, high in itertools.pairwise(bounds))
