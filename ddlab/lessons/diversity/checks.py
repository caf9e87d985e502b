"""Lesson 21: how much of the real images a set covers, and the checks of its exercises."""

import dataclasses
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ... import networks
from ...core import randomness
from ...data import ImageData
from ...evaluation import measures
from ...networks import Network
from ..answers import NotYet, call_answer

# Each answer is held against this many; more make the check slow.
REAL_IMAGES = 300


def coverage(data: ImageData, teacher: Network, images: torch.Tensor) -> float:
    """Return the share of real images that have one of `images` near them, in [0, 1].

    Up to 300 real images count, in the teacher's features.
    """
    # The same real images for every point.
    draw = randomness.generator(0, 0, "real images of a record")
    chosen = torch.randperm(len(data.train_labels), generator=draw)[:REAL_IMAGES]
    real = networks.predict(teacher, data.normalised(chosen)).features.flatten(1)
    return measures.nearest_neighbour_coverage(
        real, networks.predict(teacher, images).features.flatten(1)
    )


def check_spread(answer: Any) -> str:
    """Check exercise 1: a function of features [n, d] that gives their summed squared distances.

    The sum goes over all ordered pairs (eq 21).
    """
    features = torch.randn(5, 3, generator=randomness.generator(5, 0, "exercise 1"))
    ordered_sum = torch.cdist(features, features).square().sum()
    spread = call_answer(
        answer, features, of="features, a tensor of shape [n, d]", read=torch.as_tensor
    )
    if spread.shape != ():
        raise NotYet(f"Eq 21 gives one number for a class; yours has shape {list(spread.shape)}.")
    if torch.isclose(spread, ordered_sum / 2, rtol=1e-4):
        raise NotYet("Nearly: eq 21 runs over ordered pairs, so each pair counts twice.")
    if torch.isclose(spread, torch.cdist(features, features).sum(), rtol=1e-4):
        raise NotYet("Nearly: eq 21 squares each distance.")
    if torch.isclose(spread, ordered_sum, rtol=1e-4):
        return "It equals 2 n times the squared distances to the mean: eq 21 is a variance."
    raise NotYet("Take all differences f_i - f_j, square, and add up over d, i and j.")


def check_random_push(answer: Any) -> str:
    """Check exercise 2: a function that returns a copy of a network, pushed at random by `radius`.

    Its arguments are (network, images, labels, steps, radius).
    """
    described = networks.NetworkSpec.from_name("network", "convnet")
    shape = {"channels": 1, "classes": 3, "image_size": (8, 8)}
    network = networks.initialise(dataclasses.replace(described, **shape), seed=0).module()
    images, labels = (
        torch.randn((3, 1, 8, 8), generator=randomness.generator(0, 0, "exercise 2")),
        torch.arange(3),
    )
    before = _flat(network)
    words = "(network, images, labels, steps, radius) that returns a moved copy"
    pushed = []
    for _ in range(2):
        pushed.append(call_answer(answer, network, images, labels, 12, 0.3, of=words, read=_flat))
    first_move, second_move = (parameters - before for parameters in pushed)
    if not torch.equal(_flat(network), before):
        raise NotYet("The network that came in has moved, too: move a copy.")
    if abs(float(first_move.norm()) - 0.3) > 0.003:
        raise NotYet(
            f"All parameters together moved by {float(first_move.norm()):.3g}, for a radius of 0.3."
        )
    if float((first_move == 0).double().mean()) > 0.01:
        raise NotYet(
            f"{float((first_move == 0).double().mean()):.0%} of the weights stayed where they were: "
            "move all."
        )
    if (
        torch.equal(first_move, second_move)
        or abs(float(F.cosine_similarity(first_move, second_move, 0))) > 0.5
    ):
        raise NotYet("Two calls give (nearly) the same direction. Draw it anew each time.")
    return (
        "In so many dimensions a random direction is nearly orthogonal to any given one, DWA's "
        "among them."
    )


def _flat(network: torch.nn.Module) -> Tensor:
    """Return all parameters of a module in one vector."""
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])


CHECKS = {"spread": check_spread, "random push": check_random_push}
