"""Datasets: `load(name)` gives an `ImageData`. Nothing here needs the network."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from .. import errors
from .images import ImageData

NAMES = ("digits", "folder")

__all__ = ["NAMES", "ImageData", "load"]


def load(name: str, *arguments: Any, **options: Any) -> ImageData:
    """Load a dataset.

    Args:
        name: one of `ddlab.data.NAMES`, or "folder:PATH" for your own images.
        arguments, options: of that dataset's own `load` (for "folder" the path; size, seed, ...).

    Raises:
        DDLabError: an unknown name or option, or what the dataset's own `load` finds wrong.

    >>> load("digits").train_images.shape
    torch.Size([1198, 1, 16, 16])
    """
    if isinstance(name, str) and name.startswith("folder:"):
        name, arguments = "folder", (name.removeprefix("folder:"), *arguments)
    module = importlib.import_module(f"{__name__}.{errors.check_choice('name', name, NAMES)}")
    for option in options:
        errors.check_choice(
            f"an option of data.load({name!r})", option, list(inspect.signature(module.load).parameters)
        )
    try:
        inspect.signature(module.load).bind(*arguments, **options)
    except TypeError as problem:
        errors.fail(f"the arguments of data.load({name!r})", f"those of {inspect.signature(module.load)}", str(problem))
    return module.load(*arguments, **options)
