"""What people have: trees, pixels and labels of every kind are read right, or refused in a
sentence; never otherwise.
"""

import collections
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import ddlab
from ddlab import data
from ddlab.data import folder, tree
from tests.support import refuses

# Pictures made for tests are equal here and there; what is said of that has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*are training images too:UserWarning")

CLASSES = ("cat", "dog", "fox")


def picture(file: Path, value: int, size: tuple[int, int] = (8, 8)) -> None:
    """One whose grey is its class, 80 times its number from 1, and whose corner tells it from
    others of the class.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full(size, value, np.uint8)
    pixels[0, 0] = len(list(file.parent.iterdir())) + hash_of(file)
    Image.fromarray(pixels).save(file)


def hash_of(file: Path) -> int:
    return sum(str(file).encode()) % 199


def classes(root: Path, names: tuple[str, ...] = CLASSES, count: int = 3) -> None:
    for number, name in enumerate(names):
        for image in range(count):
            picture(
                root / name / f"{image}.png",
                80 * (1 + CLASSES.index(name) if name in CLASSES else 1 + number % 3),
            )


def of_class(loaded: ddlab.ImageData, split: str) -> list[bool]:
    """Whether each image of a split stands under its own class."""
    names = [loaded.class_names[label] for label in loaded.labels(split).tolist()]
    return [
        int(image[0, 5, 5]) == 80 * (1 + CLASSES.index(name))
        for name, image in zip(names, loaded.images(split), strict=True)
    ]


def split_into(*splits: str) -> Callable[[Path], None]:
    return lambda root: [classes(root / split) for split in splits]


SERVICE = ("@eaDir", "__MACOSX", ".x", "cat/.ipynb_checkpoints", "dog/@eaDir")
# Made by, options, images per split.
TREES: dict[str, tuple[Callable[[Path], Any], dict[str, Any], tuple[int, int]]] = {
    "TRAIN and Val": (split_into("TRAIN", "Val"), {}, (9, 9)),
    "training and testing": (split_into("training", "testing"), {}, (9, 9)),
    "Train and validation": (split_into("Train", "validation"), {}, (9, 9)),
    "valid beside a flat test": (
        lambda r: (split_into("train", "valid")(r), picture(r / "test" / "0.png", 5)),
        {},
        (9, 9),
    ),
    "nested as archives unpack": (split_into("train/train", "test/test"), {}, (9, 9)),
    "named by options": (
        split_into("fold_a", "fold_b"),
        {"train": "fold_b", "test": "fold_a"},
        (9, 9),
    ),
    "named below": (split_into("x/one", "x/two"), {"train": "x/one", "test": "x/two"}, (9, 9)),
    "service folders": (lambda r: [classes(r / name) for name in (".", *SERVICE)], {}, (6, 3)),
    "a link to the parent": (lambda r: (classes(r), (r / "cat" / "up").symlink_to(r)), {}, (6, 3)),
    "a link to a split": (
        lambda r: (
            split_into("train", "test")(r),
            (r / "train" / "cat" / "t").symlink_to(r / "test"),
        ),
        {},
        (9, 9),
    ),
    "links in a circle": (
        lambda r: (classes(r), (r / "cat" / "b").symlink_to(r / "cat")),
        {},
        (6, 3),
    ),
    "links to elsewhere": (
        lambda r: (
            classes(r / "w"),
            classes(r / "pool", ("cat",)),
            (r / "w" / "cat" / "more").symlink_to(r / "pool" / "cat"),
        ),
        {"path": "w"},
        (9, 3),
    ),
}


@pytest.mark.parametrize("case", TREES)
@pytest.mark.filterwarnings("ignore")
def test_trees(case: str, tmp_path: Path) -> None:
    make, options, counts = TREES[case]
    (tmp_path / "root").mkdir()
    make(tmp_path / "root")
    options = dict(options)
    loaded = data.load("folder", tmp_path / "root" / options.pop("path", "."), **options)
    assert loaded.class_names == CLASSES and (len(loaded), len(loaded.test_labels)) == counts
    assert all(of_class(loaded, "train")) and all(of_class(loaded, "test"))


REFUSED: dict[str, tuple[Callable[[Path], Any], dict[str, Any], list[str]]] = {
    "folds": (split_into("fold_0", "fold_1"), {}, ["'fold_0'", "'fold_1'", "train=", "test="]),
    "folds beside a class": (
        lambda r: (split_into("a", "b")(r), classes(r, ("cat",))),
        {},
        ["'a'", "'b'", "train='.'"],
    ),
    "classes with subfolders of the same names": (
        lambda r: [
            classes(r / inner, ("fox",)) for inner in ("cat/in", "cat/out", "dog/in", "dog/out")
        ],
        {},
        ["'cat'", "'dog'", "train='.'"],
    ),
    "two for training": (split_into("train", "training", "test"), {}, ["one training", "train="]),
    "two spellings": (split_into("train", "test", "Test"), {}, ["test="]),
    "one option": (split_into("a", "b"), {"train": "a"}, ["both train= and test="]),
    "no such folder": (split_into("a", "b"), {"train": "a", "test": "c"}, ["test", "a, b", "'c'"]),
    "a class that is a link to another": (
        lambda r: (classes(r, ("cat", "dog")), (r / "fox").symlink_to(r / "cat")),
        {},
        ["fox", "none"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.filterwarnings("ignore:In ")
def test_trees_that_can_be_read_in_two_ways(case: str, tmp_path: Path) -> None:
    make, options, words = REFUSED[case]
    make(tmp_path)
    with refuses(*words):
        data.load("folder", tmp_path, **options)
    if "subfolders" in case:
        assert data.load("folder", tmp_path, train=".").class_names == ("cat", "dog")


SPLITS = [
    (".",),
    ("train", "test"),
    ("Training", "val"),
    ("seg_train/seg_train", "seg_test/seg_test"),
    ("f0", "f1"),
]


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_random_trees(draw: st.DataObject) -> None:
    """No image of one class under another's name, none in both splits: whatever lies where."""
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = Path(place) / "root"
        splits = draw.draw(st.sampled_from(SPLITS))
        folders = []
        for split in splits:
            for name in CLASSES:
                for number in range(draw.draw(st.integers(2, 3))):
                    inner = (
                        draw.draw(st.sampled_from(["", "a", "a/b", ".hidden", "@eaDir"]))
                        if number > 1
                        else ""
                    )
                    picture(
                        root / split / name / inner / f"{number}.png",
                        80 * (1 + CLASSES.index(name)),
                    )
                    folders.append(root / split / name)
        for _ in range(draw.draw(st.integers(0, 3))):
            link = draw.draw(st.sampled_from(folders)) / draw.draw(st.sampled_from(["l", "m", "n"]))
            if not os.path.lexists(link):
                link.symlink_to(
                    draw.draw(
                        st.sampled_from(
                            [*folders, root, root.parent, *(root / split for split in splits)]
                        )
                    )
                )
        try:
            loaded = data.load("folder", root)
        except ddlab.DDLabError:
            assert splits == ("f0", "f1")
            return
        assert (
            loaded.class_names == CLASSES
            and all(of_class(loaded, "train"))
            and all(of_class(loaded, "test"))
        )
        if len(splits) == 1:
            read = collections.Counter(
                image.numpy().tobytes() for image in (*loaded.train_images, *loaded.test_images)
            )
            real = [
                file
                for file in root.rglob("*.png")
                if not any(part[0] in ".@" for part in file.relative_to(root).parts)
            ]
            assert sum(read.values()) == len({os.path.realpath(file) for file in real})


