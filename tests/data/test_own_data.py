"""A reader's own arrays and PyTorch datasets as ImageData, and what cannot become one."""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, Subset, TensorDataset
from torchvision.datasets import ImageFolder

from ddlab import data as own
from ddlab.data import ImageData
from tests.support import refuses

# Pictures made for tests are equal here and there; what is said of that has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*are training images too:UserWarning")

PIXELS = np.random.default_rng(0).integers(0, 256, (12, 8, 6, 3), dtype=np.uint8)
LABELS = np.arange(12) % 3


def everything(data: ImageData) -> tuple[list[Any], list[int]]:
    """Both splits, sorted by what the images are."""
    images = (
        torch.cat([data.train_images, data.test_images]).permute(0, 2, 3, 1).flatten(1).tolist()
    )
    pairs = sorted(
        zip(images, torch.cat([data.train_labels, data.test_labels]).tolist(), strict=True)
    )
    return [image for image, _ in pairs], [label for _, label in pairs]


EXPECTED = sorted(zip(PIXELS.reshape(12, -1).tolist(), LABELS.tolist(), strict=True))


@pytest.mark.parametrize(
    "images",
    [
        PIXELS,
        PIXELS.tolist(),
        PIXELS.astype(np.int64),
        torch.from_numpy(PIXELS),
        torch.from_numpy(PIXELS).permute(0, 3, 1, 2),
        PIXELS / 255,
        torch.from_numpy(PIXELS).permute(0, 3, 1, 2).float() / 255,
    ],
)
@pytest.mark.parametrize(
    "labels", [LABELS, LABELS.tolist(), torch.from_numpy(LABELS), np.array(list("abc"))[LABELS]]
)
def test_arrays(images: Any, labels: Any) -> None:
    loaded = own.from_arrays(images, labels, name="mine")
    assert everything(loaded) == (
        [image for image, _ in EXPECTED],
        [label for _, label in EXPECTED],
    )
    assert loaded.name == "mine" and loaded.channels == 3 and loaded.image_size == (8, 6)
    assert loaded.class_names == (
        ("a", "b", "c") if isinstance(labels[0], str) else ("0", "1", "2")
    )
    assert (
        loaded.class_counts("train").tolist() == [3] * 3
        and loaded.class_counts("test").tolist() == [1] * 3
    )
    assert loaded.fingerprint == own.from_arrays(images, labels, name="mine").fingerprint
    assert loaded.fingerprint != own.from_arrays(images, labels, name="mine", seed=1).fingerprint


@pytest.mark.filterwarnings("ignore:.*has no test image of:UserWarning")
def test_arrays_of_both_splits_and_other_labels() -> None:
    grey = PIXELS[..., 0]
    loaded = own.from_arrays(grey, LABELS + 4, test_images=grey[:2], test_labels=[6, 4])
    assert (
        loaded.channels == 1
        and loaded.class_names == ("4", "5", "6")
        and loaded.test_labels.tolist() == [2, 0]
    )
    assert np.array_equal(loaded.train_images[:, 0].numpy(), grey)
    named = own.from_arrays(grey, ["x", "y"] * 6, class_names=("y", "x"))
    assert named.class_names == ("y", "x") and int(named.class_counts("train")[1]) == 5
    deep = own.from_arrays(PIXELS.repeat(2, 3), LABELS, layout="nhwc")
    assert deep.channels == 6


NO = np.zeros((4, 8, 8), np.uint8)


