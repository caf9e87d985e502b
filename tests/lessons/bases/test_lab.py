"""The laboratory of bases, driven in Python: its errors are those of images made one by one, and
what moves and what stays.
"""

import io
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from ddlab import networks
from ddlab.data import ImageData
from ddlab.distilled import factorisation
from ddlab.explorers import Laboratory
from ddlab.explorers.stops import round_numbers
from ddlab.lessons.bases import lab as labs
from ddlab.lessons.bases.lab import BasesLab, picture
from ddlab.lessons.bases.world import Fitted, World, errors_of_first, scales
from ddlab.networks import Network
from ddlab.unlabelled import bases
from tests.support import made_data, refuses


@pytest.fixture(scope="module")
def data() -> ImageData:
    return made_data(size=8, channels=3, train=12, test=8)


@pytest.fixture(scope="module")
def teacher(data: ImageData) -> Network:
    return networks.initialise(networks.spec("convnet", width=4, depth=2).for_data(data), seed=1)


@pytest.fixture
def explorer(data: ImageData, teacher: Network) -> Iterator[Laboratory]:
    laboratory = BasesLab(data, teacher, settings="bases=7,vector_bases=3")
    yield laboratory
    laboratory.close()


def fit(world: World, scale: int | None) -> Fitted:
    return world.fitted(scale, watch=lambda words, share: None)


def pixels(explorer: Laboratory) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(bytes(explorer.widget(picture).value))))


def one_by_one(points: Tensor, training: Tensor, scale: int, count: int) -> float:
    """The relative squared error of what `factorisation` makes of each image; bases from a float64
    SVD of scaled images.
    """
    small = factorisation.downsampled(points.double(), scale=scale)
    train_small = factorisation.downsampled(training.double(), scale=scale)
    rows = torch.linalg.svd((train_small - train_small.mean(0)).flatten(1), full_matrices=False).Vh[
        :count
    ]
    rows = rows.reshape(count, *train_small.shape[1:])
    total = squared_error = 0.0
    for image, little in zip(points.double(), small, strict=True):
        reconstructed = sum(
            (float((little * row).sum()) * row for row in rows), torch.zeros_like(little)
        )
        large = factorisation.upsampled(reconstructed[None], scale=scale)[0]
        squared_error = squared_error + float((image - large).square().sum())
        total = total + float(image.square().sum())
    return squared_error / total


