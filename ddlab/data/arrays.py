"""A reader's own arrays and datasets as `ImageData`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import torch

from ..core import errors, randomness
from ..core.boundary import Count, Index, checked, within
from ..core.errors import DDLabError
from . import pictures
from .images import ImageData, Layout

_IMAGES = "images [n, h, w], [n, h, w, c] or [n, c, h, w] of bytes 0 to 255 or floats in [0, 1]"
_LABELS = "one whole number or name per image"
Fraction = Annotated[float, within(0, 0.9, open_low=True)]
Side = Annotated[int, within(1, 512)]


def split_rows(count: int, test_fraction: float, *, seed: int, number: int) -> tuple[list[int], list[int]]:
    """The rows of class `number` for training and for testing, each in its order and at least one."""
    # The stream is that of the folder reader: the same images are split alike, wherever they come from.
    order = randomness.numpy_generator(seed, number, "folder split").permutation(count)
    cut = min(max(round(count * test_fraction), 1), count - 1)
    return sorted(order[cut:].tolist()), sorted(order[:cut].tolist())


@checked
def from_arrays(
    images: Any,
    labels: Any,
    *,
    test_images: Any = None,
    test_labels: Any = None,
    class_names: Sequence[str] | None = None,
    layout: Layout | None = None,
    test_fraction: Fraction = 0.2,
    seed: Index = 0,
    name: str = "arrays",
) -> ImageData:
    """Your own numpy arrays, lists or tensors.

    Args:
        images: [n, h, w], [n, h, w, c] or [n, c, h, w]: whole numbers 0 to 255, or floats in [0, 1], which are rounded to bytes.
        labels: [n] whole numbers or names. test_images, test_labels: the same; without them the images are split.
        class_names: one per class; whole numbers are places among them. None takes the labels that there are, in their order.
        layout: "nhwc" or "nchw"; None takes the axis of 1 or 3 channels, if only one can be that.
        test_fraction: share of each class that goes to the test split, in (0, 0.9], at least one image. seed: of the split.

    Raises:
        DDLabError: other shapes or values, a layout that cannot be told, a class of one image to be split, or unknown labels.

    >>> images, labels = torch.rand(10, 8, 8, 3), ["cat", "dog"] * 5
    >>> from_arrays(images, labels)
    <ImageData arrays: 8 training and 2 test images of 3 x 8 x 8, 2 classes>
    """
    if (test_images is None) != (test_labels is None):
        errors.fail("test_images and test_labels", "given together or not at all", (test_images, test_labels))
    train = as_bytes("images", images, layout)
    given = [_labels("labels", labels, len(train))]
    test = None
    if test_images is not None:
        test = as_bytes("test_images", test_images, layout)
        given.append(_labels("test_labels", test_labels, len(test)))
    names, numbers = _numbered(given, class_names)
    if test is None:
        rows = _split(numbers[0], names, test_fraction, seed)
        parts = [(train[chosen], numbers[0][chosen]) for chosen in rows]
    else:
        parts = list(zip((train, test), numbers, strict=True))
    tensors = [
        (torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))), torch.from_numpy(classes))
        for pixels, classes in parts
    ]
    return ImageData(
        name=name,
        train_images=tensors[0][0],
        train_labels=tensors[0][1],
        test_images=tensors[1][0],
        test_labels=tensors[1][1],
        class_names=names,
    )


@checked
def from_dataset(
    dataset: Any,
    *,
    test: Any = None,
    class_names: Sequence[str] | None = None,
    limit: Count | None = None,
    size: Side | None = None,
    channels: int | None = None,
    test_fraction: Fraction = 0.2,
    seed: Index = 0,
    name: str = "dataset",
) -> ImageData:
    """A PyTorch dataset with a length, such as torchvision's; every image is read once.

    Args:
        dataset: its items are (image, label, ...), or dicts with "image" and "label": a PIL image, or an array or tensor [h, w],
            [h, w, c] or [c, h, w] of bytes or of floats in [0, 1] (ToTensor, but not Normalize); a whole number or a name.
        test: the same for the test images; without it the images are split as in `from_arrays`.
        class_names: as in `from_arrays`; None takes the dataset's `classes`, if it has them; those of `test` are matched with them by name.
        limit: at most this many images per class of each dataset, the first ones.
        size: height and width, to which the shorter side is scaled before the centre is cut out; None needs images of one size.
        channels: 1 (grey) or 3 (colour); None takes 3 when any image is in colour.

    Raises:
        DDLabError: a dataset without length, an item that cannot be read or used, or what `from_arrays` finds wrong.
    """
    sources = {"dataset": dataset} if test is None else {"dataset": dataset, "test": test}
    read = read_items(sources, ("image", "label"), limit, size, channels)
    own, other = _names_of(dataset), _names_of(test)
    if class_names is None and own is not None and other is not None and own != other:
        if strange := [name for name in other if name not in own]:
            raise DDLabError(f"test must have the classes of dataset ({', '.join(own)}); given {strange[0]!r} as well.")
        labels = [
            label
            if isinstance(label, str)
            else own.index(other[errors.check_integer("a label of test", label, 0, len(other) - 1)])
            for label in read[1][1]
        ]
        read[1] = read[1][0], labels
    class_names = own if class_names is None else class_names
    return stacked(read, class_names=class_names, test_fraction=test_fraction, seed=seed, name=name)


Parts = list[tuple[list[np.ndarray], list[Any]]]
"""Of the training and, if they are given, of the test items: images uint8 [h, w, 1 or 3], and labels."""


def read_items(
    sources: Mapping[str, Any], keys: tuple[str, str], limit: int | None, size: int | None, channels: int | None
) -> Parts:
    """What the items of these datasets hold; `keys` are those of the image and the label in items that are mappings."""
    if channels is not None:
        errors.check_choice("channels", channels, (1, 3))
    return [_items(source, given, keys, limit, size, channels) for source, given in sources.items()]


def stacked(read: Parts, **options: Any) -> ImageData:
    """Images of one size as `ImageData`; `options` are those of `from_arrays`."""
    images = [image for part, _ in read for image in part]
    shapes = sorted({image.shape[:2] for image in images})
    if len(shapes) > 1:
        found = " and ".join(f"{height} x {width}" for height, width in (shapes[0], shapes[-1]))
        raise DDLabError(f"size must be given for images of several sizes; given None, and images of {found} pixels.")
    deepest = max(image.shape[2] for image in images)
    whole = [np.stack([np.repeat(i, deepest // i.shape[2], 2) for i in part]) for part, _ in read]
    if len(read) > 1:
        options |= {"test_images": whole[1], "test_labels": read[1][1]}
    return from_arrays(whole[0], read[0][1], layout="nhwc", **options)


def as_bytes(argument: str, value: Any, layout: Layout | None = None) -> np.ndarray:
    """Images from anywhere as uint8 [n, height, width, channels].

    Raises:
        DDLabError: another shape, a layout that cannot be told, or values outside 0 to 255, or [0, 1] of floats.
    """
    array = _as_array(argument, value, _IMAGES)
    if array.ndim not in (3, 4) or array.size == 0 or array.dtype.kind not in "uif":
        errors.fail(argument, _IMAGES, array)
    array = array[..., None] if array.ndim == 3 else _channels_last(argument, array, layout)
    low, high = array.min(), array.max()
    top = 1 if array.dtype.kind == "f" else 255
    if not (low >= 0 and high <= top):  # NaN is no number from 0 on
        allowed = "floats in [0, 1] or bytes 0 to 255"
        raise DDLabError(f"{argument} must hold {allowed}; given {array.dtype} values from {low:g} to {high:g}.")
    return array.astype(np.uint8) if top == 255 else np.rint(array.astype(np.float32) * 255).astype(np.uint8)


def _channels_last(argument: str, array: np.ndarray, layout: Layout | None) -> np.ndarray:
    first, last = (array.shape[axis] in (1, 3) for axis in (1, -1))
    if layout is None and first == last:
        which = "either axis could be the channels" if first else "no axis of 1 or 3 channels"
        raise DDLabError(
            f"{argument} must be [n, h, w, c] or [n, c, h, w] of 1 or 3 channels, or layout must say which; "
            f"given shape {list(array.shape)}, {which}."
        )
    return array.transpose(0, 2, 3, 1) if (layout == "nchw" if layout else first) else array


def _as_array(argument: str, value: Any, allowed: str) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        errors.check_tensor(argument, value, finite=False)
        value = value.detach().cpu()
        value = (value.float() if value.is_floating_point() else value).numpy()
    try:
        return np.asarray(value)
    except Exception:  # whatever numpy or an array of another library raises: ragged lists, another device
        errors.fail(argument, allowed, value)


def _labels(argument: str, value: Any, count: int) -> np.ndarray:
    """Whole numbers or texts, [count]."""
    array = _as_array(argument, value, _LABELS)
    named = isinstance(value, Sequence | np.ndarray) and any(isinstance(label, str) for label in value)
    if named and not all(isinstance(label, str) for label in value):  # numpy would make names of the numbers
        errors.fail(argument, _LABELS, value)
    array = array.astype(str) if named else array
    if array.ndim != 1 or array.dtype.kind not in "iuU":
        errors.fail(argument, _LABELS, value)
    if len(array) != count:
        raise DDLabError(f"{argument} must be {_LABELS}, {count}; given {len(array)}.")
    return array


def _numbered(given: list[np.ndarray], class_names: Sequence[str] | None) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """The names of the classes, and each split's labels as int64 places among them."""
    if class_names is not None and (isinstance(class_names, str) or not isinstance(class_names, Sequence)):
        errors.fail("class_names", "a tuple with one name per class", class_names)
    if class_names is None:
        known: list[Any] = np.unique(given[0]).tolist()
    elif given[0].dtype.kind == "U":
        known = [str(name) for name in class_names]
    else:
        known = list(range(len(class_names)))
    place = {label: number for number, label in enumerate(known)}
    numbers = []
    for argument, labels in zip(("labels", "test_labels"), given, strict=False):
        strange = next((label for label in labels.tolist() if label not in place), None)
        if strange is not None:
            allowed = "of the classes of the training images" if class_names is None else "of class_names"
            span = f"{known[0]!r} to {known[-1]!r}" if known else "none"
            raise DDLabError(f"{argument} must be {allowed} ({len(known)}: {span}); given {strange!r}.")
        numbers.append(np.array([place[label] for label in labels.tolist()], dtype=np.int64))
    return tuple(map(str, known if class_names is None else class_names)), numbers


