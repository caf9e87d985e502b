"""Lesson 21: five ways to make the same number of images, what the weights' adjustment does to the losses, and the exercises' checks."""

from __future__ import annotations

import functools
import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks, records
from ...core import randomness
from ...data import ImageData
from ...distilled import DistilledSet
from ...methods import dwa, selection, sre2l
from ...methods.recovery import real_image_indices
from ...networks import Network
from ...records import setting
from ...runs import cache
from ...runs.process import Inputs
from ...theory import rest_loss

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


def five_sets(
    data: ImageData, teacher: Network, *, images_per_class: int, seed: int, progress: bool = False
) -> dict[str, DistilledSet]:
    """As many images per class by each of `METHODS`.

    Raises:
        KeyboardInterrupt: the run was interrupted before the images were whole.
    """
    inputs, made = Inputs(data=data, teachers=(teacher,), device="cpu"), {}
    for method in METHODS:
        module, config = config_of(method, images_per_class=images_per_class, seed=seed)
        made[method] = cache.run(module, config, inputs, progress=progress)
        if not made[method].complete:
            raise KeyboardInterrupt("images were still being made")
    return made


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


def check_ascent(answer: Any) -> tuple[bool, str]:
    """Exercise 2: a function (weights, gradient, steps, radius) -> weights after one normalised step uphill."""
    if not callable(answer):
        return False, "Write a function of (weights, gradient, steps, radius)."
    weights, gradient = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([3.0, 0.0, 4.0])
    try:
        given = torch.as_tensor(answer(weights, gradient, 4, 0.2))
    except Exception as problem:
        return False, f"Your function raised {type(problem).__name__}: {problem}."
    if given.shape != weights.shape:
        return (
            False,
            f"Weights come in and weights go out, of shape {list(weights.shape)}; yours has {list(given.shape)}.",
        )
    if torch.allclose(given, weights - 0.05 * gradient / 5):
        return False, "That is downhill. DWA makes the batch's loss larger."
    if torch.allclose(given, weights + 0.05 * gradient):
        return (
            False,
            "Your step grows with the gradient, as Algorithm 1 prints it. The authors' code divides by its length.",
        )
    if torch.allclose(given, weights + 0.2 * gradient / 5):
        return False, "One step goes rho / K; yours takes the whole rho at once."
    if torch.allclose(given, weights + 0.05 * gradient / 5):
        return True, "K such steps together are never longer than rho."
    return False, "Divide the gradient by its length, multiply by radius / steps, add it to the weights."


def check_wide(answer: Any) -> tuple[bool, str]:
    """Exercise 3: a DWA config that differs from the lesson's in the weight of the variance gap or the radius alone."""
    if not isinstance(answer, dwa.Config):
        return False, "Give a Config: dwa.Config(...), or config.replace(...) of the lesson's."
    free = {name: getattr(answer, name) for name in ("images_per_class", "seed", "iterations")}
    usual = config_of(DIRECTED, **free)[1]
    changed = {name for name, value in answer.to_dict().items() if value != usual.to_dict()[name]}
    if not changed:
        return False, "Nothing is changed yet."
    if not changed <= {"lambda_var", "adjustment_radius"}:
        return False, f"Change lambda_var or adjustment_radius alone; you changed {', '.join(sorted(changed))}."
    return True, "Now see below how far apart the images lie, and what the student says to that."


CHECKS = {"spread": check_spread, "ascent": check_ascent, "wide": check_wide}


def batch_loss(teacher: Network, weights: dict[str, Tensor], images: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy in nats of a batch, with some of the teacher's weights replaced; a scalar."""
    return F.cross_entropy(networks.call(teacher.spec, teacher.weights | weights, images)[0].logits, labels)