@pytest.mark.parametrize("scale", [1, 2, 4])
def test_the_errors_are_those_of_images_made_one_by_one(
    data: ImageData, teacher: Network, scale: int
) -> None:
    world = World(data, teacher, images=30)
    fitted = fit(world, scale)
    assert len(fitted.bases) == min(29, 192 // scale**2)
    for count in (1, 5, len(fitted.bases)):
        expected = one_by_one(world.images["test"], world.images["train"], scale, count)
        assert fitted.error(count) == pytest.approx(expected, abs=2e-6), count


def test_every_count_at_once_equals_each_alone_also_for_bases_that_are_not_orthogonal() -> None:
    draw = torch.Generator().manual_seed(0)
    points, vectors, coefficients, offset = (
        torch.randn(shape, generator=draw, dtype=torch.float64)
        for shape in ((6, 2, 3), (4, 2, 3), (6, 4), (2, 3))
    )
    for added in (None, offset):
        errors = errors_of_first(points, vectors, coefficients, added)
        for count in (1, 2, 3, 4):
            reconstructed = torch.einsum(
                "nk,kij->nij", coefficients[:, :count], vectors[:count]
            ) + (0 if added is None else added)
            assert errors[count - 1] == pytest.approx(
                float((points - reconstructed).square().sum() / points.square().sum())
            )
    with refuses("points must be not 0 everywhere"):
        errors_of_first(torch.zeros(2, 3), torch.ones(1, 3), torch.ones(2, 1), None)


def test_scales_divide_both_sides_and_stops_are_round() -> None:
    assert scales(made_data(size=8)) == (1, 2, 4) and scales(made_data(size=12)) == (1, 2, 3, 4, 6)
    assert scales(made_data(size=7)) == (1,) and scales(made_data(size=32, train=2)) == (
        1,
        2,
        4,
        8,
        16,
    )
    assert round_numbers(2, 45, 6, 50) == [2, 3, 4, 5, 6, 7, 10, 15, 20, 25, 30, 40, 45, 50]
    assert round_numbers(5, 5000)[-5:] == [2000, 2500, 3000, 4000, 5000] and round_numbers(
        1, 1
    ) == [1]


def test_the_sentence_has_the_numbers(explorer: Laboratory) -> None:
    fitted = fit(explorer.world, 2)
    vectors = fit(explorer.world, None)
    images = explorer.world.images["test"]
    again = factorisation.upsampled(factorisation.downsampled(images, scale=2), scale=2)
    alone = float(factorisation.relative_squared_error(images, again))
    assert (
        f"7 image bases at scale 2 leave an error of {fitted.error(7):.3g} (scaling alone "
        f"{alone:.3g}) on held-out images, and 3 vector bases leave {vectors.error(3):.3g} of "
        "their vectors."
    ) in explorer.sentence
    explorer.panel["scale"].value = 1
    explorer.runner.join()
    assert "scaling" not in explorer.sentence


def test_the_picture_is_what_the_bases_make(explorer: Laboratory) -> None:
    fitted = fit(explorer.world, 2)
    world = explorer.world
    images = world.images["test"][:10]
    coefficients = factorisation.project(factorisation.downsampled(images, scale=2), fitted.bases)[
        :, :7
    ]
    decoded = world.data.to_uint8(factorisation.decode(coefficients, fitted.bases[:7], scale=2))
    rows = pixels(explorer)
    assert rows.shape[0] == 3 * 48 + 2 * 2
    for row, expected in ((0, world.data.to_uint8(images)), (1, decoded)):
        # The middle of each first pixel.
        top_edge, left_edge = row * 50 + 3, rows.shape[1] - (10 * 50 - 2) + 3
        shown_pixels = rows[top_edge::6, left_edge::6][:8, :8, :3]
        np.testing.assert_array_equal(shown_pixels, expected[0].permute(1, 2, 0).numpy())
    basis = rows[2 * 50 + 3 :: 6, left_edge::6][:8, :8, :3].astype(int)
    enlarged = factorisation.upsampled(fitted.bases[:1], scale=2)[0]
    expected_basis = (128 + 127 * enlarged / enlarged.abs().max()).round().int()
    np.testing.assert_array_equal(basis, expected_basis.permute(1, 2, 0).numpy())


def test_vector_bases_leave_what_a_projection_leaves(
    explorer: Laboratory, teacher: Network
) -> None:
    train_features = networks.predict(teacher, explorer.world.images["train"]).features
    held_out = networks.predict(teacher, explorer.world.images["test"]).features
    fitted = fit(explorer.world, None)
    mean = train_features.mean(0)
    assert len(fitted.bases) == bases.rank(train_features)
    first_three = fitted.bases[:3]
    reconstructed = factorisation.reconstruct(
        factorisation.project(held_out, first_three, mean=mean), first_three, mean=mean
    )
    assert fitted.error(3) == pytest.approx(
        float(factorisation.relative_squared_error(held_out, reconstructed)), abs=1e-6
    )


def test_the_budget_buys_pairs_which_teach_networks_beside_real_images(
    explorer: Laboratory,
) -> None:
    count, budget, parts = (
        labs.bill_data(explorer.world, explorer.settings, explorer.results) or {}
    ).values()
    sizes = explorer.world.sizes(2, 7, 3)
    assert budget == 20 * sizes.image_floats and dict(parts) == vars(sizes.bill(count))
    assert sizes.bill(count).total <= budget and count == min(sizes.largest_count(budget), 12 * 3)
    next(iter(explorer.buttons.values())).click()
    explorer.runner.join()
    tried, real = labs.scores(explorer.world, explorer.results)
    assert [*tried] == [(2, 7, 3)] and len(tried[2, 7, 3]) == len(real) == 3
    assert (
        f"3 of 3 networks are trained: on these pairs they reach {sum(tried[2, 7, 3]) / 3:.1%}, "
        f"on twenty real images {sum(real) / 3:.1%}." in explorer.sentence
    )
    ahead = sum(tried[2, 7, 3]) / 3 - sum(real) / 3
    assert labs.quest_met(explorer.world, explorer.settings, explorer.results) == (
        ahead >= labs.AHEAD
    )


@pytest.mark.parametrize("settings", ["scale=3", "page=9"])
def test_settings_that_the_data_do_not_allow_are_refused(
    data: ImageData, teacher: Network, settings: str
) -> None:
    with refuses(settings.partition("=")[0]):
        BasesLab(data, teacher, settings=settings)


def test_a_teacher_of_other_images_and_images_that_are_all_one_are_refused(
    data: ImageData, teacher: Network
) -> None:
    with refuses("teacher must be a network for 1 channels and (8, 8) pixels"):
        BasesLab(made_data(size=8), teacher)
    equal_images = data.train_images[:1].expand_as(data.train_images).contiguous()
    with refuses("points must be at least two points that differ"):
        BasesLab(replace(data, train_images=equal_images), teacher)
