"""Datasets: `load(name)` gives an `ImageData`.

Nothing here needs the network, unless `download=True` asks for it.

digits                       1,797 real handwritten digits, grey, 8 to 64 px
shapes                       generated colour pictures of ten shapes, 16 to 224 px
mnist, fashion-mnist,
cifar10, cifar100            torchvision's datasets, from their files or with download=True
folder                       your own images, one folder per class

Arrays, PyTorch datasets and sentences become one by `from_arrays`, `from_dataset` and `text.read`;
`aligned` and `whitened` make another one of it.
"""

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from ..core import as_usual, errors, listing
from . import augmentation, predefined_views, siamese_views, text, torchvision_sets
from .aligning import aligned
from .arrays import from_arrays, from_dataset
from .images import ImageData
from .whitening import whitened

NAMES = ("digits", "shapes", *torchvision_sets.NAMES, "folder")

__all__ = [
    "NAMES",
    "ImageData",
    "aligned",
    "augmentation",
    "from_arrays",
    "from_dataset",
    "load",
    "predefined_views",
    "siamese_views",
    "text",
    "whitened",
]
__dir__ = listing(__all__)


@as_usual
def load(name: str, *arguments: Any, **options: Any) -> ImageData:
    """Load a dataset.

    Args:
        name: one of `ddlab.data.NAMES`, in capitals or not, or "folder:PATH" for your own images.
        arguments, options: of that dataset's own `load` (for "folder" the path, for torchvision's
            datasets their root; size, seed, ...).

    Raises:
        DDLabError: an unknown name or option, or what the dataset's own `load` finds wrong.

    >>> load("digits").train_images.shape
    torch.Size([1198, 1, 16, 16])
    """
    if isinstance(name, str) and name.startswith("folder:"):
        name, arguments = "folder", (name.removeprefix("folder:"), *arguments)
    # A folder's path keeps its capitals: it was split off before.
    name = name.lower() if isinstance(name, str) else name
    loader = _loader(errors.check_choice("name", name, NAMES))
    # Looked at before the call, so that a misspelt option costs no minute of reading first.
    signature = inspect.signature(loader)
    for option in options:
        errors.check_choice(f"an option of data.load({name!r})", option, list(signature.parameters))
    try:
        signature.bind(*arguments, **options)
    except TypeError as problem:
        errors.fail(
            f"the arguments of data.load({name!r})",
            f"of {', '.join(signature.parameters)}",
            str(problem),
        )
    return loader(*arguments, **options)


def _loader(name: str) -> Callable[..., ImageData]:
    if name in torchvision_sets.NAMES:
        return functools.partial(torchvision_sets.load, name)
    return importlib.import_module(f"{__name__}.{name}").load
