"""`DistilledSet`: the result of every method.

Few tensors decode to training images, and targets belong to them.
"""

import functools
import html
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import torch
from torch import Tensor

from ..core import DDLabError, check_fields, checked, devices, errors, storage, tensor
from ..data import pictures, predefined_views
from ..data.images import above_zero, denormalise, normalise
from ..networks import Network
from . import export, factorisation, generators
from . import targets as _targets
from .representations import Representations
from .targets import HardLabels, OnlineTeacher, RegressionLabels, StoredLabels, Targets

_IMAGES_SHOWN = 100  # in a notebook

__all__ = [
    "DECODERS",
    "DistilledSet",
    "HardLabels",
    "OnlineTeacher",
    "RegressionLabels",
    "Representations",
    "StoredLabels",
    "Targets",
]

# A file from outside may say anything: a scale beyond this would fill the memory.
_LARGEST_SCALE = 64
_MOST_NUMBERS = 2**29  # of all images, decoded: two gigabytes
_ALL_TARGETS = (
    "HardLabels, StoredLabels, OnlineTeacher, Representations, RegressionLabels and OrderedSteps"
)


def _plain(tensors: dict[str, Tensor], settings: dict[str, Any]) -> Tensor:
    """Return the images of a set of kind "images", which are stored as they are."""
    if "images" not in tensors:
        errors.fail("tensors", "a dict that holds 'images'", sorted(tensors))
    if settings:
        errors.fail("settings", "empty for a set of kind 'images'", settings)
    return tensors["images"]


def _check_decoded(*lengths: int) -> None:
    """Raise if small tensors would decode to images [n, c, h, w] that no memory should hold."""
    if math.prod(lengths) > _MOST_NUMBERS:
        errors.fail(
            "tensors",
            f"a set whose images are at most {_MOST_NUMBERS:,} numbers",
            f"{lengths} of them, decoded",
        )


def _factorised(tensors: dict[str, Tensor], settings: dict[str, Any]) -> Tensor:
    """Decode X_s = D(C^x B^x, s) (Yu, Yao & Chiu 2025, section 3.2)."""
    needed = {"image_bases", "image_coefficients"}
    # A name too many is refused as well: it would be stored, counted and never read.
    if not needed <= set(tensors) <= needed | {"image_mean"}:
        errors.fail("tensors", f"a dict of {sorted(needed)} (and 'image_mean')", sorted(tensors))
    if set(settings) != {"scale"}:
        errors.fail(
            "settings", "{'scale': a whole number} for a set of kind 'factorised'", settings
        )
    scale = errors.check_integer("settings['scale']", settings["scale"], 1, _LARGEST_SCALE)
    bases = errors.check_tensor(
        "image_bases", tensors["image_bases"], shape=[None] * 4, dtype=torch.float32
    )
    if not bases.numel():
        errors.fail("image_bases", "at least one of images of at least one pixel", bases)
    coefficients = errors.check_tensor(
        "image_coefficients",
        tensors["image_coefficients"],
        shape=[None, len(bases)],
        dtype=torch.float32,
    )
    # Before it is decoded: a file of a kilobyte may name images of a terabyte.
    _check_decoded(
        len(coefficients), bases.shape[1], scale * bases.shape[2], scale * bases.shape[3]
    )
    mean = tensors.get("image_mean")
    if mean is not None:
        errors.check_tensor("image_mean", mean, shape=list(bases.shape[1:]), dtype=torch.float32)
    return factorisation.decode(coefficients, bases, scale=scale, mean=mean)


def _generated(tensors: dict[str, Tensor], settings: dict[str, Any]) -> Tensor:
    """Decode the images of a generator, once their size is known to fit."""
    shape = settings.get("shape")
    latents = tensors.get("latents")
    if (
        isinstance(shape, list)
        and all(isinstance(side, int) for side in shape)
        and latents is not None
    ):
        _check_decoded(len(latents), *shape)
    return generators.decoded(tensors, settings)


def _bytes(tensors: dict[str, Tensor], settings: dict[str, Any]) -> Tensor:
    """Return the pixels of a set of kind "bytes"."""
    if set(tensors) != {"pixels"} or settings:
        errors.fail(
            "tensors",
            "a dict of 'pixels' alone, without settings, for a set of kind 'bytes'",
            sorted(tensors),
        )
    return errors.check_tensor("pixels", tensors["pixels"], shape=[None] * 4, dtype=torch.uint8)


