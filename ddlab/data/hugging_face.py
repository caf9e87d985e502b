"""To and from Hugging Face's `datasets`, which `pip install "ddlab[hf]"` brings; nothing else in ddlab needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..core import errors
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


def dataset(images: Tensor, labels: Tensor, class_names: Sequence[str], logits: Tensor | None = None) -> Any:
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
    """`ImageData.to_hf`."""
    parts = {"train": (data.train_images, data.train_labels), "test": (data.test_images, data.test_labels)}
    made = {split: dataset(images, labels, data.class_names) for split, (images, labels) in parts.items()}
    return library().DatasetDict(made)


def from_hf(given: Any, test: Any, *, image: str | None, label: str | None, **options: Any) -> ImageData:
    """`ImageData.from_hf`; `options` are those of `arrays.from_dataset`."""
    train = given
    if isinstance(given, Mapping):
        if "train" not in given:
            errors.fail("dataset", "a DatasetDict with train", sorted(map(str, given)))
        train = given["train"]
        if test is None:
            test = next((given[name] for name in TESTS if name in given), None)
    features = getattr(train, "features", None)
    if not isinstance(features, Mapping):
        errors.fail("dataset", "a Dataset or DatasetDict of Hugging Face, with features", given)
    keys = (_column("image", image, "Image", features), _column("label", label, "ClassLabel", features))
    return arrays.from_dataset(train, test, keys=keys, class_names=getattr(features[keys[1]], "names", None), **options)


def _column(argument: str, chosen: str | None, kind: str, features: Mapping[str, Any]) -> str:
    """The column that is chosen, or the first of a kind."""
    if chosen is not None:
        return errors.check_choice(argument, chosen, list(features))
    found = next((name for name, feature in features.items() if type(feature).__name__ == kind), None)
    if found is None:
        allowed = f"{argument} must name a column where none is of kind {kind}"
        raise DDLabError(f"{allowed}; given None, and the columns {list(features)}.")
    return found