@pytest.mark.parametrize(
    ("images", "labels", "options", "words"),
    [
        (
            np.zeros((4, 3, 8, 3), np.uint8),
            [0, 0, 1, 1],
            {},
            ["images", "layout", "[4, 3, 8, 3]", "either axis"],
        ),
        (np.zeros((4, 5, 8, 7), np.uint8), [0, 0, 1, 1], {}, ["images", "layout", "no axis"]),
        (NO - 0.5, [0, 0, 1, 1], {}, ["images", "[0, 1]", "-0.5"]),
        (NO + np.nan, [0, 0, 1, 1], {}, ["images", "[0, 1]", "256 of 256 that are NaN"]),
        (NO + np.int64(256), [0, 0, 1, 1], {}, ["images", "0 to 255", "256"]),
        (NO[:, 0], [0, 0, 1, 1], {}, ["images", "[n, h, w]"]),
        (NO[:0], [], {}, ["images", "[0, 8, 8]"]),
        ([[[1]], [[1, 2]]], [0, 1], {}, ["images", "[n, h, w]"]),
        ("images", [0, 1], {}, ["images", "[n, h, w]"]),
        (NO, [0, 0, 1], {}, ["labels", "4", "given 3"]),
        (NO, [0, 0, 1, "a"], {}, ["labels", "number or name"]),
        (NO, [0.0, 0.0, 1.0, 1.0], {}, ["labels", "number or name"]),
        (NO, np.eye(4), {}, ["labels", "number or name"]),
        (NO, [0, 0, 0, 1], {}, ["labels", "two images of each class", "'1'"]),
        (NO, [0, 0, 2, 2], {"class_names": ("a", "b")}, ["labels", "class_names", "2"]),
        (NO, list("aabc"), {"class_names": ("a", "b")}, ["labels", "class_names", "'c'"]),
        (NO, [0, 0, 1, 1], {"class_names": "ab"}, ["class_names", "one name per class"]),
        (NO, [0, 0, 1, 1], {"test_images": NO}, ["test_images and test_labels", "together"]),
        (
            NO,
            [0, 0, 1, 1],
            {"test_images": NO, "test_labels": [0, 0, 1, 7]},
            ["test_labels", "training images", "7"],
        ),
        (NO, [0, 0, 1, 1], {"test_fraction": 1}, ["test_fraction"]),
        (NO, [0, 0, 1, 1], {"layout": "hwc"}, ["layout"]),
    ],
)
def test_arrays_that_are_refused(
    images: Any, labels: Any, options: dict[str, Any], words: list[str]
) -> None:
    with refuses(*words):
        own.from_arrays(images, labels, **options)


class Pictures(Dataset):
    """What torchvision's datasets are like: (PIL image, number) and `classes`."""

    classes = ("a", "b", "c")

    def __init__(self, change: Any = lambda image: image) -> None:
        self.change = change
        self.asked = []

    def __len__(self) -> int:
        return 12

    def __getitem__(self, number: int) -> Any:
        self.asked.append(number)
        return self.change(Image.fromarray(PIXELS[number])), int(LABELS[number])


@pytest.mark.filterwarnings("ignore:.*has no test image of:UserWarning")
def test_datasets() -> None:
    expected = ([image for image, _ in EXPECTED], [label for _, label in EXPECTED])
    pictures = Pictures()
    loaded = own.from_dataset(pictures)
    assert everything(loaded) == expected and loaded.class_names == Pictures.classes
    assert pictures.asked == list(range(12))
    assert everything(own.from_dataset(Pictures(np.asarray))) == expected
    floats = TensorDataset(
        torch.from_numpy(PIXELS).permute(0, 3, 1, 2) / 255, torch.from_numpy(LABELS)
    )
    assert everything(own.from_dataset(floats)) == expected
    assert (
        everything(
            own.from_dataset([(image, "abc"[n]) for image, n in zip(PIXELS, LABELS, strict=True)])
        )
        == expected
    )
    with_test = own.from_dataset(pictures, test=Subset(pictures, [1, 5]), name="both")
    assert len(with_test.train_labels) == 12 and with_test.test_labels.tolist() == [1, 2]
    assert own.from_dataset(Subset(pictures, list(range(9)))).class_names == Pictures.classes


def test_datasets_are_cut_and_scaled() -> None:
    loaded = own.from_dataset(Pictures(), limit=2, size=5, channels=1)
    assert loaded.image_size == (5, 5) and loaded.channels == 1
    assert loaded.class_counts().tolist() == loaded.class_counts("test").tolist() == [1] * 3
    mixed = [(Image.fromarray(PIXELS[0]), 0), (PIXELS[1][..., 0], 0)] * 2 + [(PIXELS[2], 1)] * 2
    assert (
        own.from_dataset(mixed).channels == 3 and own.from_dataset(mixed, channels=1).channels == 1
    )
    colour = own.from_dataset([(PIXELS[0][..., 0], n % 2) for n in range(4)], channels=3, size=8)
    assert torch.equal(colour.train_images[:, 0], colour.train_images[:, 2])


