"""The generated shapes: frozen, a function of (seed, split, index), the same scene at every size."""

import hashlib
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ddlab import data
from ddlab.data import shapes
from tests.support import assert_same, global_randomness, refuses

# Of version 1. A change here is a change of the dataset: count VERSION up and measure the table of
# shapes.py anew. The arithmetic is float64 and ends in whole numbers: a machine whose sine differs
# in the last bit gives the same bytes, unless a value comes within about 1e-12 of a half: for the
# 18 million bytes of the default a chance of the order of 1e-5.
FROZEN = {
    (32, 5000, 1000, 0): "7155be97c74f8ae26c7544d2746a958c46dd75201fe26f114da98a982397d18f",
    (16, 200, 50, 0): "8b1e96c6a6dddd908ced4398666d3989544c59aaf50002e9828d13fe2416ad59",
    (28, 60, 10, 7): "64544666ea6fc15cda0adf9fac97ca64538407500087a40676e3c9f74f1fcf1c",
    (224, 20, 10, 0): "181258470ee14a8eb0e75ff75ae420f49180fa17eb0dfcb8c8f33cbcd6338b7a",
}


def content_hash(loaded: data.ImageData) -> str:
    parts = (
        loaded.train_images,
        loaded.train_labels.byte(),
        loaded.test_images,
        loaded.test_labels.byte(),
    )
    return hashlib.sha256(b"".join(part.numpy().tobytes() for part in parts)).hexdigest()


@pytest.mark.parametrize(("size", "train", "test", "seed"), FROZEN)
def test_frozen(size: int, train: int, test: int, seed: int) -> None:
    assert shapes.VERSION == 1
    loaded = data.load("shapes", size=size, train=train, test=test, seed=seed)
    assert content_hash(loaded) == FROZEN[size, train, test, seed]


def test_what_is_loaded() -> None:
    before = global_randomness()
    loaded = data.load("shapes")
    assert global_randomness() == before
    assert (loaded.name, loaded.channels, loaded.image_size, loaded.classes) == (
        "shapes-32",
        3,
        (32, 32),
        10,
    )
    assert (len(loaded.train_images), len(loaded.test_images)) == (5000, 1000)
    assert loaded.train_images.is_contiguous() and loaded.class_names == tuple(shapes.CLASSES)
    for split, count in (("train", 500), ("test", 100)):
        assert torch.bincount(loaded.labels(split)).tolist() == [count] * 10  # type: ignore[arg-type]
    # No picture comes twice, neither is one flat or mostly at the ends of the range.
    pictures = torch.cat([loaded.train_images, loaded.test_images]).flatten(1)
    assert len({picture.numpy().tobytes() for picture in pictures}) == 6000
    assert float(pictures.float().std(1).min()) > 8
    assert float(((pictures == 0) | (pictures == 255)).double().mean()) < 0.02


def test_an_image_depends_on_seed_split_and_index_alone() -> None:
    many = data.load("shapes", size=16, train=300, test=200)
    few = data.load("shapes", size=16, train=23, test=1)
    assert torch.equal(few.train_images, many.train_images[:23]) and torch.equal(
        few.test_images, many.test_images[:1]
    )
    assert_same(data.load("shapes", size=16, train=300, test=200), many)
    reseeded = data.load("shapes", size=16, train=300, test=200, seed=1)
    for images, other_images in (
        (many.train_images, reseeded.train_images),
        (many.train_images[:200], many.test_images),
        (many.train_images[:-10], many.train_images[10:]),
    ):
        assert not (images == other_images).flatten(1).all(1).any()


@pytest.mark.parametrize("size", [16, 28, 32, 64])
def test_the_same_scene_at_every_size(size: int) -> None:
    fine = data.load("shapes", size=224, train=10, test=10)
    small = data.load("shapes", size=size, train=10, test=10)
    shrunk = F.interpolate(fine.train_images.double(), size=(size, size), mode="area")
    difference = (shrunk - small.train_images.double()).abs()
    assert float(difference.mean()) < 4 and float(difference.flatten(1).mean(1).max()) < 8
    other_scene = (shrunk - small.train_images.roll(1, 0).double()).abs()
    assert float(other_scene.flatten(1).mean(1).min()) > 20


def grid(size: int) -> tuple[np.ndarray, np.ndarray]:
    side = 2 * (2 * np.arange(size) + 1) / size - 2
    u, v = np.meshgrid(side, -side)
    return u, v


@pytest.mark.parametrize("name", shapes.CLASSES)
def test_outlines(name: str) -> None:
    u, v = grid(400)
    distance = shapes.CLASSES[name](u, v)
    area = float((distance < 0).mean()) * 16
    assert area == pytest.approx(np.pi * 0.64, rel=0.03)  # size tells nothing about the class
    assert np.sqrt(u * u + v * v)[distance < 0].max() < 1.4
    # Like a distance: it changes by at most one pixel from pixel to pixel, and by about one across
    # the outline.
    pixel = 4 / 400
    steps = np.hypot(np.diff(distance, axis=0)[:, 1:], np.diff(distance, axis=1)[1:]) / pixel
    assert steps.max() < 1.5 and np.median(steps[np.abs(distance[1:, 1:]) < 0.05]) == pytest.approx(
        1, abs=0.05
    )
    # Edges are smoothed without a change of area, down to few pixels.
    for size in (16, 32, 64):
        picture = np.zeros((1, 1, size * size))
        u, v = grid(size)
        shapes._paint(picture, shapes.CLASSES[name](u, v)[None] / 2, size, np.ones((1, 1, 1)))
        assert float(picture.mean()) * 16 == pytest.approx(area, rel=0.05)


def test_outlines_differ_from_each_other() -> None:
    u, v = grid(64)
    masks = {name: outline(u, v) < 0 for name, outline in shapes.CLASSES.items()}
    for class_name in masks:
        for other_class in masks:
            overlap = (masks[class_name] & masks[other_class]).sum() / (
                masks[class_name] | masks[other_class]
            ).sum()
            assert overlap == 1 if class_name == other_class else overlap < 0.87


def test_the_numbers_set_aside_suffice() -> None:
    draw = shapes._Numbers(np.full((1, shapes.DRAWS), 0.5))
    shapes._scene(draw, shapes.CLASSES["disc"], 16)
    assert draw.column <= shapes.DRAWS


@pytest.mark.parametrize("options", [{"size": 15}, {"size": 225}, {"train": 9}])
def test_bad_input(options: dict[str, Any]) -> None:
    with refuses(next(iter(options))):
        data.load("shapes", **options)
