"""A reader's own folder of images: both layouts, every kind of file, and what can be wrong."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ddlab import data
from ddlab.data import folder
from tests.support import assert_same, refuses


def picture(file: Path, value: int, size: tuple[int, int] = (10, 10), mode: str = "L") -> None:
    """One image whose every pixel tells which it is."""
    file.parent.mkdir(parents=True, exist_ok=True)
    colour: Any = value if mode == "L" else (value, 255 - value, 3)
    Image.new(mode, size, colour).save(file)


def tree(
    root: Path,
    classes: tuple[str, ...] = ("cat", "dog"),
    count: int = 5,
    first: int = 0,
    **options: Any,
) -> Path:
    for number, name in enumerate(classes):
        for image in range(count):
            picture(root / name / f"{image}.png", 40 * number + image + first, **options)
    return root


class TestFolder:
    def test_two_splits(self, tmp_path: Path) -> None:
        tree(tmp_path / "train", count=3)
        tree(tmp_path / "test", count=2, first=100)
        loaded = data.load("folder", tmp_path)
        assert (
            loaded.class_names == ("cat", "dog")
            and loaded.image_size == (10, 10)
            and loaded.channels == 1
        )
        assert loaded.train_images[:, 0, 0, 0].tolist() == [
            0,
            1,
            2,
            40,
            41,
            42,
        ] and loaded.train_labels.tolist() == [
            0,
            0,
            0,
            1,
            1,
            1,
        ]
        assert loaded.test_images[:, 0, 0, 0].tolist() == [
            100,
            101,
            140,
            141,
        ] and loaded.test_labels.tolist() == [
            0,
            0,
            1,
            1,
        ]
        assert_same(data.load(f"folder:{tmp_path}"), loaded)

    def test_one_tree_is_split_by_a_seed(self, tmp_path: Path) -> None:
        tree(tmp_path, classes=("a", "b", "c"), count=10)
        loaded = data.load("folder", tmp_path, test_fraction=0.3)
        assert (
            torch.bincount(loaded.train_labels).tolist() == [7] * 3
            and torch.bincount(loaded.test_labels).tolist() == [3] * 3
        )
        pixels = [
            images[:, 0, 0, 0].tolist() for images in (loaded.train_images, loaded.test_images)
        ]
        assert sorted(pixels[0] + pixels[1]) == sorted(
            40 * c + i for c in range(3) for i in range(10)
        )
        assert_same(data.load("folder", tmp_path, test_fraction=0.3), loaded)
        reseeded = data.load("folder", tmp_path, test_fraction=0.3, seed=1)
        assert reseeded.test_images[:, 0, 0, 0].tolist() != pixels[1]

    def test_small_classes_keep_an_image_on_each_side(self, tmp_path: Path) -> None:
        tree(tmp_path, count=2)
        for fraction in (0.01, 0.9):
            loaded = data.load("folder", tmp_path, test_fraction=fraction)
            assert loaded.train_labels.tolist() == loaded.test_labels.tolist() == [0, 1]

    def test_colour_is_found_or_asked_for(self, tmp_path: Path) -> None:
        tree(tmp_path, mode="RGB")
        loaded = data.load("folder", tmp_path)
        assert loaded.channels == 3 and loaded.train_images[0, :, 0, 0].tolist()[1:] == [
            255 - int(loaded.train_images[0, 0, 0, 0]),
            3,
        ]
        assert data.load("folder", tmp_path, channels=1).channels == 1
        assert (
            data.load("folder", tree(tmp_path / "grey"), channels=3)
            .train_images[:, 0]
            .equal(data.load("folder", tmp_path / "grey").train_images[:, 0])
        )

    def test_one_grey_file_among_colour_ones(self, tmp_path: Path) -> None:
        tree(tmp_path, mode="RGB")
        picture(tmp_path / "cat" / "0.png", 9, mode="L")
        assert data.load("folder", tmp_path).channels == 3

    def test_images_are_scaled_and_cut(self, tmp_path: Path) -> None:
        tree(tmp_path, size=(30, 20))
        picture(tmp_path / "cat" / "0.png", 200, size=(9, 40))
        loaded = data.load("folder", tmp_path, size=12)
        assert loaded.image_size == (12, 12) and loaded.name.endswith("-12")
        assert (
            sorted(torch.cat([loaded.train_images, loaded.test_images])[:, 0, 6, 6].tolist())[-1]
            == 200
        )
        with refuses("size", "30 x 20", "9 x 40"):
            data.load("folder", tmp_path)

    def test_images_of_several_sizes_need_a_size(self, tmp_path: Path) -> None:
        tree(tmp_path)
        picture(tmp_path / "dog" / "3.png", 1, size=(12, 12))
        with refuses("size", "12 x 12"):
            data.load("folder", tmp_path)
        assert data.load("folder", tmp_path, size=10).image_size == (10, 10)

    def test_limit(self, tmp_path: Path) -> None:
        tree(tmp_path / "train", count=5)
        tree(tmp_path / "test", count=4, first=100)
        loaded = data.load("folder", tmp_path, limit=2)
        assert (
            loaded.train_images[:, 0, 0, 0].tolist() == [0, 1, 40, 41]
            and len(loaded.test_labels) == 4
        )

    @pytest.mark.parametrize("mode", ["1", "P", "LA", "RGBA", "CMYK", "I;16"])
    def test_every_mode_is_read(self, mode: str, tmp_path: Path) -> None:
        """A mid-grey image stays mid-grey, whatever the file's mode."""
        tree(tmp_path, count=4)
        file = tmp_path / "cat" / ("0.jpg" if mode == "CMYK" else "0.png")
        (tmp_path / "cat" / "0.png").unlink()
        if mode == "I;16":
            Image.fromarray(np.full((10, 10), 100 * 257, dtype=np.uint16)).save(file)
        else:
            Image.new("RGB", (10, 10), (100, 100, 100)).convert(mode).save(file)
        loaded = data.load("folder", tmp_path, channels=1)
        pixels = torch.cat([loaded.train_images, loaded.test_images]).float().mean((1, 2, 3))
        assert float((pixels - 100).abs().min()) < (40 if mode == "1" else 8)

    def test_rotation_written_in_the_file(self, tmp_path: Path) -> None:
        tree(tmp_path, count=4)
        half = Image.fromarray(np.tile(np.array([[0] * 5 + [200] * 5], dtype=np.uint8), (10, 1)))
        exif = Image.Exif()
        exif[0x0112] = 6  # turned by a quarter
        half.save(tmp_path / "cat" / "0.jpg", exif=exif)
        (tmp_path / "cat" / "0.png").unlink()
        loaded = data.load("folder", tmp_path)
        image = max(
            torch.cat([loaded.train_images, loaded.test_images])[:, 0],
            key=lambda i: float(i.float().std()),
        )
        assert float(image[0].float().std()) < 5 < float(image[:, 0].float().std())


