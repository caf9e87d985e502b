r"""Random views in the inner loop, and what they do to the outer gradient, exactly.

Lee et al. 2024 (KRR-ST), arXiv 2310.06511, prove, and Yu, Yao & Chiu 2025 (Boost), section 3.1, repeat that random augmentation biases the
gradient that goes through the inner loop. The smallest case in which that can be counted out: m distilled images X with targets Y, A
views of each, a fixed feature map f, and an inner model that is linear in f and fitted to the end by kernel ridge regression. That is
also what an outer step of theirs is: its network comes from a pool, and only the regression on it is differentiated.

    W(c) = argmin_W  sum_r c_r |phi_r W - y_r|^2 + lambda |W|^2,   phi = [f, 1],   lambda = strength sum_r c_r |phi_r|^2
    L(X; c) = mean over images and numbers of (g(X_t) - phi(X_t) W(c))^2                              fitted_losses

    symbol     in code    shape         what
    r                     (A + 1) m     all views of all images, in rows
    c_r        counts     [p, A+1, m]   how often the fit sees row r: an assignment
    k          draws                    views that are drawn of every image, each of the A + 1 with the same odds
    g(X_t)     wanted     [n, o]        what the teacher says of the real images

    what the student sees        counts               gradient                         function
    each image as it is          1, 0, ..., 0         grad L, one number               objective_gradient(views="none")
    all views (Boost)            1, 1, ..., 1         g_all = grad L(X; 1), one        objective_gradient(views="predefined")
    k drawn views of each        multinomial(k)       g = grad L(X; c), a draw         random_view_gradients(draws=k)

The gradient goes through features and kernel; lambda is taken as a constant, as in the authors' code. Because lambda goes with the counts,
the limit of many draws is the fit on all views: c / k -> 1 / (A + 1), and W(c) depends on the ratios of c alone. So g_all is the
gradient that random augmentation pretends to estimate: that through the student who minimises the *expected* inner loss.

In which sense the sentence is right. E g = grad E L(X; c), lambda held: drawn views give an unbiased gradient of the mean loss of
students who each saw one draw. That is another objective than L of the student of the mean inner loss, because L is not linear in c:
E g is not g_all. The bias stands relative to g_all and nothing else, and grows beside it as g_all goes to 0. With predefined views there
is no draw: spread 0, and bias 0 relative to their own objective. That holds for no views as well, and it does not make A views stand
for a continuum of crops: beside that, they are one draw.

How the bias falls with k. Where the ridge or the number of rows keeps the fit from meeting every target, like 1/k (the spread like its
root). Where the fit meets them all, it does not matter how often a view was seen, only whether: the bias goes with the odds that some view
was not, at most m (A + 1) (A / (A + 1))^k. With a strength of 1e-6 and more features than rows, KRR-ST's case, that is what is seen.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor

from .. import networks
from ..core import errors
from ..core.boundary import check_fields, checked, filled, typed
from ..data import predefined_views
from ..networks import Network
from ._check import bounded
from .counted_ridge import Strength, drawn_view_counts, fitted_losses, view_counts

_NUMBERS_AT_ONCE = 1_000_000  # a few copies of them are held, 60 MB
_MOST_SLOPES = 30_000_000
_COPIES_AT_ONCE = 32  # of each image, through the network and back

Features = Callable[[Tensor], Tensor]


def on_cpu(argument: str, value: Tensor) -> Tensor:
    """Of a tensor on the CPU."""
    if value.device.type != "cpu":
        errors.fail(argument, "on the CPU", str(value.device))
    return value


@dataclass(frozen=True, kw_only=True, eq=False)
class ViewProblem:
    """Distilled images, their views and targets, and the real images that the student is asked about. All of it in float64, on the
    CPU.

    Attributes:
        images: [m, c, h, w]. targets: [A + 1, m, o], those of each view, or [m, o], the image's own for all its views.
        real: [n, c, h, w]; wanted: [n, o], the teacher's.
        features: images [any, c, h, w] -> [any, d], differentiable, each image for itself; `frozen_features(network)` makes one.
        kind: of `predefined_views`. strength: of the ridge, as a part of the kernel's trace; above 0.
    """

    images: Annotated[Tensor, typed("m c h w", torch.float64), filled, bounded, on_cpu]
    targets: Annotated[Tensor, typed("... m o", torch.float64), filled, bounded, on_cpu]
    real: Annotated[Tensor, typed("n c h w", torch.float64), filled, bounded, on_cpu]
    wanted: Annotated[Tensor, typed("n o", torch.float64), filled, bounded, on_cpu]
    features: Features
    kind: predefined_views.Kind = "rotation"
    strength: Strength = 1e-6

    def __post_init__(self) -> None:
        check_fields(self)
        if self.targets.shape[:-2] not in ((), (self.views,)):
            errors.fail("targets", f"of shape [m, o] or [{self.views}, m, o]", self.targets)

    @property
    def views(self) -> int:
        """A + 1: an image and its views."""
        return len(predefined_views.NAMES[self.kind])

    @property
    def rows(self) -> int:
        """(A + 1) m."""
        return self.views * len(self.images)

    def view_features(self, images: Tensor) -> Tensor:
        """f of all views, by view: [m, c, h, w] -> [(A + 1) m, d]."""
        return self._features(predefined_views.augmented(images, self.kind).flatten(0, 1))

    def losses(self, features: Tensor, counts: Tensor) -> Tensor:
        """L(X; c): features [p or 1, (A + 1) m, d], counts [p, A + 1, m] -> [p]."""
        targets = self.targets.expand(self.views, *self.targets.shape[-2:]).flatten(0, 1)
        real = self._real_features
        return fitted_losses(features, targets, counts.flatten(1), real, self.wanted, strength=self.strength)

    @functools.cached_property
    def _real_features(self) -> Tensor:
        """f of the real images, [n, d]."""
        with torch.no_grad():
            return self._features(self.real)

    def _features(self, images: Tensor) -> Tensor:
        found = self.features(images)
        if images.requires_grad and not (isinstance(found, Tensor) and found.requires_grad):
            errors.fail("features", "a differentiable function of images", self.features)
        return errors.check_tensor("what features gives", found, shape=[len(images), None], dtype=torch.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class ViewObjective:
    """A deterministic objective: its loss, and its gradient [m, c, h, w] with respect to the distilled images."""

    loss: float
    gradient: Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomViewGradients:
    """What the gradient of k drawn views per image does on average, beside g_all, that of all views at once.

    Attributes:
        draws: k. exact: whether every assignment was computed; else `probabilities` are those of the samples, all equal.
        all_views: the objective whose minimum random augmentation pretends to look for.
        mean_loss: E L. mean_gradient: E g, [m, c, h, w]: the gradient of `mean_loss` (with each ridge taken as a constant).
        bias: ||E g - g_all|| / ||g_all||. spread: sqrt(E ||g - E g||^2) / ||g_all||. cosine: of E g and g_all.
        standard_error: of the mean gradient, in units of ||g_all||; 0 where exact. A sampled bias below a few of it shows nothing.
        probabilities, losses: [p], of the assignments. along, across: [p], a gradient's component along g_all and the length of what
            is left of it, in units of ||g_all||; g_all itself lies at (1, 0).
    """

    draws: int
    exact: bool
    all_views: ViewObjective
    mean_loss: float
    mean_gradient: Tensor
    bias: float
    spread: float
    cosine: float
    standard_error: float
    probabilities: Tensor
    losses: Tensor
    along: Tensor
    across: Tensor

    @property
    def error(self) -> float:
        """sqrt(E ||g - g_all||^2) / ||g_all||, which is sqrt(bias^2 + spread^2)."""
        return math.hypot(self.bias, self.spread)


@checked
def frozen_features(network: Network) -> Features:
    """A network's features as a function of images, in float64 and evaluation mode: [n, c, h, w] -> [n, d]."""
    weights = {name: value.double() if value.is_floating_point() else value for name, value in network.weights.items()}
    return lambda images: networks.call(network.spec, weights, images)[0].features


