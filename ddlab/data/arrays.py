"""A reader's own arrays and datasets as `ImageData`."""

import hashlib
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Annotated, Any, NoReturn

import numpy as np
import torch

from ..core import Count, DDLabError, Index, as_usual, checked, errors, randomness, within
from . import pictures
from .class_names import untested_text, warn_of_lookalikes
from .images import ImageData, Layout
from .pictures import Fit, Reading, Size

_IMAGES = (
    "images [n, h, w], [n, h, w, c] or [n, c, h, w] of bytes 0 to 255 or floats in [0, 1], or a "
    "list of PIL images"
)
_PICTURE = "a picture, an array or a tensor"
_LABELS = "one whole number or name (or True or False) per image"
Fraction = Annotated[float, within(0, 0.9, open_low=True)]


def split_rows(
    count: int, test_fraction: float, *, seed: int, number: int
) -> tuple[list[int], list[int]]:
    """Return the rows of class `number` for training and for testing.

    Each part keeps its order and holds at least one row.
    """
    # The stream is that of the folder reader: the same images are split alike, wherever they come
    # from.
    order = randomness.numpy_generator(seed, number, "folder split").permutation(count)
    # At least one image on each side: a class that is not tested would make the accuracy of the
    # others look like that of all.
    cut = min(max(round(count * test_fraction), 1), count - 1)
    return sorted(order[cut:].tolist()), sorted(order[:cut].tolist())


@as_usual
@checked
def from_arrays(
    images: Any,
    labels: Any,
    *,
    test_images: Any = None,
    test_labels: Any = None,
    class_names: Sequence[str] | None = None,
    layout: Layout | None = None,
    background: Annotated[int, within(0, 255)] = 255,
    range: Annotated[tuple[float, float], pictures.checked_range] | None = None,
    test_fraction: Fraction = 0.2,
    seed: Index = 0,
    name: str = "arrays",
) -> ImageData:
    """Return your own numpy arrays, lists, tensors or PIL images as a dataset.

    Args:
        images: [n, h, w], [n, h, w, c] or [n, c, h, w]: whole numbers 0 to 255, 16 bits in full, or
            floats in [0, 1], which become bytes.
        labels: [n] or [n, 1] whole numbers, names (in bytes too, as h5py gives them), or True and
            False; a column of a table.
        test_images, test_labels: the same; without them the images are split.
        class_names: one per class; whole numbers are places among them. None takes the labels that
            there are, in their order.
        layout: "nhwc" or "nchw"; None takes the axis of 1, 3 or 4 channels, if only one can be
            that; the fourth is transparency.
        background: what transparent pixels lie on, 0 (black) to 255 (white).
        range: (low, high), the values of black and white, where the images do not fill what their
            kind can hold: masks, 12 bits of 16, 0 to 1000.
        test_fraction: share of each class that goes to the test split, in (0, 0.9], at least one
            image.
        seed: of the split.

    Raises:
        DDLabError: other shapes or values, a layout that cannot be told, a class of one image to be
            split, or unknown labels.

    Warns:
        UserWarning: classes whose names look alike, or without a test image; test images that are
            training images too.

    >>> images, labels = torch.rand(10, 8, 8, 3), ["cat", "dog"] * 5
    >>> from_arrays(images, labels)
    <ImageData arrays: 8 training and 2 test images of 3 x 8 x 8, 2 classes>
    """
    # One without the other is a forgotten argument, never a wish.
    if (test_images is None) != (test_labels is None):
        errors.fail(
            "test_images and test_labels",
            "given together or not at all",
            (test_images, test_labels),
        )
    reading = Reading(background=background, range=range)
    train, share = as_bytes("images", images, layout, reading)
    labels_by_split = [_labels("labels", labels, len(train))]
    test = None
    if test_images is not None:
        test, test_share = as_bytes("test_images", test_images, layout, reading)
        # Black and white are judged from both splits together: a dark test split is no 12-bit one.
        share = max(share, test_share)
        labels_by_split.append(_labels("test_labels", test_labels, len(test)))
    pictures.check_filled("images", share, reading)
    # Both splits are numbered by the training labels, so a class means the same in each.
    names, numbers = _number_labels(labels_by_split, class_names)
    if test is None:
        rows = _split(numbers[0], names, test_fraction, seed)
        parts = [(train[chosen], numbers[0][chosen]) for chosen in rows]
    else:
        parts = list(zip((train, test), numbers, strict=True))
    warn_of_lookalikes(names, stacklevel=4)
    # A warning and no error: a teacher may show overfitting on purpose.
    _warn_of_copies(name, parts[0][0], parts[1][0])
    tensors = [
        (
            torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))),
            torch.from_numpy(classes),
        )
        for pixels, classes in parts
    ]
    data = ImageData(
        name=name,
        train_images=tensors[0][0],
        train_labels=tensors[0][1],
        test_images=tensors[1][0],
        test_labels=tensors[1][1],
        class_names=names,
    )
    if untested := data.untested_classes():
        warnings.warn(
            f"{name!r} has {untested_text(untested)}: no accuracy, not even a balanced one, says "
            "anything about such a class.",
            stacklevel=4,
        )
    return data