def test_files_in_both_splits_are_counted(tmp_path: Path) -> None:
    split_into("train", "test")(tmp_path)
    (tmp_path / "test" / "dog" / "copy.png").write_bytes(
        (tmp_path / "train" / "dog" / "1.png").read_bytes()
    )
    with pytest.warns(
        UserWarning, match=r"\d+ images of the training part are in the test part too, as '1.png'"
    ):
        data.load("folder", tmp_path)


def test_what_may_not_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classes(tmp_path)
    scandir = os.scandir

    def closed(place: Any) -> Any:
        if Path(place).name == "dog":
            raise PermissionError(13, "Permission denied", str(place))
        return scandir(place)

    monkeypatch.setattr(tree.os, "scandir", closed)
    with refuses("path", "readable", "dog", "Permission denied"):
        data.load("folder", tmp_path)


def test_without_sysconf_nothing_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(folder.os, "sysconf")
    classes(tmp_path)
    assert len(data.load("folder", tmp_path)) == 6


def test_a_bound_of_pixels_is_named_before_anything_is_decoded(tmp_path: Path) -> None:
    classes(tmp_path)
    picture(tmp_path / "cat" / "large.png", 80, (300, 400))
    with refuses("readable images", "large.png", "120,000 pixels", "most_pixels=100,000"):
        data.load("folder", tmp_path, size=8, most_pixels=100_000)
    assert len(data.load("folder", tmp_path, size=8, most_pixels=120_000)) == 7


