"""A distilled set for other programs: a folder of PNG files and a table of labels."""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from ..core import storage
from ..core.errors import DDLabError
from ..data import pictures
from ..data.folder import TESTS

if TYPE_CHECKING:
    from .distilled_set import DistilledSet

LABELS = "labels.json"
_LONGEST = 60
_UNSAFE = re.compile(r"[^\w ()+,.=@~-]")


def export_folder(distilled: DistilledSet, path: str | os.PathLike[str]) -> Path:
    """`DistilledSet.export_folder`."""
    place = storage.checked_path(path)
    if os.path.lexists(place):
        raise DDLabError(f"path must be a place where nothing is yet; given {str(place)!r}, which exists.")
    labels = distilled.labels.tolist()
    images = pictures.pictures(distilled.to_uint8())
    logits = _logits(distilled)
    folders = folder_names(distilled.class_names)
    files = [f"{folders[label]}/{number:05}.png" for number, label in enumerate(labels)]
    rows: list[dict[str, Any]] = [{"file": file, "label": label} for file, label in zip(files, labels, strict=True)]
    for row, values in zip(rows, [] if logits is None else logits.tolist(), strict=False):
        row["logits"] = values
    described = {"classes": [{"name": n, "folder": f} for n, f in zip(distilled.class_names, folders, strict=True)]}
    described |= {"mean": distilled.mean.tolist(), "std": distilled.std.tolist(), "complete": distilled.complete}
    temporary = place.parent / f".{uuid.uuid4().hex}"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        for folder in folders:
            (temporary / folder).mkdir()
        for file, image in zip(files, images, strict=True):
            image.save(temporary / file)
        text = json.dumps(described | {"images": rows}, indent=1)
        (temporary / LABELS).write_text(text, encoding="utf-8")
        # Of all that may have come to lie there meanwhile only an empty folder is replaced: no file, and no link.
        os.rename(temporary, place)
    except OSError as problem:
        raise DDLabError(
            f"path must be a place that can be written to; given {str(place)!r} ({problem.strerror})."
        ) from problem
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return place


def folder_names(class_names: Sequence[str]) -> list[str]:
    """A folder's name for each class: the class's own where these can be folders and stand in their order, else numbered.

    >>> folder_names(["cat", "dog"]), folder_names(["../dog", "cat"])
    (['cat', 'dog'], ['0_.._dog', '1_cat'])
    """
    safe = [_UNSAFE.sub("_", name)[:_LONGEST].rstrip(" .") for name in class_names]
    # ImageFolder numbers the classes by the order of the folders; some file systems do not tell "A" from "a".
    different = len({name.casefold() for name in safe}) == len(safe)
    hidden = any(not name or name.startswith((".", "__", " ")) or name.casefold() in ("train", *TESTS) for name in safe)
    if safe == list(class_names) and safe == sorted(safe) and different and not hidden:
        return safe
    digits = len(str(len(safe) - 1))
    return [f"{number:0{digits}}_{name}" for number, name in enumerate(safe)]


def _logits(distilled: DistilledSet) -> Tensor | None:
    has = any(target.kind == "stored" for target in distilled.targets)
    return distilled.target("stored").logits if has else None
