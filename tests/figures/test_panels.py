"""Grids beside each other: every panel's pixels, in order, with its name."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from ddlab.core import DDLabError
from ddlab.figures import alt_text, encode_grid, image_panels

FIRST_IMAGES = np.random.default_rng(0).integers(0, 256, (6, 3, 8, 8), dtype=np.uint8)
SECOND_IMAGES = np.random.default_rng(1).integers(0, 256, (6, 3, 8, 8), dtype=np.uint8)


def decoded(encoded: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(encoded)))


def test_each_panel_holds_its_grid() -> None:
    figure = image_panels(
        {"one": FIRST_IMAGES, "other": SECOND_IMAGES},
        3,
        title="Two",
        row_labels=["a", "b"],
        scale=2,
    )
    picture = decoded(
        base64.b64decode(figure.data[0].source.removeprefix("data:image/png;base64,"))
    )
    first = decoded(encode_grid(FIRST_IMAGES, 3, 2))
    second = decoded(encode_grid(SECOND_IMAGES, 3, 2))
    np.testing.assert_array_equal(picture[:, : first.shape[1]], first)
    np.testing.assert_array_equal(picture[:, -second.shape[1] :], second)
    assert not picture[:, first.shape[1] : -second.shape[1], 3].any(), "see-through between them"
    assert list(figure.layout.xaxis.ticktext) == ["<b>one</b>", "<b>other</b>"]
    assert list(figure.layout.yaxis.ticktext) == ["a", "b"]
    assert (
        alt_text(figure)
        == "Two: 2 grids beside each other (one, other), each of 6 images in 2 rows; rows: a, b."
    )


@pytest.mark.parametrize(
    ("panels", "labels", "words"),
    [
        ({}, None, "panels must be a mapping"),
        ([FIRST_IMAGES], None, "panels must be a mapping"),
        (
            {"one": FIRST_IMAGES, "other": SECOND_IMAGES[:5]},
            None,
            r"same number and size.*'other' \[5, 8, 8, 3\]",
        ),
        ({"one": FIRST_IMAGES}, ["a"], "row_labels must be a list of 2 names"),
        ({"one": FIRST_IMAGES / 255}, None, "images must be a uint8 array"),
    ],
)
def test_panels_that_do_not_fit_are_refused(panels, labels, words) -> None:
    with pytest.raises(DDLabError, match=words):
        image_panels(panels, 3, title="Two", row_labels=labels)