RAMP = np.arange(256, dtype=np.uint8).reshape(16, 16)
INK = np.zeros((16, 16, 4), np.uint8)
INK[4:9, 2:9, 3] = 255
GHOST = np.where(INK == 255, 255, 200).astype(np.uint8) * (INK[..., 3:] > 0)
PALETTE = Image.fromarray(RAMP).convert("P")
ON_WHITE = np.where(INK[..., 3] > 0, 0, 255)
# Pixels -> the same as bytes, however they come: what is given, options, what is read.
PIXELS: dict[str, tuple[Any, dict[str, Any], np.ndarray]] = {
    "bytes": (RAMP, {}, RAMP),
    "whole numbers": (RAMP.astype(np.int64), {}, RAMP),
    "floats": (RAMP / 255, {}, RAMP),
    "floats a rounding beyond": (RAMP / 255 * 1.0001 - 1e-5, {}, RAMP),
    "16 bits": (RAMP.astype(np.uint16) * 257, {}, RAMP),
    "12 bits of 16": (RAMP.astype(np.uint16) * 16, {"range": (0, 4080)}, RAMP),
    "0 to 16": (RAMP // 16, {"range": (0, 15)}, RAMP // 16 * 17),
    "a mask": ((RAMP > 99).astype(np.uint8), {"range": (0, 1)}, (RAMP > 99) * 255),
    "True and False": (RAMP > 99, {}, (RAMP > 99) * 255),
    "0 to 1000": (
        RAMP.astype(np.int32) * 1000 // 255,
        {"range": (0, 1000)},
        np.rint((RAMP.astype(int) * 1000 // 255) * 0.255),
    ),
    "transparent": (INK, {}, ON_WHITE),
    "transparent on black": (GHOST, {"background": 0}, np.where(INK[..., 3] > 0, 200, 0)),
    "a picture": (Image.fromarray(RAMP), {}, RAMP),
    "a palette": (PALETTE, {}, RAMP),
    "a picture with transparency": (Image.fromarray(INK), {}, ON_WHITE),
    "grey with transparency": (Image.fromarray(INK[..., [0, 3]]), {}, ON_WHITE),
}


def by_every_reader(table: dict[str, Any]) -> list[tuple[str, str]]:
    """Case and reader; of folders what a PNG can hold."""
    kinds = (np.uint8, np.uint16, bool)
    files = [
        case
        for case, row in table.items()
        if isinstance(row[0], Image.Image) or row[0].dtype in kinds
    ]
    return [(case, reader) for reader in ("arrays", "dataset") for case in table] + [
        (case, "folder") for case in files
    ]


def read_by(reader: str, picture: Any, options: dict[str, Any], place: Path) -> ddlab.ImageData:
    if reader == "arrays":
        images = [picture] * 8 if isinstance(picture, Image.Image) else np.stack([picture] * 8)
        return data.from_arrays(images, [0, 1] * 4, **options)
    if reader == "dataset":
        return data.from_dataset([(picture, number % 2) for number in range(8)], **options)
    for number in range(8):
        file = place / "ab"[number % 2] / f"{number}.png"
        file.parent.mkdir(exist_ok=True)
        (picture if isinstance(picture, Image.Image) else Image.fromarray(picture)).save(file)
    return data.load("folder", place, **options)


@pytest.mark.parametrize(("case", "reader"), by_every_reader(PIXELS))
@pytest.mark.filterwarnings("ignore:In ")
def test_pixels_are_the_same_by_every_reader(case: str, reader: str, tmp_path: Path) -> None:
    picture, options, expected = PIXELS[case]
    loaded = read_by(reader, picture, options, tmp_path)
    assert np.abs(loaded.train_images[0, 0].numpy().astype(int) - expected).max() <= (
        1 if "palette" not in case else 9
    ), case


@pytest.mark.parametrize("reader", ["arrays", "dataset", "folder"])
@pytest.mark.filterwarnings("ignore:In ")
def test_dark_pictures_are_read_once_somebody_says_that_they_are(
    reader: str, tmp_path: Path
) -> None:
    loaded = read_by(reader, RAMP // 16, {"range": (0, 255)}, tmp_path)
    assert np.array_equal(loaded.train_images[0, 0].numpy(), RAMP // 16)


GUESSES: dict[str, tuple[Any, list[str]]] = {
    "a mask of 0 and 1": ((RAMP > 99).astype(np.uint8), ["range", "masks"]),
    "0 to 16": (RAMP // 16, ["range"]),
    "12 bits of 16": (RAMP.astype(np.uint16) * 16, ["range"]),
    "14 bits of 16": (RAMP.astype(np.uint16) * 64, ["range"]),
    "0 to 1000": (RAMP.astype(np.int64) * 4, ["range", "1020"]),
    "floats divided twice": (RAMP / 255 / 255, ["range"]),
    "floats below 0": (RAMP / 255 - 0.5, ["range", "-0.5"]),
    "floats to 255": (RAMP.astype(np.float32), ["range", "255"]),
    "floats just beyond 1": (RAMP / 255 * 1.01, ["range", "1.01"]),
}


@pytest.mark.parametrize(("case", "reader"), by_every_reader(GUESSES))
def test_pixels_whose_black_and_white_are_a_guess_are_asked_for(
    case: str, reader: str, tmp_path: Path
) -> None:
    picture, words = GUESSES[case]
    with refuses(*words):
        read_by(reader, picture, {}, tmp_path)


@pytest.mark.parametrize("reader", ["folder", "dataset"])
@pytest.mark.filterwarnings("ignore:In ")
def test_a_cameras_turn_is_undone(reader: str, tmp_path: Path) -> None:
    exif = Image.Exif()
    half = np.zeros((16, 16), np.uint8)
    exif[0x0112] = 6
    half[:, :8] = 200
    for name in "ab":
        (tmp_path / name).mkdir()
        for number in range(3):
            Image.fromarray(np.where(half, half + number, 0).astype(np.uint8)).save(
                tmp_path / name / f"{number}{name}.png", exif=exif
            )
    from torchvision.datasets import ImageFolder

    loaded = (
        data.load("folder", tmp_path)
        if reader == "folder"
        else data.from_dataset(ImageFolder(str(tmp_path)), channels=1)
    )
    assert (
        int(loaded.train_images[0, 0, 0].min())
        >= 190
        > 10
        >= int(loaded.train_images[0, 0, -1].max())
    )


@pytest.mark.parametrize(
    ("fit", "columns"), [("crop", [96, 159]), ("pad", [255, 255]), ("stretch", [8, 247])]
)
def test_text_lines_are_not_cut_to_squares(fit: str, columns: list[int], tmp_path: Path) -> None:
    wide = np.tile(np.arange(256, dtype=np.uint8), (32, 1))
    for name in "ab":
        (tmp_path / name).mkdir()
        for number in range(3):
            Image.fromarray(np.roll(wide, number, 0)).save(tmp_path / name / f"{number}.png")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from_folder = data.load("folder", tmp_path, size=(16, 32), fit=fit)
        from_list = data.from_dataset(
            [(Image.fromarray(wide), number % 2) for number in range(6)], size=(16, 32), fit=fit
        )
    assert from_folder.image_size == from_list.image_size == (16, 32) and torch.equal(
        from_folder.train_images[0], from_list.train_images[0]
    )
    row = from_folder.train_images[0, 0, 0 if fit == "pad" else 8].tolist()
    assert row[0] == pytest.approx(columns[0], abs=9) and row[-1] == pytest.approx(
        columns[1], abs=9
    )
    dm = ddlab.distill("dm", from_folder, iterations=2, progress=False)
    assert dm.image_size == (16, 32)


ANIMALS = ["cat", "dog"] * 4
LABELS: dict[str, Callable[[Any], Any]] = {
    "a column": lambda pandas: pandas.Series(ANIMALS),
    "a column of strings": lambda pandas: pandas.Series(ANIMALS, dtype="string"),
    "a category": lambda pandas: pandas.Series(ANIMALS, dtype="category"),
    "a column with another index": lambda pandas: pandas.Series(ANIMALS, index=range(9, 1, -1)),
    "objects": lambda pandas: np.array(ANIMALS, object),
    "a table of one column": lambda pandas: np.array(ANIMALS)[:, None],
}
NUMBERS: dict[str, tuple[Any, tuple[str, str]]] = {
    "objects": (np.array([3, 7] * 4, object), ("3", "7")),
    "a table": (np.array([[3], [7]] * 4), ("3", "7")),
    "a tensor": (torch.tensor([3, 7] * 4)[:, None], ("3", "7")),
    "True and False": ([True, False] * 4, ("False", "True")),
    "a comparison": (np.arange(8) % 2 == 0, ("False", "True")),
}


@pytest.mark.parametrize("case", LABELS)
def test_labels_of_tables(case: str) -> None:
    pandas = pytest.importorskip("pandas")
    loaded = data.from_arrays(np.stack([RAMP] * 8), LABELS[case](pandas))
    assert loaded.class_names == ("cat", "dog") and loaded.class_counts().tolist() == [3, 3]


@pytest.mark.parametrize("case", NUMBERS)
def test_labels_that_are_numbers(case: str) -> None:
    labels, names = NUMBERS[case]
    loaded = data.from_arrays(np.stack([RAMP] * 8), labels)
    assert loaded.class_names == names and loaded.class_counts().tolist() == [3, 3]


class HubDataset:
    """As Hugging Face's: dicts, and a feature that names the classes."""

    features = {"label": type("ClassLabel", (), {"names": ["cat", "dog"]})()}  # noqa: RUF012

    def __init__(self, image: str, label: str = "label") -> None:
        self.image = image
        self.label = label

    def __len__(self) -> int:
        return 8

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {self.image: Image.fromarray(RAMP), self.label: number % 2}


@pytest.mark.parametrize("image", ["image", "img", "pixel_values"])
def test_datasets_of_the_hub(image: str) -> None:
    assert data.from_dataset(HubDataset(image)).class_names == ("cat", "dog")
    assert data.from_dataset(HubDataset("x", "labels"), keys=("x", "labels")).classes == 2
    with refuses("item 0", "keys="):
        data.from_dataset(HubDataset("x"))
    assert (
        data.from_dataset([(RAMP, np.array([number % 2])) for number in range(8)]).classes == 2
    ), "MedMNIST's"


def test_images_one_by_one(grey: ddlab.ImageData) -> None:
    image, label = grey[3]
    assert torch.equal(image, grey.normalised([3])[0]) and label == int(grey.train_labels[3])
    assert len(list(grey)) == len(grey) and torch.equal(
        grey[-1][0], grey.normalised([len(grey) - 1])[0]
    )
    batch = next(iter(torch.utils.data.DataLoader(grey, batch_size=4)))
    assert batch[0].shape == (4, 1, 8, 8)
    with refuses("an index of data", "whole number"):
        grey[1:3]  # type: ignore[index]
    for wrong in (3, "a", {"a"}):
        with refuses("classes", "list of names"):
            grey.subset(classes=wrong)  # type: ignore[arg-type]
    assert data.load("DIGITS", size=8).name == data.load("digits", size=8).name


def test_the_home_folder_is_known_by_every_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grey: ddlab.ImageData
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path.parent)
    distilled = ddlab.distill("selection", grey, progress=False, checkpoint="~/c.safetensors")
    for path in (
        distilled.export_folder("~/set"),
        distilled.save("~/set.safetensors"),
        grey.save("~/data.safetensors"),
    ):
        assert path.is_relative_to(tmp_path) and path.exists()
    assert (
        not os.path.exists("~")
        and ddlab.DistilledSet.load("~/set.safetensors").fingerprint == distilled.fingerprint
    )
    assert ddlab.DistilledSet.from_folder("~/set").class_names == grey.class_names
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    with refuses("path", "leads nowhere"):
        distilled.save("~/nowhere")
    assert not (tmp_path / "gone").exists()


def test_a_set_that_decodes_to_more_than_memory_holds_is_refused() -> None:
    tensors = {"image_bases": torch.zeros(2, 3, 64, 64), "image_coefficients": torch.zeros(100, 2)}
    labels = ddlab.distilled.HardLabels(torch.zeros(100).long())
    plain = {"mean": torch.zeros(3), "std": torch.ones(3)}
    options: dict[str, Any] = {
        "kind": "factorised",
        "tensors": tensors,
        "targets": (labels,),
        "class_names": ("a", "b"),
        **plain,
    }
    with refuses("tensors", "at most"):
        ddlab.DistilledSet(settings={"scale": 64}, **options)
    assert len(ddlab.DistilledSet(settings={"scale": 1}, **options)) == 100
