"""Whitened data against numpy's singular value decomposition of the same pixels."""

from dataclasses import replace

import numpy as np
import torch

import ddlab
from ddlab import ImageData
from ddlab.data import whitened
from tests.support import made_data, refuses


def test_equals_the_formula_on_the_training_pixels(digits: ImageData) -> None:
    """To half a byte: a whitened value's step is a 32nd of the values' deviation."""
    white_digits = whitened(digits, epsilon=0.05)
    pixels = digits.train_images.flatten(1).numpy() / 255
    centred = pixels - pixels.mean(0)
    _, values, axes = np.linalg.svd(centred, full_matrices=False)
    scales = (values**2 / (len(pixels) - 1) + 0.05) ** -0.5
    matrix = axes.T @ np.diag(scales) @ axes
    for split in ("train", "test"):
        expected = torch.from_numpy(
            (digits.images(split).flatten(1).numpy() / 255 - pixels.mean(0)) @ matrix
        ).float()
        half = 0.5 / 255 / float(white_digits.std)
        edge = 0.5 / float(white_digits.std)
        gap = white_digits.normalised(split=split).flatten(1) - expected.clamp(-edge, edge)
        assert float(gap.abs().max()) <= half * 1.01, split
    assert float(white_digits.normalised().std()) > 30 * 2 * half


def test_places_no_longer_tell_each_other() -> None:
    shapes = ddlab.data.load("shapes", size=16)

    def correlation(data: ImageData) -> float:
        images = data.normalised()
        return float(
            torch.corrcoef(torch.stack([images[..., :-1].flatten(), images[..., 1:].flatten()]))[
                0, 1
            ]
        )

    white_shapes = whitened(shapes, epsilon=1e-3)
    assert abs(correlation(white_shapes)) < 0.5 * abs(correlation(shapes))
    assert (white_shapes.channels, white_shapes.image_size, white_shapes.class_names) == (
        shapes.channels,
        shapes.image_size,
        shapes.class_names,
    )
    assert white_shapes.fingerprint != shapes.fingerprint


def test_images_that_are_all_alike_stay_so(digits: ImageData) -> None:
    alike = torch.zeros_like(digits.train_images).index_fill_(0, torch.tensor([0]), 1)
    white_digits = whitened(replace(digits, train_images=alike, mean=None, std=None))
    assert bool(white_digits.normalised().isfinite().all())


def test_what_does_not_fit_is_refused_before_the_work() -> None:
    large = made_data(size=192, train=2, test=1)
    with refuses("data", "at most half of the memory", "192 x 192 pixels, 54.4 GB"):
        whitened(large)
