"""Lesson 21: how much of the real images a set covers, and the checks of its exercises."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks
from ...core import randomness
from ...data import ImageData
from ...evaluation import measures
from ...methods import dwa
from ...networks import Network
from ...runs import cache
from ...runs.process import Inputs

REAL_IMAGES = 300


def coverage(data: ImageData, teacher: Network, images: torch.Tensor) -> float:
    """The share in [0, 1] of up to 300 real images that have one of `images` near them in the teacher's features."""
    draw = randomness.generator(0, 0, "real images of a record")  # the same real images for every point
    chosen = torch.randperm(len(data.train_labels), generator=draw)[:REAL_IMAGES]
    real = networks.predict(teacher, data.normalised(chosen)).features.flatten(1)
    return measures.nearest_neighbour_coverage(real, networks.predict(teacher, images).features.flatten(1))


def check_spread(answer: Any) -> tuple[bool, str]:
    """Exercise 1: a function (features [n, d]) -> the sum of squared distances over all ordered pairs (eq 21)."""
    if not callable(answer):
        return False, "Write a function of features, a tensor of shape [n, d]."
    features = torch.randn(5, 3, generator=randomness.generator(5, 0, "exercise 1"))
    wanted = torch.cdist(features, features).square().sum()
    try:
        given = torch.as_tensor(answer(features))
    except Exception as problem:
        return False, f"Your function raised {type(problem).__name__}: {problem}."
    if given.shape != ():
        return False, f"Eq 21 gives one number for a class; yours has shape {list(given.shape)}."
    if torch.isclose(given, wanted / 2, rtol=1e-4):
        return False, "Nearly: eq 21 runs over ordered pairs, so each pair counts twice."
    if torch.isclose(given, torch.cdist(features, features).sum(), rtol=1e-4):
        return False, "Nearly: eq 21 squares each distance."
    if torch.isclose(given, wanted, rtol=1e-4):
        return True, "It equals 2 n times the squared distances to the mean: eq 21 is a variance."
    return False, "Take all differences f_i - f_j, square, and add up over d, i and j."


def check_random_push(answer: Any) -> tuple[bool, str]:
    """Exercise 2: a function (network, images, labels, steps, radius) -> a copy, moved by `radius` in a random direction."""
    if not callable(answer):
        return False, "Write a function of (network, images, labels, steps, radius) that returns a moved copy."
    described = networks.NetworkSpec.from_name("network", "convnet")
    shape = {"channels": 1, "classes": 3, "image_size": (8, 8)}
    network = networks.initialise(dataclasses.replace(described, **shape), seed=0).module()
    images, labels = torch.randn((3, 1, 8, 8), generator=randomness.generator(0, 0, "exercise 2")), torch.arange(3)
    before = _flat(network)
    try:
        pushed: list[Any] = [answer(network, images, labels, 12, 0.3) for _ in range(2)]
        one, other = (_flat(each) - before for each in pushed)
    except Exception as problem:
        return False, f"Your function raised {type(problem).__name__}: {problem}."
    if not torch.equal(_flat(network), before):
        return False, "The network that came in has moved, too: move a copy."
    if abs(float(one.norm()) - 0.3) > 0.003:
        return False, f"All parameters together moved by {float(one.norm()):.3g}, for a radius of 0.3."
    if float((one == 0).double().mean()) > 0.01:
        return False, f"{float((one == 0).double().mean()):.0%} of the weights stayed where they were: move all."
    if torch.equal(one, other) or abs(float(F.cosine_similarity(one, other, 0))) > 0.5:
        return False, "Two calls give (nearly) the same direction. Draw it anew each time."
    return True, "In so many dimensions a random direction is nearly orthogonal to any given one, DWA's among them."


def _flat(network: torch.nn.Module) -> Tensor:
    """All parameters of a module in one vector."""
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])


def check_wide(answer: Any) -> tuple[bool, str]:
    """Exercise 3: (data, teacher, the lesson's config, a config): lambda_var or the radius alone; both are run here and measured."""
    if not isinstance(answer, tuple) or len(answer) != 4 or not isinstance(answer[3], dwa.Config):
        return False, "Give a Config: config.replace(...)."
    data, teacher, usual, mine = answer
    changed = {name for name, value in mine.to_dict().items() if value != usual.to_dict()[name]}
    if not changed:
        return False, "Nothing is changed yet."
    if not changed <= {"lambda_var", "adjustment_radius"}:
        return False, f"Change lambda_var or adjustment_radius alone; you changed {', '.join(sorted(changed))}."
    inputs = Inputs(data=data, teachers=(teacher,), device="cpu")
    made = [cache.run(dwa, config, inputs) for config in (usual, mine)]
    before, after = (float(measures.feature_distance(each, teacher).mean()) for each in made)
    known, now = (coverage(data, teacher, each.images) for each in made)
    said = f"Measured: feature distance {before:.3f} -> {after:.3f}, coverage {known:.1%} -> {now:.1%}"
    if not after >= 1.05 * before:
        return False, f"{said}. That is less than 5% farther apart."
    if now < 0.75 * known:  # of one set: another machine's rounding moves it by several points
        return False, f"{said}. The images lie apart, but away from the real ones: too much of it."
    return True, f"{said}. Distance and coverage are two things: look at both."


CHECKS = {"spread": check_spread, "random push": check_random_push, "wide": check_wide}