@checked
def objective_gradient(problem: ViewProblem, *, views: Literal["none", "predefined"] = "predefined") -> ViewObjective:
    """Loss and gradient where nothing is drawn: the fit sees each image as it is ("none"), or once in every view ("predefined")."""
    images = problem.images.detach().clone().requires_grad_()
    counts = torch.ones(1, problem.views, len(images), dtype=torch.float64)
    if views == "none":
        counts[:, 1:] = 0
    loss = problem.losses(problem.view_features(images)[None], counts)[0]
    (gradient,) = torch.autograd.grad(loss, images, materialize_grads=True)
    errors.check_tensor("the gradient with respect to the images", gradient)
    return ViewObjective(loss=float(loss.detach()), gradient=gradient)


def random_view_gradients(
    problem: ViewProblem, *, draws: int = 1, samples: int | None = None, seed: int = 0
) -> RandomViewGradients:
    """Mean and spread of the gradient where k views of each image are drawn anew for every outer step.

    Args:
        draws: k. samples: None computes every assignment, exactly; a number draws so many of them. seed: of these draws.

    Raises:
        DDLabError: too many assignments to compute them all; a problem whose gradient with all views is 0.
    """
    goal = objective_gradient(problem)
    length = float(goal.gradient.norm())
    if not length > 0:
        errors.fail("problem", "one whose gradient with all views is not 0", length)
    if samples is None:
        counts, odds = view_counts(len(problem.images), problem.views, draws)
    else:
        counts = drawn_view_counts(len(problem.images), problem.views, draws, samples=samples, seed=seed)
        odds = torch.full([len(counts)], 1 / len(counts), dtype=torch.float64)
    direction, start = goal.gradient.flatten() / length, 0
    mean, squares = torch.zeros_like(direction), 0.0
    # Written into whole tensors: small ones kept from each turn would lie between the large ones of the next, 100 MB for 500 samples.
    losses, along, across = torch.empty(3, len(counts), dtype=torch.float64)
    for found, gradients in _assignment_gradients(problem, counts):
        here = slice(start, start + len(found))
        start = here.stop
        gradients, weights = gradients / length, odds[here]
        mean = mean + weights @ gradients
        squares += float(weights @ (gradients - direction).square().sum(1))
        losses[here], along[here] = found, gradients @ direction
        across[here] = (gradients - along[here, None] * direction).norm(dim=1)
    bias = float((mean - direction).norm())
    spread = math.sqrt(max(squares - bias**2, 0.0))
    return RandomViewGradients(
        draws=draws, exact=samples is None, all_views=goal,
        mean_loss=float(odds @ losses), mean_gradient=length * mean.reshape(goal.gradient.shape),
        bias=bias, spread=spread, cosine=float(torch.cosine_similarity(mean, direction, dim=0)),
        standard_error=0.0 if samples is None else spread / math.sqrt(samples),
        probabilities=odds, losses=losses, along=along, across=across,
    )  # fmt: skip


