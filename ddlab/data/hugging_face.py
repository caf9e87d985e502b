"""To and from Hugging Face's `datasets`, which `pip install "ddlab[hf]"` brings; nothing else in ddlab needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..core import errors
from ..core.boundary import Count, Index, checked
from ..core.errors import DDLabError
from . import arrays, pictures
from .folder import TESTS
from .images import ImageData


def library() -> Any:
    """The package `datasets`.

    Raises:
        DDLabError: it is not installed.
    """
    try:
        import datasets  # type: ignore[import-not-found]
    except ImportError as problem:
        raise DDLabError(
            "to_hf must find Hugging Face's datasets (pip install 'ddlab[hf]'); given none that is installed."
        ) from problem
    return datasets


def as_dataset(images: Tensor, labels: Tensor, class_names: Sequence[str], logits: Tensor | None = None) -> Any:
    """A `datasets.Dataset` of "image" (PNG), "label" (ClassLabel) and, where they are given, "logits".

    Args:
        images: uint8 [n, 1 or 3, h, w]. labels: int64 [n]. logits: float32 [n, classes].
    """
    if len(set(class_names)) < len(class_names):
        errors.fail("class_names", "different names", list(class_names))
    found = library()
    features = {"image": found.Image(), "label": found.ClassLabel(names=list(class_names))}
    columns: dict[str, Any] = {"image": pictures.pictures(images), "label": labels.tolist()}
    if logits is not None:
        features["logits"] = found.Sequence(found.Value("float32"))
        columns["logits"] = logits.tolist()
    return found.Dataset.from_dict(columns, features=found.Features(features))


def to_hf(data: ImageData) -> Any:
    """Images as a Hugging Face `datasets.DatasetDict` of train and test: "image" (PNG, nothing is lost) and "label" (ClassLabel).

    Raises:
        DDLabError: `datasets` is not installed (pip install "ddlab[hf]"), channels other than 1 and 3, or names that are equal.
    """
    parts = {"train": (data.train_images, data.train_labels), "test": (data.test_images, data.test_labels)}
    made = {split: as_dataset(images, labels, data.class_names) for split, (images, labels) in parts.items()}
    return library().DatasetDict(made)


@checked
def from_hf(
    dataset: Any,
    *,
    test: Any = None,
    image: str | None = None,
    label: str | None = None,
    limit: Count | None = None,
    size: arrays.Side | None = None,
    channels: int | None = None,
    test_fraction: arrays.Fraction = 0.2,
    seed: Index = 0,
    name: str = "dataset",
) -> ImageData:
    """A Hugging Face `datasets.Dataset`, or a DatasetDict with train and, best, test or validation.

    Args:
        image, label: the columns; None takes the first that is an Image, a ClassLabel. Others as in `from_dataset`.

    Raises:
        DDLabError: a streaming dataset, no such columns, or what `from_dataset` finds wrong.
    """
    train = dataset
    if isinstance(dataset, Mapping):
        if "train" not in dataset:
            errors.fail("dataset", "a DatasetDict with train", sorted(map(str, dataset)))
        train = dataset["train"]
        if test is None:
            test = next((dataset[part] for part in TESTS if part in dataset), None)
    features = getattr(train, "features", None)
    if not isinstance(features, Mapping):
        errors.fail("dataset", "a Dataset or DatasetDict of Hugging Face, with features", dataset)
    keys = (_column("image", image, "Image", features), _column("label", label, "ClassLabel", features))
    sources = {"dataset": train} if test is None else {"dataset": train, "test": test}
    read = arrays.read_items(sources, keys, limit, size, channels)
    names = getattr(features[keys[1]], "names", None)
    return arrays.stacked(read, class_names=names, test_fraction=test_fraction, seed=seed, name=name)


def _column(argument: str, chosen: str | None, kind: str, features: Mapping[str, Any]) -> str:
    """The column that is chosen, or the first of a kind."""
    if chosen is not None:
        return errors.check_choice(argument, chosen, list(features))
    found = next((name for name, feature in features.items() if type(feature).__name__ == kind), None)
    if found is None:
        allowed = f"{argument} must name a column where none is of kind {kind}"
        raise DDLabError(f"{allowed}; given None, and the columns {list(features)}.")
    return found
