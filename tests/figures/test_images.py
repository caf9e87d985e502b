"""Grids of images: pixels arrive unchanged, in every layout, in both forms."""

import base64
import io

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ddlab.core import DDLabError
from ddlab.figures import alt_text, encode_grid, encode_png, grid_alt, image_grid
from ddlab.figures.images import as_pixels


def decoded(encoded: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(encoded)))


def random_images(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 3, 4]))
def test_png_is_lossless(height, width, channels):
    pixels = random_images(height, width, channels)
    np.testing.assert_array_equal(decoded(encode_png(pixels)).reshape(pixels.shape), pixels)


@pytest.mark.parametrize(
    "shape", [(4, 3, 5, 6), (4, 5, 6, 3), (4, 1, 5, 6), (4, 5, 6, 1), (4, 5, 6)]
)
def test_every_layout_of_axes(shape):
    images = random_images(*shape)
    pixels = as_pixels(images)
    assert pixels.shape == (4, 5, 6, 3)
    first = (
        images[0].reshape(-1)[0] if shape[1] in (1, 3) or len(shape) == 3 else images[0, 0, 0, 0]
    )
    assert pixels[0, 0, 0, 0] == first
    np.testing.assert_array_equal(as_pixels(torch.from_numpy(images)), pixels)


def test_grid_places_images_row_by_row():
    images = random_images(3, 3, 4, 5)
    grid = decoded(encode_grid(images, columns=2, scale=2, gap=1))
    assert grid.shape == (2 * 8 + 1, 2 * 10 + 1, 4)
    np.testing.assert_array_equal(grid[:8:2, :10:2, :3], images[0].transpose(1, 2, 0))
    np.testing.assert_array_equal(grid[:8:2, 11::2, :3], images[1].transpose(1, 2, 0))
    np.testing.assert_array_equal(grid[9::2, :10:2, :3], images[2].transpose(1, 2, 0))
    assert (grid[10:, 12:, 3] == 0).all()


def test_each_image_has_a_frame_and_the_rest_of_a_gap_is_see_through():
    grid = decoded(encode_grid(random_images(2, 3, 3), columns=2, gap=4))
    frame, inner = grid[:, [3, 6]], grid[:, [4, 5]]
    assert (frame == [128, 128, 128, 190]).all() and (inner[..., 3] == 0).all()


def test_a_row_label_is_drawn_whole() -> None:
    """Alone, where it sets the width, it has as much ink as beside a longer one."""
    images = random_images(2, 24, 24)
    alone = decoded(encode_grid(images, columns=1, row_labels=["turned", ""]))[:24, :-24, 3]
    beside = decoded(encode_grid(images, columns=1, row_labels=["turned", "a longer label"]))[
        :24, :-24, 3
    ]
    assert alone.sum() == beside.sum() > 0


def test_labels_take_room_outside_the_images():
    images = random_images(4, 16, 16, 3)
    plain = decoded(encode_grid(images, columns=2, scale=2))
    labelled = decoded(
        encode_grid(
            images, columns=2, scale=2, row_labels=["real", "noise"], column_labels=["a", "b"]
        )
    )
    assert labelled.shape[0] > plain.shape[0] and labelled.shape[1] > plain.shape[1]
    np.testing.assert_array_equal(labelled[-plain.shape[0] :, -plain.shape[1] :], plain)
    assert labelled[: -plain.shape[0], :, 3].any() and labelled[:, : -plain.shape[1], 3].any()


def test_figure_holds_the_same_pixels():
    images = random_images(6, 8, 8)
    figure = image_grid(
        images, 3, title="Six images", row_labels=["a", "b"], column_labels=["1", "2", "3"], scale=2
    )
    encoded = base64.b64decode(figure.data[0].source.removeprefix("data:image/png;base64,"))
    np.testing.assert_array_equal(decoded(encoded), decoded(encode_grid(images, 3, 2)))
    assert "6 images in 2 rows and 3 columns" in alt_text(figure)
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "3"]


def test_alt_of_one_image():
    assert (
        grid_alt(1, 1, 1, "Digit", "after 3 steps")
        == "Digit: 1 image in 1 row and 1 column, after 3 steps."
    )


@pytest.mark.parametrize(
    "call, argument",
    [
        (lambda: encode_grid(np.zeros((2, 3, 4, 4))), "images"),
        (lambda: encode_grid(np.zeros((0, 3, 4, 4), np.uint8)), "images"),
        (lambda: encode_grid(np.zeros((2, 4, 4, 2), np.uint8)), "images"),
        (lambda: encode_grid(np.zeros((4, 4), np.uint8)), "images"),
        (
            lambda: encode_grid(random_images(2, 4, 4), columns=1, row_labels=["only one"]),
            "row_labels",
        ),
        (
            lambda: encode_grid(random_images(2, 4, 4), columns=2, column_labels=["only one"]),
            "column_labels",
        ),
        (lambda: encode_png(np.zeros((2, 2, 2), np.uint8)), "pixels"),
    ],
)
def test_bad_input(call, argument):
    with pytest.raises(DDLabError, match=argument):
        call()