def _assignment_gradients(problem: ViewProblem, counts: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Losses [b] and gradients [b, m c h w] of the assignments [p, A + 1, m], some at a time."""
    features, slopes = _features_and_slopes(problem)
    numbers = 2 * features.numel() + problem.rows**2 + problem.images.numel() + problem.wanted.numel()
    for some in counts.split(max(1, _NUMBERS_AT_ONCE // numbers)):
        leaf = features.expand(len(some), *features.shape).clone().requires_grad_()
        losses = problem.losses(leaf, some)
        (of_features,) = torch.autograd.grad(losses.sum(), leaf)
        of_features = of_features.unflatten(1, counts.shape[1:])  # [b, A + 1, m, d]
        yield losses.detach(), torch.einsum("bamd,amdx->bmx", of_features, slopes).flatten(1)


def _features_and_slopes(problem: ViewProblem) -> tuple[Tensor, Tensor]:
    """Features of all views [(A + 1) m, d], and of each the derivatives by its own image's pixels [A + 1, m, d, c h w].

    Many derivatives of a view in one backward pass: of so many copies of each image, each is asked for another feature.
    """
    with torch.no_grad():
        features = problem.view_features(problem.images)
        alone = problem.features(problem.images[:1])
    if not torch.allclose(alone, features[:1], rtol=1e-9, atol=1e-12):
        errors.fail(
            "features", "a function of each image for itself, as a network in evaluation mode is", problem.features
        )
    count, width = len(problem.images), features.shape[1]
    if features.numel() * problem.images[0].numel() > _MOST_SLOPES:
        allowed = f"of at most {_MOST_SLOPES} pixels times features of views; choose fewer or smaller images"
        errors.fail("problem", allowed, features.numel() * problem.images[0].numel())
    slopes = features.new_empty(problem.views, count, width, problem.images[0].numel())
    for view in range(problem.views):
        for block in torch.arange(width).split(_COPIES_AT_ONCE):
            copies = problem.images.detach().repeat(len(block), 1, 1, 1).requires_grad_()
            of_view = problem.features(predefined_views.augmented(copies, problem.kind)[view])
            asked = of_view.unflatten(0, (len(block), count))[torch.arange(len(block)), :, block].sum()
            slope = torch.autograd.grad(asked, copies, materialize_grads=True)[0]
            slopes[view, :, block] = slope.reshape(len(block), count, -1).transpose(0, 1)
    return features, slopes
