"""Predefined augmentations against numpy's rot90, and loops over pixels."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from ddlab.data import predefined_views as views
from tests.support import normal_doubles, refuses


def numbered(count: int, channels: int, height: int, width: int) -> Tensor:
    """Images in which every pixel has a value of its own."""
    return torch.arange(count * channels * height * width, dtype=torch.float64).reshape(
        count, channels, height, width
    )


def looped_jigsaw(image: list[list[float]], *, sideways: bool, upside: bool) -> list[list[float]]:
    height, width = len(image), len(image[0])
    mixed = [[0.0] * width for _ in range(height)]
    for row in range(height):
        for column in range(width):
            source_row = (row + height // 2) % height if upside else row
            source_column = (column + width // 2) % width if sideways else column
            mixed[row][column] = image[source_row][source_column]
    return mixed


@given(count=st.integers(0, 3), channels=st.integers(1, 3), size=st.integers(1, 6))
def test_rotations_are_those_of_numpy(count: int, channels: int, size: int) -> None:
    images = numbered(count, channels, size, size)
    rotated = views.augmented(images, "rotation")
    assert rotated.shape == (4, count, channels, size, size)
    for turns, view in enumerate(rotated):
        np.testing.assert_array_equal(view, np.rot90(images.numpy(), turns, axes=(2, 3)))


def test_a_rotation_by_hand() -> None:
    """Counter-clockwise: the right column becomes the top row."""
    image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    expected = [[[1, 2], [3, 4]], [[2, 4], [1, 3]], [[4, 3], [2, 1]], [[3, 1], [4, 2]]]
    assert views.augmented(image, "rotation")[:, 0, 0].tolist() == expected


@given(
    count=st.integers(0, 2),
    channels=st.integers(1, 3),
    height=st.integers(1, 3),
    width=st.integers(1, 3),
)
def test_jigsaws_equal_the_loops(count: int, channels: int, height: int, width: int) -> None:
    images = numbered(count, channels, 2 * height, 2 * width)
    jigsaws = views.augmented(images, "jigsaw")
    assert jigsaws.shape == (4, *images.shape)
    swaps = [(False, False), (True, False), (False, True), (True, True)]
    for view, (sideways, upside) in zip(jigsaws, swaps, strict=True):
        for n in range(count):
            for c in range(channels):
                expected = looped_jigsaw(images[n, c].tolist(), sideways=sideways, upside=upside)
                assert view[n, c].tolist() == expected


def test_jigsaws_by_hand() -> None:
    image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    expected = [[[1, 2], [3, 4]], [[2, 1], [4, 3]], [[3, 4], [1, 2]], [[4, 3], [2, 1]]]
    assert views.augmented(image, "jigsaw")[:, 0, 0].tolist() == expected


@pytest.mark.parametrize("kind", ("none", "rotation", "jigsaw"))
def test_permutations_say_where_pixels_come_from(kind: Any) -> None:
    height, width = (6, 6) if kind == "rotation" else (4, 6)
    images = numbered(2, 3, height, width)
    augmented = views.augmented(images, kind)
    places = views.permutations(kind, height, width)
    assert places.dtype == torch.int64 and places.shape == (len(views.NAMES[kind]), height * width)
    for a, permutation in enumerate(places):
        assert sorted(permutation.tolist()) == list(range(height * width))
        for t in range(height * width):
            assert torch.equal(
                augmented[a].flatten(2)[:, :, t], images.flatten(2)[:, :, permutation[t]]
            )
    assert torch.equal(augmented[0], images)


def test_each_jigsaw_undoes_itself_and_four_quarter_turns_do() -> None:
    moved = views.permutations("jigsaw", 4, 6)
    assert torch.equal(moved.gather(1, moved), torch.arange(24).expand(4, 24))
    images = numbered(1, 1, 5, 5)
    turned = images
    for _ in range(4):
        turned = views.augmented(turned, "rotation")[1]
    assert torch.equal(turned, images)


def test_crops_of_the_paper_keep_20_of_32_pixels() -> None:
    corners = [(0, 0), (0, 12), (12, 0), (12, 12), (6, 6)]
    assert views.crop_boxes(32, 32) == [(*corner, 20, 20) for corner in corners]


@given(height=st.integers(1, 40), width=st.integers(1, 40), share=st.floats(0.01, 1))
def test_crop_boxes_lie_inside(height: int, width: int, share: float) -> None:
    boxes = views.crop_boxes(height, width, share=share)
    assert len(boxes) + 1 == len(views.NAMES["crop"])
    for top_edge, left_edge, rows, columns in boxes:
        assert (
            0 <= top_edge <= top_edge + rows <= height
            and 0 <= left_edge <= left_edge + columns <= width
        )
        assert abs(rows - share * height) <= 0.5 or rows == 1
        assert abs(columns - share * width) <= 0.5 or columns == 1
    (top_edge, left_edge, rows, columns) = boxes[-1]
    assert 0 <= height - rows - 2 * top_edge <= 1 and 0 <= width - columns - 2 * left_edge <= 1


def looped_resize(part: Tensor, height: int, width: int) -> list[list[float]]:
    """Each new pixel's centre falls between four old ones; outside of them the nearest counts."""
    rows, columns = part.shape

    def weights(place: int, new: int, old: int) -> dict[int, float]:
        centre = min(max((place + 0.5) * old / new - 0.5, 0), old - 1)
        low = int(centre)
        weight_of = {low: 1 - (centre - low)}
        weight_of[min(low + 1, old - 1)] = weight_of.get(min(low + 1, old - 1), 0) + centre - low
        return weight_of

    resized = [[0.0] * width for _ in range(height)]
    for row in range(height):
        for column in range(width):
            for i, down in weights(row, height, rows).items():
                for j, along in weights(column, width, columns).items():
                    resized[row][column] += down * along * float(part[i, j])
    return resized


