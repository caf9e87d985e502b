"""`folder`: a reader's own images, one folder per class.

Either PATH/CLASS/..., which is split by a seed, or PATH/train/CLASS/... and beside it the test images in PATH/test/CLASS/..., or in `val`
(`valid`, `validation`) where there is no `test`. torchvision's `make_dataset` walks the class folders: folders inside one belong to the
class, links are followed, and what begins with a dot is hidden. In an exported set `labels.json` has the classes' own names.
"""

from __future__ import annotations

import json
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from ..core import errors, storage
from ..core.boundary import Count, Index, checked, within
from ..core.errors import DDLabError
from . import pictures
from .arrays import split_rows
from .images import ImageData

NAME = "folder"
SUFFIXES = (".bmp", ".gif", ".jfif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
LABELS = "labels.json"
TESTS = ("test", "val", "valid", "validation")
_LARGEST = (
    os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
)  # bytes of all images: half of the machine's memory

Listing = dict[str, list[str]]
"""Class -> its files, in the order of their names."""


@checked
def load(
    path: str | os.PathLike[str],
    *,
    size: Annotated[int, within(8, 512)] | None = None,
    channels: int | None = None,
    split: bool = True,
    test_fraction: Annotated[float, within(0, 0.9, open_low=True)] = 0.2,
    limit: Count | None = None,
    seed: Index = 0,
) -> ImageData:
    """Images from a folder tree, in memory.

    Args:
        path: the tree. With `train` below it, and test images beside that, these are the splits; else its folders are the classes.
        size: height and width in pixels, 8 to 512; None keeps the images' own size, which must then be one for all. Other images
            are scaled so that the shorter side fits, then cut to the centre square.
        channels: 1 (grey) or 3 (colour); None takes 1 when every image is grey, else 3.
        split: False takes all images of a tree without splits for training and the same ones for testing: an exported set, say.
        test_fraction: share of each class that goes to the test split, in (0, 0.9]; used only for a tree without splits.
        limit: at most this many images per class and split, the first by file name. seed: of the split.

    Warns:
        UserWarning: files that are no images, with their number.

    Raises:
        DDLabError: no such folder, an empty class, a file that cannot be read or is no image, classes that differ between train and test,
            or images that take more than half of the machine's memory.
    """
    root = Path(os.path.expanduser(storage.checked_path(path, "path", "a folder's path")))
    if not root.is_dir():
        raise DDLabError(f"path must be an existing folder; given {str(path)!r}.")
    train, test = _splits(root, test_fraction if split else None, seed)
    names = _exported_names(root)
    train, test = ({name: files[:limit] for name, files in part.items()} for part in (train, test))
    files = [file for part in (train, test) for one in part.values() for file in one]
    if channels is None:
        channels = 1 if all(_opened(file, lambda picture: picture.mode in pictures.GREY) for file in files) else 3
    errors.check_choice("channels", channels, (1, 3))
    width, height = (size, size) if size else _opened(files[0], lambda picture: picture.size)
    if len(files) * channels * width * height > _LARGEST:
        errors.fail(
            "limit", f"so small, or size=, that {len(files)} images of {width} x {height} fit into memory", limit
        )
    with ThreadPoolExecutor() as pool:  # PIL leaves Python alone while it decodes
        decoded = list(pool.map(lambda file: _opened(file, lambda one: pictures.pixels(one, channels, size)), files))
    for file, image in zip(files, decoded, strict=True):
        if image.shape != decoded[0].shape:
            found = f"{file!r} of {image.shape[1]} x {image.shape[0]}, others of {decoded[0].shape[1]} x {decoded[0].shape[0]}"
            raise DDLabError(f"size must be given for images that are not of one size; given None, and {found}.")
    images = torch.from_numpy(np.stack(decoded).transpose(0, 3, 1, 2).copy())
    labels = [_labels(part) for part in (train, test)]
    return ImageData(
        name=f"{_text(root.resolve().name)}-{images.shape[-1]}",
        train_images=images[: len(labels[0])],
        train_labels=labels[0],
        test_images=images[len(labels[0]) :],
        test_labels=labels[1],
        class_names=tuple(names[name] if name in names else _text(name) for name in train),
    )


def _exported_names(root: Path) -> dict[str, str]:
    """Folder -> name of its class, where an exported set says it."""
    try:
        classes = json.loads((root / LABELS).read_text(encoding="utf-8"))["classes"]
        return {str(each["folder"]): str(each["name"]) for each in classes}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # no such file, or another program's
        return {}


def _splits(root: Path, test_fraction: float | None, seed: int) -> tuple[Listing, Listing]:
    """The files of the training and of the test images; with None those of a tree without splits are both."""
    folders = {place.name.casefold(): place for place in root.iterdir() if place.is_dir()}
    train, test = folders.get("train"), next((folders[name] for name in TESTS if name in folders), None)
    if train is None and "test" not in folders:
        found = _listing(root)
        return (found, found) if test_fraction is None else _split(found, test_fraction, seed)
    if train is None or test is None:
        given = f"{str(root)!r} with {sorted(place.name for place in folders.values())}"
        raise DDLabError(
            f"path must hold both train and test (or val), or the class folders themselves; given {given}."
        )
    parts = _listing(train), _listing(test)
    if list(parts[0]) != list(parts[1]):
        odd = sorted(set(parts[0]) ^ set(parts[1]))
        raise DDLabError(
            f"path must have the same class folders in {train.name} and {test.name}; given {odd[:5]} in only one of them."
        )
    return parts


def _listing(root: Path) -> Listing:
    from torchvision.datasets.folder import make_dataset

    names = sorted(place.name for place in root.iterdir() if place.is_dir() and not place.name.startswith((".", "__")))
    if len(names) < 2:
        raise DDLabError(f"path must hold at least two class folders; given {str(root)!r} with {names}.")
    left_out: list[str] = []

    def is_image(file: str) -> bool:
        name = os.path.basename(file)
        if name.startswith("."):
            return False
        if not name.lower().endswith(SUFFIXES):
            left_out.append(file)
        return name.lower().endswith(SUFFIXES)

    found: Listing = {}
    for name in names:
        rows = make_dataset(str(root), {name: 0}, is_valid_file=is_image, allow_empty=True)
        found[name] = sorted(file for file, _ in rows)
        if not found[name]:
            place = str(root / name)
            raise DDLabError(
                f"path must hold {', '.join(SUFFIXES)} images in every class folder; given {place!r} with none."
            )
    if left_out:
        words = f"{len(left_out)} files that are no images were left out, as {os.path.basename(left_out[0])!r}"
        warnings.warn(f"In {str(root)!r} {words}.", stacklevel=6)  # where data.load was called
    return found


def _split(listing: Listing, test_fraction: float, seed: int) -> tuple[Listing, Listing]:
    train, test = {}, {}
    for number, (name, files) in enumerate(listing.items()):
        if len(files) < 2:
            raise DDLabError(
                f"path must hold at least two images per class to split; given {name!r} with {len(files)}."
            )
        rows = split_rows(len(files), test_fraction, seed=seed, number=number)
        train[name], test[name] = ([files[row] for row in part] for part in rows)
    return train, test


def _labels(listing: Listing) -> Tensor:
    return torch.arange(len(listing)).repeat_interleave(torch.tensor([len(files) for files in listing.values()]))


def _text(name: str) -> str:
    """A name whose bytes are no UTF-8 in letters that can be written anywhere."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _opened(file: str, use: Any) -> Any:
    """What `use` makes of an image, turned as its camera says; every way in which a file can be broken becomes our error."""
    from PIL import Image, ImageOps

    try:
        with Image.open(file) as image:
            return use(ImageOps.exif_transpose(image))
    except Exception as problem:  # PIL raises many kinds: OSError, SyntaxError, ValueError, DecompressionBombError
        reason = " ".join(str(problem).split())
        raise DDLabError(f"path must hold readable images; given {file!r} ({reason}).") from problem
