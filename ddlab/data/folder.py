"""`folder`: a reader's own images, one folder per class.

Either PATH/CLASS/..., which is split by a seed, or PATH/train/CLASS/... and beside it the test images in PATH/test/CLASS/..., or in `val`
(`valid`, `validation`) where there is no `test`. Folders inside a class folder belong to the class, links are followed, and what begins
with a dot is hidden. What was left out or changed is counted in one warning.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import warnings
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..core import errors, memory, storage
from ..core.boundary import Count, Index, checked, within
from ..core.errors import DDLabError
from . import _store, pictures
from ._store import Decoded, Plan
from .arrays import split_rows
from .images import ImageData

Result = TypeVar("Result")

NAME = "folder"
SUFFIXES = (".bmp", ".gif", ".jfif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
TESTS = ("test", "val", "valid", "validation")
_DEEPEST = 50  # folders inside a class folder
_THREADS = 16  # that decode, at most
_TOGETHER = 8  # images that one of them decodes before it is asked again
_SHARE = 0.5  # of the free memory: images that take more go to a store, where store="auto"
_READ, _COLOURED, _ANIMATED = 1, 2, 4  # bits of an image's kind
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
    store: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> ImageData:
    """Images from a folder tree, decoded by as many threads as there are cores, into memory or into a store on disk.

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
        store: where memory cannot hold the decoded images, a file for them, or a folder to put it in: made once, and anew when the
            files change. The next time it is there at once; steps read the rows that they ask for. "auto": under a hidden name in
            `path` itself, if the images take more than half of the free memory, else none. None: none.
        progress: a line on standard output while a store is made.

    Warns:
        UserWarning: files that are no images, folders that are no split, images made grey beside grey ones, animations, of which the first
            picture is taken; with their number, and the first of them. A store that is made anew, because files have changed.

    Raises:
        DDLabError: no such folder, an empty class, a file that cannot be read or is no image, classes that differ between train and test;
            images that do not fit into memory; a store of another folder or other settings, or where nothing can be written.
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
    read = functools.partial(_pixels, size=size, channels=found, one_size=one_size)
    settings = {"size": size, "channels": found, "limit": limit, "test_fraction": test_fraction, "seed": seed}
    settings |= {"test": None if test is None else os.fspath(test)}
    name, class_names = f"{_text(root.name)}-{size}", tuple(map(_text, train))
    plan = Plan(
        folder=str(root),
        settings=settings,
        key=storage.fingerprint(name, class_names, settings, _listed(root, train), _listed(root, test_files)),
        name=name,
        class_names=class_names,
        labels=(_labels(train), _labels(test_files)),
        shape=(found, size, size),
        decode=functools.partial(_decoded, everything, read),
    )
    place = _store_of(plan, store, root)
    if place is None:
        loaded, kinds = _in_memory(plan)
    else:
        loaded, kinds = _store.load(place, plan, progress=progress)
    grey = channels is None and found == 1
    notes.coloured = [everything[row] for row in np.flatnonzero(kinds & _COLOURED)] if grey else []
    notes.animated = [everything[row] for row in np.flatnonzero(kinds & _ANIMATED)]
    notes.say(root, len(everything))
    return loaded


@dataclass
class _Notes:
    """What a reader of the folder would not expect."""

    left_out: Counter[str] = field(default_factory=Counter)  # by suffix
    beside: list[Path] = field(default_factory=list)  # images and broken links outside every class folder
    unused: list[str] = field(default_factory=list)  # folders beside the splits
    coloured: list[str] = field(default_factory=list)
    animated: list[str] = field(default_factory=list)

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


def _short(file: str | Path) -> str:
    return repr("/".join(Path(file).parts[-2:]))


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


def _listing(folder: Path, notes: _Notes, skip: Path | None = None) -> dict[str, list[str]]:
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


def _files(folder: Path, notes: _Notes, above: tuple[tuple[int, int], ...] = ()) -> list[str]:
    """The images in a folder and in those inside it: texts, of which memory holds a million where it holds 200,000 Paths."""
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
            found.append(str(place))
    return found


