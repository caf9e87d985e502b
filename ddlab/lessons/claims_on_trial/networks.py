"""What ReLA says about trained networks and their representations: Proposition 2's transports, and batch PCA (appendix N)."""

from __future__ import annotations

import functools
import math

import torch

from ... import data, networks, theory
from ...data import ImageData
from ...methods.distillation import train_teacher
from ...networks import Network
from ...training import supervised
from ..shared.effects import Measured, differences
from .statements import Draw, Statements

on_trial = Statements()
NETWORK = networks.spec("convnet", width=16)
EPOCHS, TRAINING_IMAGES = 10, 3000


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


def small_shapes() -> ImageData:
    """What they are trained on, and 600 images to compare them on."""
    return data.load("shapes", size=16, train=TRAINING_IMAGES, test=600)


def transports(*, seed: int) -> dict[tuple[str, str], dict[str, theory.LinearTransport]]:
    """Proposition 2, layer by layer: from a trained network to another one, and to it from one that is not trained.

    Returns:
        (source, target) -> layer -> what a linear map explains on test images that it was not fitted on.
    """
    shapes = small_shapes()
    one, other, untrained = trained_pair(shapes, seed)
    images = shapes.normalised(split="test")
    pairs = {("trained", "another trained"): (one, other), ("not trained", "trained"): (untrained, other)}
    return {names: theory.transport_by_layer(*networks, images, seed=seed) for names, networks in pairs.items()}


@functools.lru_cache(maxsize=2)
def feature_transports(pairs: int) -> tuple[list[float], list[float]]:
    """Held-out R^2 from trained features to trained ones, and from untrained ones to the same; the images are those of the test."""
    shapes = small_shapes()
    images = shapes.normalised(torch.arange(600), split="test")
    found: tuple[list[float], list[float]] = ([], [])
    for seed in range(pairs):
        one, other, untrained = trained_pair(shapes, seed)
        wanted = theory.layer_representations(other, images)["features"]
        for values, source in zip(found, (one, untrained), strict=True):
            features = theory.layer_representations(source, images)["features"]
            values.append(theory.linear_transport(features, wanted, seed=seed).r_squared)
    return found


def _on_networks(values: list[float]) -> Measured:
    words = (
        f"{len(values)} pairs of ConvNets of width 16, {EPOCHS} epochs on {TRAINING_IMAGES} images; R^2 on 600 others"
    )
    return Measured(values, f"shapes 16 px, {words}")


@on_trial.claim(
    "R7",
    "ReLA, Proposition 2",
    "The representations of two networks are linear transports of each other.",
    effect="held-out R^2 of a linear map between the features of two trained networks",
    claimed=0.95,
    every=False,
    test="small",
)
def _trained_transports(pairs: int) -> Measured:
    return _on_networks(feature_transports(pairs)[0])


@on_trial.claim(
    "R7 learning",
    "ReLA, Proposition 2",
    "It is training that makes them so.",
    effect="held-out R^2 of trained features from trained ones minus that from an untrained network's",
    claimed=0.05,
    every=False,
    test="small",
)
def _learned_transports(pairs: int) -> Measured:
    return _on_networks(differences(*feature_transports(pairs)))


@on_trial.per_draw(
    "R8",
    "ReLA, appendix N",
    "Batch PCA is PCA.",
    effect="decimal digits to which reduced points and variances agree with those of one singular value decomposition; drawn points",
    claimed=10.0,
    draws="draws of 50 to 500 points in 2 to 11 dimensions, cut into batches of a drawn size",
    each=1,
)
def batch_components(draw: Draw, _: int) -> float:
    """Against one singular value decomposition of all points."""
    count, width = int(draw.integers(50, 500)), int(draw.integers(2, 12))
    points = draw.normal(size=(count, width)) @ draw.normal(size=(width, width)) + draw.normal(size=width)
    whole = torch.from_numpy(points)
    found = theory.batch_pca(whole.split(int(draw.integers(1, count))), components=width)
    _, sizes, directions = torch.linalg.svd(whole - whole.mean(0), full_matrices=False)
    reduced = (whole - whole.mean(0)) @ directions.T
    signs = (reduced * found.reduced(whole)).sum(0).sign()
    off = max(
        float((found.reduced(whole) * signs - reduced).abs().max() / reduced.abs().max()),
        float((found.variances - sizes.square() / (count - 1)).abs().max() / found.variances[0]),
    )
    return min(-math.log10(max(off, 1e-16)), 16.0)
