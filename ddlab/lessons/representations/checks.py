"""Lesson 45: the checks of its exercises."""

import functools
from typing import Any

import torch
from torch import Tensor

from ... import data
from ...training.self_supervised.barlow_twins import barlow_twins_loss
from ..answers import NotYet, call_answer
from .setting import UNTRAINED, make_prior, make_set

_WEIGHTS = {
    "": 0.005,
    "Off the diagonal the weight is missing.": 1.0,
    "What is off the diagonal is missing.": 0.0,
}
_READ = 0.05  # most of a target's variance that pixels may predict
_MOMENT_GAP = (
    0.1  # most that moments may differ; a normal draw of 5,000 x 64 numbers misses some by .07
)


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


def check_same_statistics(answer: Any) -> str:
    """Check exercise 1: a function of targets [n, k] that gives strange ones of the same
    statistics. Mean and covariance stay; the new targets do not belong to the images.
    """
    images, targets, before = _targets_of_shapes()
    new_targets = call_answer(answer, targets.clone(), of="targets [n, k]")
    if (
        not isinstance(new_targets, Tensor)
        or new_targets.shape != targets.shape
        or not bool(torch.isfinite(new_targets).all())
    ):
        raise NotYet(f"Return finite targets of the same shape, {list(targets.shape)}.")
    moments = []
    for values in (targets, new_targets):
        moments.append(torch.cat([values.double().mean(0, keepdim=True), values.double().T.cov()]))
    gap = float((moments[0] - moments[1]).abs().max())
    if gap > _MOMENT_GAP:
        raise NotYet(
            f"Measured: means or covariances differ by up to {gap:.2f}; at most {_MOMENT_GAP} is allowed."
        )
    after = predicted(new_targets, images)
    statement = (
        f"Pixels predicted {before:.0%} of the old targets' variance and predict {after:.0%} of "
        "yours."
    )
    if after > _READ:
        raise NotYet(f"{statement} They still belong to their images.")
    if float(torch.cdist(new_targets[:100].double(), targets.double()).min()) < 1e-3:
        raise NotYet(f"{statement} But old targets are among yours: that is shuffling.")
    return f"{statement} The mean and the covariance are as they were."


@functools.cache
def _targets_of_shapes() -> tuple[Tensor, Tensor, float]:
    """Return images, their targets, and the share of these that pixels predict.

    They are the same for every answer, so a second try is faster.
    """
    shapes = data.load("shapes", size=16)
    images = shapes.normalised()
    targets = make_set(make_prior(UNTRAINED, shapes), shapes).target("representations").values[0]
    return images, targets, predicted(targets, images)


def check_barlow_twins(answer: Any) -> str:
    """Check exercise 2: a function of two views' projections [n, d] that gives Barlow Twins' loss.

    The weight is 0.005.
    """
    draw = torch.Generator().manual_seed(0)
    first = 3 + 2 * torch.randn((40, 6), generator=draw, dtype=torch.float64)
    second = first + 5 * torch.randn((40, 6), generator=draw, dtype=torch.float64)
    loss = call_answer(answer, first, second, of="the projections of two views, [n, d] each")
    if not isinstance(loss, Tensor) or loss.numel() != 1 or not bool(torch.isfinite(loss).all()):
        raise NotYet("Return one finite number, a tensor.")
    losses_by_mistake = {}
    for name, w in _WEIGHTS.items():
        losses_by_mistake[name] = float(barlow_twins_loss(first, second, off_diagonal_weight=w))
    mixed = (
        "You divide the deviations by n - 1 and the products by n: then C_ii of two equal views is "
        "not 1."
    )
    # With n - 1 in both deviations, every correlation is too small by this factor.
    shrunk = (len(first) - 1) / len(first)
    correlations = shrunk * torch.corrcoef(torch.cat([first.T, second.T]))[:6, 6:]
    squares = (correlations - torch.eye(6).double()).square()
    losses_by_mistake[mixed] = float(0.995 * squares.trace() + 0.005 * squares.sum())
    statement = (
        f"Two views of forty images, six numbers each: yours is {float(loss):.4f}, Barlow "
        f"Twins' {losses_by_mistake['']:.4f}."
    )
    if abs(float(loss) - losses_by_mistake[""]) < 1e-3 * losses_by_mistake[""]:
        return f"{statement} No other image was needed to push against."
    hint = "Is each coordinate centred, and divided by its deviation over the batch, first?"
    for mistake, value in losses_by_mistake.items():
        if mistake and abs(float(loss) - value) < 1e-3 * value:
            hint = mistake
    raise NotYet(f"{statement} {hint}")


CHECKS = {"statistics": check_same_statistics, "barlow twins": check_barlow_twins}
