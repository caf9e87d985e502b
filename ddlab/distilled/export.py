"""A distilled set for other programs: a folder of PNG files and a table of labels; and back."""

import json
import os
import re
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..core import DDLabError, storage
from ..data import pictures
from ..data.folder import LABELS
from ..data.images import normalise
from ..data.pictures import Reading
from ..data.tree import TESTS, TRAINS
from .targets import HardLabels, StoredLabels

# Characters of a class in a folder's name; file systems refuse long paths.
_LONGEST = 60
_UNSAFE = re.compile(r"[^\w ()+,.=@~-]")


def export_folder(distilled: Any, path: str | os.PathLike[str]) -> Path:
    """Write a set as a folder; see `DistilledSet.export_folder`."""
    place = storage.checked_path(path)
    if os.path.lexists(place):
        raise DDLabError(
            f"path must be a place where nothing is yet; given {str(place)!r}, which exists."
        )
    labels = distilled.labels.tolist()
    images = pictures.pictures(distilled.to_uint8())
    logits = _logits(distilled)
    folders = folder_names(distilled.class_names)
    files = [f"{folders[label]}/{number:05}.png" for number, label in enumerate(labels)]
    rows: list[dict[str, Any]] = [
        {"file": file, "label": label} for file, label in zip(files, labels, strict=True)
    ]
    for row, values in zip(rows, [] if logits is None else logits.tolist(), strict=False):
        row["logits"] = values
    described = {
        "classes": [
            {"name": n, "folder": f} for n, f in zip(distilled.class_names, folders, strict=True)
        ]
    }
    described |= {
        "mean": distilled.mean.tolist(),
        "std": distilled.std.tolist(),
        "complete": distilled.complete,
    }
    described |= {"provenance": distilled.provenance}
    # In the same folder, because a rename across file systems is a copy and can be interrupted.
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
        # Of all that may have come to lie there meanwhile only an empty folder is replaced: no
        # file, and no link.
        os.rename(temporary, place)
    except OSError as problem:
        raise DDLabError(
            f"path must be a place that can be written to; given {str(place)!r} "
            f"({problem.strerror})."
        ) from problem
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return place


def read_folder(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of the set in such a folder; see `DistilledSet.from_folder`."""
    root = storage.checked_path(path, "path", "a folder's path")
    try:
        table = json.loads((root / LABELS).read_text(encoding="utf-8"))
    except OSError as problem:
        problem_text = f"{str(root)!r}, whose {LABELS} cannot be read ({problem.strerror})"
        raise DDLabError(
            f"path must be a folder that export_folder wrote; given {problem_text}."
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise DDLabError(
            f"path must be a folder that export_folder wrote; given {str(root)!r} ({problem})."
        ) from problem
    with storage.made_from(root, "distilled set"):
        mean, std = torch.tensor(table["mean"]), torch.tensor(table["std"])
        rows: list[dict[str, Any]] = table["images"]
        targets: list[Any] = [HardLabels(torch.tensor([row["label"] for row in rows]))]
        if rows and "logits" in rows[0]:
            targets.append(StoredLabels(torch.tensor([row["logits"] for row in rows])))
        images = np.stack([_read(root, row["file"], len(mean)) for row in rows]).transpose(
            0, 3, 1, 2
        )
        return {
            "tensors": {"images": normalise(torch.from_numpy(images.copy()), mean, std)},
            "targets": tuple(targets),
            "class_names": tuple(folder["name"] for folder in table["classes"]),
            "mean": mean,
            "std": std,
            "complete": table["complete"],
            "provenance": table.get("provenance", {}),
        }


def _read(root: Path, file: str, channels: int) -> np.ndarray:
    """Return one image, uint8 [height, width, channels], which must lie in the folder itself."""
    from PIL import Image

    # Resolved first: "../../secret.png" and a link that leads out are both refused.
    place = (root / file).resolve()
    if not place.is_relative_to(root.resolve()):
        raise DDLabError(f"files of {LABELS} must lie in its folder; given {file!r}.")
    try:
        with Image.open(place) as image:
            return pictures.pixels(image, Reading(channels=channels))[0]
    except Exception as problem:  # PIL raises many kinds
        raise DDLabError(
            f"path must hold the images of its {LABELS}; given {str(place)!r} ({problem})."
        ) from problem


def folder_names(class_names: Sequence[str]) -> list[str]:
    """Return a folder's name for each class.

    It is the class's own name where these can be folders and stand in their order, else numbered.

    >>> folder_names(["cat", "dog"]), folder_names(["../dog", "cat"])
    (['cat', 'dog'], ['0_.._dog', '1_cat'])
    """
    safe = [_UNSAFE.sub("_", name)[:_LONGEST].rstrip(" .") for name in class_names]
    # ImageFolder numbers the classes by the order of the folders; some file systems do not tell "A"
    # from "a".
    different = len({name.casefold() for name in safe}) == len(safe)
    reserved = (*TRAINS, *TESTS, LABELS)
    hidden = any(
        not name or name.startswith((".", "__", "@", " ")) or name.casefold() in reserved
        for name in safe
    )
    if safe == list(class_names) and safe == sorted(safe) and different and not hidden:
        return safe
    digits = len(str(len(safe) - 1))
    return [f"{number:0{digits}}_{name}" for number, name in enumerate(safe)]


def _logits(distilled: Any) -> Tensor | None:
    has = any(target.kind == "stored" for target in distilled.targets)
    return distilled.target("stored").logits if has else None
