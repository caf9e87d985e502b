"""`board`: a folder of distilled sets, of a class for example, evaluated alike.

Only sets are read; nobody's code runs.
"""

import dataclasses
import os
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
_NEARER = 0.5  # a copy of a test image is so much nearer to it than to every training image
_AT_ONCE = 256  # images whose distances are taken


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
            each student with such a file, as a course's platform packs them. Nothing else that lies
            there is opened.
        data: whose test images count.
        images_per_class: a set may hold no more images of a class, and no more floats than these
            take.
        labels: what students learn from.
        seeds, config, device, jobs, progress: as in `evaluate`; one recipe for all.

    Returns:
        A `Comparison` with one row for each file; a row says if an earlier one holds the same set.
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
    refused: list[Compared] = []
    first_of_content: dict[str, str] = {}
    for name, file in entries.items():
        try:
            if file is None:
                raise DDLabError(f"{name} must hold a file *{ENDING}; given none.")
            distilled = DistilledSet.load(file)
            _check_entry(distilled, file.name, data, images_per_class, labels)
        except DDLabError as problem:
            # The message names a folder on the teacher's disk; a row shows its last part alone.
            refused.append(Compared(name=name, failed=str(problem).replace(str(place), place.name)))
            continue
        content = storage.fingerprint(distilled.images, distilled.labels)
        # Two students who hand in the same file get two rows, and the second one says so.
        original = first_of_content.setdefault(content, name)
        sets[name if original == name else f"{name} (the same set as {original})"] = distilled
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
    # Python sorts stably, so sets of equal sums stay in the order of their names.
    rows = sorted(comparison.rows, key=lambda row: -sum(row.accuracies))
    return dataclasses.replace(comparison, rows=(*rows, *refused))


def _entries(place: Path) -> dict[str, Path | None]:
    """Return the sets in a folder and its subfolders: name -> file, or None for a student's folder
    without one.
    """
    entries: dict[str, Path | None] = {file.stem: file for file in _set_files(place)}
    for folder in sorted(place.iterdir()):
        # What systems and editors leave behind: .git, __pycache__, __MACOSX.
        if not folder.is_dir() or folder.name.startswith((".", "__")):
            continue
        files = _set_files(folder)
        if not files:
            entries[folder.name] = None
        for file in files:
            entries[folder.name if len(files) == 1 else f"{folder.name}/{file.stem}"] = file
    return entries


def _set_files(folder: Path) -> list[Path]:
    """Return the files of sets in a folder; "._NAME" is what macOS packs beside each."""
    files = [
        file
        for file in folder.iterdir()
        if file.is_file() and file.suffix.lower() == ENDING and not file.name.startswith(".")
    ]
    return sorted(files)


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
