"""`folder`: a reader's own images, one folder per class.

`tree` says which folders are classes and which are splits.

In an exported set `labels.json` has the classes' own names.
"""

import dataclasses
import functools
import hashlib
import itertools
import json
import os
import shutil
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor

from ..core import Count, DDLabError, Index, checked, errors, storage, within
from ..core.memory import half_of_memory
from . import pictures, tree
from .arrays import split_rows
from .class_names import in_letters, lookalikes, warn_of_lookalikes
from .images import ImageData
from .pictures import Fit, Reading, Size
from .tree import Listing

NAME = "folder"
LABELS = "labels.json"
_MOST_PIXELS = 50_000_000  # of one file; PIL itself warns at 89 million
_AT_ONCE = 1024  # files that are decoded before the next ones are begun
Cache = Literal["memory", "file"]


@checked
def load(
    path: str | os.PathLike[str],
    *,
    size: Annotated[Size, pictures.checked_size] | None = None,
    fit: Fit = "crop",
    channels: int | None = None,
    background: Annotated[int, within(0, 255)] = 255,
    range: Annotated[tuple[float, float], pictures.checked_range] | None = None,
    train: str | None = None,
    test: str | None = None,
    split: bool = True,
    test_fraction: Annotated[float, within(0, 0.9, open_low=True)] = 0.2,
    limit: Count | None = None,
    cache: Cache = "memory",
    most_pixels: Annotated[int, within(1, 89_000_000)] = _MOST_PIXELS,
    seed: Index = 0,
) -> ImageData:
    """Load images from a folder tree into memory, or into a file that memory is mapped to.

    Args:
        path: the tree: folders of classes, or train and test (val) with the same classes in each.
        size: (height, width) in pixels, 1 to 512 each, or one number for both; None keeps the
            images' own size, which must be one.
        fit: of an image of another shape the middle is cut out ("crop"), or all of it is kept on
            the background ("pad") or drawn out ("stretch").
        channels: 1 (grey) or 3 (colour); None takes 1 when every image is grey, else 3.
        background: what transparent pixels lie on, 0 (black) to 255 (white).
        range: (low, high), the values of black and white, of images that do not fill their range:
            12 bits of 16, masks.
        train, test: which folders below `path` are the splits, where their names do not say it;
            train="." alone: there are none.
        split: False takes all images of a tree without splits for training and the same ones for
            testing: an exported set, say.
        test_fraction: share of each class that goes to the test split, in (0, 0.9]; used only for a
            tree without splits.
        limit: at most this many images per class and split, the first by file name.
        cache: "file" keeps the decoded pixels in a file beside the tree, NAME.KEY.npy, for images
            that do not fit into memory: a batch is read when it is asked for, and the next call
            with the same files decodes nothing. The key changes with any file and with how it is
            read.
        most_pixels: of one file, before it is decoded.
        seed: of the split.

    Warns:
        UserWarning: files that are no images, links to what was read already, hidden folders of
            images, animations, and files that are in both splits, with their number; classes whose
            names look alike.

    Raises:
        DDLabError: no such folder, an empty class, a file that cannot be read or is no image,
            classes that differ between train and test, a tree that can be read in two ways, pixels
            whose black and white are a guess, or images that need more than half of the machine's
            memory or, with cache="file", more than the disk has.
    """
    root = storage.checked_path(path, "path", "a folder's path")
    if not root.is_dir():
        raise DDLabError(f"path must be an existing folder; given {str(path)!r}.")
    # Only names so far: whatever is wrong with the tree is said before a picture is opened.
    parts = _splits(root, train, test, test_fraction if split else None, seed)
    files: list[str] = []
    for part in parts:
        for name, files_of_class in part.items():
            part[name] = files_of_class[:limit]
            files += part[name]
    # All heads before any pixel: size, colour and memory are known in a second, also of a large
    # tree.
    heads = [_use_image(file, functools.partial(_head, most_pixels)) for file in files]
    if channels is None:
        channels = 1 if all(grey for _, grey, _ in heads) else 3
    errors.check_choice("channels", channels, (1, 3))
    # An estimate from the first image; sizes that differ are refused below.
    height, width = size or heads[0][0]
    if cache == "memory" and len(files) * channels * width * height > half_of_memory():
        errors.fail(
            "limit",
            f"so small, or size=, that {len(files)} images of {width} x {height} fit into memory, "
            'or cache be "file"',
            limit,
        )
    reading = Reading(channels=channels, size=size, fit=fit, background=background, range=range)
    if cache == "memory":
        pixels = _decode(files, reading, functools.partial(np.empty, dtype=np.uint8))
    else:
        pixels = _map_to_file(root.resolve(), files, reading, channels * width * height)
    if moving := sum(animated for _, _, animated in heads):
        warnings.warn(
            f"In {str(root)!r} {moving} animations: the first frame of each was taken.",
            stacklevel=5,
        )
    if split and (copies := _in_both(*parts)):
        words = (
            f"{len(copies)} images of the training part are in the test part too, as "
            f"{os.path.basename(copies[0])!r}"
        )
        warnings.warn(f"In {str(root)!r} {words}.", stacklevel=5)  # where data.load was called
    images = torch.from_numpy(pixels)
    labels = [_labels(part) for part in parts]
    names = _exported_names(root)
    class_names = tuple(names[name] if name in names else _text(name) for name in parts[0])
    warn_of_lookalikes(class_names, stacklevel=5)
    return ImageData(
        name=f"{_text(root.resolve().name)}-{images.shape[-1]}",
        train_images=images[: len(labels[0])],
        train_labels=labels[0],
        test_images=images[len(labels[0]) :],
        test_labels=labels[1],
        class_names=class_names,
    )


