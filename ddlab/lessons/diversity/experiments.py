"""Lesson 21: five ways to make the same number of images, what the push to the weights does to the losses, the exercises' checks."""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks, records
from ...core import randomness
from ...data import ImageData
from ...evaluation import measures
from ...methods import dwa, selection, sre2l
from ...methods.recovery import real_image_indices
from ...networks import Network
from ...records import setting
from ...runs import cache
from ...runs.process import Inputs
from ...theory import rest_loss
from .sweep import coverage

RANDOM, SRE2L, NONE, PERTURBED, DIRECTED = "random real", "SRe2L", "no adjustment", "random weights", "DWA"
METHODS = (RANDOM, SRE2L, NONE, PERTURBED, DIRECTED)


@functools.cache
def world() -> setting.Setting:
    """The images, networks and settings of the records on `shapes`, so that a point of theirs can be repeated here."""
    return setting.shapes(records.Place())


def config_of(method: str, *, images_per_class: int, seed: int, **changes: Any) -> tuple[Any, Any]:
    """(module, config) of one of `METHODS`: the last three start from real images with lambda_var = .11 and lambda_mean = .01.

    Args:
        changes: fields of the recovery's Config other than the records'.
    """
    size: dict[str, Any] = {"images_per_class": images_per_class, "seed": seed}
    if method == RANDOM:
        return selection, selection.Config(**size)
    if method == SRE2L:
        return sre2l, sre2l.Config(**setting.ON_SHAPES | size | changes)
    kind = {NONE: "none", PERTURBED: "random", DIRECTED: "directed"}[method]
    return dwa, dwa.Config(perturbation=kind, **setting.ON_SHAPES | size | changes)


def one_batch(data: ImageData, seed: int) -> Tensor:
    """The indices of one training image of each class, int64 [classes]: those that a recovery with this seed starts from."""
    return real_image_indices(data, 1, seed=seed)[0]


def rest_change(
    data: ImageData,
    teacher: Network,
    *,
    seed: int,
    steps: int = 12,
    radius: float = 0.015,
    only: list[str] | None = None,
) -> rest_loss.RestLossChange:
    """Eq 12, then eq 15 measured: the directed step for one batch, and what it does to the loss of the batch and of the rest.

    Args:
        only: names of the parameters that are moved; default all. The others keep their value.
    """
    batch = one_batch(data, seed)
    dtype = next(iter(teacher.weights.values())).dtype
    images, labels = data.normalised(batch).to(dtype), data.train_labels[batch]
    found = dwa.directed_adjustment(teacher, images, labels, steps=steps, radius=radius)
    moved = found.weights if only is None else {name: found.weights[name] for name in only}
    adjusted = {name: teacher.weights[name] + change for name, change in moved.items()}
    return rest_loss.rest_loss_change(teacher, adjusted, data, batch)


def overhead(data: ImageData, teacher: Network, *, repeats: int, iterations: int = 1000) -> list[float]:
    """Table 11: CPU-seconds of the adjustment of one batch over those of `iterations` image updates, once per repeat."""
    inputs = Inputs(data=data, teachers=(teacher,), device="cpu")
    shares = []
    for seed in range(repeats):
        config = dwa.Config(images_per_class=1, iterations=iterations, seed=seed)
        start = time.process_time()
        state = dwa.init(config, inputs)  # with the adjustment
        adjusted = time.process_time()
        untouched = dwa.init(config.replace(perturbation="none"), inputs)
        without = time.process_time()
        for _ in range(100):
            state, _ = dwa.update(config, inputs, state)
        updates = (time.process_time() - without) * iterations / 100
        assert not untouched.adjusted
        shares.append(((adjusted - start) - (without - adjusted)) / updates)
    return shares


def trained_on_shapes() -> tuple[ImageData, Network]:
    """The lesson's data and teacher: those of the records."""
    return world().data, world().teacher(records.Place())


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