def _split(
    listing: dict[str, list[str]], test_fraction: float, seed: int
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    train, test = {}, {}
    for number, (name, files) in enumerate(listing.items()):
        if len(files) < 2:
            raise DDLabError(
                f"path must hold at least two images per class to split; given {name!r} with {len(files)}."
            )
        rows = split_rows(len(files), test_fraction, seed=seed, number=number)
        train[name], test[name] = ([files[row] for row in part] for part in rows)
    return train, test


def _labels(listing: dict[str, list[str]]) -> Tensor:
    return torch.arange(len(listing)).repeat_interleave(torch.tensor([len(files) for files in listing.values()]))


def _listed(root: Path, listing: dict[str, list[str]]) -> str:
    """A hash of what tells whether files are still the same: class, name, bytes and time of the last change."""
    digest = hashlib.sha256()
    for name, files in listing.items():
        for file in files:
            about = os.stat(file)
            place = f"{name}\0{os.path.relpath(file, root)}\0{about.st_size}\0{about.st_mtime_ns}\0"
            digest.update(os.fsencode(place))
    return digest.hexdigest()


def _store_of(plan: Plan, store: str | os.PathLike[str] | None, root: Path) -> Path | None:
    """The file of the store; None where the images go to memory.

    Raises:
        DDLabError: they do not fit into it, and no store is given.
    """
    free = memory.free_bytes()
    if store is None:
        if plan.size > free:
            wanted = f"a file, a folder or 'auto' for images that take {memory.text(plan.size)}, with {memory.text(free)} of memory free"
            errors.fail("store", wanted, None)
        return None
    place = Path(os.path.realpath(os.path.expanduser(storage.checked_path(store, "store", "a path or 'auto'"))))
    made_of = storage.fingerprint(plan.settings)[:8]
    if store == "auto":
        return root / f".ddlab-{made_of}.safetensors" if plan.size > _SHARE * free else None
    return place / f"{root.name}-{made_of}.safetensors" if place.is_dir() else place


def _in_memory(plan: Plan) -> tuple[ImageData, np.ndarray]:
    train, test = map(len, plan.labels)
    images, kinds = np.empty((train + test, *plan.shape), dtype=np.uint8), np.empty(train + test, dtype=np.uint8)
    for rows, some, found in plan.decode(np.arange(train + test)):
        images[rows], kinds[rows] = some, found
    data = ImageData(
        name=plan.name,
        train_images=torch.from_numpy(images[:train]),
        train_labels=plan.labels[0],
        test_images=torch.from_numpy(images[train:]),
        test_labels=plan.labels[1],
        class_names=plan.class_names,
    )
    return data, kinds


def _decoded(files: list[str], read: Callable[[str], tuple[np.ndarray, int]], rows: np.ndarray) -> Decoded:
    """The files of these rows, some at a time and in order; threads decode them (PIL leaves Python alone meanwhile)."""
    from PIL import Image

    def together(some: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        images, kinds = zip(*(read(files[row]) for row in some), strict=True)
        return some, np.stack(images), np.array(kinds, dtype=np.uint8)

    Image.init()  # of two threads that look for a rare format's reader at once one may not find it
    threads = min(len(os.sched_getaffinity(0)), _THREADS)
    waiting: deque[Future[tuple[np.ndarray, np.ndarray, np.ndarray]]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for start in range(0, len(rows), _TOGETHER):
            waiting.append(pool.submit(together, rows[start : start + _TOGETHER]))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _pixels(file: str, *, size: int, channels: int, one_size: bool) -> tuple[np.ndarray, int]:
    """An image uint8 [channels, size, size], and what is to be said of it."""
    from PIL import ImageOps

    def read(image: Any) -> tuple[np.ndarray, int]:
        kind = _READ
        if getattr(image, "n_frames", 1) > 1 and image.format != "MPO":  # a photograph and its small copies
            kind |= _ANIMATED
        picture = ImageOps.exif_transpose(image)
        if one_size and picture.size != (size, size):
            found = f"{file!r} of {picture.width} x {picture.height} among images of {size} pixels"
            raise DDLabError(f"size must be given for images of several sizes; given None, and {found}.")
        if picture.mode not in pictures.GREY:
            kind |= _COLOURED
        return np.ascontiguousarray(pictures.pixels(picture, channels, size).transpose(2, 0, 1)), kind

    return _opened(file, read)


def _opened(file: str, use: Callable[[Any], Result]) -> Result:
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
        raise DDLabError(f"path must hold readable images; given {file!r}, which is no image.") from problem
    except Exception as problem:  # PIL raises many kinds: OSError, SyntaxError, ValueError, DecompressionBombError
        if isinstance(problem, OSError) and problem.errno:
            raise DDLabError(
                f"path must hold files that can be read; given {file!r} ({problem.strerror})."
            ) from problem
        reason = " ".join(str(problem).split())
        raise DDLabError(f"path must hold readable images; given {file!r} ({reason}).") from problem


def _channels_of(files: list[str], sample: int = 32) -> int:
    chosen = files[:: max(1, len(files) // sample)]
    return 1 if all(_opened(file, lambda image: image.mode in pictures.GREY) for file in chosen) else 3


def _size_of(file: str) -> int:
    width, height = _opened(file, lambda image: image.size)
    if width != height or not 8 <= width <= 512:
        raise DDLabError(
            f"size must be given for images that are not square of 8 to 512 pixels; given None, and the first image is {width} x {height}."
        )
    return width
