"""Lesson 45: the checks of its exercises."""

import functools

import torch
from torch import Tensor

from ... import data
from ...unlabelled.self_supervised.barlow_twins import barlow_twins_loss
from ..answers import Exercise, NotYet
from .setting import UNTRAINED, make_prior, make_set

_WEIGHT = 0.005  # of Barlow Twins' correlations off the diagonal
_READ = 0.05  # most of a target's variance that pixels may predict
# Most that moments may differ, in deviations of the old targets. A normal draw of 5,000 x 64 numbers
# misses some by .07.
_MOMENT_GAP = 0.1
# New targets this near to an old one count as old ones.
_NEAR = 1.0
_MOST_NEAR = 0.02  # of those that are compared
_COMPARED = 500


def predicted(targets: Tensor, images: Tensor) -> float:
    """Return R^2 of a ridge regression from pixels to targets, at least 0.

    It learns on every other image and is measured on the rest.
    """
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score

    points = images.flatten(1).double().numpy()
    outputs = targets.flatten(1).double().numpy()
    reader = Ridge(alpha=100).fit(points[::2], outputs[::2])
    return max(
        0.0,
        float(
            r2_score(outputs[1::2], reader.predict(points[1::2]), multioutput="variance_weighted")
        ),
    )


def _whiten(values: Tensor) -> Tensor:
    """Return values in coordinates in which the old targets have mean 0 and covariance 1."""
    targets = _targets_of_shapes()[1].double()
    root = torch.linalg.cholesky(targets.T.cov())
    return torch.linalg.solve_triangular(root, (values - targets.mean(0)).T, upper=False).T


def _judge_targets(new_targets: Tensor, targets: Tensor) -> str:
    """Judge targets that are said to have the old statistics, and to belong to no image."""
    images, _, before = _targets_of_shapes()
    white = _whiten(new_targets)
    mean_gap = float(white.mean(0).abs().max())
    covariance_gap = float((white.T.cov() - torch.eye(white.shape[1])).abs().max())
    if mean_gap > _MOMENT_GAP:
        raise NotYet(
            f"The means differ by up to {mean_gap:.2f} deviations of the old targets; at most "
            f"{_MOMENT_GAP} is allowed."
        )
    if covariance_gap > _MOMENT_GAP:
        raise NotYet(
            f"The covariances differ by up to {covariance_gap:.2f}, where every variance of the old "
            f"targets counts as 1; at most {_MOMENT_GAP} is allowed."
        )
    after = predicted(new_targets, images)
    statement = (
        f"Pixels predicted {before:.0%} of the old targets' variance and predict {after:.0%} of "
        "yours."
    )
    if after > _READ:
        raise NotYet(f"{statement} They still belong to their images.")
    nearest = torch.cdist(white[:_COMPARED], _whiten(targets.double())).amin(1)
    if float((nearest < _NEAR).double().mean()) > _MOST_NEAR:
        raise NotYet(
            f"{statement} But old targets, or targets right beside them, are among yours: that is "
            "shuffling."
        )
    return f"{statement} The mean and the covariance are as they were."


STATISTICS = Exercise(
    ask="Write a function of targets [n, k] that returns new targets of the same shape.",
    arguments=("targets [n, k]",),
    cases=lambda: [(_targets_of_shapes()[1].clone(),)],
    shape=lambda targets: targets.shape,
    success=lambda results: _judge_targets(results[0], _targets_of_shapes()[1]),
)


@functools.cache
def _targets_of_shapes() -> tuple[Tensor, Tensor, float]:
    """Return images, their targets, and the share of these that pixels predict.

    They are the same for every answer, so a second try is faster. The prior's targets have mean 0 and
    covariance 1, like any standard normal draw, so these are stretched, turned and shifted.
    """
    shapes = data.load("shapes", size=16)
    images = shapes.normalised()
    targets = make_set(make_prior(UNTRAINED, shapes), shapes).target("representations").values[0]
    draws = torch.Generator().manual_seed(45)
    size = targets.shape[1]
    turn, _ = torch.linalg.qr(torch.randn((size, size), generator=draws))
    targets = targets @ (torch.linspace(2, 0.5, size).diag() @ turn) + torch.linspace(-1, 1, size)
    return images, targets, predicted(targets, images)


def _projections() -> list[tuple[Tensor, Tensor]]:
    draw = torch.Generator().manual_seed(0)
    first = 3 + 2 * torch.randn((40, 6), generator=draw)
    return [(first, first + 5 * torch.randn((40, 6), generator=draw))]


def _squared_errors(first: Tensor, second: Tensor, correction: int = 0) -> Tensor:
    """Return (C - 1)^2 [d, d] of the correlations C, the deviations by n - `correction`."""
    first = (first - first.mean(0)) / first.std(0, correction=correction)
    second = (second - second.mean(0)) / second.std(0, correction=correction)
    return (first.T @ second / len(first) - torch.eye(first.shape[1])).square()


def _weigh(squares: Tensor, weight: float = _WEIGHT) -> Tensor:
    return (1 - weight) * squares.trace() + weight * squares.sum()


BARLOW_TWINS = Exercise(
    arguments=("first [n, d]", "second [n, d]"),
    cases=_projections,
    expected=lambda first, second: barlow_twins_loss(first, second, off_diagonal_weight=_WEIGHT),
    mistakes={
        "Off the diagonal the weight 0.005 is missing.": (
            lambda first, second: _weigh(_squared_errors(first, second), 1.0)
        ),
        "What is off the diagonal is missing.": (
            lambda first, second: _weigh(_squared_errors(first, second), 0.0)
        ),
        "You divide the deviations by n - 1 and the products by n: then C_ii of two equal views is "
        "not 1.": lambda first, second: _weigh(_squared_errors(first, second, 1)),
        "The loss is a sum. Yours is a mean over all pairs of numbers.": (
            lambda first, second: _weigh(_squared_errors(first, second)) / first.shape[1] ** 2
        ),
        "The loss is a sum. Yours is a mean over the numbers of a projection.": (
            lambda first, second: _weigh(_squared_errors(first, second)) / first.shape[1]
        ),
        "The diagonal counts twice: once with 1, and once more with 0.005.": (
            lambda first, second: (
                _squared_errors(first, second).trace()
                + _WEIGHT * _squared_errors(first, second).sum()
            )
        ),
        "Your correlations are those of images, over the numbers. They are those of numbers, over "
        "the images of the batch.": lambda first, second: _weigh(
            _squared_errors(first.T, second.T)
        ),
        "You correlate the first view with itself.": (
            lambda first, second: _weigh(_squared_errors(first, first))
        ),
        "The products are not correlations yet: centre each number, and divide it by its deviation "
        "over the batch.": lambda first, second: _weigh(
            (first.T @ second / len(first) - torch.eye(first.shape[1])).square()
        ),
    },
    look="Is each number centred, and divided by its deviation over the batch, first?",
    tolerance=1e-3,
    success="No other image was needed to push against.",
)

CHECKS = {"statistics": STATISTICS, "barlow twins": BARLOW_TWINS}