def _head(most_pixels: int, picture: Any) -> tuple[Size, bool, bool]:
    """Return size, grey or not, animated or not, of an image that is not decoded.

    The size is (height, width) as the camera was held.
    """
    if picture.width * picture.height > most_pixels:
        raise ValueError(
            f"it has {picture.width * picture.height:,} pixels; most_pixels={most_pixels:,} "
            "can be raised"
        )
    # Tag 0x0112 is the orientation; above 4 the picture lies on its side.
    turned = picture.getexif().get(0x0112, 1) > 4
    size = (picture.width, picture.height) if turned else (picture.height, picture.width)
    return size, picture.mode in pictures.GREY, getattr(picture, "is_animated", False)


def _decode(
    files: list[str], reading: Reading, allocate: Callable[[tuple[int, ...]], np.ndarray]
) -> np.ndarray:
    """Return the pixels of all files, uint8 [n, channels, height, width].

    Args:
        allocate: shape -> the array into which they are written.

    Raises:
        DDLabError: images of several sizes, or pixels whose black and white are a guess.
    """
    decode = functools.partial(pictures.pixels, reading=reading)
    first, _ = _use_image(files[0], decode)
    height, width, channels = first.shape
    images = allocate((len(files), channels, height, width))
    highest = 0.0
    # PIL leaves Python alone while it decodes, one image a thread.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(files), _AT_ONCE):
            some_files = files[start : start + _AT_ONCE]
            decoded = pool.map(lambda file: _use_image(file, decode), some_files)
            for place, (image, share) in enumerate(decoded, start):
                # After decoding, because cameras turn pictures and `size` may have made them equal.
                if image.shape != first.shape:
                    sizes = (
                        f"{files[place]!r} of {image.shape[1]} x {image.shape[0]}, others of "
                        f"{width} x {height}"
                    )
                    raise DDLabError(
                        "size must be given for images that are not of one size; given None, and "
                        f"{sizes}."
                    )
                images[place] = image.transpose(2, 0, 1)
                highest = max(highest, share)
    pictures.check_filled("images", highest, reading)
    return images


