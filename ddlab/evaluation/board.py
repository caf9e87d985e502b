"""`board`: a folder of distilled sets, of a class for example, evaluated alike.

Only sets are read; nobody's code runs.
"""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import Tensor

from ..core import DDLabError, Seeds, among, as_usual, checked, errors, storage, within
from ..data import ImageData
from ..distilled import DistilledSet
from ..training import supervised
from .comparison import Compared, Comparison, compare
from .students import Jobs, check_like

ENDING = ".safetensors"
_ENTRY = "entry "  # before a name while sets are compared: it may be that of the baseline
_NEARER = 0.5  # a copy of a test image is so much nearer to it than to every training image
_AT_ONCE = 256  # images whose distances are taken
# Bytes of a file beside its images and labels: how it was made, labels of other kinds.
_BYTES_BESIDE = 2**24


@as_usual
@checked
def board(
    folder: str | os.PathLike[str],
    data: ImageData,
    *,
    images_per_class: Annotated[int, within(1)] = 1,
    labels: Annotated[str, among("hard", "stored")] = "hard",
    seeds: Seeds = (0, 1, 2),
    config: supervised.Config | None = None,
    device: torch.device | str = "auto",
    jobs: Jobs = None,
    progress: bool = True,
) -> Comparison:
    """Evaluate each distilled set of a folder, the best first, beside as many random real images.

    Sets that are refused come last and say why.

    Args:
        folder: of files NAME.safetensors, as `DistilledSet.save` writes them, or of a folder for
            each student with such a file in it or below it, as a course's platform or nbgrader
            packs them. Nothing else that lies there is opened.
        data: whose test images count.
        images_per_class: a set may hold no more images of a class, and no more floats than these
            take.
        labels: what students learn from.
        seeds, config, device, jobs, progress: as in `evaluate`; one recipe for all.

    Returns:
        A `Comparison` with one row for each file; its note says if an earlier one holds the same
        images and labels, or if the run was stopped before its end.
        A file is refused that is no set or was changed after it was saved, is larger than allowed,
        or holds near copies of test images: nearer to one by half than to any training image. Sets
        that were tuned on test images, or mix several of them, are not found out.

    Raises:
        DDLabError: a folder that is not there, or holds no such file.
        KeyboardInterrupt: before every set had a student.
    """
    place = storage.checked_path(folder, "folder", "a folder's path")
    entries = _entries(place) if place.is_dir() else {}
    if not any(entries.values()):
        errors.fail(
            "folder",
            f"a folder with at least one file *{ENDING}, itself or in its folders",
            str(folder),
        )
    sets: dict[str, DistilledSet] = {}
    notes: dict[str, str] = {}
    refused: list[Compared] = []
    first_of_content: dict[str, str] = {}
    for name, file in entries.items():
        try:
            if file is None:
                raise DDLabError(f"{name} must hold a file *{ENDING}; given none.")
            _check_size(file, data, images_per_class)
            distilled = DistilledSet.load(file)
            _check_entry(distilled, file.name, data, images_per_class, labels)
        except DDLabError as problem:
            # The message names a folder on the teacher's disk; a row shows its last part alone.
            refused.append(Compared(name=name, failed=str(problem).replace(str(place), place.name)))
            continue
        key = f"{_ENTRY}{name}"
        # The row's note says what is not complete; a warning would not say whose set it is.
        sets[key] = replace(distilled, complete=True)
        content = storage.fingerprint(distilled.images, vars(distilled.target(labels)))
        original = first_of_content.setdefault(content, name)
        remarks = {
            # Two students who hand in the same file get two rows, and the second one says so.
            f"the same set as {original}": original != name,
            "not complete": not distilled.complete,
        }
        notes[key] = ", ".join(remark for remark, applies in remarks.items() if applies)
    if not sets:
        return Comparison(rows=tuple(refused), labels=labels, seeds=())
    options: dict[str, Any] = {
        "labels": labels,
        "seeds": seeds,
        "config": config,
        "device": device,
        "jobs": jobs,
    }
    comparison = compare(sets, data, progress=progress, **options)
    rows = [
        replace(row, name=row.name.removeprefix(_ENTRY), note=notes.get(row.name, ""))
        for row in comparison.rows
    ]
    # Python sorts stably, so sets of equal sums stay in the order of their names.
    rows.sort(key=lambda row: -sum(row.accuracies))
    return replace(comparison, rows=(*rows, *refused))