class Streamed(IterableDataset):
    def __iter__(self) -> Any:
        return iter([(PIXELS[0], 0)])


class Broken(Pictures):
    def __getitem__(self, number: int) -> Any:
        return super().__getitem__(number) if number < 3 else {}["x"]


@pytest.mark.parametrize(
    ("dataset", "options", "words"),
    [
        (Streamed(), {}, ["dataset", "a length", "from_arrays"]),
        (iter([]), {}, ["dataset", "a length"]),
        (7, {}, ["dataset", "a length"]),
        ([], {}, ["dataset", "at least one image"]),
        (Broken(), {}, ["dataset", "item 3", "KeyError"]),
        ([PIXELS[0]], {}, ["item 0 of dataset", "pair (image, label)"]),
        ([(PIXELS[0], 1.5)], {}, ["the label of item 0", "number or a name"]),
        ([(PIXELS[0] - 300.0, 1)], {}, ["the image of item 0", "[0, 1]"]),
        ([("a.png", 1)], {}, ["the image of item 0"]),
        ([(PIXELS[0], 0), (PIXELS[0][:4], 0)], {}, ["size", "4 x 6 and 8 x 6"]),
        (
            [(Image.fromarray(np.zeros((4, 4), np.float32)), 0)],
            {},
            ["the image of item 0", "floats"],
        ),
        (Pictures(), {"test": Streamed()}, ["test", "a length"]),
        (Pictures(), {"channels": 2}, ["channels", "1, 3"]),
        (Pictures(), {"limit": 0}, ["limit"]),
        (Pictures(), {"size": 0}, ["size"]),
        (Subset(Pictures(), [0, 3, 6, 9]), {}, ["labels", "two images of each class", "'b'"]),
    ],
)
def test_datasets_that_are_refused(dataset: Any, options: dict[str, Any], words: list[str]) -> None:
    with refuses(*words):
        own.from_dataset(dataset, **options)


def test_unbalanced_classes_are_said() -> None:
    images = np.arange(30 * 64, dtype=np.uint8).reshape(30, 8, 8)
    even = own.from_arrays(images, ["<b>"] * 15 + ["dog"] * (30 - 15))
    uneven = own.from_arrays(images, ["<b>"] * 5 + ["dog"] * (30 - 5))
    assert "unbalanced" not in repr(even) and even.class_weights().tolist() == [1, 1]
    assert "unbalanced: 4 of '<b>' to 20 of 'dog'" in repr(uneven) and "class_weights" in repr(
        uneven
    )
    assert uneven.class_weights().tolist() == pytest.approx([3, 0.6])
    assert float((uneven.class_weights() * uneven.class_counts()).sum()) == pytest.approx(24)


@pytest.mark.parametrize("split", ["here", "given"])
def test_copies_on_both_sides_of_a_split_are_said(split: str) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (6, 8, 8), dtype=np.uint8).repeat(5, 0)
    labels = np.arange(30) % 2
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        if split == "here":
            loaded = own.from_arrays(pixels, labels)
        else:
            loaded = own.from_arrays(pixels, labels, test_images=pixels[:7], test_labels=labels[:7])
    train_bytes = {image.numpy().tobytes() for image in loaded.train_images}
    copies = sum(image.numpy().tobytes() in train_bytes for image in loaded.test_images)
    (warning,) = caught_warnings
    assert copies > 0 and f"{copies} of the {len(loaded.test_images)} test images" in str(
        warning.message
    )
    assert warning.filename == __file__


def test_texts_in_bytes_are_names() -> None:
    """As h5py gives them."""
    pixels = np.random.default_rng(0).integers(0, 256, (10, 8, 8), dtype=np.uint8)
    names = ["käse", "brot"] * 5
    as_bytes = [name.encode() for name in names]
    for labels in (as_bytes, np.array(as_bytes, dtype=object)):
        assert own.from_arrays(pixels, labels).class_names == ("brot", "käse")
    with refuses("labels", "UTF-8"):
        own.from_arrays(pixels, [b"\xff"] * 10)


