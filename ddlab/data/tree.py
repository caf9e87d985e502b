"""The folders of a reader's own images: which are splits, which are classes, and the files of each.

PATH/CLASS/...                                  classes alone
PATH/train/CLASS/..., PATH/test/CLASS/...       splits, by the usual names in any case, or as
                                                `train=` and `test=` name them

A split is a folder of folders, so that a class may be called "train". Where folders could be
either, nobody guesses: it is said which, and what to give. Every real folder and file is read once,
where it lies, and only then by what links to it; a link may lead anywhere.
"""

import itertools
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from ..core import DDLabError
from ..core.storage import is_left_behind

SUFFIXES = (
    ".bmp",
    ".gif",
    ".jfif",
    ".jpeg",
    ".jpg",
    ".pgm",
    ".png",
    ".ppm",
    ".tif",
    ".tiff",
    ".webp",
)
TRAINS = ("train", "training", "seg_train")
TESTS = ("test", "testing", "seg_test", "val", "valid", "validation", "dev")

Listing = dict[str, list[str]]
"""Class -> its files, in the order of their names."""


def split_folders(root: Path, train: str | None, test: str | None) -> tuple[Path, Path | None]:
    """Return the folder of the training classes, and that of the test classes.

    The second is None where there are no splits.

    Raises:
        DDLabError: one split without the other, or folders that could be splits as well as classes.
    """
    # What the caller says is not weighed against what the folders look like.
    if train is not None or test is not None:
        if train == "." and test is None:
            return root, None
        if train is None or test is None:
            _refuse(
                root,
                "given as both train= and test=, or as train='.' where its folders are the classes",
                (train, test),
            )
        return _folder_named(root, "train", train), _folder_named(root, "test", test)
    folders = _directories(root)
    trains = _splits_named(TRAINS, folders)
    tests = _splits_named(TESTS, folders)
    options = (
        "train= and test= say which of its folders are the splits, train='.' that they are the "
        "classes"
    )
    # On a file system that tells capitals apart, "Train" and "train" may both be there.
    for places in (trains, tests):
        if len({place.name.casefold() for place in places}) < len(places) or (
            places is trains and len(places) > 1
        ):
            _refuse(
                root,
                f"of one training and one test split ({options})",
                [place.name for place in places],
            )
    if trains and tests:
        return _unwrap(trains[0]), _unwrap(tests[0])
    if trains or tests:
        _refuse(
            root,
            f"of both train and test (or val) or of class folders ({options})",
            [place.name for place in folders],
        )
    inner = {}
    for place in folders:
        if _is_split(place):
            inner[place.name] = {folder.name.casefold() for folder in _directories(_unwrap(place))}
    # Two folders with two inner names in common look like splits under other names ("day1/cat",
    # "day2/cat").
    for first, second in itertools.combinations(inner, 2):
        if len(inner[first] & inner[second]) > 1:
            clearly = f"whose folders are clearly classes or clearly splits ({options})"
            _refuse(
                root, clearly, f"{first!r} and {second!r}, which hold folders of the same names"
            )
    return root, None