def _entries(place: Path) -> dict[str, Path | None]:
    """Return the sets in a folder and in those of its students: name -> file, or None for a
    student's folder without one.

    A name is a student's where no other file has it, else the file's path in the folder.
    """
    found: list[tuple[str, Path | None]] = [(file.stem, file) for file in _set_files(place)]
    for folder in sorted(place.iterdir()):
        if not folder.is_dir() or storage.is_left_behind(folder.name):
            continue
        # Beside each other, as platforms pack them, or below: STUDENT/ASSIGNMENT/ is nbgrader's.
        files = _set_files(folder) or _set_files_below(folder)
        if not files:
            found.append((folder.name, None))
        for file in files:
            own_name = str(file.relative_to(place).with_suffix(""))
            found.append((folder.name if len(files) == 1 else own_name, file))
    counts = Counter(name for name, _ in found)
    entries: dict[str, Path | None] = {}
    for name, file in found:
        if counts[name] > 1 and file is not None:
            name = str(file.relative_to(place))
        # A name that was packed on another system may be no text.
        entries[os.fsencode(name).decode(errors="replace")] = file
    return entries


def _set_files(folder: Path) -> list[Path]:
    """Return the files of sets in a folder."""
    files = [
        file
        for file in folder.iterdir()
        if file.is_file()
        and file.suffix.lower() == ENDING
        and not storage.is_left_behind(file.name)
    ]
    return sorted(files)


def _set_files_below(folder: Path) -> list[Path]:
    """Return the files of sets in the folders of a folder, and in theirs."""
    files = []
    for inner in sorted(folder.iterdir()):
        if inner.is_dir() and not inner.is_symlink() and not storage.is_left_behind(inner.name):
            files += [*_set_files(inner), *_set_files_below(inner)]
    return files


def _check_size(file: Path, data: ImageData, images_per_class: int) -> None:
    """Raise if a file is larger than any set that may be compared, before it is read."""
    floats = images_per_class * data.classes * (data.train_images[0].numel() + 2 * data.classes)
    limit = 4 * floats + _BYTES_BESIDE
    size = file.stat().st_size
    if size > limit:
        raise DDLabError(f"{file.name} must take at most {limit:,} bytes; given {size:,}.")


def _check_entry(
    distilled: DistilledSet, file: str, data: ImageData, images_per_class: int, labels: str
) -> None:
    """Raise unless the set of a file may be compared."""
    try:
        check_like(distilled, data)
        distilled.target(labels)
    except DDLabError as problem:
        raise DDLabError(f"{file}: {problem}") from None
    counts = distilled.labels.bincount(minlength=data.classes).tolist()
    image_limit = images_per_class * data.classes
    if max(counts) > images_per_class:
        counts_by_name = [
            f"{count} of {name}" for count, name in zip(counts, data.class_names, strict=True)
        ]
        counts_text = ", ".join(counts_by_name)
        raise DDLabError(
            f"{file} must hold at most {images_per_class} images of each class; given {counts_text}."
        )
    floats = image_limit * (
        data.train_images[0].numel() + (1 if labels == "hard" else data.classes)
    )
    floats_taken = distilled.storage_floats(labels)
    if floats_taken > floats:
        raise DDLabError(f"{file} must take at most {floats:,} floats; given {floats_taken:,}.")
    copies = int(near_copies(distilled.images, data).sum())
    if copies:
        raise DDLabError(
            f"{file} must be without near copies of test images; given {copies} of "
            f"{len(distilled)}."
        )


def near_copies(images: Tensor, data: ImageData) -> Tensor:
    """Return which images [n, c, h, w] are near copies of test images, bool [n].

    A near copy is less than half as far from a test image as from every training image.
    """
    test = _nearest(images, data, "test")
    train = _nearest(images, data, "train")
    return test < _NEARER * train


def _nearest(images: Tensor, data: ImageData, split: Any) -> Tensor:
    """Return the Euclidean distance of each image to the nearest one of a split, [n]."""
    count = len(data.test_labels if split == "test" else data.train_labels)
    flat = images.flatten(1)
    least = torch.full((len(images),), torch.inf)
    # All test images at once would be a second copy of the data in float32.
    for start in range(0, count, _AT_ONCE):
        part = data.normalised(
            torch.arange(start, min(start + _AT_ONCE, count)), split=split
        ).flatten(1)
        least = torch.minimum(
            least,
            torch.cdist(flat, part, compute_mode="donot_use_mm_for_euclid_dist").min(1).values,
        )
    return least