def _map_to_file(root: Path, files: list[str], reading: Reading, bytes_each: int) -> np.ndarray:
    """Return the pixels as `_decode`, in a file beside the tree, made where it is missing.

    What is written into them stays in memory.
    """
    states = []
    for file in files:
        state = os.stat(file)
        states.append([_text(os.path.relpath(file, root)), state.st_size, state.st_mtime_ns])
    key = storage.fingerprint(states, dataclasses.asdict(reading))
    target = root.with_name(f"{root.name}.{key}.npy")
    running = target.with_name(f"{target.name}.{os.getpid()}.running")
    try:
        if not target.exists():
            needed = len(files) * bytes_each
            free = shutil.disk_usage(target.parent).free
            if needed > free:
                # A mapped file on a full disk would end the process without a word.
                raise OSError(f"it needs {needed / 1e9:.1f} GB, and {free / 1e9:.1f} are free")
            _decode(
                files,
                reading,
                functools.partial(np.lib.format.open_memmap, running, "w+", np.uint8),
            )
            # Whole or not at all, whatever interrupts it.
            os.replace(running, target)
        return np.load(target, mmap_mode="c")
    except DDLabError:
        raise
    except (OSError, ValueError) as problem:
        raise DDLabError(
            f'cache must be "memory" where {str(target)!r} cannot be written or read; given "file" '
            f"({' '.join(str(problem).split())})."
        ) from problem
    finally:
        running.unlink(missing_ok=True)


def _exported_names(root: Path) -> dict[str, str]:
    """Return folder -> class name, where an exported set says it."""
    try:
        classes = json.loads((root / LABELS).read_text(encoding="utf-8"))["classes"]
        return {str(entry["folder"]): str(entry["name"]) for entry in classes}
    # No such file, or another program's.
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}


def _splits(
    root: Path, train: str | None, test: str | None, test_fraction: float | None, seed: int
) -> tuple[Listing, ...]:
    """Return the files of the training and of the test images.

    With a `test_fraction` of None a tree without splits gives the same files for both.
    """
    training, testing = tree.split_folders(root, train, test)
    if testing is None:
        (listing,) = tree.listings([training])
        return (listing, listing) if test_fraction is None else _split(listing, test_fraction, seed)
    parts = tree.listings([training, testing])
    # A class label is the place of the folder among the names, so one that is missing would shift
    # all after it.
    if list(parts[0]) != list(parts[1]):
        odd = sorted(set(parts[0]) ^ set(parts[1]))
        alike = "".join(f" {in_letters(group)} look alike." for group in lookalikes(odd))
        raise DDLabError(
            f"path must have the same class folders in {training.name} and {testing.name}; "
            f"given {odd[:5]} in only one of them.{alike}"
        )
    return tuple(parts)


def _split(listing: Listing, test_fraction: float, seed: int) -> tuple[Listing, Listing]:
    train = {}
    test = {}
    for number, (name, files) in enumerate(listing.items()):
        if len(files) < 2:
            raise DDLabError(
                f"path must hold at least two images per class to split; given {name!r} with "
                f"{len(files)}."
            )
        rows = split_rows(len(files), test_fraction, seed=seed, number=number)
        train_rows, test_rows = rows
        train[name] = [files[row] for row in train_rows]
        test[name] = [files[row] for row in test_rows]
    return train, test


def _in_both(train: Listing, test: Listing) -> list[str]:
    """Return the training files whose bytes a test file has too.

    Only files of equal length are read.
    """
    trains = [*itertools.chain.from_iterable(train.values())]
    tests = [*itertools.chain.from_iterable(test.values())]
    # Two files of different length cannot be equal, and almost all lengths differ.
    sizes = {os.path.getsize(file) for file in tests} & {os.path.getsize(file) for file in trains}
    test_digests = {_digest(file) for file in tests if os.path.getsize(file) in sizes}
    return [
        file for file in trains if os.path.getsize(file) in sizes and _digest(file) in test_digests
    ]


def _digest(file: str) -> bytes:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()


def _labels(listing: Listing) -> Tensor:
    # Files lie class after class, in the order of the listing.
    return torch.arange(len(listing)).repeat_interleave(
        torch.tensor([len(files) for files in listing.values()])
    )


def _text(name: str) -> str:
    """Return a name in letters that can be written anywhere, whatever its bytes."""
    # A name from another system may hold bytes that are no text; written out, they would break a
    # table later.
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _use_image(file: str, use: Any) -> Any:
    """Return what `use` makes of an image.

    Every way in which a file can be broken becomes our error.
    """
    from PIL import Image

    try:
        with Image.open(file) as image:
            return use(image)
    # PIL raises many kinds: OSError, SyntaxError, ValueError, DecompressionBombError.
    except Exception as problem:
        reason = " ".join(str(problem).split())
        raise DDLabError(f"path must hold readable images; given {file!r} ({reason}).") from problem
