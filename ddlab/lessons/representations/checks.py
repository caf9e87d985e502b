"""Lesson 45: the checks of its exercises."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ... import data
from ..answers import called
from .setting import UNTRAINED, make_prior, make_set

_PASSES = 5000
_READ, _LEFT = 0.05, 0.05  # most of a target that pixels may predict; most that moments may differ


def check_passes(answer: Any) -> tuple[bool, str]:
    """Exercise 1: forward passes of a network, per image, that training without the prior takes for each that the targets take."""
    guided, alone = 6 * 500 * 2, 6 * 500 * 4
    right = (guided + alone) / _PASSES
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        return False, "Give one number: forward passes of the training over forward passes for the targets."
    if abs(answer - right) < 0.01:
        return True, f"{guided + alone:,} passes against {_PASSES:,}, and training has its backward passes, too."
    hints = {
        12 * 500 * 4 / _PASSES: "In the first half BYOL is not asked: nobody needs the slow copy's answers.",
        12 * 500 * 2 / _PASSES: "In the second half the slow copy sees both views as well.",
        12 * 500 / _PASSES: "Each image is seen as two views.",
        _PASSES / (guided + alone): "The other way round: training over targets.",
    }
    hint = next((words for value, words in hints.items() if abs(answer - value) < 0.01), "")
    return False, f"An epoch sees 500 images, there are twelve, and the targets are of 5,000. {hint}".strip()


def predicted(targets: Tensor, images: Tensor) -> float:
    """R^2 of a ridge regression from pixels to targets, learned on every other image, measured on the rest; at least 0."""
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score

    points, wanted = (values.flatten(1).double().numpy() for values in (images, targets))
    known = Ridge(alpha=100).fit(points[::2], wanted[::2])
    return max(0.0, float(r2_score(wanted[1::2], known.predict(points[1::2]), multioutput="variance_weighted")))


def check_same_statistics(answer: Any) -> tuple[bool, str]:
    """Exercise 2: a function of targets [n, k] that gives others of the same mean and covariance, which no longer belong to the images."""
    shapes = data.load("shapes", size=16)
    images, prior = shapes.normalised(), make_prior(UNTRAINED, shapes)
    targets = make_set(prior, shapes).target("representations").values[0]
    before = predicted(targets, images)
    found, problem = called(answer, targets.clone(), of="targets [n, k]")
    if problem:
        return False, problem
    if not isinstance(found, Tensor) or found.shape != targets.shape or not bool(torch.isfinite(found).all()):
        return False, f"Return finite targets of the same shape, {list(targets.shape)}."
    moments = [torch.cat([each.double().mean(0, keepdim=True), each.double().T.cov()]) for each in (targets, found)]
    gap = float((moments[0] - moments[1]).abs().max())
    if gap > _LEFT:
        return False, f"Measured: means or covariances differ by up to {gap:.2f}; at most {_LEFT} is allowed."
    after = predicted(found, images)
    said = f"Pixels predicted {before:.0%} of the old targets' variance and predict {after:.0%} of yours."
    if after > _READ:
        return False, f"{said} They still belong to their images."
    if float((found - targets).abs().max()) < 1e-6:
        return False, "These are the targets as they were."
    return True, f"{said} Nothing that a mean or a covariance knows has changed."


CHECKS = {"passes": check_passes, "statistics": check_same_statistics}
