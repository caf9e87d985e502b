"""`folder`: a reader's own images, one folder per class.

Either PATH/CLASS/..., which is split by a seed, or PATH/train/CLASS/... and beside it the test images in PATH/test/CLASS/..., or in `val`
(`valid`, `validation`) where there is no `test`. Folders inside a class folder belong to the class, links are followed, and what begins
with a dot is hidden. What was left out or changed is counted in one warning.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..core import errors, storage
from ..core.boundary import Count, Index, checked, within
from ..core.errors import DDLabError
from . import pictures
from .arrays import split_rows
from .images import ImageData

Result = TypeVar("Result")

NAME = "folder"
SUFFIXES = (".bmp", ".gif", ".jfif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
TESTS = ("test", "val", "valid", "validation")
_DEEPEST = 50  # folders inside a class folder
_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFREG: "a file", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
_FOLDER, _FILE = _KINDS[stat.S_IFDIR], _KINDS[stat.S_IFREG]


@checked
def load(
    path: str | os.PathLike[str],
    *,
    size: Annotated[int, within(8, 512)] | None = None,
    channels: int | None = None,
    test: str | os.PathLike[str] | None = None,
    test_fraction: Annotated[float, within(0, 0.9, open_low=True)] = 0.2,
    limit: Count | None = None,
    seed: Index = 0,
) -> ImageData:
    """Images from a folder tree.

    Args:
        path: the tree. With `train` below it, and test images beside that, these are the splits; else its folders are the classes.
        size: height and width in pixels, 8 to 512; None keeps the images' own size, which must then be square and one for all.
            Other images are scaled so that the shorter side fits, then cut to the centre square.
        channels: 1 (grey) or 3 (colour); None takes 1 when every image of a sample of the files is grey, else 3.
        test: the folder of the test images: its name in `path`, or the path of one elsewhere; None takes the first of test, val, valid
            and validation that lies beside `train`.
        test_fraction: share of each class that goes to the test split, in (0, 0.9]; used only for a tree without splits.
        limit: at most this many images per class and split, the first by file name.
        seed: of the split.

    Warns:
        UserWarning: files that are no images, folders that are no split, images made grey beside grey ones, animations, of which the first
            picture is taken; with their number, and the first of them.

    Raises:
        DDLabError: no such folder, an empty class, a file that cannot be read or is no image, classes that differ between train and test.
    """
    root, notes = _checked_root(path), _Notes()
    channels = None if channels is None else errors.check_choice("channels", channels, (1, 3))
    train_root, test_root = _splits(root, test, notes)
    listing = _listing(train_root, notes, skip=test_root)
    if test_root is None:
        train, test_files = _split(listing, test_fraction, seed)
    else:
        train, test_files = listing, _listing(test_root, notes)
        if list(train) != list(test_files):
            odd = sorted(set(train) ^ set(test_files))
            raise DDLabError(
                f"path must have the same class folders in {train_root.name} and {test_root.name}; "
                f"given {odd[:5]} in only one of them."
            )
    if len(train) < 2:
        raise DDLabError(f"path must hold at least two class folders; given {str(root)!r} with {list(train)}.")
    train, test_files = ({name: files[:limit] for name, files in part.items()} for part in (train, test_files))
    everything = [file for files in (*train.values(), *test_files.values()) for file in files]
    one_size, found = size is None, channels or _channels_of(everything)
    size = size or _size_of(everything[0])
    grey = notes.coloured if channels is None and found == 1 else None
    (train_images, train_labels), (test_images, test_labels) = (
        _read(part, size, found, one_size, grey, notes) for part in (train, test_files)
    )
    notes.say(root, len(everything))
    return ImageData(
        name=f"{_text(root.name)}-{size}",
        train_images=train_images,
        train_labels=train_labels,
        test_images=test_images,
        test_labels=test_labels,
        class_names=tuple(map(_text, train)),
    )


@dataclass
class _Notes:
    """What a reader of the folder would not expect."""

    left_out: Counter[str] = field(default_factory=Counter)  # by suffix
    beside: list[Path] = field(default_factory=list)  # images and broken links outside every class folder
    unused: list[str] = field(default_factory=list)  # folders beside the splits
    coloured: list[Path] = field(default_factory=list)
    animated: list[Path] = field(default_factory=list)

    def say(self, root: Path, images: int) -> None:
        said = []
        if self.left_out:
            kinds = ", ".join(f"{suffix or 'no suffix'} {n}" for suffix, n in sorted(self.left_out.items()))
            said.append(f"{self.left_out.total()} files that are no images were left out ({kinds})")
        if self.beside:
            said.append(f"{len(self.beside)} files beside the class folders were left out, as {_short(self.beside[0])}")
        if self.unused:
            said.append(f"folders beside the splits were left out: {self.unused} (test= takes another one)")
        if self.coloured:
            said.append(
                f"{len(self.coloured)} of {images} images were in colour and made grey, as {_short(self.coloured[0])} "
                "(channels=3 keeps it)"
            )
        if self.animated:
            said.append(
                f"of {len(self.animated)} animations the first picture was taken, as of {_short(self.animated[0])}"
            )
        if said:
            warnings.warn(f"In {str(root)!r} {'; '.join(said)}.", stacklevel=5)  # where data.load was called


def _short(file: Path) -> str:
    return repr(f"{file.parent.name}/{file.name}")


def _checked_root(path: object, argument: str = "path") -> Path:
    root = Path(os.path.realpath(os.path.expanduser(storage.checked_path(path, argument, "a folder's path"))))
    if not os.path.isdir(root):
        raise DDLabError(f"{argument} must be an existing folder; given {str(path)!r}.")
    return root


def _text(name: str) -> str:
    """A name whose bytes are no UTF-8 in letters that can be written anywhere."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _kind(place: Path) -> str:
    try:
        return _KINDS.get(stat.S_IFMT(place.stat().st_mode), "a device")
    except FileNotFoundError:
        return "a link to nothing"
    except OSError as problem:  # without permission, or a link to itself
        return f"not to be read ({problem.strerror})"