def noise(file: Path, **options: Any) -> bytes:
    """A picture that takes many bytes; the file is replaced."""
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8)).save(
        file, **options
    )
    return file.read_bytes()


def cut(file: Path) -> None:
    content = noise(file)
    file.write_bytes(content[: len(content) // 2])


def broken(file: Path) -> None:
    content = noise(file)
    half = len(content) // 2
    file.write_bytes(content[:half] + bytes(200) + content[half + 200 :])


def split_tree(root: Path, *splits: str) -> None:
    for split in splits:
        tree(root / split, count=2)


def animation(file: Path) -> None:
    frames = [Image.new("L", (10, 10), value) for value in (90, 200)]
    frames[0].save(file, save_all=True, append_images=frames[1:])


def sixteen(file: Path) -> None:
    Image.fromarray(np.full((10, 10), 100 * 257, dtype=np.uint16)).save(file)


def floats(file: Path) -> None:
    Image.fromarray(np.zeros((10, 10), dtype=np.float32)).save(file)


def in_cat(name: str, make: Callable[[Path], Any]) -> Callable[[Path], None]:
    """A good tree with one more file in it."""

    def write_file(root: Path) -> None:
        tree(root)
        make(root / "cat" / name)

    return write_file


def saved(mode: str) -> Callable[[Path], None]:
    return lambda file: Image.new("RGB", (10, 10), (100, 100, 100)).convert(mode).save(file)


def classes(*names: str) -> Callable[[Path], Any]:
    return lambda root: tree(root, names, count=2)


READ: dict[str, tuple[Any, dict[str, Any], int, list[str]]] = {
    # make, options, images read, words of the warning (none: no warning)
    "plain": (tree, {}, 10, []),
    "upper-case suffix": (in_cat("A.JPG", saved("L")), {}, 11, []),
    "wrong suffix": (
        in_cat("a.jpg", lambda file: Image.new("L", (10, 10)).save(file, "png")),
        {},
        11,
        [],
    ),
    **{
        f"a {kind} file": (in_cat(f"a.{kind}", saved("L")), {}, 11, [])
        for kind in ("jpeg", "jfif", "bmp", "gif", "webp", "pgm", "ppm", "tif", "tiff")
    },
    **{f"mode {mode}": (in_cat("a.png", saved(mode)), {}, 11, []) for mode in ("1", "LA")},
    "grey was asked for": (in_cat("a.png", saved("RGB")), {"channels": 1}, 11, []),
    "colour was asked for": (in_cat("a.png", saved("RGB")), {"channels": 3}, 11, []),
    "16 bits": (in_cat("a.png", sixteen), {}, 11, []),
    "animated gif": (in_cat("a.gif", animation), {}, 11, ["1 animations", "first frame"]),
    "animated webp": (in_cat("a.webp", animation), {"channels": 1}, 11, ["1 animations"]),
    "other files": (
        in_cat("a.npy", lambda file: (file.touch(), file.with_name("notes").touch())),
        {},
        10,
        ["2 files", "no images"],
    ),
    "hidden file": (in_cat(".a.png", lambda file: file.write_text("x")), {}, 10, []),
    "hidden folder": (
        lambda r: (tree(r), (r / ".git").mkdir(), (r / "__MACOSX").mkdir()),
        {},
        10,
        [],
    ),
    "image beside the classes": (lambda r: (tree(r), picture(r / "x.png", 1)), {}, 10, []),
    "text beside the classes": (lambda r: (tree(r), (r / "readme.md").touch()), {}, 10, []),
    "dangling link as class": (lambda r: (tree(r), (r / "fox").symlink_to(r / "none")), {}, 10, []),
    "nested folders": (
        lambda r: (tree(r), tree(r / "cat", ("images", "more/deep"), count=2, first=100)),
        {},
        14,
        [],
    ),
    "folder named p.png": (in_cat("p.png", Path.mkdir), {}, 10, []),
    "linked file": (
        lambda r: (
            tree(r),
            picture(r.with_name("x.png"), 99),
            (r / "cat" / "l.png").symlink_to(r.with_name("x.png")),
        ),
        {},
        11,
        [],
    ),
    "links to what is there": (
        lambda r: (
            tree(r),
            (r / "cat" / "l.png").symlink_to(r / "dog" / "0.png"),
            (r / "dog" / "up").symlink_to(r),
        ),
        {},
        10,
        ["2 links", "read already"],
    ),
    "one pixel": (lambda r: tree(r, size=(1, 1)), {"size": 8}, 10, []),
    "train and test": (
        lambda r: split_tree(r, "train", "test"),
        {},
        8,
        ["4 images", "test part too"],
    ),
    "Train and TEST": (
        lambda r: split_tree(r, "Train", "TEST"),
        {},
        8,
        ["4 images", "test part too"],
    ),
    "train and val": (
        lambda r: split_tree(r, "train", "val"),
        {},
        8,
        ["4 images", "test part too"],
    ),
    "train, val and test": (
        lambda r: split_tree(r, "train", "val", "test"),
        {},
        8,
        ["4 images", "test part too"],
    ),
    "long name": (classes("a" * 255, "b"), {}, 4, []),
    "strange names": (classes("<!--<script>", "a\nb", "%s {x} $1$", "\u202e"), {}, 8, []),
    "name of other bytes": (classes(os.fsdecode(b"\xff\xfe"), "b"), {}, 4, []),
}
REFUSED: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "no folder": (lambda r: r.rmdir(), {}, ["path", "existing folder"]),
    "a file": (lambda r: (r.rmdir(), r.touch()), {}, ["path", "existing folder"]),
    "no classes": (lambda r: None, {}, ["path", "at least two class folders"]),
    "one class": (
        lambda r: tree(r, ("cat",)),
        {},
        ["path", "at least two class folders", "['cat']"],
    ),
    "empty class": (
        lambda r: (tree(r), (r / "none").mkdir()),
        {},
        ["path", "every class folder", "none"],
    ),
    "class of one image": (
        lambda r: tree(r, count=1),
        {},
        ["path", "at least two images per class", "'cat'"],
    ),
    "other classes": (
        lambda r: (tree(r / "train"), tree(r / "test", ("cat", "fox"))),
        {},
        ["path", "same class folders", "['dog', 'fox']"],
    ),
    "empty test": (
        lambda r: (tree(r / "train"), (r / "test").mkdir()),
        {},
        ["path", "both train and test (or val)"],
    ),
    "train alone": (
        lambda r: split_tree(r, "train"),
        {},
        ["both train and test (or val)", "['train']"],
    ),
    "test alone": (lambda r: split_tree(r, "test"), {}, ["both train and test"]),
    "zero bytes": (in_cat("p.png", Path.touch), {}, ["readable images", "p.png"]),
    "text": (
        in_cat("p.jpg", lambda file: file.write_text("hello " * 99)),
        {},
        ["readable images", "p.jpg"],
    ),
    "truncated png": (
        in_cat("p.png", cut),
        {"size": 64},
        ["readable images", "p.png", "truncated"],
    ),
    "truncated jpg": (
        in_cat("p.jpg", cut),
        {"size": 64},
        ["readable images", "p.jpg", "truncated"],
    ),
    "broken png": (in_cat("p.png", broken), {"size": 64}, ["readable images", "p.png"]),
    "floats": (in_cat("p.tif", floats), {}, ["readable images", "p.tif", "floats"]),
    "another size": (
        in_cat("p.png", lambda file: picture(file, 1, size=(12, 12))),
        {},
        ["size", "12 x 12", "p.png"],
    ),
    "small size": (tree, {"size": 0}, ["size", "[1, 512]"]),
    "a class that links to another": (
        lambda r: (tree(r), (r / "fox").symlink_to(r / "dog")),
        {},
        ["every class folder", "fox"],
    ),
    "two channels": (tree, {"channels": 2}, ["channels", "one of 1, 3"]),
    "all for testing": (tree, {"test_fraction": 0.95}, ["test_fraction"]),
    "more than memory holds": (tree, {"size": 512}, ["limit", "size=", "10 images of 512 x 512"]),
    "unknown option": (tree, {"splits": 1}, ["option"]),
}


def test_without_a_split_all_images_train_and_test(tmp_path: Path) -> None:
    tree(tmp_path)
    loaded = data.load("folder", tmp_path, split=False)
    assert len(loaded) == 10 and torch.equal(loaded.train_images, loaded.test_images)
    tree(tmp_path / "parts" / "train")
    tree(tmp_path / "parts" / "test")
    assert data.load("folder", tmp_path / "parts", split=False).class_names == ("cat", "dog")


@pytest.mark.parametrize("case", READ)
def test_what_is_read(case: str, tmp_path: Path) -> None:
    make, options, count, words = READ[case]
    (tmp_path / "root").mkdir()
    make(tmp_path / "root")
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        loaded = data.load("folder", tmp_path / "root", **options)
    assert len(loaded.train_labels) + len(loaded.test_labels) == count
    assert len(caught_warnings) == bool(words) and all(
        word in str(caught_warnings[0].message) for word in words
    )
    # Where it was called, not where it was found.
    assert all(warning.filename == __file__ for warning in caught_warnings)
    "".join(loaded.class_names).encode()  # can be written to any file


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, options, words = REFUSED[case]
    (tmp_path / "root").mkdir()
    make(tmp_path / "root")
    if case == "more than memory holds":
        monkeypatch.setattr(folder, "half_of_memory", lambda: 10**6)
    with refuses(*words):
        data.load("folder", tmp_path / "root", **options)


class TestPixelsInAFile:
    """`cache="file"`: the same data, decoded once, in a file that is whole or is not there."""

    def test_the_data_are_the_same_and_are_decoded_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = tree(tmp_path / "root", mode="RGB")
        in_memory = data.load("folder", root)
        monkeypatch.setattr(folder, "half_of_memory", lambda: 0)
        monkeypatch.setattr(folder, "_AT_ONCE", 5)
        mapped = data.load("folder", root, cache="file")
        (file,) = tmp_path.glob("root.*")
        assert mapped.fingerprint == in_memory.fingerprint and file.suffix == ".npy"
        monkeypatch.setattr(folder, "_decode", None)
        again = data.load("folder", root, cache="file")
        again.train_images.zero_()  # a reader's own copy of the page
        assert data.load("folder", root, cache="file").fingerprint == in_memory.fingerprint

    def test_another_file_or_another_reading_is_another_cache(self, tmp_path: Path) -> None:
        root = tree(tmp_path / "root", mode="RGB")
        data.load("folder", root, cache="file")
        smaller = data.load("folder", root, size=4, cache="file")
        picture(root / "cat" / "0.png", 250, mode="RGB")
        changed = data.load("folder", root, cache="file")
        assert smaller.image_size == (4, 4) and len([*tmp_path.glob("root.*")]) == 3
        assert changed.fingerprint == data.load("folder", root).fingerprint

    def test_what_is_interrupted_or_refused_leaves_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = tree(tmp_path / "root", mode="RGB")
        full = SimpleNamespace(free=100)
        monkeypatch.setattr(folder.shutil, "disk_usage", lambda _: full)
        with refuses("cache", "memory", "0.0 are free"):
            data.load("folder", root, cache="file")
        monkeypatch.undo()
        picture(root / "dog" / "2.png", 9, (5, 6), mode="RGB")
        with refuses("size", "5 x 6"):
            data.load("folder", root, cache="file")
        assert [path.name for path in tmp_path.iterdir()] == ["root"]

    def test_a_damaged_file_is_named(self, tmp_path: Path) -> None:
        root = tree(tmp_path / "root", mode="RGB")
        data.load("folder", root, cache="file")
        (file,) = tmp_path.glob("root.*")
        file.write_bytes(file.read_bytes()[:200])
        with refuses("cache", file.name):
            data.load("folder", root, cache="file")