def _splits_named(names: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    # By preference: where "test" and "val" are both there, "test" is first.
    places = [place for place in folders if place.name.casefold() in names and _is_split(place)]
    return sorted(places, key=lambda place: names.index(place.name.casefold()))


def listings(splits: Sequence[Path]) -> list[Listing]:
    """Return the files of each class in each split.

    Raises:
        DDLabError: fewer than two class folders, one without an image, or one that cannot be read.
    """
    classes = [{place.name: place for place in _directories(split)} for split in splits]
    for split, folders in zip(splits, classes, strict=True):
        if len(folders) < 2:
            raise DDLabError(
                f"path must hold at least two class folders; given {str(split)!r} with "
                f"{list(folders)}."
            )
    # The parents too: a link upwards would otherwise read the tree inside itself.
    visited = {os.path.realpath(place) for split in splits for place in (split, *split.parents)}
    skipped: Counter[str] = Counter()
    first: dict[str, str] = {}  # of what was left out, a name
    for split in splits:
        for folder in _hidden_classes(split):
            skipped["folders of images whose name begins with a dot"] += 1
            first.setdefault("folders of images whose name begins with a dot", folder)
    listings_by_split: list[Listing] = []
    for folders in classes:
        listings_by_split.append({name: [] for name in folders})
    links: list[tuple[list[str], Path]] = []
    # A class folder that a link in another class leads to belongs to its own class.
    owned = {os.path.realpath(place) for folders in classes for place in folders.values()}
    for listing, folders in zip(listings_by_split, classes, strict=True):
        for name, place in folders.items():
            # Else another class folder is the same one.
            if (real := os.path.realpath(place)) in owned:
                owned.remove(real)
                links += [
                    (listing[name], link)
                    for link in _walk(
                        place, listing[name], visited | owned, visited, skipped, first
                    )
                ]
    while links:  # in the end what links lead to, unless it was read where it lies
        files, link = links.pop(0)
        real = os.path.realpath(link)
        if real in visited:
            skipped["links to what was read already"] += 1
            first.setdefault("links to what was read already", link.name)
        elif os.path.isdir(real):
            for inner in _walk(link, files, visited, visited, skipped, first):
                links.append((files, inner))
        # A link that leads nowhere is neither, and is passed over.
        elif os.path.isfile(real):
            visited.add(real)
            _keep(link, files, skipped, first)
    for split, listing in zip(splits, listings_by_split, strict=True):
        for name, files in listing.items():
            # By name and not by the order of the file system, which differs from machine to
            # machine.
            files.sort()
            if not files:
                place = str(split / name)
                raise DDLabError(
                    f"path must hold {', '.join(SUFFIXES)} images in every class folder; "
                    f"given {place!r} with none."
                )
    if skipped:
        reasons = [f"{count} {reason}, as {first[reason]!r}," for reason, count in skipped.items()]
        words = " and ".join(reasons)
        # Where data.load was called.
        warnings.warn(f"In {str(splits[0])!r} {words} were left out.", stacklevel=7)
    return listings_by_split


def _walk(
    place: Path,
    files: list[str],
    closed: set[str],
    visited: set[str],
    skipped: Counter[str],
    first: dict[str, str],
) -> Iterator[Path]:
    """Keep the images in a folder and below it, and yield its links.

    What they lead to is read last.
    """
    real = os.path.realpath(place)
    visited.add(real)
    for entry in _entries(place):
        if entry.is_symlink():
            yield Path(entry.path)
        elif entry.is_dir():
            if os.path.join(real, entry.name) not in closed:
                yield from _walk(Path(entry.path), files, closed, visited, skipped, first)
        elif (file := os.path.join(real, entry.name)) not in visited:
            visited.add(file)
            _keep(Path(entry.path), files, skipped, first)


def _keep(file: Path, files: list[str], skipped: Counter[str], first: dict[str, str]) -> None:
    if file.name.lower().endswith(SUFFIXES):
        files.append(str(file))
    else:
        skipped["files that are no images"] += 1
        first.setdefault("files that are no images", file.name)


def _entries(
    place: Path, is_wanted: Callable[[os.DirEntry[str]], bool] = lambda entry: True
) -> list[os.DirEntry[str]]:
    """Return what a folder holds, by name.

    Hidden entries (.x) and folders of other programs (__MACOSX, @eaDir) are left out.
    """
    try:
        with os.scandir(place) as entries:
            return sorted(
                (entry for entry in entries if not is_left_behind(entry.name) and is_wanted(entry)),
                key=lambda entry: entry.name,
            )
    except OSError as problem:
        raise DDLabError(
            f"path must be readable throughout; given {str(place)!r} ({problem.strerror})."
        ) from problem


def _directories(place: Path) -> list[Path]:
    # `is_dir` follows links: a class may lie on another disk.
    return [Path(entry.path) for entry in _entries(place, lambda entry: entry.is_dir())]


def _hidden_classes(split: Path) -> list[str]:
    """Return the hidden folders beside the classes that hold images themselves."""
    hidden = sorted(place for place in split.glob(".*") if place.is_dir())
    return [place.name for place in hidden if _has_images(place)]


def _has_images(place: Path) -> bool:
    return any(
        entry.name.lower().endswith(SUFFIXES)
        for entry in _entries(place, lambda entry: entry.is_file())
    )


def _is_split(place: Path) -> bool:
    """Return whether a folder holds folders and no image of its own."""
    inner = _unwrap(place)
    return not _has_images(place) and not _has_images(inner) and bool(_directories(inner))


def _unwrap(place: Path) -> Path:
    """Return a folder, or the only one in it if that has its name, as archives unpack."""
    inner = _directories(place)
    return (
        inner[0] if len(inner) == 1 and inner[0].name.casefold() == place.name.casefold() else place
    )


def _folder_named(root: Path, argument: str, name: str) -> Path:
    place = root / name
    if not place.is_dir():
        names = [folder.name for folder in _directories(root)]
        raise DDLabError(
            f"{argument} must be one of the folders in {str(root)!r} ({', '.join(names)}); "
            f"given {name!r}."
        )
    return _unwrap(place)


def _refuse(root: Path, requirement: str, problem: object) -> NoReturn:
    raise DDLabError(f"path must be a tree {requirement}; given {str(root)!r} with {problem}.")
