"""Entropies against scipy and loops, and the images to compare with."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ddlab import networks
from ddlab.data import ImageData
from ddlab.lessons.data_residuals import entropy
from ddlab.networks import Network
from tests.support import refuses

HISTOGRAMS = st.lists(st.integers(0, 10**6), min_size=1, max_size=9).filter(any)


def counted(values: np.ndarray, bins: int) -> float:
    """Entropy of whole numbers, by scipy."""
    counts = np.bincount(values.ravel(), minlength=bins)
    return float(stats.entropy(counts, base=2))


@given(counts=HISTOGRAMS)
def test_a_histogram_has_the_entropy_that_scipy_gives(counts: list[int]) -> None:
    bits = float(entropy.histogram_entropy(torch.tensor(counts)))
    assert bits == pytest.approx(float(stats.entropy(counts, base=2)), abs=1e-12)
    assert 0 <= bits <= math.log2(len(counts)) + 1e-12 and math.copysign(1, bits) == 1


def test_histograms_stand_in_any_shape_and_a_single_bin_has_none() -> None:
    counts = torch.tensor([[[4, 4, 0, 0], [9, 0, 0, 0]], [[1, 1, 1, 1], [0, 0, 3, 1]]])
    bits = entropy.histogram_entropy(counts)
    torch.testing.assert_close(
        bits, torch.tensor([[1, 0], [2, 0.8112781244591328]], dtype=torch.float64)
    )
    single = entropy.histogram_entropy(torch.tensor([[7], [1]]))
    assert single.tolist() == [0, 0] and not single.signbit().any()


def test_pixels_are_counted_by_image_and_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    images = np.stack([draw.integers(0, top, (3, 7, 5)) for top in (2, 256, 40)]).astype(np.uint8)
    expected = [np.mean([counted(channel, 256) for channel in image]) for image in images]
    bits = entropy.pixel_entropy(torch.from_numpy(images))
    np.testing.assert_allclose(bits, expected, rtol=1e-12)
    monkeypatch.setattr(entropy, "_AT_ONCE", 1)  # one image at a time
    assert torch.equal(entropy.pixel_entropy(torch.from_numpy(images)), bits)


def test_features_are_counted_between_the_same_edges() -> None:
    draw = torch.Generator().manual_seed(0)
    real = torch.randn((6, 4, 3, 3), generator=draw)
    outputs = 2 * torch.randn((5, 4, 3, 3), generator=draw)
    edges = entropy.feature_edges(real, bins=10)
    ruler = np.histogram_bin_edges(real.double().numpy(), 10)
    np.testing.assert_allclose(edges, ruler, rtol=1e-12)
    expected = []
    for image in outputs.double().flatten(1).numpy():
        counts, _ = np.histogram(image.clip(ruler[0], ruler[-1]), ruler)
        expected.append(counted(np.repeat(np.arange(10), counts), 10))
    np.testing.assert_allclose(entropy.feature_entropy(outputs, edges), expected, rtol=1e-12)


def test_an_edge_belongs_to_the_bin_above_it_and_the_last_to_the_last_bin() -> None:
    edges = torch.tensor([0.0, 1.0, 2.0])
    bits = entropy.feature_entropy(
        torch.tensor([[1.0, 2.0], [0.0, 1.0], [-9.0, 0.5], [9.0, 0.9]]), edges
    )
    assert bits.tolist() == [0, 1, 0, 1]


def test_features_of_a_network(grey: ImageData, teacher: Network) -> None:
    """A constant image is no constant in the features of a network that pads; entropy stays a
    number either way.
    """
    references = entropy.reference_images(grey, 6)
    normalised = {
        name: (images / 255 - grey.mean[0]) / grey.std[0] for name, images in references.items()
    }
    features = {
        name: networks.predict(teacher, images).last_conv for name, images in normalised.items()
    }
    edges = entropy.feature_edges(features["real"])
    assert len(edges) == 65
    for bits in (entropy.feature_entropy(outputs, edges) for outputs in features.values()):
        assert bits.shape == (6,) and bits.isfinite().all() and (bits >= 0).all()


def test_references_are_what_their_names_say(colour: ImageData) -> None:
    references = entropy.reference_images(colour, 5, seed=3)
    assert list(references) == ["real", "shuffled", "constant", "noise"]
    assert {(images.shape, images.dtype) for images in references.values()} == {
        ((5, 3, 8, 8), torch.uint8)
    }
    rows = [row.tolist() for row in colour.train_images.flatten(1)]
    indices = [rows.index(image.tolist()) for image in references["real"].flatten(1)]
    assert colour.train_labels[indices].tolist() == [0, 1, 0, 1, 0] and len(set(indices)) == 5
    for real, shuffled, constant in zip(
        references["real"], references["shuffled"], references["constant"], strict=True
    ):
        colours = sorted(real.flatten(1).T.tolist())
        shuffled_colours = sorted(shuffled.flatten(1).T.tolist())
        assert colours == shuffled_colours and not torch.equal(real, shuffled), (
            "the same colours elsewhere"
        )
        assert constant.flatten(1).T.unique(dim=0).tolist() == [
            real.double().mean((1, 2)).round().tolist()
        ]
    values = references["noise"].double()
    assert (
        values.min() < 10
        and values.max() > 245
        and abs(float(values.mean()) - 127.5) < 4 * 74 / math.sqrt(960)
    )
    orders = [shuffled.flatten().tolist() for shuffled in references["shuffled"]]
    assert len({tuple(order) for order in orders}) == 5
    again = entropy.reference_images(colour, 5, seed=3)
    assert all(torch.equal(references[name], again[name]) for name in references)
    reseeded = entropy.reference_images(colour, 5, seed=4)
    assert not any(torch.equal(references[name], reseeded[name]) for name in references)


def test_what_pixel_entropy_says_of_the_references(digits: ImageData) -> None:
    """The control: shuffling does not change it, a colour has none, and noise has more than any
    real image.
    """
    bits = {
        name: entropy.pixel_entropy(images)
        for name, images in entropy.reference_images(digits, 50).items()
    }
    assert torch.equal(bits["real"], bits["shuffled"])
    assert bits["constant"].tolist() == [0] * 50 and not bits["constant"].signbit().any()
    assert bits["noise"].min() > bits["real"].max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_distance_is_the_root_mean_square(dtype: torch.dtype) -> None:
    draw = np.random.default_rng(0)
    first = draw.integers(0, 256, (3, 2, 4, 5))
    second = draw.integers(0, 256, (3, 2, 4, 5))
    expected = [float(np.sqrt(np.mean((a - b) ** 2.0))) for a, b in zip(first, second, strict=True)]
    distances = entropy.distance_to(
        *(torch.from_numpy(images).to(dtype) for images in (first, second))
    )
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    assert entropy.distance_to(torch.ones(2, 1, 2, 2), torch.ones(2, 1, 2, 2)).tolist() == [0, 0]


def test_no_images_have_no_entropies() -> None:
    nothing = torch.zeros((0, 1, 2, 2))
    edges = torch.tensor([0.0, 1.0])
    entropies = [
        entropy.pixel_entropy(nothing.to(torch.uint8)),
        entropy.feature_entropy(nothing, edges),
    ]
    assert all(bits.shape == (0,) for bits in [*entropies, entropy.distance_to(nothing, nothing)])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: entropy.histogram_entropy(torch.tensor([[1, 2], [0, 0]])), ("counts", "above 0")),
        (lambda: entropy.histogram_entropy(torch.tensor([3, -1])), ("counts", "at least 0")),
        (lambda: entropy.feature_edges(torch.zeros(2, 3)), ("features", "from 0 to 0")),
        (
            lambda: entropy.feature_edges(
                torch.tensor([[1e16, 1e16 + 4]], dtype=torch.float64), bins=9
            ),
            ("features", "9 bins"),
        ),
        (
            lambda: entropy.feature_edges(torch.tensor([[-1e308, 1e308]], dtype=torch.float64)),
            ("features", "1e+308"),
        ),
        (
            lambda: entropy.feature_entropy(torch.ones(2, 3), torch.tensor([0.0, 0.0, 1.0])),
            ("edges", "rising"),
        ),
        (
            lambda: entropy.feature_entropy(torch.ones(2, 3), torch.tensor([0.0])),
            ("edges", "two at least"),
        ),
        (
            lambda: entropy.distance_to(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 3, 3)),
            ("patches", "[1, 1, 2, 2]"),
        ),
        (
            lambda: entropy.distance_to(torch.ones(1, 1, 2, 2).int(), torch.ones(1, 1, 2, 2).int()),
            ("images", "uint8"),
        ),
        (
            lambda: entropy.distance_to(torch.ones(1, 1, 0, 2), torch.ones(1, 1, 0, 2)),
            ("images", "one number in each"),
        ),
    ],
)
def test_bad_input_is_one_sentence_that_names_the_argument(
    call: Any, words: tuple[str, ...]
) -> None:
    with refuses(*words):
        call()


def test_references_need_enough_images_of_each_class(grey: ImageData) -> None:
    assert len(entropy.reference_images(grey, 36)["real"]) == 36
    with refuses("count", "at most 36", "12 training images"):
        entropy.reference_images(grey, 37)
