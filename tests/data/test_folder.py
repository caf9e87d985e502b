"""A reader's own folder of images: both layouts, every kind of file, and what can be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ddlab import data
from tests.support import assert_same, refuses


def picture(file: Path, value: int, size: tuple[int, int] = (10, 10), mode: str = "L") -> None:
    """One image whose every pixel tells which it is."""
    file.parent.mkdir(parents=True, exist_ok=True)
    colour: Any = value if mode == "L" else (value, 255 - value, 3)
    Image.new(mode, size, colour).save(file)


def tree(root: Path, classes: tuple[str, ...] = ("cat", "dog"), count: int = 5, **options: Any) -> Path:
    for number, name in enumerate(classes):
        for image in range(count):
            picture(root / name / f"{image}.png", 40 * number + image, **options)
    return root


class TestFolder:
    def test_two_splits(self, tmp_path: Path) -> None:
        tree(tmp_path / "train", count=3)
        tree(tmp_path / "test", count=2)
        found = data.load("folder", tmp_path)
        assert found.class_names == ("cat", "dog") and found.image_size == (10, 10) and found.channels == 1
        assert found.train_images[:, 0, 0, 0].tolist() == [0, 1, 2, 40, 41, 42] and found.train_labels.tolist() == [
            0,
            0,
            0,
            1,
            1,
            1,
        ]
        assert found.test_images[:, 0, 0, 0].tolist() == [0, 1, 40, 41] and found.test_labels.tolist() == [0, 0, 1, 1]
        assert_same(data.load(f"folder:{tmp_path}"), found)

    def test_one_tree_is_split_by_a_seed(self, tmp_path: Path) -> None:
        tree(tmp_path, classes=("a", "b", "c"), count=10)
        found = data.load("folder", tmp_path, test_fraction=0.3)
        assert (
            torch.bincount(found.train_labels).tolist() == [7] * 3
            and torch.bincount(found.test_labels).tolist() == [3] * 3
        )
        pixels = [images[:, 0, 0, 0].tolist() for images in (found.train_images, found.test_images)]
        assert sorted(pixels[0] + pixels[1]) == sorted(40 * c + i for c in range(3) for i in range(10))
        assert_same(data.load("folder", tmp_path, test_fraction=0.3), found)
        other = data.load("folder", tmp_path, test_fraction=0.3, seed=1)
        assert other.test_images[:, 0, 0, 0].tolist() != pixels[1]

    def test_small_classes_keep_an_image_on_each_side(self, tmp_path: Path) -> None:
        tree(tmp_path, count=2)
        for fraction in (0.01, 0.9):
            found = data.load("folder", tmp_path, test_fraction=fraction)
            assert found.train_labels.tolist() == found.test_labels.tolist() == [0, 1]

    def test_colour_is_found_or_asked_for(self, tmp_path: Path) -> None:
        tree(tmp_path, mode="RGB")
        found = data.load("folder", tmp_path)
        assert found.channels == 3 and found.train_images[0, :, 0, 0].tolist()[1:] == [
            255 - int(found.train_images[0, 0, 0, 0]),
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
        found = data.load("folder", tmp_path, size=12)
        assert found.image_size == (12, 12) and found.name.endswith("-12")
        assert sorted(torch.cat([found.train_images, found.test_images])[:, 0, 6, 6].tolist())[-1] == 200
        with refuses("size", "30 x 20") if not _first_is_tall(tmp_path) else refuses("size", "9 x 40"):
            data.load("folder", tmp_path)

    def test_images_of_several_sizes_need_a_size(self, tmp_path: Path) -> None:
        tree(tmp_path)
        picture(tmp_path / "dog" / "3.png", 1, size=(12, 12))
        with refuses("size", "12 x 12"):
            data.load("folder", tmp_path)
        assert data.load("folder", tmp_path, size=10).image_size == (10, 10)

    def test_limit(self, tmp_path: Path) -> None:
        tree(tmp_path / "train", count=5)
        tree(tmp_path / "test", count=4)
        found = data.load("folder", tmp_path, limit=2)
        assert found.train_images[:, 0, 0, 0].tolist() == [0, 1, 40, 41] and len(found.test_labels) == 4

    def test_suffixes_and_strangers(self, tmp_path: Path) -> None:
        tree(tmp_path)
        picture(tmp_path / "cat" / "A.JPG", 50)
        picture(tmp_path / "cat" / "b.jpeg", 51)
        for stranger in ("notes.txt", ".hidden.png", "x.npy"):
            (tmp_path / "cat" / stranger).write_text("x")
        (tmp_path / ".git").mkdir()
        (tmp_path / "readme.md").write_text("x")
        assert len(data.load("folder", tmp_path).train_labels) + len(data.load("folder", tmp_path).test_labels) == 12

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
        found = data.load("folder", tmp_path, channels=1)
        pixels = torch.cat([found.train_images, found.test_images]).float().mean((1, 2, 3))
        assert float((pixels - 100).abs().min()) < (40 if mode == "1" else 8)

    def test_rotation_written_in_the_file(self, tmp_path: Path) -> None:
        tree(tmp_path, count=4)
        half = Image.fromarray(np.tile(np.array([[0] * 5 + [200] * 5], dtype=np.uint8), (10, 1)))
        exif = Image.Exif()
        exif[0x0112] = 6  # turned by a quarter
        half.save(tmp_path / "cat" / "0.jpg", exif=exif)
        (tmp_path / "cat" / "0.png").unlink()
        found = data.load("folder", tmp_path)
        image = max(torch.cat([found.train_images, found.test_images])[:, 0], key=lambda i: float(i.float().std()))
        assert float(image[0].float().std()) < 5 < float(image[:, 0].float().std())

    @pytest.mark.parametrize("fault", ["foreign", "empty", "truncated", "directory", "broken"])
    @pytest.mark.parametrize("suffix", ["png", "jpg"])
    def test_unreadable_images(self, fault: str, suffix: str, tmp_path: Path) -> None:
        tree(tmp_path, size=(64, 64))
        if (fault, suffix) == ("broken", "jpg"):
            return  # wrong bytes inside are other pixels: still a JPEG
        file = tmp_path / "dog" / f"4.{suffix}"
        (tmp_path / "dog" / "4.png").unlink()
        draw = np.random.default_rng(0)
        Image.fromarray(draw.integers(0, 255, (64, 64), dtype=np.uint8)).save(file)
        content = file.read_bytes()
        half = len(content) // 2
        if fault == "directory":
            file.unlink()
            file.mkdir()
        else:
            faults = {
                "foreign": b"hello " * 99,
                "empty": b"",
                "truncated": content[:half],
                "broken": content[:half] + bytes(200) + content[half + 200 :],
            }
            file.write_bytes(faults[fault])
        with refuses("path", "readable images", str(file)):
            data.load("folder", tmp_path, size=64)

    @pytest.mark.parametrize(
        ("make", "options", "words"),
        [
            (lambda r: r.rmdir(), {}, ["path", "existing folder"]),
            (lambda r: None, {}, ["path", "one folder per class"]),
            (lambda r: tree(r, classes=("cat",)), {}, ["path", "at least two class folders", "['cat']"]),
            (lambda r: (tree(r), (r / "none").mkdir()), {}, ["path", "every class folder", "none"]),
            (lambda r: tree(r, count=1), {}, ["path", "at least two images per class", "'cat'"]),
            (
                lambda r: (tree(r / "train"), tree(r / "test", ("cat", "fox"))),
                {},
                ["path", "same class folders", "['dog', 'fox']"],
            ),
            (lambda r: (tree(r / "train"), (r / "test").mkdir()), {}, ["path", "one folder per class"]),
            (tree, {"size": 7}, ["size", "[8, 512]"]),
            (tree, {"channels": 2}, ["channels", "one of 1, 3"]),
            (tree, {"test_fraction": 0}, ["test_fraction"]),
            (tree, {"test_fraction": 0.95}, ["test_fraction"]),
            (tree, {"split": 1}, ["option"]),
        ],
    )
    def test_bad_input(self, make: Any, options: dict[str, Any], words: list[str], tmp_path: Path) -> None:
        root = tmp_path / "root"
        root.mkdir()
        make(root)
        with refuses(*words):
            data.load("folder", root, **options)

    def test_a_file_is_no_folder(self, tmp_path: Path) -> None:
        picture(tmp_path / "x.png", 1)
        with refuses("path", "existing folder"):
            data.load("folder", tmp_path / "x.png")


def _first_is_tall(root: Path) -> bool:
    """The split decides which file is the first of the training images."""
    from ddlab.data import folder

    train, _ = folder._split(folder._listing(root, None), 0.2, None, 0)
    return train["cat"][0].name == "0.png"


def test_train_without_test_is_said_to_be_that(tmp_path: Path) -> None:
    for name in ("train", "val"):
        (tmp_path / name / "a").mkdir(parents=True)
    with refuses("both train and test", "['train', 'val']"):
        data.load("folder", tmp_path)
