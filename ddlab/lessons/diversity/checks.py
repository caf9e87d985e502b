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
from ..answers import Exercise, NotYet

# Each answer is held against this many; more make the check slow.
REAL_IMAGES = 300
# Of the push in exercise 2.
_STEPS = 12
_RADIUS = 0.3


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


def _features() -> list[tuple[Tensor]]:
    return [(torch.randn(5, 3, generator=randomness.generator(5, 0, "exercise 1")),)]


SPREAD = Exercise(
    arguments=("features [n, d]",),
    cases=_features,
    expected=lambda features: torch.cdist(features, features).square().sum(),
    mistakes={
        "Nearly: eq 21 runs over ordered pairs, so each pair counts twice.": (
            lambda features: torch.cdist(features, features).square().sum() / 2
        ),
        "Nearly: eq 21 squares each distance.": (
            lambda features: torch.cdist(features, features).sum()
        ),
        "Eq 21 is a sum. Yours is the mean over pairs, which this page calls the distance.": (
            lambda features: (
                torch.cdist(features, features).square().sum()
                / (len(features) * (len(features) - 1))
            )
        ),
        "Eq 21 is a sum. Yours is a mean over all pairs, an image with itself among them.": (
            lambda features: torch.cdist(features, features).square().mean()
        ),
        "Eq 21 gives one number for a class; add up your squared distances of pairs.": (
            lambda features: torch.cdist(features, features).square()
        ),
        "These are distances to the mean. Eq 21 has those of pairs of images.": (
            lambda features: (features - features.mean(0)).square().sum()
        ),
    },
    look="Which differences does eq 21 square, and over what does it add up?",
    success="It equals 2 n times the squared distances to the mean: eq 21 is a variance.",
)


def _networks() -> list[tuple[Any, ...]]:
    described = networks.NetworkSpec.from_name("network", "convnet")
    spec = dataclasses.replace(described, channels=1, classes=3, image_size=(8, 8))
    draw = randomness.generator(0, 0, "exercise 2")
    # Twice the same, because a direction has to be drawn anew.
    return [
        (
            networks.initialise(spec, seed=0).module(),
            torch.randn((3, 1, 8, 8), generator=draw),
            torch.arange(3),
            _STEPS,
            _RADIUS,
        )
        for _ in range(2)
    ]


def _flat(network: torch.nn.Module) -> Tensor:
    """Return all parameters of a module in one vector."""
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])


def _move(pushed: Tensor, network: torch.nn.Module, *_others: Any) -> Tensor:
    """Return by how much each parameter has moved."""
    ((untouched, *_rest), _) = _networks()
    if not torch.equal(_flat(network), _flat(untouched)):
        raise NotYet("The network that came in has moved, too: move a copy.")
    return pushed - _flat(network)


def _judge_moves(moves: list[Tensor]) -> str:
    first, second = moves
    length = float(first.norm())
    tensors = len([*_networks()[0][0].parameters()])
    steps_apart = "Random steps partly undo each other. Take one direction for the whole push."
    reasons = {
        tensors**0.5: "Each parameter tensor has moved by the radius. All of them together are one "
        "vector, whose length counts.",
        len(first) ** 0.5: "Each single weight has moved by about the radius.",
        _STEPS**0.5: steps_apart,
        _STEPS**-0.5: steps_apart,
    }
    if abs(length / _RADIUS - 1) > 0.01:
        recognised = [
            words for times, words in reasons.items() if abs(length / _RADIUS / times - 1) < 0.03
        ]
        statement = f"All parameters together moved by {length:.3g}, for a radius of {_RADIUS}."
        raise NotYet(" ".join([statement, *recognised[:1]]))
    stayed = float((first == 0).double().mean())
    if stayed > 0.01:
        raise NotYet(f"{stayed:.0%} of the weights stayed where they were: move all.")
    if torch.equal(first, second):
        raise NotYet("Two calls give the same direction. Draw it anew each time.")
    if float((first > 0).double().mean()) > 0.9:
        raise NotYet("Nearly all weights grow. `torch.rand` has no negative numbers; `randn` has.")
    if abs(float(F.cosine_similarity(first, second, 0))) > 0.5:
        raise NotYet("Two calls give nearly the same direction: yours is not drawn at random.")
    return (
        "In so many dimensions a random direction is nearly orthogonal to any given one, DWA's "
        "among them."
    )


RANDOM_PUSH = Exercise(
    ask=(
        "Write a function of network, images, labels, steps and radius that returns a moved copy "
        "of the network."
    ),
    arguments=("network", "images", "labels", "steps", "radius"),
    cases=_networks,
    read=_flat,
    shape=lambda network, *_others: _flat(network).shape,
    measure=_move,
    success=_judge_moves,
)

CHECKS = {"spread": SPREAD, "random push": RANDOM_PUSH}