@pytest.mark.parametrize(("height", "width"), [(8, 8), (5, 7), (3, 2)])
def test_crops_are_parts_scaled_back(height: int, width: int) -> None:
    images = normal_doubles(2, 2, height, width)
    crops = views.augmented(images, "crop")
    assert crops.shape == (6, *images.shape) and torch.equal(crops[0], images)
    for view, (top_edge, left_edge, rows, columns) in zip(
        crops[1:], views.crop_boxes(height, width), strict=True
    ):
        for n in range(2):
            for c in range(2):
                part = images[n, c, top_edge : top_edge + rows, left_edge : left_edge + columns]
                expected = torch.tensor(looped_resize(part, height, width), dtype=torch.float64)
                torch.testing.assert_close(view[n, c], expected)
    whole = views.augmented(images, "crop", crop_share=1.0)
    torch.testing.assert_close(whole, images.expand_as(whole), rtol=0, atol=0)


@pytest.mark.parametrize("kind", views.KINDS)
def test_views_are_linear_and_differentiable(kind: Any) -> None:
    images = normal_doubles(2, 1, 4, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda images: views.augmented(images, kind), (images,))
    second_images = normal_doubles(2, 1, 4, 4, seed=1)
    plain = images.detach()
    summed = views.augmented(2 * plain + second_images, kind)
    torch.testing.assert_close(
        summed, 2 * views.augmented(plain, kind) + views.augmented(second_images, kind)
    )
    assert len(summed) == len(views.NAMES[kind])
    assert torch.equal(views.augmented(plain, kind), views.augmented(plain, kind)), (
        "there is no chance in it"
    )


def test_without_augmentation_there_are_the_images_alone() -> None:
    images = normal_doubles(2, 1, 3, 5)
    assert torch.equal(views.augmented(images, "none"), images[None])


def test_bad_input() -> None:
    odd = torch.zeros(2, 1, 4, 5)
    with refuses("images", "square", "[2, 1, 4, 5]"):
        views.augmented(odd, "rotation")
    for wrong in (odd, odd.mT):
        with refuses("images", "even"):
            views.augmented(wrong, "jigsaw")
    with refuses("height and width", "even", "(4, 5)"):
        views.permutations("jigsaw", 4, 5)