DECODERS: dict[str, Callable[[dict[str, Tensor], dict[str, Any]], Tensor]] = {
    "images": _plain,
    "factorised": _factorised,
    "bytes": _bytes,
    "generator": _generated,
}
"""Kind of set -> function that turns its tensors and settings into images.

These are float32 [n, channels, height, width], or bytes that are still to be normalised.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class DistilledSet:
    """A distilled dataset.

    Attributes:
        kind: a key of `DECODERS`. "images": the tensor "images" is what it says, normalised float32
            [n, channels, h, w]. "factorised": "image_bases" [U, channels, h / s, w / s] and
            "image_coefficients" [n, U], on request "image_mean" [channels, h / s, w / s]. "bytes":
            "pixels", uint8 [n, channels, h, w], are normalised whenever they are asked for: `rows`
            asks for few. "generator": "latents" [n, d] and the weights of a network that makes
            images of them (`distilled.generators`).
        tensors: what is stored, by name, float32; "pixels" uint8.
        targets: what a network is to say of the images, at most one of each kind; hard labels or
            representations always.
        class_names: one name per class; a set without labels may have none.
        mean, std: float32 [channels], of the dataset whose normalisation the images carry.
        complete: False when the run was interrupted; the images are then those reached so far.
        provenance: method, config, data and teacher fingerprints, steps done (JSON types).
        settings: of the decoder, JSON types: {"scale": s} of kind "factorised" (s from 1 to 64),
            {"shape": [channels, h, w], "batch": b} of kind "generator", which makes b images at
            once, else none.

    Raises:
        DDLabError: an unknown kind, wrong shapes or dtypes, non-finite values, labels outside the
            classes.
    """

    tensors: dict[str, Tensor]
    targets: tuple[Targets, ...]
    class_names: tuple[str, ...]
    mean: Annotated[Tensor, tensor("c", torch.float32)]
    std: Annotated[Tensor, tensor("c", torch.float32), above_zero]
    kind: str = "images"
    complete: bool = True
    provenance: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        errors.check_choice("kind", self.kind, tuple(DECODERS))
        check_fields(self)
        self._check_types()
        for name, value in self.tensors.items():
            errors.check_tensor(f"tensors[{name!r}]", value)
        dtype = torch.uint8 if self.kind == "bytes" else torch.float32
        images = errors.check_tensor(
            "images", self._decoded, shape=[None, len(self.mean), None, None], dtype=dtype
        )
        _targets.check_targets(self.targets, len(images), self.classes)
        for target in self.targets:
            # Not every image can be turned or its patches swapped: better known now than in training.
            if isinstance(target, Representations):
                predefined_views.augmented(torch.zeros((1, *images.shape[1:])), target.augmentation)

    def _check_types(self) -> None:
        if not isinstance(self.tensors, dict):
            errors.fail("tensors", "a dict of tensors", self.tensors)
        if not all(isinstance(name, str) for name in self.tensors):
            errors.fail("tensors", "a dict of tensors by name", self.tensors)
        if not isinstance(self.targets, tuple) or not all(
            isinstance(target, Targets) for target in self.targets
        ):
            errors.fail("targets", f"a tuple of {_ALL_TARGETS}", self.targets)
        if not isinstance(self.class_names, tuple) or not all(
            isinstance(name, str) for name in self.class_names
        ):
            errors.fail("class_names", "a tuple of strings", self.class_names)
        errors.check_names("class_names", self.class_names)
        for name in ("provenance", "settings"):
            errors.check_instance(name, getattr(self, name), dict, "a dict of JSON types")

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self._decoded.shape[1:]))
        kinds = ", ".join(target.kind for target in self.targets)
        state = "" if self.complete else ", not complete"
        return (
            f"<DistilledSet of {len(self)} images of {shape}, {self.classes} classes, targets "
            f"{kinds}{state}>"
        )

    def _repr_html_(self) -> str:
        """Show the first hundred images.

        With labels there is a column for each class, where every class has as many.
        """
        count = min(len(self), _IMAGES_SHOWN)
        columns = 10
        order = torch.arange(len(self))
        labelled = self.classes and any(target.kind == "hard" for target in self.targets)
        if labelled:
            counts = self.labels.bincount(minlength=self.classes)
            order = self.labels.argsort(stable=True)
            # Transposed, so that each class is a column: the first row has one image of every
            # class.
            if len(counts.unique()) == 1:
                order = order.view(self.classes, -1).T.flatten()
                columns = self.classes
        words = (
            f"{self!r} {self.storage_floats():,} floats. "
            f"{', '.join(self.class_names) if labelled else ''}"
        )
        return (
            pictures.html_grid(words, self.to_uint8()[order[:count]], columns)
            if count
            else html.escape(words)
        )

    @property
    def images(self) -> Tensor:
        """The training images, float32 [n, channels, height, width], normalised like the original
        data.

        Of a set of bytes they are made anew each time, four times as large.
        """
        decoded = self._decoded
        return normalise(decoded, self.mean, self.std) if decoded.dtype == torch.uint8 else decoded

    @checked
    def rows(
        self,
        indices: Annotated[Tensor, tensor("m", torch.int64)],
        device: torch.device | str = "cpu",
    ) -> Tensor:
        """Return some of the images [m, channels, height, width] on a device.

        Of a set of bytes only these are normalised.

        Raises:
            DDLabError: an index that is none of 0 to n - 1.
        """
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < len(self):
            errors.fail(
                "indices", f"from 0 to {len(self) - 1}", [int(indices.min()), int(indices.max())]
            )
        decoded = devices.rows_on(
            self, "images", self._decoded, indices, devices.checked_device(device)
        )
        return normalise(decoded, self.mean, self.std) if decoded.dtype == torch.uint8 else decoded

    @property
    def _decoded(self) -> Tensor:
        # Kept until a tensor changes: `len`, the shape and every batch ask for it.
        decoded = functools.partial(DECODERS[self.kind], self.tensors, self.settings)
        return storage.kept_while_unchanged(self, "images", decoded, *self.tensors.values())

    @property
    def labels(self) -> Tensor:
        """The class labels, int64 [n].

        Raises:
            DDLabError: a set without labels, which has representations.
        """
        return self.target("hard").classes

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def channels(self) -> int:
        """1 for grey, 3 for colour."""
        return self._decoded.shape[1]

    @property
    def image_size(self) -> tuple[int, int]:
        """(height, width) in pixels."""
        return (self._decoded.shape[2], self._decoded.shape[3])

    def __len__(self) -> int:
        return len(self._decoded)

    @property
    def fingerprint(self) -> str:
        """A hash of images and targets, as they are now."""
        # In one order: a file does not keep the order in which labels were added.
        ordered = sorted(self.targets, key=lambda target: list(_targets.KINDS).index(target.kind))
        targets = []
        for target in ordered:
            targets.append({field.name: getattr(target, field.name) for field in fields(target)})
        return storage.kept_fingerprint(
            self,
            self.kind,
            self.tensors,
            targets,
            self.class_names,
            self.mean,
            self.std,
            self.settings,
        )

    def target(self, kind: str) -> Any:
        """Return the targets of one kind.

        Kinds are "hard", "stored", "online", "representations", "regression" and "steps".

        Raises:
            DDLabError: an unknown kind, or one that this set does not have.
        """
        errors.check_choice("labels", kind, tuple(_targets.KINDS))
        for target in self.targets:
            if target.kind == kind:
                return target
        raise DDLabError(
            f"labels must be of a kind this set has ({[t.kind for t in self.targets]}); "
            f"given {kind!r}."
        )

    def with_targets(self, *targets: Targets) -> Self:
        """Return a copy in which `targets` replace those of the same kind or join them."""
        if not all(isinstance(target, Targets) for target in targets):
            errors.fail("targets", f"of {_ALL_TARGETS}", targets)
        new = [target.kind for target in targets]
        return replace(self, targets=(*(t for t in self.targets if t.kind not in new), *targets))

    @checked
    def storage_floats(self, labels: str | None = None, teacher: Network | None = None) -> int:
        """Return the size of the set in floats. Every stored tensor and every target counts.

        A class label counts as one float, a float16 as half, a byte as a quarter.

        Args:
            labels: only what a student of these needs: no other targets; for "steps" whose labels
                are not learned class labels too.
            teacher: who answers to labels "online"; must be kept, so its numbers count.

        Raises:
            DDLabError: labels that the set does not have.
        """
        needed = list(self.targets)
        if labels is not None:
            needed = [self.target(labels)]
            # Steps without labels of their own train on the class labels.
            if labels == "steps" and needed[0].labels is None:
                needed.append(self.target("hard"))
        teacher_floats = (
            sum(value.numel() for value in teacher.weights.values())
            if teacher and labels == "online"
            else 0
        )
        # Rounded up: five bytes take two floats.
        stored = sum(-(-value.nbytes // 4) for value in self.tensors.values())
        return stored + sum(target.storage_floats() for target in needed) + teacher_floats

    def pairs(self) -> tuple[Tensor, Tensor]:
        """Return all views of all images and their representations.

        Shapes are [(A + 1) n, c, h, w] and [(A + 1) n, d], one view after another.

        The images themselves come first; row a n + i is view a of image i.

        Raises:
            DDLabError: a set without representations.
        """
        target = self.target("representations")

        def compute() -> tuple[Tensor, Tensor]:
            views = predefined_views.augmented(self.images, target.augmentation)
            return views.flatten(0, 1), target.values.flatten(0, 1)

        return storage.kept_while_unchanged(
            self, "pairs", compute, *self.tensors.values(), *target.tensors.values()
        )

    @checked
    def as_dataset(
        self, labels: Literal["hard", "stored", "regression"] | None = None
    ) -> torch.utils.data.TensorDataset:
        """Return a dataset for any PyTorch training loop.

        Its items are a normalised image and its target.

        Args:
            labels: "hard": class labels; "stored": teachers' logits, float32 [classes];
                "regression": what a regression is to give, float32 [classes]; None takes class
                numbers, or, of a set without labels, pairs of a view and its representation.

        Raises:
            DDLabError: labels that this set does not have.
        """
        if labels == "stored":
            return torch.utils.data.TensorDataset(self.images, self.target("stored").logits)
        if labels == "regression":
            return torch.utils.data.TensorDataset(self.images, self.target("regression").values)
        labelled = labels or any(isinstance(target, HardLabels) for target in self.targets)
        return torch.utils.data.TensorDataset(
            *((self.images, self.labels) if labelled else self.pairs())
        )

    def export_folder(self, path: str | os.PathLike[str]) -> Path:
        """Write PATH/CLASS/00000.png, ... and PATH/labels.json.

        torchvision's ImageFolder and `data.load("folder", ...)` read such a folder.

        The table has for each file its class label and, of a set with stored labels, the logits;
        name and folder of each class; mean and std. `from_folder` makes the set of it again,
        `data.load("folder", path, split=False)` data with the same classes. Images are rounded to
        bytes. Class names that cannot be folders, or stand in another order than theirs, get a
        number in front. The folder is written whole or not at all.

        Args:
            path: where nothing is yet, not even a link.

        Raises:
            DDLabError: something is there, a place that cannot be written to, a set without class
                numbers, channels other than 1 and 3.
        """
        return export.export_folder(self, path)

    @staticmethod
    def from_folder(path: str | os.PathLike[str]) -> "DistilledSet":
        """Return the set that `export_folder` wrote.

        Images are rounded to bytes; hard and stored labels, classes, mean and std come with them.

        Raises:
            DDLabError: a folder without its table, or with another program's; a file that is
                missing, no image, or elsewhere.
        """
        fields = export.read_folder(path)
        with storage.made_from(path, "distilled set"):
            return DistilledSet(**fields)

    def to_uint8(self) -> Tensor:
        """Return the images as bytes [n, channels, height, width], for showing."""
        return (
            self._decoded if self.kind == "bytes" else denormalise(self.images, self.mean, self.std)
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write to one safetensors file, new or of the same kind.

        With `overwrite` any file is replaced.
        """
        # A prefix keeps a reader's tensor "mean" apart from the normalisation.
        tensors = {f"tensors/{name}": value for name, value in self.tensors.items()} | {
            "mean": self.mean,
            "std": self.std,
        }
        described: dict[str, Any] = {"class_names": list(self.class_names), "set_kind": self.kind}
        described |= {"complete": self.complete, "provenance": self.provenance}
        described |= {"settings": self.settings} if self.settings else {}
        of_targets, about = _targets.write_targets(self.targets)
        return storage.save(
            path, tensors | of_targets, described | about, "distilled set", overwrite=overwrite
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote.

        Raises:
            DDLabError: missing, truncated or foreign file.
        """
        tensors, header = storage.load(path, "distilled set")
        with storage.made_from(path, "distilled set"):
            errors.check_instance("class_names", header["class_names"], list, "a list of names")
            return cls(
                kind=header["set_kind"],
                tensors={
                    n.removeprefix("tensors/"): v
                    for n, v in tensors.items()
                    if n.startswith("tensors/")
                },
                targets=_targets.read_targets(tensors, header),
                class_names=tuple(header["class_names"]),
                mean=tensors["mean"],
                std=tensors["std"],
                complete=errors.check_boolean("complete", header["complete"]),
                provenance=header["provenance"],
                settings=header.get("settings", {}),
            )
