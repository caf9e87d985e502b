"""`mnist`, `fashion-mnist`, `cifar10`, `cifar100`: the files that torchvision.datasets reads.

Nothing is downloaded unless asked for. CIFAR comes as pickles, which can run code when they are
read: each file is compared with its published md5 first, and nothing is read when one differs.
MNIST's files are plain bytes; torchvision's older copies of them (processed/*.pt) are left alone.

name            images              size    classes    source
mnist           60,000 + 10,000     1x28    10         LeCun et al. 1998, doi 10.1109/5.726791
fashion-mnist   60,000 + 10,000     1x28    10         Xiao et al. 2017, arXiv 1708.07747
cifar10         50,000 + 10,000     3x32    10         Krizhevsky 2009, "Learning multiple layers
                                                       of features from tiny images"
cifar100        50,000 + 10,000     3x32    100        the same
"""

import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..core import DDLabError, errors, storage
from .images import ImageData

CLASSES = {
    "mnist": "MNIST",
    "fashion-mnist": "FashionMNIST",
    "cifar10": "CIFAR10",
    "cifar100": "CIFAR100",
}
NAMES = tuple(CLASSES)


def load(name: str, root: str | os.PathLike[str], *, download: bool = False) -> ImageData:
    """Return one of torchvision's datasets as uint8 images.

    Args:
        name: one of `NAMES`.
        root: the folder that torchvision keeps its datasets in; made by a download.
        download: fetch what is missing there. A file that is there but differs from the published
            one is fetched anew.

    Raises:
        DDLabError: nothing there, a file that differs from the published one or cannot be read, or
            a download that fails.
    """
    errors.check_choice("name", name, NAMES)
    place = storage.checked_path(root, "root", "a folder's path")
    errors.check_boolean("download", download)
    dataset = _dataset(name)
    # Before the constructor runs: it would raise "Dataset not found", and for a changed file no
    # more than that.
    if not download:
        _check_files(name, dataset, place)
    try:
        # For CIFAR the constructor compares every md5 (once more) before it unpickles anything.
        train = dataset(place, train=True, download=download)
        test = dataset(place, train=False)
        (train_images, train_labels) = _tensors(train)
        (test_images, test_labels) = _tensors(test)
    # A failed download; or all that a damaged file makes the readers raise.
    except Exception as problem:
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
        # The usual reason for a failure is a file; only if all are right is it something else.
        _check_files(name, dataset, place, reason)
        raise DDLabError(
            f"root must hold readable files of {name}; given {str(place)!r} ({reason})."
        ) from problem
    return ImageData(
        name=name,
        train_images=train_images,
        train_labels=train_labels,
        test_images=test_images,
        test_labels=test_labels,
        # "0 - zero" is a long name for a digit.
        class_names=tuple(title.partition(" - ")[0] for title in train.classes),
    )


def _dataset(name: str) -> Any:
    """Return torchvision's class; for MNIST without its old storage, which is a pickle."""
    from torchvision import datasets

    dataset = getattr(datasets, CLASSES[name])
    if not issubclass(dataset, datasets.MNIST):
        return dataset
    # The name must stay: torchvision derives the folder from it.
    return type(dataset.__name__, (dataset,), {"_check_legacy_exist": lambda self: False})


def _check_files(name: str, dataset: Any, place: Path, reason: str = "") -> None:
    """Raise if a file is missing or is not the published one.

    `reason` says why a download did not help.
    """
    from torchvision.datasets.utils import check_integrity

    hint = f" ({reason})" if reason else ""
    for file, md5 in _files(dataset):
        if not os.path.isfile(place / file):
            requirement = (
                f"root must hold {name} as torchvision stores it (download=True fetches it)"
            )
            raise DDLabError(f"{requirement}; given {str(place)!r} without {file}{hint}.")
        if not check_integrity(place / file, md5):
            requirement = (
                f"root must hold the published files of {name} (download=True fetches them anew)"
            )
            raise DDLabError(
                f"{requirement}; given {str(place)!r} with another {file}, which was not read{hint}."
            )


def _files(dataset: Any) -> list[tuple[str, str | None]]:
    """Return the files below root that are read, with their published md5 where torchvision knows
    one.
    """
    if hasattr(dataset, "train_list"):
        listed = [
            *dataset.train_list,
            *dataset.test_list,
            (dataset.meta["filename"], dataset.meta["md5"]),
        ]
        return [(f"{dataset.base_folder}/{file}", md5) for file, md5 in listed]
    return [
        (f"{dataset.__name__}/raw/{file.removesuffix('.gz')}", None)
        for file, _ in dataset.resources
    ]


def _tensors(dataset: Any) -> tuple[Tensor, Tensor]:
    """Return images uint8 [n, c, h, w] and labels int64 [n] of one split."""
    images = torch.as_tensor(dataset.data)
    images = images[:, None] if images.ndim == 3 else images.permute(0, 3, 1, 2).contiguous()
    return images, torch.as_tensor(dataset.targets, dtype=torch.int64)
