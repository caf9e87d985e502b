"""`folder`: a reader's own images, one folder per class.

Either PATH/{train,test}/CLASS/*.jpg|jpeg|png, or PATH/CLASS/*.jpg|jpeg|png, which is split by a seed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from ..core import errors, randomness, storage
from ..core.boundary import Count, Index, checked, within
from ..core.errors import DDLabError
from .images import ImageData

NAME = "folder"
SUFFIXES = (".jpg", ".jpeg", ".png")
_SIXTEEN_BITS = ("I", "I;16", "I;16B", "I;16L")


@checked
def load(
    path: str | os.PathLike[str],
    *,
    size: Annotated[int, within(8, 512)] | None = None,
    channels: int | None = None,
    test_fraction: Annotated[float, within(0, 0.9, open_low=True)] = 0.2,
    limit: Count | None = None,
    seed: Index = 0,
) -> ImageData:
    """Images from a folder tree.

    Args:
        path: the tree. With both `train` and `test` below it these are the splits; else its folders are the classes.
        size: height and width in pixels, 8 to 512; None keeps the images' own size, which must then be square and one for all.
            Other images are scaled so that the shorter side fits, then cut to the centre square.
        channels: 1 (grey) or 3 (colour); None takes 1 when every image of a sample of the files is grey, else 3.
        test_fraction: share of each class that goes to the test split, in (0, 0.9]; used only for a tree without splits.
        limit: at most this many images per class and split, the first by file name.
        seed: of the split.

    Raises:
        DDLabError: no such folder, an empty class, a file that is no image, classes that differ between train and test.
    """
    root = _checked_root(path)
    channels = None if channels is None else errors.check_choice("channels", channels, (1, 3))
    parts = [entry.name for entry in root.iterdir() if entry.is_dir()]
    if ("train" in parts) != ("test" in parts):
        raise DDLabError(
            f"path must hold both train and test, or the class folders themselves; given {str(root)!r} with {sorted(parts)}."
        )
    if "train" in parts:
        train, test = _listing(root / "train", limit), _listing(root / "test", limit)
        if list(train) != list(test):
            odd = sorted(set(train) ^ set(test))
            raise DDLabError(
                f"path must have the same class folders in train and test; given {odd[:5]} in only one of them."
            )
    else:
        train, test = _split(_listing(root, None), test_fraction, limit, seed)
    if len(train) < 2:
        raise DDLabError(f"path must hold at least two class folders; given {str(root)!r} with {list(train)}.")
    everything = [file for files in (*train.values(), *test.values()) for file in files]
    channels, one_size = channels or _channels_of(everything), size is None
    size = size or _size_of(everything[0])
    (train_images, train_labels), (test_images, test_labels) = (
        _read(part, size, channels, one_size) for part in (train, test)
    )
    return ImageData(
        name=f"{root.name}-{size}",
        train_images=train_images,
        train_labels=train_labels,
        test_images=test_images,
        test_labels=test_labels,
        class_names=tuple(train),
    )


def _checked_root(path: object) -> Path:
    root = Path(os.path.realpath(os.path.expanduser(storage.checked_path(path, "path", "a folder's path"))))
    if not os.path.isdir(root):
        raise DDLabError(f"path must be an existing folder; given {str(path)!r}.")
    return root


def _listing(folder: Path, limit: int | None) -> dict[str, list[Path]]:
    """Image files by class, both in the order of their names, whatever the file system's order."""
    listing = {}
    for place in sorted(
        entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith((".", "__"))
    ):
        files = sorted(f for f in place.iterdir() if f.suffix.lower() in SUFFIXES and not f.name.startswith("."))
        if not files:
            raise DDLabError(
                f"path must hold {', '.join(SUFFIXES)} images in every class folder; given {str(place)!r} with none."
            )
        listing[place.name] = files[:limit]
    if not listing:
        raise DDLabError(f"path must hold one folder per class; given {str(folder)!r} without folders.")
    return listing


def _split(
    listing: dict[str, list[Path]], test_fraction: float, limit: int | None, seed: int
) -> tuple[dict[str, list[Path]], dict[str, list[Path]]]:
    train, test = {}, {}
    for number, (name, files) in enumerate(listing.items()):
        if len(files) < 2:
            raise DDLabError(
                f"path must hold at least two images per class to split; given {name!r} with {len(files)}."
            )
        order = randomness.numpy_generator(seed, number, "folder split").permutation(len(files))
        cut = min(max(round(len(files) * test_fraction), 1), len(files) - 1)
        test[name] = [files[i] for i in sorted(order[:cut])][:limit]
        train[name] = [files[i] for i in sorted(order[cut:])][:limit]
    return train, test


def _read(listing: dict[str, list[Path]], size: int, channels: int, one_size: bool) -> tuple[Tensor, Tensor]:
    files = [(file, label) for label, part in enumerate(listing.values()) for file in part]
    images = np.empty((len(files), size, size, channels), dtype=np.uint8)
    for row, (file, _) in enumerate(files):
        images[row] = _open(file, size, channels, one_size)
    return (
        torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(),
        torch.tensor([label for _, label in files], dtype=torch.int64),
    )


def _open(file: Path, size: int, channels: int, one_size: bool) -> np.ndarray:
    from PIL import Image, ImageOps

    with _image(file) as image:
        picture = ImageOps.exif_transpose(image)
        if one_size and picture.size != (size, size):
            found = f"{str(file)!r} of {picture.width} x {picture.height} among images of {size} pixels"
            raise DDLabError(f"size must be given for images of several sizes; given None, and {found}.")
        if picture.mode in _SIXTEEN_BITS:
            # PIL would clip 16 bits to white instead of scaling them.
            picture = Image.fromarray((np.asarray(picture).clip(0, 65535) // 257).astype(np.uint8))
        picture = picture.convert("L" if channels == 1 else "RGB")
        if picture.size != (size, size):
            picture = ImageOps.fit(picture, (size, size))
        return np.asarray(picture).reshape(size, size, channels)


class _image:
    """Open an image and turn every way in which a file can be broken into our error (PIL reads pixels late)."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self):
        from PIL import Image

        try:
            self.handle = Image.open(self.file)
            try:
                self.handle.load()
            except BaseException:
                self.handle.close()
                raise
        except Exception as problem:  # PIL raises many kinds: OSError, SyntaxError, ValueError, DecompressionBombError
            raise DDLabError(f"path must hold readable images; given {str(self.file)!r} ({problem}).") from problem
        return self.handle

    def __exit__(self, *_: object) -> None:
        self.handle.close()


def _channels_of(files: list[Path], sample: int = 32) -> int:
    for file in files[:: max(1, len(files) // sample)]:
        with _image(file) as image:
            if image.mode not in ("1", "L", "LA", *_SIXTEEN_BITS):
                return 3
    return 1


def _size_of(file: Path) -> int:
    with _image(file) as image:
        width, height = image.size
    if width != height or not 8 <= width <= 512:
        raise DDLabError(
            f"size must be given for images that are not square of 8 to 512 pixels; given None, and the first image is {width} x {height}."
        )
    return width