@as_usual
@checked
def from_dataset(
    dataset: Any,
    *,
    test: Any = None,
    class_names: Sequence[str] | None = None,
    keys: tuple[str, str] | None = None,
    limit: Count | None = None,
    size: Annotated[Size, pictures.checked_size] | None = None,
    fit: Fit = "crop",
    channels: int | None = None,
    background: Annotated[int, within(0, 255)] = 255,
    range: Annotated[tuple[float, float], pictures.checked_range] | None = None,
    test_fraction: Fraction = 0.2,
    seed: Index = 0,
    name: str = "dataset",
) -> ImageData:
    """Return a dataset of PyTorch or Hugging Face as `ImageData`.

    It needs a length; every image is read once.

    Args:
        dataset: its items are (image, label, ...), or dicts: a PIL image, or an array or tensor [h,
            w], [h, w, c] or [c, h, w] of bytes or of floats in [0, 1] (ToTensor, but not
            Normalize); a whole number or a name.
        test: the same for the test images; without it the images are split as in `from_arrays`.
        class_names: as in `from_arrays`; None takes the dataset's `classes`, or the names of its
            label's feature, if it has them; those of `test` are matched with them by name.
        keys: of image and label in items that are dicts; None takes "label" and the first there is
            of "image", "img", "pixel_values".
        limit: at most this many images per class of each dataset, the first ones.
        size, fit, channels, background, range: as for a folder; images without a `size` must be of
            one.

    Warns:
        UserWarning: as `from_arrays`, and of classes without an image, which are left out.

    Raises:
        DDLabError: a dataset without length, an item that cannot be read or used, or what
            `from_arrays` finds wrong.
    """
    sources = {"dataset": dataset} if test is None else {"dataset": dataset, "test": test}
    if channels is not None:
        errors.check_choice("channels", channels, (1, 3))
    # 0 channels: each image keeps its own until all are known.
    reading = Reading(
        channels=channels or 0, size=size, fit=fit, background=background, range=range
    )
    parts = [_items(argument, source, keys, limit, reading) for argument, source in sources.items()]
    pictures.check_filled("images of dataset", max(share for _, _, share in parts), reading)
    labels = [part_labels for _, part_labels, _ in parts]
    dataset_names = _names_of(dataset, keys)
    test_names = _names_of(test, keys)
    # Two halves of a dataset that was downloaded separately may number the same names differently.
    if (
        class_names is None
        and dataset_names is not None
        and test_names is not None
        and dataset_names != test_names
    ):
        if strange := [name for name in test_names if name not in dataset_names]:
            raise DDLabError(
                f"test must have the classes of dataset ({', '.join(dataset_names)}); given "
                f"{strange[0]!r} as well."
            )
        last = len(test_names) - 1
        # Test labels are translated into the training set's numbers by way of the names.
        labels[1] = [
            label
            if isinstance(label, str)
            else dataset_names.index(
                test_names[errors.check_integer("a label of test", label, 0, last)]
            )
            for label in labels[1]
        ]
    class_names = dataset_names if class_names is None else class_names
    if isinstance(class_names, Sequence) and not isinstance(class_names, str):
        class_names, labels = _classes_with_images(class_names, labels)
    # Stacked together, so that one colour image in either split makes both of them colour.
    images = np.split(_stack([image for read, _, _ in parts for image in read]), [len(labels[0])])
    tests = {"test_images": images[1], "test_labels": labels[1]} if len(labels) > 1 else {}
    # Bytes by now, whose black and white are known.
    options: dict[str, Any] = {"layout": "nhwc", "range": (0, 255), **tests}
    return from_arrays(
        images[0],
        labels[0],
        class_names=class_names,
        test_fraction=test_fraction,
        seed=seed,
        name=name,
        **options,
    )


