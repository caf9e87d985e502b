"""The laboratory of bases, driven in Python: its errors are those of images made one by one, and what moves and what stays."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import bases, factorisation
from ddlab.distilled.storage_budget import Factorised
from ddlab.explorers import Laboratory, Value
from ddlab.explorers.stops import round_numbers
from ddlab.figures import alt_text
from ddlab.lessons.bases import lab as labs
from ddlab.lessons.bases.lab import BasesLab, picture, representation_spectrum
from ddlab.lessons.bases.world import (
    HELD_OUT,
    LOST,
    NOT_CENTRED,
    PROJECTED,
    STORED,
    TRAINING,
    WAYS,
    Fitted,
    World,
    errors_of_first,
    scales,
)
from ddlab.networks import Network
from tests.support import made_data, refuses


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(size=8, channels=3, train=12, test=8)


@pytest.fixture(scope="module")
def teacher(data: ImageData) -> Network:
    return networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=1)


@pytest.fixture
def explorer(data: ImageData) -> Iterator[Laboratory]:
    made = BasesLab(data, settings="bases=7")
    yield made
    made.close()


@pytest.fixture
def taught(data: ImageData, teacher: Network) -> Iterator[Laboratory]:
    made = BasesLab(data, teacher, settings="bases=7,representation_bases=3")
    yield made
    made.close()


def move(explorer: Laboratory, **values: Any) -> None:
    for name, value in values.items():
        explorer.panel[name].value = value
    explorer.runner.join()


def fitted(explorer: Laboratory, of: int | str, way: str) -> Fitted:
    """What the laboratory has found, or finds now."""
    known = explorer.values.get(Value(explorer.world.fitted, of, way))
    return fit(explorer.world, of, way) if known is None else known


def fit(world: World, of: int | str, way: str) -> Fitted:
    return world.fitted(of, way, watch=lambda words, share: None)


def pixels(explorer: Laboratory) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(bytes(explorer.widget(picture).value))))


def one_by_one(points: Tensor, training: Tensor, way: str, scale: int, count: int) -> float:
    """The relative squared error of what `factorisation` makes of each image; bases from a float64 SVD of scaled images."""
    small, seen = (factorisation.downsampled(x.double(), scale=scale) for x in (points, training))
    mean = seen.mean(0)
    centred = seen if way == NOT_CENTRED else seen - mean
    rows = torch.linalg.svd(centred.flatten(1), full_matrices=False).Vh[:count].reshape(count, *seen.shape[1:])
    total = left = 0.0
    for image, little in zip(points.double(), small, strict=True):
        given = little - mean if way in (STORED, LOST) else little
        made = sum((float((given * row).sum()) * row for row in rows), torch.zeros_like(mean))
        large = factorisation.upsampled((made + (mean if way == STORED else 0))[None], scale=scale)[0]
        left, total = left + float((image - large).square().sum()), total + float(image.square().sum())
    return left / total


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scale", [1, 2, 4])
def test_the_errors_are_those_of_images_made_one_by_one(data: ImageData, way: str, scale: int) -> None:
    known = World(data, images=30)
    found = fit(known, scale, way)
    assert len(found.bases) == min(30 - (way != NOT_CENTRED), 192 // scale**2)
    for split in (TRAINING, HELD_OUT):
        for count in (1, 5, len(found.bases)):
            expected = one_by_one(known.images[split], known.images[TRAINING], way, scale, count)
            assert found.error(split, count) == pytest.approx(expected, abs=2e-6), (split, count)


def test_every_count_at_once_equals_each_alone_also_for_bases_that_are_not_orthogonal() -> None:
    draw = torch.Generator().manual_seed(0)
    points, shown, given, offset = (
        torch.randn(shape, generator=draw, dtype=torch.float64) for shape in ((6, 2, 3), (4, 2, 3), (6, 4), (2, 3))
    )
    for added in (None, offset):
        found = errors_of_first(points, shown, given, added)
        for count in (1, 2, 3, 4):
            made = torch.einsum("nk,kij->nij", given[:, :count], shown[:count]) + (0 if added is None else added)
            assert found[count - 1] == pytest.approx(float((points - made).square().sum() / points.square().sum()))
    with refuses("points must be not 0 everywhere"):
        errors_of_first(torch.zeros(2, 3), torch.ones(1, 3), torch.ones(2, 1), None)


def test_scales_divide_both_sides_and_stops_are_round() -> None:
    assert scales(made_data(size=8)) == (1, 2, 4) and scales(made_data(size=12)) == (1, 2, 3, 4, 6)
    assert scales(made_data(size=7)) == (1,) and scales(made_data(size=32, train=2)) == (1, 2, 4, 8, 16)
    assert round_numbers(2, 45, 6, 50) == [2, 3, 4, 5, 6, 7, 10, 15, 20, 25, 30, 40, 45, 50]
    assert round_numbers(5, 5000)[-5:] == [2000, 2500, 3000, 4000, 5000] and round_numbers(1, 1) == [1]


def test_the_sentence_has_the_numbers(explorer: Laboratory) -> None:
    found = fitted(explorer, 2, PROJECTED)
    assert explorer.sentence.startswith("7 of 35 bases of 4 x 4 pixels leave ")
    assert (
        f"squared error of {found.error(HELD_OUT, 7):.3g} on held-out images, {found.error(TRAINING, 7):.3g} on the "
        in (explorer.sentence)
    )
    images = explorer.world.images[HELD_OUT]
    again = factorisation.upsampled(factorisation.downsampled(images, scale=2), scale=2)
    alone = float(factorisation.relative_squared_error(images, again))
    assert f"scaling down and up alone leaves {alone:.3g}." in explorer.sentence
    move(explorer, scale=1)
    assert "scaling" not in explorer.sentence


def test_the_picture_is_what_the_bases_make(explorer: Laboratory) -> None:
    found, known = fitted(explorer, 2, PROJECTED), explorer.world
    images = known.images[HELD_OUT][:10]
    given = factorisation.project(factorisation.downsampled(images, scale=2), found.bases)[:, :7]
    made = known.data.to_uint8(factorisation.decoded(given, found.bases[:7], scale=2))
    rows = pixels(explorer)
    assert rows.shape[0] == 3 * 48 + 2 * 2
    for row, expected in ((0, known.data.to_uint8(images)), (1, made)):
        top, left = row * 50 + 3, rows.shape[1] - (10 * 50 - 2) + 3  # the middle of each first pixel
        seen = rows[top::6, left::6][:8, :8, :3]
        np.testing.assert_array_equal(seen, expected[0].permute(1, 2, 0).numpy())
    difference = rows[2 * 50 + 3 :: 6, left::6][:8, :8, :3].astype(int)
    wanted = 128 + (made[0].int() - known.data.to_uint8(images)[0].int()).div(2, rounding_mode="floor")
    np.testing.assert_array_equal(difference, wanted.permute(1, 2, 0).numpy())
    assert explorer.widget(picture).alt.startswith(
        "10 held-out images, below them what 7 bases at scale 2 make of them"
    )


def test_a_teacher_has_a_spectrum_beside_an_untrained_network(taught: Laboratory, teacher: Network) -> None:
    images = taught.world.images
    others = {"teacher": teacher, "untrained": networks.initialise(teacher.spec, seed=0)}
    for name, network in others.items():
        features = networks.predict(network, images[TRAINING]).features
        found = fitted(taught, name, STORED)
        shares = bases.spectrum(features)[: len(found.bases)]
        np.testing.assert_allclose(found.shares, (shares / shares.sum()).numpy(), rtol=1e-6, atol=1e-9)
        assert len(found.bases) == bases.rank(features)
        held_out = networks.predict(network, images[HELD_OUT]).features
        mean, kept = features.mean(0), found.bases[:3]
        made = factorisation.reconstruct(factorisation.project(held_out, kept, mean=mean), kept, mean=mean)
        error = float(factorisation.relative_squared_error(held_out, made))
        assert found.error(HELD_OUT, 3) == pytest.approx(error, abs=1e-6)
    assert "V = 3 of " in taught.sentence and "equal directions would (untrained: " in taught.sentence
    drawn = [
        one.name.split(":")[0] for one in taught.widget(representation_spectrum).figure.data if one.mode == "lines"
    ]
    assert drawn == ["teacher", "untrained"] and "effective rank" in alt_text(
        taught.widget(representation_spectrum).figure
    )


def test_the_bill_is_that_of_the_budget_and_the_quest_asks_for_pairs_and_errors(taught: Laboratory) -> None:
    count, budget, parts = labs.bill_data(taught.world, taught.settings, taught._known()) or (0, 0, ())
    sizes = Factorised(
        channels=taught.world.data.channels, height=8, width=8, image_bases=7, representation_bases=3, scale=2,
        representation_size=taught.world.representations["teacher"][TRAINING].shape[1],
    )  # fmt: skip
    assert budget == 20 * sizes.image_floats and dict(parts) == vars(sizes.bill(count))
    assert sizes.bill(count).total <= budget < sizes.bill(count + 1).total
    assert f"the rest buys {count} pairs" in taught.sentence
    left = [fitted(taught, 2, PROJECTED).error(HELD_OUT, 7), fitted(taught, "teacher", STORED).error(HELD_OUT, 3)]
    wanted = count >= labs.PAIRS and all(error <= most for error, most in zip(left, labs.LEFT, strict=True))
    assert labs.quest_met(taught.world, taught.settings, taught._known()) == wanted


@pytest.mark.parametrize("settings", ["scale=3", "page=9"])
def test_settings_that_the_data_do_not_allow_are_refused(data: ImageData, settings: str) -> None:
    with refuses(settings.partition("=")[0]):
        BasesLab(data, settings=settings)


def test_a_teacher_of_other_images_and_images_that_are_all_one_are_refused(data: ImageData, teacher: Network) -> None:
    with refuses("teacher must be a network for 1 channels and (8, 8) pixels"):
        BasesLab(made_data(size=8), teacher)
    one = data.train_images[:1].expand_as(data.train_images).contiguous()
    with refuses("points must be at least two points that differ"):
        BasesLab(replace(data, train_images=one))