def _entries(folder: Path) -> list[tuple[Path, str]]:
    """What lies in a folder and of which kind, in the order of the names, whatever the file system's order; nothing hidden."""
    try:
        places = sorted(place for place in folder.iterdir() if not place.name.startswith("."))
    except OSError as problem:
        raise DDLabError(
            f"path must hold folders that can be read; given {str(folder)!r} ({problem.strerror})."
        ) from problem
    found = [(place, _kind(place)) for place in places]
    return [(place, kind) for place, kind in found if kind != _FOLDER or not place.name.startswith("__")]


def _splits(root: Path, test: str | os.PathLike[str] | None, notes: _Notes) -> tuple[Path, Path | None]:
    """The folders of the training and the test images; None for these where there are no splits."""
    folders = {place.name.casefold(): place for place, kind in _entries(root) if kind == _FOLDER}
    train = folders.get("train")
    if test is not None:
        chosen = _checked_root(root / os.path.expanduser(storage.checked_path(test, "test", "a folder's path")), "test")
        if chosen == (train or root):
            errors.fail("test", "another folder than that of the training images", str(test))
    else:
        chosen = next((folders[name] for name in TESTS if name in folders), None) if train else None
        if (train is None and "test" in folders) or (train is not None and chosen is None):
            raise DDLabError(
                f"path must hold both train and test (or val), or the class folders themselves; given {str(root)!r} with "
                f"{sorted(place.name for place in folders.values())}."
            )
        if train:
            notes.unused = sorted(place.name for place in folders.values() if place not in (train, chosen))
    return train or root, chosen


def _listing(folder: Path, notes: _Notes, skip: Path | None = None) -> dict[str, list[Path]]:
    """Image files by class."""
    listing = {}
    for place, kind in _entries(folder):
        if kind != _FOLDER:
            if place.suffix.lower() in SUFFIXES or kind != _FILE:
                notes.beside.append(place)
        elif skip is None or os.path.realpath(place) != str(skip):
            listing[place.name] = _files(place, notes)
            if not listing[place.name]:
                raise DDLabError(
                    f"path must hold {', '.join(SUFFIXES)} images in every class folder; given {str(place)!r} with none."
                )
    if not listing:
        raise DDLabError(f"path must hold one folder per class; given {str(folder)!r} without folders.")
    return listing