def _split(labels: np.ndarray, names: Sequence[str], test_fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    train, test = [], []
    for number, name in enumerate(names):
        rows = np.flatnonzero(labels == number)
        if len(rows) < 2:
            raise DDLabError(
                "labels must have at least two images of each class to split (or test_images be given); "
                f"given class {name!r} with {len(rows)}."
            )
        parts = split_rows(len(rows), test_fraction, seed=seed, number=number)
        train.append(rows[parts[0]])
        test.append(rows[parts[1]])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def _names_of(dataset: Any) -> list[str] | None:
    """The `classes` of a dataset, or of the one that it is a part of."""
    while dataset is not None:
        found = getattr(dataset, "classes", None)
        if isinstance(found, Sequence) and all(isinstance(name, str) for name in found):
            return list(found)
        dataset = getattr(dataset, "dataset", None)  # torch.utils.data.Subset
    return None


def _items(
    argument: str, dataset: Any, keys: tuple[str, str], limit: int | None, size: int | None, channels: int | None
) -> tuple[list[np.ndarray], list[Any]]:
    """Images uint8 [h, w, 1 or 3] and labels, at most `limit` of each."""
    iterable = isinstance(dataset, torch.utils.data.IterableDataset)
    if iterable or not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        allowed = "a dataset with a length and items by number (collect what an iterable one gives and use from_arrays)"
        errors.fail(argument, allowed, dataset)
    images, labels = [], []
    seen: Counter[Any] = Counter()
    for number in range(len(dataset)):
        item = f"item {number} of {argument}"
        try:
            found = dataset[number]
        except Exception as problem:  # whatever somebody's own code raises
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
            raise DDLabError(f"{argument} must give its items; given {item}, which raised {reason}.") from problem
        image, label = _pair(item, found, keys)
        seen[label] += 1
        if limit is None or seen[label] <= limit:
            images.append(_image(item, image, size, channels))
            labels.append(label)
    if not images:
        errors.fail(argument, "a dataset of at least one image", dataset)
    return images, labels


def _pair(item: str, found: Any, keys: tuple[str, str]) -> tuple[Any, Any]:
    if isinstance(found, Mapping) and all(key in found for key in keys):
        image, label = (found[key] for key in keys)
    elif isinstance(found, tuple | list) and len(found) >= 2:
        image, label = found[:2]
    else:
        errors.fail(item, f"a pair (image, label) or a dict with {keys[0]!r} and {keys[1]!r}", found)
    if isinstance(label, torch.Tensor | np.ndarray | np.generic) and np.ndim(label) == 0:
        label = label.item()
    if isinstance(label, bool) or not isinstance(label, int | str):
        errors.fail(f"the label of {item}", "a whole number or a name", label)
    return image, label


def _image(item: str, image: Any, size: int | None, channels: int | None) -> np.ndarray:
    from PIL import Image

    if not isinstance(image, Image.Image):
        array = _as_array(f"the image of {item}", image, "a picture, an array or a tensor")
        if array.ndim not in (2, 3):
            errors.fail(f"the image of {item}", "[h, w], [h, w, c] or [c, h, w], or a PIL image", array)
        pixels = as_bytes(f"the image of {item}", array[None])[0]
        if (size is None or pixels.shape[:2] == (size, size)) and channels in (None, pixels.shape[2]):
            return pixels
        image = pictures.picture(pixels)
    try:
        return pictures.pixels(image, channels or (1 if image.mode in pictures.GREY else 3), size)
    except Exception as problem:  # a picture whose file is read only now
        raise DDLabError(
            f"the image of {item} must be a readable picture; given one that is not ({problem})."
        ) from problem
