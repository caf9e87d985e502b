"""`ImageData`: a labelled image dataset kept as bytes, handed out normalised."""

import copy
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import torch
from torch import Tensor

from ..core import (
    Count,
    DDLabError,
    check_fields,
    checked,
    devices,
    errors,
    randomness,
    storage,
    tensor,
)
from . import pictures

Split = Literal["train", "test"]
Layout = Literal["nchw", "nhwc"]
_AT_ONCE = 1024  # images whose pixels are counted
_CLASSES_SHOWN = 10  # in a notebook
_TENSORS = ("train_images", "train_labels", "test_images", "test_labels", "mean", "std")
_UNBALANCED = 1.5  # times as many images in the largest class as in the smallest


def above_zero(argument: str, value: Tensor) -> Tensor:
    """Raise if a standard deviation is 0: the normalisation would divide by it."""
    if value.numel() and float(value.detach().float().min()) <= 0:
        errors.fail(argument, "above 0 in every channel", value.tolist())
    return value


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageData:
    """Train and test images of one dataset.

    Images stay uint8 (CIFAR-10 as float32 would be 737 MB) and leave normalised: (pixel / 255 -
    mean) / std per channel, with one mean and std per dataset, those of its training pixels, used
    at every stage of every method.

    Attributes:
        name: of the dataset, with the size ("digits-16").
        train_images, test_images: uint8 [n, channels, height, width], values 0 to 255.
        train_labels, test_labels: int64 [n], values 0 to len(class_names) - 1.
        class_names: one name per class, all different.
        mean, std: float32 [channels], in units of [0, 1] pixels; computed from the training images
            when not given.

    Raises:
        DDLabError: a wrong type, dtype or shape, labels outside the classes, or a class without
            training images.
    """

    name: str
    train_images: Annotated[Tensor, tensor("n c h w", torch.uint8)]
    train_labels: Annotated[Tensor, tensor("n", torch.int64)]
    test_images: Annotated[Tensor, tensor("m c h w", torch.uint8)]
    test_labels: Annotated[Tensor, tensor("m", torch.int64)]
    class_names: tuple[str, ...]
    mean: Annotated[Tensor, tensor("c", torch.float32)] = field(default=None)  # type: ignore[assignment]
    std: Annotated[Tensor, tensor("c", torch.float32), above_zero] = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        # Shapes and dtypes first; what follows may rely on them.
        check_fields(self)
        classes = errors.check_names("class_names", self.class_names)
        object.__setattr__(self, "class_names", classes)
        for split in ("train", "test"):
            labels = getattr(self, f"{split}_labels")
            if len(labels) == 0:
                errors.fail(
                    f"{split}_images", "at least one image", getattr(self, f"{split}_images")
                )
            if int(labels.min()) < 0 or int(labels.max()) >= len(classes):
                span = f"labels from {int(labels.min())} to {int(labels.max())}"
                raise DDLabError(
                    f"{split}_labels must be class labels from 0 to {len(classes) - 1}; "
                    f"given {span}."
                )
        # A class without a training image has no mean, no centre and no batch: half of the methods
        # would divide by 0.
        empty = [
            classes[c]
            for c, n in enumerate(torch.bincount(self.train_labels, minlength=len(classes)))
            if n == 0
        ]
        if empty:
            raise DDLabError(
                f"train_images must hold every class; given none of {', '.join(map(repr, empty))}."
            )
        if (self.mean is None) != (self.std is None):
            errors.fail("mean and std", "given together or not at all", (self.mean, self.std))
        # The fields are frozen, and a subset passes the statistics of all images.
        if self.mean is None:
            mean, std = statistics(byte_counts(self.train_images))
            object.__setattr__(self, "mean", mean)
            object.__setattr__(self, "std", std)
        # Usually a mask or a wrong dtype; a run on it would end without an error and without a
        # result.
        if self.train_images.min() == self.train_images.max():
            warnings.warn(
                "train_images are all of one value: there is nothing to learn from them.",
                stacklevel=3,
            )

    def __repr__(self) -> str:
        counts = f"{len(self.train_labels)} training and {len(self.test_labels)} test images"
        height, width = self.image_size
        sizes = self.class_counts()
        small = int(sizes.argmin())
        large = int(sizes.argmax())
        unbalanced = ""
        # A mild imbalance is usual and changes little; only a strong one is worth a reader's
        # attention.
        if sizes[large] > _UNBALANCED * sizes[small]:
            smallest = f"{sizes[small]} of {self.class_names[small]!r:.40}"
            largest = f"{sizes[large]} of {self.class_names[large]!r:.40}"
            unbalanced = f", unbalanced: {smallest} to {largest} (see class_weights)"
        return (
            f"<ImageData {self.name}: {counts} of {self.channels} x {height} x {width}, "
            f"{self.classes} classes{unbalanced}>"
        )

    def _repr_html_(self) -> str:
        """Show two training images of each of the first ten classes, a column each."""
        first = range(min(self.classes, _CLASSES_SHOWN))
        # First and last: in many datasets the first images of a class are alike.
        rows = [self.of_class(label)[[0, -1]] for label in first]
        words = f"{self!r} The first ones: {', '.join(self.class_names[:_CLASSES_SHOWN])}"
        return pictures.html_grid(
            words, self.train_images[torch.stack(rows, 1).flatten()], len(rows)
        )

    def __len__(self) -> int:
        """Return the number of training images."""
        return len(self.train_labels)

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        """Return a training image, normalised, float32 [channels, height, width], and its class
        label. `as_dataset` has the test images.
        """
        if isinstance(number, bool) or not isinstance(number, int):
            errors.fail(
                "an index of data",
                "a whole number (data.images(), data.normalised(...) take several)",
                number,
            )
        if not -len(self) <= number < len(self):
            # By which a loop ends.
            raise IndexError(f"the index must be in 0 to {len(self) - 1}; given {number}.")
        return self.normalised([number % len(self)])[0], int(self.train_labels[number])

    @property
    def channels(self) -> int:
        """1 for grey, 3 for colour."""
        return self.train_images.shape[1]

    @property
    def image_size(self) -> tuple[int, int]:
        """(height, width) in pixels."""
        return (self.train_images.shape[2], self.train_images.shape[3])

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def fingerprint(self) -> str:
        """A hash of everything above, as it is now: an edit in place gives another."""
        return storage.kept_fingerprint(self, *content(self))

    @checked
    def images(self, split: Split = "train") -> Tensor:
        """Return the uint8 images [n, channels, height, width] of a split."""
        return self.train_images if split == "train" else self.test_images

    @checked
    def labels(self, split: Split = "train") -> Tensor:
        """Return the int64 labels [n] of a split."""
        return self.train_labels if split == "train" else self.test_labels

    def normalised(
        self,
        indices: Tensor | Sequence[int] | slice = slice(None),
        split: Split = "train",
        device: torch.device | str = "cpu",
    ) -> Tensor:
        """Return images as float32 [n, channels, height, width].

        Each channel has zero mean and unit variance over the training set.

        Raises:
            DDLabError: an index outside the split.
        """
        images = self.train_images if split == "train" else self.images(split)
        device = devices.checked_device(device)
        if not isinstance(indices, slice):
            indices = _checked_indices(indices, len(images), split)
        # On a GPU a run keeps the bytes there: a batch is an index, not a transfer.
        if self._is_resident(device):
            mean, std = self._constants(device)[:2]
            return normalise(devices.rows_on(self, split, images, indices, device), mean, std)
        return normalise(devices.to_device(images[indices], device), self.mean, self.std)

    def to_uint8(self, normalised: Tensor) -> Tensor:
        """Turn normalised values back into bytes, clamped to 0 to 255."""
        errors.check_tensor("normalised", normalised, shape=[None, self.channels, None, None])
        return denormalise(normalised, self.mean, self.std)

    def valid_range(self, device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
        """Return the normalised values of black and white, float32 [1, channels, 1, 1] each.

        Every real pixel lies between them.
        """
        if self._is_resident(device):
            _, _, black, white = self._constants(device)
            return black, white
        mean = self.mean.to(device)[None, :, None, None]
        std = self.std.to(device)[None, :, None, None]
        return (0 - mean) / std, (1 - mean) / std

    def _is_resident(self, device: torch.device | str) -> bool:
        return self.__dict__.get("_resident") == torch.device(device).type

    def _constants(self, device: torch.device | str) -> tuple[Tensor, ...]:
        """Return mean, std, black and white on a device, sent there once."""

        def compute() -> tuple[Tensor, ...]:
            mean, std = self.mean, self.std
            # Computed on the CPU and then sent: the last bits are the same on every device.
            black = (0 - mean[None, :, None, None]) / std[None, :, None, None]
            white = (1 - mean[None, :, None, None]) / std[None, :, None, None]
            return tuple(value.to(device) for value in (mean, std, black, white))

        return storage.kept_while_unchanged(
            self, f"constants on {device}", compute, self.mean, self.std
        )

    def of_class(self, label: int, split: Split = "train") -> Tensor:
        """Return the indices, int64, of the images of one class."""
        errors.check_integer("label", label, 0, self.classes - 1)
        labels = self.train_labels if split == "train" else self.labels(split)
        return torch.nonzero(labels == label).flatten()

    def orders_by_class(self, seed: int, stream: str) -> list[Tensor]:
        """Return the training images of each class in a random order, int64 indices.

        The order of a class depends on its label and its size alone.
        """
        orders = []
        for label in range(self.classes):
            members = torch.nonzero(self.train_labels == label).flatten()
            orders.append(members[randomness.permutation(len(members), seed, label, stream)])
        return orders

    def class_counts(self, split: Split = "train") -> Tensor:
        """Return the number of images of each class, int64 [classes]."""
        return torch.bincount(self.labels(split), minlength=self.classes)

    def untested_classes(self) -> tuple[str, ...]:
        """Return the classes without a test image: no accuracy says anything about them."""
        counts = self.class_counts("test").tolist()
        return tuple(
            name for name, count in zip(self.class_names, counts, strict=True) if count == 0
        )

    def class_weights(self) -> Tensor:
        """Return the weight of each class in a mean loss that counts all classes alike (torch's
        `weight=`). float32 [classes], 1 where they are balanced.
        """
        # n / (C n_c): the mean over all images is 1, so the learning rate need not change.
        return len(self.train_labels) / (self.classes * self.class_counts().float())

    @checked
    def subset(
        self, *, classes: Sequence[int | str] | None = None, limit: Count | None = None
    ) -> "ImageData":
        """Return some of the classes and some of the training images.

        Mean and std stay those of all images, and the classes keep all their test images.

        Args:
            classes: names or numbers, which become classes 0, 1, ... in this order; None keeps all.
            limit: at most this many training images per class, the first ones.

        Raises:
            DDLabError: no class, a class twice, or one that is not there.
        """
        if classes is not None and (isinstance(classes, str) or not isinstance(classes, Sequence)):
            errors.fail("classes", "a list of names or numbers of classes, or None", classes)
        chosen = (
            range(self.classes) if classes is None else [self._class(label) for label in classes]
        )
        if not chosen or len(set(chosen)) < len(chosen):
            errors.fail("classes", "at least one class, all different", classes)
        # Sorted back into the order of the dataset: a subset of all classes is then the dataset
        # itself.
        train = torch.cat([self.of_class(label)[:limit] for label in chosen]).sort().values
        test = torch.cat([self.of_class(label, "test") for label in chosen]).sort().values
        # -1 marks the classes that are gone; none of their labels is looked up.
        place = torch.full((self.classes,), -1).index_copy_(
            0, torch.tensor(list(chosen)), torch.arange(len(chosen))
        )
        return ImageData(
            name=f"{self.name}, {len(train)} images of {len(chosen)} classes",
            train_images=self.train_images[train],
            train_labels=place[self.train_labels[train]],
            test_images=self.test_images[test],
            test_labels=place[self.test_labels[test]],
            class_names=tuple(self.class_names[label] for label in chosen),
            mean=self.mean,
            std=self.std,
        )

    def _class(self, label: int | str) -> int:
        if isinstance(label, str):
            return self.class_names.index(errors.check_choice("classes", label, self.class_names))
        return errors.check_integer("classes", label, 0, self.classes - 1)

    @checked
    def as_dataset(self, split: Split = "train") -> torch.utils.data.TensorDataset:
        """Return a dataset for any PyTorch training loop.

        Its items are a normalised image, float32 [channels, height, width], and its class label.
        """
        return torch.utils.data.TensorDataset(self.normalised(split=split), self.labels(split))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write to one safetensors file, new or of the same kind.

        With `overwrite` any file is replaced.
        """
        tensors = {name: getattr(self, name) for name in _TENSORS}
        described = {"name": self.name, "class_names": list(self.class_names)}
        return storage.save(path, tensors, described, "dataset", overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote.

        Raises:
            DDLabError: missing, truncated or foreign file.
        """
        tensors, header = storage.load(path, "dataset")
        with storage.made_from(path, "dataset"):
            parts = {name: tensors[name] for name in _TENSORS}
            return cls(name=header["name"], class_names=header["class_names"], **parts)


def resident(data: ImageData, device: torch.device | str) -> ImageData:
    """Return a view of the data for one run.

    On a GPU it hands out images from a copy there, made when they are first needed.
    """
    if torch.device(device).type == "cpu" or data._is_resident(device):
        return data
    # A shallow copy shares the tensors, and the caller's own object does not hold on to GPU memory.
    view = copy.copy(data)
    view.__dict__["_resident"] = torch.device(device).type
    return view


def _checked_indices(value: object, count: int, split: str) -> Tensor:
    try:
        indices = torch.as_tensor(value).cpu()
    except (TypeError, ValueError, RuntimeError):
        errors.fail("indices", "a list or one-dimensional tensor of whole numbers", value)
    indices = indices if indices.numel() else indices.long()  # an empty list becomes floats
    # A mask of True and False would silently become the indices 0 and 1.
    if (
        indices.ndim != 1
        or indices.is_floating_point()
        or indices.is_complex()
        or indices.dtype == torch.bool
    ):
        errors.fail("indices", "a list or one-dimensional tensor of whole numbers", value)
    if indices.numel() and (int(indices.min()) < 0 or int(indices.max()) >= count):
        span = f"indices from {int(indices.min())} to {int(indices.max())}"
        raise DDLabError(
            f"indices must be in 0 to {count - 1} for the {split} split; given {span}."
        )
    return indices.long()


def normalise(images: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Return uint8 images [n, channels, h, w] as float32, (x / 255 - mean) / std per channel."""
    shape = (1, -1, 1, 1)
    # One multiplication and one subtraction in place: (x / 255 - mean) / std would make three
    # copies of the batch.
    scale = 1 / (255 * std.to(images.device))
    return (
        images.float()
        .mul_(scale.view(shape))
        .sub_((mean.to(images.device) / std.to(images.device)).view(shape))
    )


def denormalise(images: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Return the inverse of `normalise`, rounded and clamped to uint8."""
    shape = (1, -1, 1, 1)
    pixels = images.detach().float() * std.to(images.device).view(shape) + mean.to(
        images.device
    ).view(shape)
    return pixels.mul(255).round().clamp(0, 255).to(torch.uint8)


def content(data: ImageData) -> tuple[Any, ...]:
    """Return all that makes these data, in the order in which the fingerprint takes it.

    A folder may be renamed, so the name is not part of it.
    """
    images = (data.train_images, data.train_labels, data.test_images, data.test_labels)
    return (data.class_names, *images, data.mean, data.std)


def byte_counts(images: Tensor) -> Tensor:
    """Count how often each byte occurs in each channel.

    uint8 [n, channels, h, w] -> int64 [channels, 256], without a copy of the images.
    """
    counts = torch.zeros((images.shape[1], 256), dtype=torch.int64)
    # `bincount` needs int64, eight times the bytes: a part at a time.
    for part in images.split(_AT_ONCE):
        counts += torch.stack(
            [torch.bincount(channel.flatten(), minlength=256) for channel in part.transpose(0, 1)]
        )
    return counts


def statistics(counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and std of each channel, float32 [channels], in units of [0, 1] pixels.

    They are exact, from `byte_counts` [channels, 256].
    """
    # Of 256 possible values, so mean and variance are exact sums that no order of adding can
    # change.
    levels = torch.arange(256, dtype=torch.float64) / 255
    weights = counts.double() / counts.sum(1, keepdim=True)
    mean = weights @ levels
    variance = weights @ levels**2 - mean**2
    # A channel of one constant colour has no spread; 1 leaves it at zero after the shift.
    std = torch.where(variance > 1e-12, variance.clamp_min(0).sqrt(), torch.ones_like(variance))
    return mean.float(), std.float()
