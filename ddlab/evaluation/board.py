"""`board`: a folder of distilled sets, of a class for example, evaluated alike. Only sets are read; nobody's code runs."""

import os
from typing import Annotated, Any

import torch
from torch import Tensor

from ..core import errors, storage
from ..core.boundary import among, checked, within
from ..core.errors import DDLabError
from ..data import ImageData
from ..distilled import DistilledSet
from ..training import supervised
from .comparison import Compared, Comparison, compare
from .students import Jobs, Seeds, check_like

ENDING = ".safetensors"
_NEARER = 0.5  # a copy of a test image is so much nearer to it than to every training image
_AT_ONCE = 256  # images whose distances are taken


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
    """Evaluate each distilled set of a folder, the best first, beside as many random real images; what is refused says why, last.

    Args:
        folder: of files NAME.safetensors, as `DistilledSet.save` writes them. What else lies there is not opened.
        data: whose test images count. images_per_class: of which a set may hold no more, and no more floats than these take.
        labels: what students learn from. seeds, config, device, jobs, progress: as in `evaluate`; one recipe for all.

    Returns:
        A `Comparison` of one row for each file. A file is refused that is no set or was changed after it was saved, is larger than
        allowed, or holds near copies of test images: nearer to one by half than to any training image. Sets that were tuned on test
        images, or mix several of them, are not found out.

    Raises:
        DDLabError: a folder that is not there, or holds no such file.
        KeyboardInterrupt: before every set had a student.
    """
    place = storage.checked_path(folder, "folder", "a folder's path")
    files = sorted(place.glob(f"*{ENDING}")) if place.is_dir() else []
    if not files:
        errors.fail("folder", f"a folder with at least one file *{ENDING}", str(folder))
    sets, refused = dict[str, DistilledSet](), list[Compared]()
    for file in files:
        try:
            sets[file.stem] = _allowed(DistilledSet.load(file), data, images_per_class, labels)
        except DDLabError as problem:
            refused.append(Compared(name=file.stem, failed=str(problem).replace(str(place), place.name)))
    if not sets:
        return Comparison(rows=tuple(refused), labels=labels, seeds=())
    told: dict[str, Any] = {"labels": labels, "seeds": seeds, "config": config, "device": device, "jobs": jobs}
    found = compare(sets, data, progress=progress, **told)
    rows = sorted(found.rows, key=lambda row: -sum(row.accuracies))
    return Comparison(rows=(*rows, *refused), labels=labels, seeds=found.seeds, complete=found.complete)


def _allowed(made: DistilledSet, data: ImageData, images_per_class: int, labels: str) -> DistilledSet:
    """The set, if it may be compared."""
    check_like(made, data)
    made.target(labels)
    most = images_per_class * data.classes
    if len(made) > most or int(made.labels.bincount().max()) > images_per_class:
        errors.fail("a set", f"of at most {images_per_class} images of each class", made)
    floats = most * (data.train_images[0].numel() + (1 if labels == "hard" else data.classes))
    if (taken := made.storage_floats(labels)) > floats:
        raise DDLabError(f"a set must be of at most {floats:,} floats; given {taken:,}.")
    copies = int(near_copies(made.images, data).sum())
    if copies:
        raise DDLabError(f"a set must be without near copies of test images; given {copies} of {len(made)}.")
    return made


def near_copies(images: Tensor, data: ImageData) -> Tensor:
    """Which images [n, c, h, w] are less than half as far from a test image as from every training image: bool [n]."""
    test, train = (_nearest(images, data, split) for split in ("test", "train"))
    return test < _NEARER * train


def _nearest(images: Tensor, data: ImageData, split: Any) -> Tensor:
    """Euclidean distance to the nearest image of a split, [n]."""
    count = len(data.test_labels if split == "test" else data.train_labels)
    flat, least = images.flatten(1), torch.full((len(images),), torch.inf)
    for start in range(0, count, _AT_ONCE):
        part = data.normalised(torch.arange(start, min(start + _AT_ONCE, count)), split=split).flatten(1)
        least = torch.minimum(least, torch.cdist(flat, part, compute_mode="donot_use_mm_for_euclid_dist").min(1).values)
    return least