def _classes_with_images(
    names: Sequence[str], labels_by_split: list[list[Any]]
) -> tuple[Sequence[str], list[list[Any]]]:
    """Leave out, with a warning, the classes of a dataset that no training image has.

    What is no place among the names, and a test image of such a class, is refused later.
    """
    training = set(labels_by_split[0])
    numbers = {label for label in training if not isinstance(label, str)}
    if (
        not numbers
        or len(numbers) < len(training)
        or not all(0 <= number < len(names) for number in numbers)
    ):
        return names, labels_by_split
    kept = sorted(numbers)
    absent = [name for number, name in enumerate(names) if number not in numbers]
    if not absent or len(kept) < 2 or any(set(labels) - numbers for labels in labels_by_split[1:]):
        return names, labels_by_split
    listed = ", ".join(map(repr, absent[:5])) + ", ..." * (len(absent) > 5)
    warnings.warn(
        f"Classes without an image are left out ({len(absent)} of {len(names)}): {listed}.",
        stacklevel=5,
    )
    place = {number: position for position, number in enumerate(kept)}
    renumbered = [[place[label] for label in labels] for labels in labels_by_split]
    return [str(names[int(number)]) for number in kept], renumbered


def as_bytes(
    argument: str, value: Any, layout: Layout | None, reading: Reading
) -> tuple[np.ndarray, float]:
    """Return images from anywhere as uint8 [n, height, width, channels].

    With them comes the highest value as a share of what its kind can hold.

    Raises:
        DDLabError: another shape, a layout that cannot be told, or values of which nobody knows
            what is black and white.
    """
    # A column of a table: its cells may be pictures, or arrays.
    cells = value.to_numpy() if hasattr(value, "to_numpy") else value
    if isinstance(cells, np.ndarray) and cells.dtype == object and cells.ndim == 1:
        value = list(cells)
    # PIL's.
    if (
        isinstance(value, Sequence)
        and len(value)
        and all(hasattr(item, "getbands") for item in value)
    ):
        read = [
            _image(f"{argument}[{number}]", item, replace(reading, channels=0))
            for number, item in enumerate(value)
        ]
        return _stack([image for image, _ in read]), max(share for _, share in read)
    array = _as_array(argument, value, _IMAGES)
    if array.dtype.kind in "OSU" and array.size:
        _refuse_cell(argument, value[0] if isinstance(value, list) else array.flat[0], _IMAGES)
    # A mask: True is white.
    array = array.astype(np.uint8) * 255 if array.dtype == bool else array
    if array.ndim not in (3, 4) or array.size == 0 or array.dtype.kind not in "uif":
        errors.fail(argument, _IMAGES, array)
    array = array[..., None] if array.ndim == 3 else _channels_last(argument, array, layout)
    levels, share = pictures.as_levels(argument, array, reading)
    # Images all of one value say nothing about black and white; `ImageData` warns of them.
    return pictures.on_background(levels, reading), share if levels.min() < levels.max() else 0.0


def _refuse_cell(argument: str, cell: Any, allowed: str) -> NoReturn:
    """Raise for what is no array of numbers, and say what to do with a picture's file in a table."""
    content = cell.get("bytes") if isinstance(cell, Mapping) else cell
    if isinstance(content, bytes):
        allowed += (
            ' (PIL.Image.open(io.BytesIO(cell["bytes"])) makes a picture of a file in a cell)'
        )
        cell = f"the {len(content):,} bytes of a file"
    elif isinstance(cell, Mapping):
        cell = f"a dict with {', '.join(map(str, cell))}"
    given = cell if isinstance(cell, str) else errors.describe(cell)
    raise DDLabError(f"{argument} must be {allowed}; given {given}.")