def _files(folder: Path, notes: _Notes, above: tuple[tuple[int, int], ...] = ()) -> list[Path]:
    """The images in a folder and in those inside it."""
    about = folder.stat()
    here = (about.st_dev, about.st_ino)
    if here in above or len(above) > _DEEPEST:
        raise DDLabError(
            f"path must hold class folders at most {_DEEPEST} deep; given {str(folder)!r}, which leads back or deeper."
        )
    found = []
    for place, kind in _entries(folder):
        if kind == _FOLDER:
            found += _files(place, notes, (*above, here))
        elif place.suffix.lower() not in SUFFIXES:
            notes.left_out[_text(place.suffix.lower())] += 1
        elif kind != _FILE:
            raise DDLabError(f"path must hold images that are files; given {str(place)!r}, which is {kind}.")
        else:
            found.append(place)
    return found


def _split(
    listing: dict[str, list[Path]], test_fraction: float, seed: int
) -> tuple[dict[str, list[Path]], dict[str, list[Path]]]:
    train, test = {}, {}
    for number, (name, files) in enumerate(listing.items()):
        if len(files) < 2:
            raise DDLabError(
                f"path must hold at least two images per class to split; given {name!r} with {len(files)}."
            )
        rows = split_rows(len(files), test_fraction, seed=seed, number=number)
        train[name], test[name] = ([files[row] for row in part] for part in rows)
    return train, test


def _read(
    listing: dict[str, list[Path]], size: int, channels: int, one_size: bool, grey: list[Path] | None, notes: _Notes
) -> tuple[Tensor, Tensor]:
    """Images uint8 [n, channels, size, size] and labels int64 [n]; coloured files join `grey`, animations the notes."""
    from PIL import ImageOps

    files = [(file, label) for label, part in enumerate(listing.values()) for file in part]
    images = np.empty((len(files), size, size, channels), dtype=np.uint8)

    def read(image: Any) -> np.ndarray:
        if getattr(image, "n_frames", 1) > 1 and image.format != "MPO":  # a photograph and its small copies
            notes.animated.append(file)
        picture = ImageOps.exif_transpose(image)
        if one_size and picture.size != (size, size):
            found = f"{str(file)!r} of {picture.width} x {picture.height} among images of {size} pixels"
            raise DDLabError(f"size must be given for images of several sizes; given None, and {found}.")
        if grey is not None and picture.mode not in pictures.GREY:
            grey.append(file)
        return pictures.pixels(picture, channels, size)

    for row, (file, _) in enumerate(files):
        images[row] = _opened(file, read)
    return (
        torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(),
        torch.tensor([label for _, label in files], dtype=torch.int64),
    )


def _opened(file: Path, use: Callable[[Any], Result]) -> Result:
    """What `use` makes of an image; every way in which a file can be broken becomes our error (PIL reads pixels late)."""
    from PIL import Image, UnidentifiedImageError

    try:
        with open(file, "rb") as stream:
            if os.fstat(stream.fileno()).st_size == 0:
                raise ValueError("it is empty")
            with Image.open(stream) as image:
                image.load()
                return use(image)
    except DDLabError:
        raise
    except UnidentifiedImageError as problem:
        raise DDLabError(f"path must hold readable images; given {str(file)!r}, which is no image.") from problem
    except Exception as problem:  # PIL raises many kinds: OSError, SyntaxError, ValueError, DecompressionBombError
        if isinstance(problem, OSError) and problem.errno:
            raise DDLabError(
                f"path must hold files that can be read; given {str(file)!r} ({problem.strerror})."
            ) from problem
        reason = " ".join(str(problem).split())
        raise DDLabError(f"path must hold readable images; given {str(file)!r} ({reason}).") from problem


def _channels_of(files: list[Path], sample: int = 32) -> int:
    chosen = files[:: max(1, len(files) // sample)]
    return 1 if all(_opened(file, lambda image: image.mode in pictures.GREY) for file in chosen) else 3


def _size_of(file: Path) -> int:
    width, height = _opened(file, lambda image: image.size)
    if width != height or not 8 <= width <= 512:
        raise DDLabError(
            f"size must be given for images that are not square of 8 to 512 pixels; given None, and the first image is {width} x {height}."
        )
    return width
