"""A stand-in for Hugging Face's `datasets`: the names that ddlab uses, with the same meaning."""

from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import pytest
from PIL import Image as Pictures


class Image:
    pass


class ClassLabel:
    def __init__(self, names: list[str]) -> None:
        assert len(set(names)) == len(names)
        self.names = names


class Value:
    def __init__(self, dtype: str) -> None:
        self.dtype = dtype


class Sequence:
    def __init__(self, feature: Value) -> None:
        self.feature = feature


class Features(dict):
    pass


class Dataset:
    """Images are kept as files of their format, or PNG, and opened when asked for; columns are those of the features."""

    def __init__(self, columns: dict[str, list[Any]], features: Features) -> None:
        assert list(columns) == list(features)
        self.columns, self.features = columns, features

    @classmethod
    def from_dict(cls, columns: dict[str, list[Any]], features: Features) -> Dataset:
        kept = [(name, features[name], values) for name, values in columns.items()]
        return cls({n: list(map(_encoded, v)) if isinstance(f, Image) else v for n, f, v in kept}, features)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, number: int) -> dict[str, Any]:
        found = {name: values[number] for name, values in self.columns.items()}
        return {n: Pictures.open(io.BytesIO(v)) if isinstance(v, bytes) else v for n, v in found.items()}


def _encoded(picture: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format=picture.format or "PNG")
    return buffer.getvalue()


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """`import datasets` gives these classes until the test ends."""
    module = ModuleType("datasets")
    for one in (Image, ClassLabel, Value, Sequence, Features, Dataset):
        setattr(module, one.__name__, one)
    module.DatasetDict = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
