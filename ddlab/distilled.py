"""`DistilledSet`: what every method returns: few tensors that decode to training images, and targets for them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from . import _targets, errors, storage
from ._targets import EpochLabels, HardLabels, OnlineTeacher, StoredLabels, Targets
from .data.images import denormalise
from .errors import DDLabError

__all__ = ["DECODERS", "DistilledSet", "EpochLabels", "HardLabels", "OnlineTeacher", "StoredLabels", "Targets"]


DECODERS: dict[str, Callable[[dict[str, Tensor]], Tensor]] = {"images": lambda tensors: tensors["images"]}
"""How each kind of set turns its tensors into images, float32 [n, channels, height, width]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DistilledSet:
    """A distilled dataset.

    Attributes:
        kind: a key of `DECODERS` ("images": the tensor "images" is what it says, normalised float32 [n, channels, h, w]).
        tensors: what is stored, by name.
        targets: the labels it comes with, at most one of each kind; "hard" always.
        class_names: one name per class.
        mean, std: float32 [channels], of the dataset whose normalisation the images carry.
        complete: False when the run was interrupted; the images are then those reached so far.
        provenance: method, config, data and teacher fingerprints, steps done (JSON types).

    Raises:
        DDLabError: an unknown kind, wrong shapes or dtypes, non-finite values, labels outside the classes.
    """

    tensors: dict[str, Tensor]
    targets: tuple[Targets, ...]
    class_names: tuple[str, ...]
    mean: Tensor
    std: Tensor
    kind: str = "images"
    complete: bool = True
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        errors.check_choice("kind", self.kind, tuple(DECODERS))
        self._check_types()
        for name, value in self.tensors.items():
            errors.check_tensor(f"tensors[{name!r}]", value)
        images = errors.check_tensor(
            "images", self.images, shape=[None, len(self.mean), None, None], dtype=torch.float32
        )
        _targets.check_targets(self.targets, len(images), self.classes)

    def _check_types(self) -> None:
        if not isinstance(self.tensors, dict):
            errors.fail("tensors", "a dict of tensors", self.tensors)
        if self.kind == "images" and "images" not in self.tensors:
            errors.fail("tensors", "a dict that holds 'images'", sorted(self.tensors))
        if not isinstance(self.targets, tuple) or not all(isinstance(target, Targets) for target in self.targets):
            errors.fail("targets", "a tuple of HardLabels, StoredLabels, OnlineTeacher and EpochLabels", self.targets)
        if not isinstance(self.class_names, tuple) or not all(isinstance(name, str) for name in self.class_names):
            errors.fail("class_names", "a tuple of strings", self.class_names)
        errors.check_tensor("mean", self.mean, shape=[None], dtype=torch.float32)
        errors.check_tensor("std", self.std, shape=[len(self.mean)], dtype=torch.float32)
        if len(self.std) and float(self.std.detach().min()) <= 0:
            raise DDLabError(f"std must be above 0 in every channel; given {self.std.tolist()}.")
        errors.check_boolean("complete", self.complete)
        if not isinstance(self.provenance, dict):
            errors.fail("provenance", "a dict of JSON types", self.provenance)

    @cached_property
    def images(self) -> Tensor:
        """The training images, float32 [n, channels, height, width], normalised with the original data's mean and std."""
        return DECODERS[self.kind](self.tensors)

    @property
    def labels(self) -> Tensor:
        """The class numbers, int64 [n]."""
        return self.target("hard").classes

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def channels(self) -> int:
        """1 for grey, 3 for colour."""
        return self.images.shape[1]

    @property
    def image_size(self) -> tuple[int, int]:
        """(height, width) in pixels."""
        return (self.images.shape[2], self.images.shape[3])

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of images and targets."""
        # In one order: a file does not keep the order in which labels were added.
        ordered = sorted(self.targets, key=lambda target: _targets.KINDS.index(target.kind))
        targets = [_targets.identity(target) for target in ordered]
        return storage.fingerprint(self.kind, self.tensors, targets, self.class_names, self.mean, self.std)

    def target(self, kind: str) -> Any:
        """The labels of one kind: "hard", "stored", "online" or "epochs".

        Raises:
            DDLabError: an unknown kind, or one that this set does not have.
        """
        errors.check_choice("labels", kind, _targets.KINDS)
        for target in self.targets:
            if target.kind == kind:
                return target
        raise DDLabError(f"labels must be of a kind this set has ({[t.kind for t in self.targets]}); given {kind!r}.")

    def with_targets(self, *targets: Targets) -> DistilledSet:
        """A copy in which `targets` replace those of the same kind or join them."""
        if not all(isinstance(target, Targets) for target in targets):
            errors.fail("targets", "HardLabels, StoredLabels, OnlineTeacher or EpochLabels", targets)
        new = [target.kind for target in targets]
        return replace(self, targets=(*(t for t in self.targets if t.kind not in new), *targets))

    def storage_floats(self) -> int:
        """What the set takes, in floats: every stored tensor and every target counts, a class number as one, a float16 as half."""
        return sum(value.numel() for value in self.tensors.values()) + sum(t.storage_floats() for t in self.targets)

    def as_dataset(self) -> torch.utils.data.TensorDataset:
        """(image, class number) pairs for any PyTorch training loop."""
        return torch.utils.data.TensorDataset(self.images, self.labels)

    def to_uint8(self) -> Tensor:
        """The images as bytes [n, channels, height, width], for showing."""
        return denormalise(self.images, self.mean, self.std)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write to one safetensors file."""
        tensors = {f"tensors/{name}": value for name, value in self.tensors.items()} | {
            "mean": self.mean,
            "std": self.std,
        }
        described: dict[str, Any] = {"class_names": list(self.class_names), "set_kind": self.kind}
        described |= {"complete": self.complete, "provenance": self.provenance}
        of_targets, about = _targets.written(self.targets)
        return storage.save(path, tensors | of_targets, described | about, "distilled set")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DistilledSet:
        """Read what `save` wrote.

        Raises:
            DDLabError: missing, truncated or foreign file.
        """
        tensors, header = storage.load(path, "distilled set")
        try:
            targets = _targets.read(tensors, header)
            return cls(
                kind=header["set_kind"],
                tensors={n.removeprefix("tensors/"): v for n, v in tensors.items() if n.startswith("tensors/")},
                targets=targets,
                class_names=tuple(header["class_names"]),
                mean=tensors["mean"],
                std=tensors["std"],
                complete=header["complete"],
                provenance=header["provenance"],
            )
        except KeyError as missing:
            raise DDLabError(
                f"path must hold a whole distilled set; given {str(path)!r} without {missing}."
            ) from missing
