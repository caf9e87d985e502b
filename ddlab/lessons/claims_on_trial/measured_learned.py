"""Lesson 90: the effects behind its claims that need images or trained networks, on shapes."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from ... import data, networks, theory
from ...data import ImageData
from ...methods.distillation import train_teacher
from ...networks import Network
from ...training import supervised
from ..shared.effects import Measured, drawn

VIEW_SCALES = (0.02, 0.5)  # the strongest and the weakest augmentation of ReLA's Figures 6 to 9
IMAGES, VIEWS = 60, 4  # of each of two classes; of each image
NETWORK = networks.spec("convnet", width=16)
EPOCHS, TRAINING_IMAGES = 10, 3000


def views_of_classes(
    shapes: ImageData, classes: tuple[int, int], *, least_area: float, seed: int
) -> tuple[Tensor, Tensor]:
    """Views of the first images of two classes, normalised and flattened: two tensors [images x views, values]."""
    made: list[Tensor] = []
    for label in classes:
        images = shapes.normalised(torch.nonzero(shapes.train_labels == label)[:IMAGES, 0])
        views = theory.crop_views(images, minimum_scale=least_area, views=VIEWS, seed=2 * seed + (label == classes[1]))
        made.append(views.flatten(0, 1).flatten(1))
    return made[0], made[1]


def spread_and_overlap(
    shapes: ImageData, classes: tuple[int, int], *, least_area: float, seed: int
) -> tuple[float, float]:
    """(variance of the views within two classes, overlap of the two); views of one image do not vote for each other."""
    first, second = views_of_classes(shapes, classes, least_area=least_area, seed=seed)
    groups = torch.arange(2).repeat_interleave(torch.tensor([len(first), len(second)]))
    parts = theory.variance_between_and_within(torch.cat([first, second]), groups)
    sources = [torch.arange(len(points) // VIEWS).repeat_interleave(VIEWS) for points in (first, second)]
    return parts.within, theory.class_overlap(first, second, first_sources=sources[0], second_sources=sources[1])


@functools.lru_cache(maxsize=2)  # two claims read one set of views
def _views(pairs: int) -> list[list[tuple[float, float]]]:
    """For each pair two drawn classes: spread and overlap at both scales."""
    shapes = data.load("shapes", size=32, train=2000, test=10)
    found: list[list[tuple[float, float]]] = []
    for seed, draw in enumerate(drawn("R6 views", pairs)):
        first, second = (int(label) for label in draw.choice(shapes.classes, 2, replace=False))
        found.append(
            [spread_and_overlap(shapes, (first, second), least_area=scale, seed=seed) for scale in VIEW_SCALES]
        )
    return found


def _on_views(pairs: int) -> str:
    return (
        f"shapes 32 px, {pairs} drawn pairs of classes, {IMAGES} images of each, {VIEWS} views of each image, in pixels"
    )


def view_spread(pairs: int) -> Measured:
    """R6 views."""
    values = [weak[0] / strong[0] - 1 for strong, weak in _views(pairs)]
    return Measured(values, _on_views(pairs))


def view_overlap(pairs: int) -> Measured:
    """R6 views overlap."""
    values = [strong[1] - weak[1] for strong, weak in _views(pairs)]
    return Measured(values, _on_views(pairs))


def trained_pair(shapes: ImageData, seed: int) -> tuple[Network, Network, Network]:
    """Two networks trained alike from different starts, and a third that is not trained."""
    trained = [
        train_teacher(
            shapes,
            supervised.Config.teaching("teacher", network=NETWORK, epochs=EPOCHS, seed=number),
            device="cpu",
            progress=False,
        )
        for number in (3 * seed, 3 * seed + 1)
    ]
    return trained[0], trained[1], networks.initialise(NETWORK.for_data(shapes), seed=3 * seed + 2)


@functools.lru_cache(maxsize=2)
def feature_transports(pairs: int) -> tuple[list[float], list[float]]:
    """Held-out R^2 from trained features to trained ones, and from untrained ones to the same; the images are those of the test."""
    shapes = data.load("shapes", size=16, train=TRAINING_IMAGES, test=600)
    images = shapes.normalised(torch.arange(600), split="test")
    found: tuple[list[float], list[float]] = ([], [])
    for seed in range(pairs):
        one, other, untrained = trained_pair(shapes, seed)
        wanted = theory.layer_representations(other, images)["features"]
        for values, source in zip(found, (one, untrained), strict=True):
            features = theory.layer_representations(source, images)["features"]
            values.append(theory.linear_transport(features, wanted, seed=seed).r_squared)
    return found


def _on_networks(pairs: int) -> str:
    return f"shapes 16 px, {pairs} pairs of ConvNets of width 16, {EPOCHS} epochs on {TRAINING_IMAGES} images; R^2 on 600 others"


def transports(pairs: int) -> Measured:
    """R7."""
    return Measured(feature_transports(pairs)[0], _on_networks(pairs))


def learned_transports(pairs: int) -> Measured:
    """R7 learning."""
    trained, untrained = feature_transports(pairs)
    return Measured([one - other for one, other in zip(trained, untrained, strict=True)], _on_networks(pairs))


EFFECTS: dict[str, Callable[[int], Measured]] = {
    "R6 views": view_spread,
    "R6 views overlap": view_overlap,
    "R7": transports,
    "R7 learning": learned_transports,
}
"""Claim -> its effects; the argument is the number of pairs."""