def test_names_of_datasets_that_are_put_together(tmp_path: Path) -> None:
    for number, name in enumerate(["cat", "dog"] * 4):
        (tmp_path / name).mkdir(exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), 20 * number, np.uint8)).save(
            tmp_path / name / f"{number}.png"
        )
    folder = ImageFolder(str(tmp_path))
    concatenated = torch.utils.data.ConcatDataset([folder, folder])
    assert own.from_dataset(concatenated).class_names == ("cat", "dog")
    parts = torch.utils.data.Subset(concatenated, range(8))
    assert own.from_dataset(parts).class_names == ("cat", "dog")
    swapped = ImageFolder(str(tmp_path), target_transform=lambda label: 1 - label)
    assert own.from_dataset(swapped).class_names == ("0", "1"), (
        "the names of its folders would be exchanged"
    )
    with refuses("dataset", 'from_dataset(d["train"], test=d["test"])'):
        own.from_dataset({"train": folder, "test": folder})
    with refuses("dataset", 'from_dataset(d["all"])'):
        own.from_dataset({"all": folder})


class Numbered(Dataset):
    """Images of bytes with these labels, and the names of the classes."""

    def __init__(self, labels: list[int], classes: list[str]) -> None:
        self.labels, self.classes = labels, classes

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: int) -> tuple[np.ndarray, int]:
        return np.full((6, 6), 40 * self.labels[place] + place, np.uint8), self.labels[place]


@pytest.mark.parametrize(
    ("labels", "classes", "kept"),
    [
        ([1, 2] * 4, ["N/A", "a", "b"], ("a", "b")),
        ([3, 1, 3, 1], ["a", "b", "c", "d"], ("b", "d")),
    ],
)
def test_classes_without_an_image_are_left_out_and_named(labels, classes, kept) -> None:
    with pytest.warns(UserWarning, match="Classes without an image are left out"):
        data = own.from_dataset(Numbered(labels, classes))
    assert data.class_names == kept
    shown = [classes[int(image.flatten()[0]) // 40] for image in data.train_images]
    assert shown == [kept[label] for label in data.train_labels]


def test_labels_from_1_are_refused_with_the_way_out() -> None:
    with refuses("labels", "begin at 1: give class_names a first name for 0"):
        own.from_dataset(Numbered([1, 2] * 4, ["a", "b"]))


def test_a_wrapper_that_numbers_anew_has_not_the_names_of_what_it_wraps() -> None:
    wrapper = Numbered([0, 1] * 4, [])
    wrapper.classes, wrapper.dataset = None, Numbered([0, 1], ["cat", "dog"])
    assert own.from_dataset(wrapper).class_names == ("0", "1")


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_label_is_named(missing) -> None:
    images = np.zeros((4, 6, 6), np.uint8)
    with refuses("labels", f"given {missing!r} for image 2."):
        own.from_arrays(images, ["a", "b", missing, "b"])


def test_cells_of_a_table_are_images_or_are_named() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (10, 8, 8, 3), dtype=np.uint8)
    labels = [0, 1] * 5
    expected = own.from_arrays(pixels, labels).fingerprint
    pictures = [Image.fromarray(image) for image in pixels]
    for cells in (list(pixels), pictures, [image.tolist() for image in pixels]):
        column = pandas.Series(cells)
        for table in (column, column.to_numpy()):
            assert own.from_arrays(table, labels).fingerprint == expected
    file = io.BytesIO()
    pictures[0].save(file, "PNG")
    for cell in ({"bytes": file.getvalue(), "path": None}, file.getvalue()):
        with refuses("images", 'PIL.Image.open(io.BytesIO(cell["bytes"]))', "bytes of a file"):
            own.from_arrays(pandas.Series([cell] * 10), labels)
        with refuses("item 0 of dataset", "bytes of a file"):
            own.from_dataset([(cell, label) for label in labels])
    with refuses("images", "a dict with path"):
        own.from_arrays(pandas.Series([{"path": "a.png"}] * 10), labels)
    spoilt = pixels / 255
    spoilt[3, 2, 1, 0] = np.nan
    with refuses("images", "finite", "given 1 of 1,920", "the first in image 3"):
        own.from_arrays(spoilt, labels)
