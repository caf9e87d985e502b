"""ImageData, the digits, and a reader's own folder."""

import base64
import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ddlab import data, networks
from ddlab.data import ImageData
from ddlab.data.images import denormalise, normalise
from ddlab.distilled import DistilledSet
from tests.support import assert_same, made_data, refuses

SHAPES = {
    "classes": st.integers(1, 4),
    "channels": st.sampled_from([1, 3]),
    "size": st.integers(1, 9),
    "seed": st.integers(0, 99),
}


@given(**SHAPES)
def test_statistics_equal_numpys(classes: int, channels: int, size: int, seed: int) -> None:
    random_data = made_data(classes, channels, size, seed=seed)
    pixels = random_data.train_images.numpy().astype(np.float64) / 255
    np.testing.assert_allclose(random_data.mean.numpy(), pixels.mean((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(random_data.std.numpy(), pixels.std((0, 2, 3)), rtol=1e-5)
    normalised = random_data.normalised().double().numpy()
    np.testing.assert_allclose(normalised.mean((0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(normalised.std((0, 2, 3)), 1, atol=1e-5)


@given(**SHAPES)
def test_bytes_survive_normalisation(classes: int, channels: int, size: int, seed: int) -> None:
    random_data = made_data(classes, channels, size, seed=seed)
    assert torch.equal(random_data.to_uint8(random_data.normalised()), random_data.train_images)
    assert torch.equal(
        random_data.to_uint8(random_data.normalised(split="test")), random_data.test_images
    )
    low, high = random_data.valid_range()
    normalised = random_data.normalised()
    assert (normalised >= low - 1e-5).all() and (normalised <= high + 1e-5).all()


@given(mean=st.floats(0, 1), std=st.floats(1e-3, 1))
def test_every_byte_survives_any_statistics(mean: float, std: float) -> None:
    levels = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16)
    statistics = torch.tensor([mean], dtype=torch.float32), torch.tensor([std], dtype=torch.float32)
    assert torch.equal(denormalise(normalise(levels, *statistics), *statistics), levels)
    expected = (np.arange(256).reshape(1, 1, 16, 16) / 255 - float(statistics[0])) / float(
        statistics[1]
    )
    np.testing.assert_allclose(
        normalise(levels, *statistics).numpy(), expected, rtol=1e-4, atol=1e-4 / std
    )


def test_to_uint8_rounds_and_clamps(grey: ImageData) -> None:
    values = torch.tensor([-99.0, 99.0, 0.0]).view(3, 1, 1, 1)
    assert grey.to_uint8(values).flatten().tolist() == [0, 255, round(float(grey.mean) * 255)]


def test_a_constant_channel_stays_finite() -> None:
    images = torch.full((36, 1, 8, 8), 7, dtype=torch.uint8)
    with pytest.warns(UserWarning, match="train_images are all of one value"):
        flat = dataclasses.replace(made_data(), train_images=images, mean=None, std=None)
    assert float(flat.std) == 1 and flat.normalised().abs().max() < 1e-6


def test_access(colour: ImageData) -> None:
    assert (colour.channels, colour.image_size, colour.classes) == (3, (8, 8), 2)
    assert colour.images("test") is colour.test_images and colour.labels() is colour.train_labels
    assert torch.equal(colour.of_class(1), torch.arange(8, 16)) and colour.of_class(
        1, "test"
    ).tolist() == [4, 5, 6, 7]
    index_forms: list[Any] = [
        [3, 1],
        torch.tensor([3, 1]),
        slice(1, 4, 2),
        range(1, 3),
        np.array([2, 2]),
    ]
    for indices in index_forms:
        place = (
            list(range(16))[indices] if isinstance(indices, slice) else [int(i) for i in indices]
        )
        assert torch.equal(colour.normalised(indices), colour.normalised()[place])
    assert colour.normalised([]).shape == (0, 3, 8, 8)
    assert colour.normalised().dtype == torch.float32


def test_handing_out_changes_nothing(grey: ImageData) -> None:
    before = grey.train_images.clone()
    grey.normalised().zero_()
    assert torch.equal(grey.train_images, before)


def test_fingerprint_sees_every_part(grey: ImageData) -> None:
    changes: list[dict[str, Any]] = [
        {"name": "other"},
        {"class_names": ("x", "y", "z")},
        {"train_images": 255 - grey.train_images},
        {"test_images": 255 - grey.test_images},
        {"train_labels": grey.train_labels.flip(0)},
        {"test_labels": grey.test_labels.flip(0)},
        {"mean": grey.mean + 0.1},
        {"std": grey.std + 0.1},
    ]
    prints = {dataclasses.replace(grey, **change).fingerprint for change in changes}
    assert len(prints | {grey.fingerprint}) == 8, (
        "a folder may be renamed: the name alone is no part"
    )
    assert dataclasses.replace(grey).fingerprint == grey.fingerprint


def parts(**changes: Any) -> dict[str, Any]:
    source = made_data()
    return {
        field.name: getattr(source, field.name) for field in dataclasses.fields(source)
    } | changes


WHOLE = parts()
BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "float images": ({"train_images": WHOLE["train_images"].float()}, ["train_images", "uint8"]),
    "no channels": (
        {"train_images": WHOLE["train_images"][:, 0]},
        ["train_images", "[n, c, h, w]"],
    ),
    "no images": (
        {"test_images": WHOLE["test_images"][:0], "test_labels": WHOLE["test_labels"][:0]},
        ["test_images", "at least one"],
    ),
    "other size": ({"test_images": WHOLE["test_images"][..., 1:]}, ["test_images", "[m, 1, 8, 8]"]),
    "too few labels": ({"train_labels": WHOLE["train_labels"][1:]}, ["train_labels", "[36]"]),
    "float labels": ({"test_labels": WHOLE["test_labels"].float()}, ["test_labels", "int64"]),
    "label too high": (
        {"test_labels": WHOLE["test_labels"] + 1},
        ["test_labels", "0 to 2", "1 to 3"],
    ),
    "label below 0": ({"train_labels": WHOLE["train_labels"] - 1}, ["train_labels"]),
    "empty class": (
        {"train_labels": WHOLE["train_labels"].clamp(max=1)},
        ["train_images", "every class", "'c'"],
    ),
    "class names in one string": ({"class_names": "abc"}, ["class_names"]),
    "mean alone": ({"std": None}, ["std"]),
    "mean of another shape": ({"mean": torch.zeros(3)}, ["mean", "[1]"]),
    "mean not finite": ({"mean": torch.tensor([torch.nan])}, ["mean", "finite"]),
    "std zero": ({"std": torch.zeros(1)}, ["std", "above 0"]),
    "std of integers": ({"std": torch.ones(1, dtype=torch.int64)}, ["std", "float32"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_image_data(name: str) -> None:
    changes, words = BAD[name]
    with refuses(*words):
        ImageData(**WHOLE | changes)


def test_a_dataset_says_what_it_is(colour: ImageData) -> None:
    assert (
        repr(colour)
        == "<ImageData made-3-8-1: 16 training and 8 test images of 3 x 8 x 8, 2 classes>"
    )


class TestAligned:
    """One dataset in the shape of another."""

    def test_its_own_shape_leaves_it_as_it_is(self, grey: ImageData) -> None:
        assert data.aligned(grey, made_data(classes=2, seed=5)) is grey

    @pytest.mark.parametrize("size", [4, 8, 11, 16])
    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize("like_channels", [1, 3])
    def test_shape_and_pixels(self, channels: int, like_channels: int, size: int) -> None:
        """Grey by numpy, scaled by PIL, whose bilinear filter smooths too; rounding once or twice
        makes a byte of difference.
        """
        original = made_data(channels=channels)
        like = made_data(classes=2, channels=like_channels, size=size)
        aligned_data = data.aligned(original, like)
        assert (aligned_data.channels, aligned_data.image_size) == (like.channels, like.image_size)
        for split in ("train", "test"):
            assert torch.equal(aligned_data.labels(split), original.labels(split))
            images = original.images(split).numpy().astype(np.float64)
            if (channels, like_channels) == (3, 1):
                images = np.einsum("nchw,c->nhw", images, [0.299, 0.587, 0.114])[:, None]
            for aligned_image, image in zip(
                aligned_data.images(split).numpy(), images, strict=True
            ):
                planes = [
                    np.asarray(
                        Image.fromarray(plane.astype(np.float32)).resize(
                            (size, size), Image.Resampling.BILINEAR
                        )
                    )
                    for plane in image
                ]
                np.testing.assert_allclose(
                    aligned_image,
                    np.broadcast_to(np.stack(planes), aligned_image.shape),
                    atol=0.502,
                )
        assert (
            aligned_data.class_names == original.class_names
            and original.name in aligned_data.name
            and like.name in aligned_data.name
        )

    def test_grey_becomes_three_equal_channels(self, grey: ImageData, colour: ImageData) -> None:
        aligned_data = data.aligned(grey, colour)
        assert torch.equal(aligned_data.train_images, grey.train_images.expand(-1, 3, -1, -1))
        assert aligned_data.fingerprint != grey.fingerprint

    def test_statistics_are_its_own(self, grey: ImageData) -> None:
        like = made_data(channels=3, size=16)
        aligned_data = data.aligned(
            dataclasses.replace(grey, mean=torch.tensor([0.2]), std=torch.tensor([3.0])), like
        )
        pixels = aligned_data.train_images.double().div(255).transpose(0, 1).flatten(1)
        torch.testing.assert_close(aligned_data.mean.double(), pixels.mean(1), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(
            aligned_data.std.double(), pixels.std(1, unbiased=False), rtol=1e-4, atol=1e-6
        )
        assert float(aligned_data.mean[0] - like.mean[0]) != 0

    def test_a_network_of_the_one_looks_at_the_other(
        self, digits: ImageData, colour_teacher: Any, colour: ImageData
    ) -> None:
        aligned_data = data.aligned(digits, colour)
        assert networks.predict(colour_teacher, aligned_data.normalised([0, 1])).logits.shape == (
            2,
            2,
        )

    def test_other_channels_are_refused(self, grey: ImageData) -> None:
        two = made_data(channels=2)
        for source, like in ((grey, two), (two, grey), (made_data(channels=3), two)):
            with refuses("data", "grey"):
                data.aligned(source, like)
        assert data.aligned(two, made_data(channels=2, size=4)).image_size == (4, 4)


class TestDigits:
    def test_sizes_and_split(self) -> None:
        digits = data.load("digits")
        assert digits.train_images.shape == (1198, 1, 16, 16) and digits.test_images.shape == (
            599,
            1,
            16,
            16,
        )
        assert digits.class_names == tuple("0123456789") and digits.name == "digits-16"
        for split in ("train", "test"):
            shares = torch.bincount(digits.labels(split)).double() / len(digits.labels(split))
            assert float((shares - 0.1).abs().max()) < 0.005

    def test_nothing_is_lost_and_nothing_is_in_both(self, digits: ImageData) -> None:
        from sklearn.datasets import load_digits

        bunch = load_digits()
        original = sorted(
            (int(t), *(round(v * 255 / 16) for v in x.ravel()))
            for x, t in zip(bunch.images, bunch.target, strict=True)
        )
        splits = [
            (digits.train_images, digits.train_labels),
            (digits.test_images, digits.test_labels),
        ]
        ours = sorted(
            (int(t), *x.flatten().tolist())
            for images, labels in splits
            for x, t in zip(images, labels, strict=True)
        )
        assert ours == original

    def test_the_seed_decides_the_split(self, digits: ImageData) -> None:
        assert_same(data.load("digits", size=8), digits)
        reseeded = data.load("digits", size=8, seed=1)
        assert (
            reseeded.fingerprint != digits.fingerprint
            and reseeded.train_images.shape == digits.train_images.shape
        )

    @pytest.mark.parametrize("options", [{"size": 7}, {"size": 65}, {"seed": 2**32}])
    def test_bad_input(self, options: dict[str, Any]) -> None:
        with refuses(next(iter(options))):
            data.load("digits", **options)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("digit",), {}, ["name", "nearest: 'digits'"]),
        (("digits",), {"sise": 8}, ["option", "nearest: 'size'"]),
        (("digits", 8), {}, ["digits"]),
        (("folder",), {}, ["folder"]),
        (("folder:/nowhere/at/all",), {}, ["path", "existing folder"]),
        (("folder", None), {}, ["path"]),
        (("folder", 3), {}, ["path"]),
    ],
)
def test_load_of_something_else(
    arguments: tuple[Any, ...], options: dict[str, Any], words: list[str]
) -> None:
    with refuses(*words):
        data.load(*arguments, **options)


def test_data_and_sets_show_their_images_in_a_notebook(
    grey: ImageData, distilled: DistilledSet
) -> None:
    halves = dataclasses.replace(distilled, complete=False)
    for shown_object, rows, columns, words in (
        (grey, 2, 3, ["36 training"]),
        (halves, len(distilled) // 3, 3, ["floats", "not complete"]),
    ):
        markup = shown_object._repr_html_()
        assert all(word in markup for word in (*words, *shown_object.class_names))
        content = base64.b64decode(markup.split("base64,")[1].split('"')[0])
        picture = torch.from_numpy(np.array(Image.open(io.BytesIO(content)))).movedim(2, 0)
        assert picture.shape == (3, rows * 34 + 2, columns * 34 + 2)
    assert torch.equal(
        picture[0, 2:34:4, 2:34:4], halves.to_uint8()[int(halves.labels.argmin()), 0]
    )


def test_a_subset_and_its_file(colour: ImageData, tmp_path: Path) -> None:
    some = colour.subset(classes=[colour.class_names[1], 0], limit=3)
    assert len(some) == 6 and some.class_names == tuple(reversed(colour.class_names))
    for new, old in ((0, 1), (1, 0)):
        for split, count in (("train", 3), ("test", 4)):
            expected = colour.images(split)[colour.of_class(old, split)[:count]]
            assert torch.equal(some.images(split)[some.of_class(new, split)], expected)
    assert torch.equal(some.mean, colour.mean) and torch.equal(
        colour.subset().normalised(), colour.normalised()
    )
    image, label = some.as_dataset("test")[2]
    assert torch.equal(image, some.normalised([2], "test")[0]) and label == some.test_labels[2]
    assert ImageData.load(some.save(tmp_path / "some.safetensors")).fingerprint == some.fingerprint
    for wrong in ([], [0, 0], [2], ["cow"], [0.5]):
        with refuses("classes"):
            colour.subset(classes=wrong)