def _stack(images: Sequence[np.ndarray]) -> np.ndarray:
    """Return images [h, w, 1 or 3] of one size as one array, in colour if one of them is."""
    shapes = sorted({image.shape[:2] for image in images})
    if len(shapes) > 1:
        sizes = " and ".join(f"{height} x {width}" for height, width in (shapes[0], shapes[-1]))
        raise DDLabError(
            "size must be given for images of several sizes; given None, and images of "
            f"{sizes} pixels."
        )
    # Grey pictures among coloured ones are usual in collections from the web.
    deepest = max(image.shape[2] for image in images)
    return np.stack([np.repeat(image, deepest // image.shape[2], 2) for image in images])


def _channels_last(argument: str, array: np.ndarray, layout: Layout | None) -> np.ndarray:
    # 4 is looked at last: an image 4 pixels wide is rarer than transparency, but [n, 3, 4, 4]
    # exists.
    first = array.shape[1] in (1, 3)
    last = array.shape[-1] in (1, 3)
    if not (first or last):  # with transparency
        first = array.shape[1] == 4
        last = array.shape[-1] == 4
    if layout is None and first == last:
        problem = "either axis could be the channels" if first else "no axis of 1, 3 or 4 channels"
        raise DDLabError(
            f"{argument} must be [n, h, w, c] or [n, c, h, w] of 1, 3 or 4 channels, or "
            "layout must say which; "
            f"given shape {list(array.shape)}, {problem}."
        )
    return array.transpose(0, 2, 3, 1) if (layout == "nchw" if layout else first) else array


def _as_array(argument: str, value: Any, allowed: str) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        errors.check_tensor(argument, value, finite=False)
        value = value.detach().cpu()
        # numpy has no bfloat16.
        value = (value.float() if value.is_floating_point() else value).numpy()
    try:
        # A column of pandas.
        return np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value)
    # Whatever numpy or an array of another library raises: ragged lists, another device.
    except Exception:
        errors.fail(argument, allowed, value)


def _labels(argument: str, value: Any, count: int) -> np.ndarray:
    """Return labels as an array [count] of whole numbers or texts."""
    array = _as_array(argument, value, _LABELS)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    # The list itself where there is one: numpy would turn [1, "cat"] into texts before anybody
    # could see it.
    values = (
        list(value)
        if isinstance(value, list | tuple)
        else array.tolist()
        if array.ndim == 1
        else []
    )
    for place, label in enumerate(values):
        # A cell that is empty: None, or NaN, which differs from itself.
        if label is None or (isinstance(label, float) and label != label):
            raise DDLabError(f"{argument} must be {_LABELS}; given {label!r} for image {place}.")
    if values and all(isinstance(label, bytes) for label in values):  # as h5py gives texts
        values = [_text(argument, label) for label in values]
    # True and False become the names "True" and "False": as numbers they would pass for classes 1
    # and 0.
    if all(isinstance(label, bool | np.bool_) for label in values) or all(
        isinstance(label, str) for label in values
    ):
        array = np.array([str(label) for label in values])
    elif any(isinstance(label, str) for label in values):  # numpy would make names of the numbers
        errors.fail(argument, _LABELS, value)
    elif array.dtype == object and all(
        isinstance(label, Integral) and not isinstance(label, bool) for label in values
    ):
        array = np.array([int(label) for label in values])
    if array.ndim != 1 or array.dtype.kind not in "iuU":
        errors.fail(argument, _LABELS, value)
    if len(array) != count:
        raise DDLabError(f"{argument} must be {_LABELS}, {count}; given {len(array)}.")
    return array


def _text(argument: str, label: bytes) -> str:
    try:
        return label.decode()
    except UnicodeDecodeError:
        errors.fail(argument, "names in UTF-8", label)


def _number_labels(
    labels_by_split: list[np.ndarray], class_names: Sequence[str] | None
) -> tuple[tuple[str, ...], list[np.ndarray]]:
    """Return the names of the classes, and each split's labels as int64 positions among them."""
    if class_names is not None and (
        isinstance(class_names, str) or not isinstance(class_names, Sequence)
    ):
        errors.fail("class_names", "a tuple with one name per class", class_names)
    if class_names is None:
        # Sorted, so that the order of the images does not decide which class is 0.
        class_labels: list[Any] = np.unique(labels_by_split[0]).tolist()
    elif labels_by_split[0].dtype.kind == "U":
        class_labels = [str(name) for name in class_names]
    else:
        class_labels = list(range(len(class_names)))
    place = {label: number for number, label in enumerate(class_labels)}
    numbers = []
    for argument, labels in zip(("labels", "test_labels"), labels_by_split, strict=False):
        # A dict and not `index`, which would search 100 names for each of 50,000 labels.
        strange = next((label for label in labels.tolist() if label not in place), None)
        if strange is not None:
            allowed = (
                "of the classes of the training images" if class_names is None else "of class_names"
            )
            span = f"{class_labels[0]!r} to {class_labels[-1]!r}" if class_labels else "none"
            raise DDLabError(
                f"{argument} must be {allowed} ({len(class_labels)}: {span}); given {strange!r}."
                f"{_way_out(labels_by_split[0], class_labels, class_names)}"
            )
        numbers.append(np.array([place[label] for label in labels.tolist()], dtype=np.int64))
    return tuple(map(str, class_labels if class_names is None else class_names)), numbers


def _way_out(
    labels: np.ndarray, class_labels: Sequence[Any], class_names: Sequence[str] | None
) -> str:
    """Return what helps where numbers are no places among the names, or nothing."""
    if class_names is None or labels.dtype.kind == "U":
        return ""
    if (int(labels.min()), int(labels.max())) == (1, len(class_labels)):
        return (
            " The labels begin at 1: give class_names a first name for 0, such as 'none', and call "
            "from_dataset, which leaves out a class without an image."
        )
    if len(np.unique(labels)) == len(class_labels):
        return " Leave class_names out to keep the labels' own numbers or the dataset's names."
    return ""


def _warn_of_copies(name: str, train: np.ndarray, test: np.ndarray) -> None:
    """Warn where test images are training images too.

    An accuracy on them says nothing about new images.
    """
    # Digests and not the images: a set of 50,000 images would be the dataset once more.
    train_digests = {hashlib.sha256(image.tobytes()).digest() for image in train}
    copies = sum(hashlib.sha256(image.tobytes()).digest() in train_digests for image in test)
    if copies:
        warnings.warn(
            f"{copies} of the {len(test)} test images of {name!r} are training images too: "
            "an accuracy on them says little about new images.",
            stacklevel=5,  # where `from_arrays` was called
        )


def _split(
    labels: np.ndarray, names: Sequence[str], test_fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    train = []
    test = []
    for number, name in enumerate(names):
        # Class by class, so that a rare class is in both splits.
        rows = np.flatnonzero(labels == number)
        if len(rows) < 2:
            raise DDLabError(
                "labels must have at least two images of each class to split (or test_images "
                "be given); "
                f"given class {name!r} with {len(rows)}."
            )
        parts = split_rows(len(rows), test_fraction, seed=seed, number=number)
        train.append(rows[parts[0]])
        test.append(rows[parts[1]])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def _names_of(dataset: Any, keys: tuple[str, str] | None) -> list[str] | None:
    """Return the names of a dataset's classes.

    None where its labels may be other numbers than positions among its `classes`.

    Of a Hugging Face dataset they are those of its label's feature; of a part of a dataset, or of
    several, those of these.
    """
    # Hugging Face's.
    features = getattr(dataset, "features", None)
    if isinstance(features, Mapping):
        names = getattr(features.get("label" if keys is None else keys[1]), "names", None)
        return list(names) if names else None
    if isinstance(dataset, torch.utils.data.ConcatDataset):
        names_of_parts = [_names_of(part, keys) for part in dataset.datasets]
        are_equal = all(names == names_of_parts[0] for names in names_of_parts)
        return names_of_parts[0] if are_equal else None
    # The transform may renumber the labels, so `classes` no longer names them.
    if getattr(dataset, "target_transform", None) is not None:
        return None
    names = getattr(dataset, "classes", None)
    if isinstance(names, Sequence) and all(isinstance(name, str) for name in names):
        return list(names)
    # Another wrapper may number its classes anew, so that the names of what it wraps are not its own.
    is_part = isinstance(dataset, torch.utils.data.Subset)
    return _names_of(dataset.dataset, keys) if is_part else None


def _items(
    argument: str, dataset: Any, keys: tuple[str, str] | None, limit: int | None, reading: Reading
) -> tuple[list[np.ndarray], list[Any], float]:
    """Return images uint8 [h, w, 1 or 3] and labels, at most `limit` of each class.

    With them comes the highest share of their values' range.
    """
    if isinstance(dataset, Mapping):  # such as Hugging Face's DatasetDict
        splits = list(map(str, dataset))
        if "train" in splits and len(splits) > 1:
            test = next((split for split in ("test", "validation") if split in splits), splits[-1])
            call = f'from_dataset(d["train"], test=d["{test}"])'
        else:
            call = f'from_dataset(d["{splits[0]}"])' if splits else "from_dataset(d[split])"
        errors.fail(
            argument,
            f"one split, as in {call}",
            f"a {type(dataset).__name__} of {', '.join(splits)}",
        )
    iterable = isinstance(dataset, torch.utils.data.IterableDataset)
    if iterable or not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        allowed = (
            "a dataset with a length and items by number (collect what an iterable one gives and "
            "use from_arrays)"
        )
        errors.fail(argument, allowed, dataset)
    images = []
    labels = []
    share = 0.0
    counts: Counter[Any] = Counter()
    for number in range(len(dataset)):
        item = f"item {number} of {argument}"
        try:
            pair = dataset[number]
        except Exception as problem:  # whatever somebody's own code raises
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
            raise DDLabError(
                f"{argument} must give its items; given {item}, which raised {reason}."
            ) from problem
        image, label = _pair(item, pair, keys)
        # Counted before the image is decoded, which is what takes the time.
        counts[label] += 1
        if limit is None or counts[label] <= limit:
            pixels, filled = _image(f"the image of {item}", image, reading)
            images.append(pixels)
            labels.append(label)
            share = max(share, filled)
    if not images:
        errors.fail(argument, "a dataset of at least one image", dataset)
    return images, labels, share


def _pair(item: str, content: Any, keys: tuple[str, str] | None) -> tuple[Any, Any]:
    if isinstance(content, Mapping):
        candidates = (
            [keys]
            if keys is not None
            else [(image, "label") for image in ("image", "img", "pixel_values")]
        )
        pair = next((pair for pair in candidates if content.keys() >= {*pair}), None)
        if pair is None:
            named = " or ".join(f"{image!r} and {label!r}" for image, label in candidates)
            errors.fail(
                item,
                f"a dict with {named} (keys= names others)",
                f"one with {', '.join(map(str, content))}",
            )
        image, label = (content[key] for key in pair)
    elif isinstance(content, tuple | list) and len(content) >= 2:
        image, label = content[:2]
    else:
        errors.fail(item, "a pair (image, label), or a dict with an image and its label", content)
    # A label in a tensor of one element, as many loaders hand it out.
    if isinstance(label, torch.Tensor | np.ndarray | np.generic) and label.reshape(-1).shape == (
        1,
    ):
        label = label.item()
    if isinstance(label, bytes):
        label = _text(f"the label of {item}", label)
    if isinstance(label, bool) or not isinstance(label, int | str):
        errors.fail(f"the label of {item}", "a whole number or a name", label)
    return image, label


def _image(item: str, image: Any, reading: Reading) -> tuple[np.ndarray, float]:
    """Return a picture or an array as uint8 [h, w, 1 or 3], and the share of its values' range.

    `reading.channels` 0 takes its own channels.
    """
    from PIL import Image

    share = 1.0
    if not isinstance(image, Image.Image):
        array = _as_array(item, image, _PICTURE)
        if array.dtype.kind in "OSU":
            _refuse_cell(item, image, _PICTURE)
        if array.ndim not in (2, 3):
            errors.fail(item, "[h, w], [h, w, c] or [c, h, w], or a PIL image", array)
        levels, share = as_bytes(item, array[None], None, reading)
        pixels = levels[0]
        # Nothing to change: PIL is not asked, which would cost more than all the rest.
        if (reading.size is None or pixels.shape[:2] == reading.size) and reading.channels in (
            0,
            pixels.shape[2],
        ):
            return pixels, share
        image = pictures.picture(pixels)
        # The values have been scaled to bytes above; a second scaling would make them darker.
        reading = replace(reading, range=None)
    channels = reading.channels or (1 if image.mode in pictures.GREY else 3)
    try:
        pixels, filled = pictures.pixels(image, replace(reading, channels=channels))
    except Exception as problem:  # a picture whose file is read only now
        raise DDLabError(
            f"{item} must be a readable picture; given one that is not ({problem})."
        ) from problem
    return pixels, max(share, filled) if share < 1 else filled
